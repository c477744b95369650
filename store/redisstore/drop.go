package redisstore

import (
	"context"

	"github.com/redis/rueidis"
)

// Drop removes all records of the store, those of newer versions too, and its
// counter of fences. It is for prefixes that were made for a check; other
// stores on them start over. It does not close the store.
func (s *Store) Drop(ctx context.Context) error {
	if err := s.enter(ctx, "drop", writes); err != nil {
		return err
	}
	nodes, err := s.primaries(ctx)
	if err != nil {
		return err
	}
	for addr, client := range nodes {
		err := s.scan(ctx, client, func(keys []string) error {
			for _, key := range keys { // one by one: a cluster refuses keys of several slots
				if err := s.client.Do(ctx, s.client.B().Unlink().Key(key).Build()).Error(); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return s.translate("drop the records of "+addr, err)
		}
	}
	if err := s.client.Do(ctx, s.client.B().Unlink().Key(s.fenceKey).Build()).Error(); err != nil {
		return s.translate("drop the counter of fences", err)
	}
	return nil
}

// scan gives the keys of the store's records on one server to look, in pages.
// Other prefixes may begin with this one.
func (s *Store) scan(ctx context.Context, client rueidis.Client, look func(keys []string) error) error {
	for cursor := uint64(0); ; {
		page, err := client.Do(ctx, client.B().Scan().Cursor(cursor).Match(s.opts.Prefix+":{*").Count(scanKeys).Build()).AsScanEntry()
		if err != nil {
			return err
		}
		keys := page.Elements[:0]
		for _, key := range page.Elements {
			if _, ok := s.digest(key); ok {
				keys = append(keys, key)
			}
		}
		if err := look(keys); err != nil {
			return err
		}
		if cursor = page.Cursor; cursor == 0 {
			return nil
		}
	}
}
