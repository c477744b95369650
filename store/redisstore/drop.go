package redisstore

import (
	"context"

	"github.com/redis/rueidis"

	"github.com/semel-dev/semel/store/internal/verb"
)

// Drop removes all records of the store, those of newer versions too, and its
// counter of fences. It is for prefixes that were made for a check; other
// stores on them start over. It does not close the store.
func (s *Store) Drop(ctx context.Context) error {
	if err := s.enter(ctx, "drop", verb.Writes); err != nil {
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
func (s *Store) scan(ctx context.Context, client rueidis.Client, look func(keys []string) error) error {
	for cursor := uint64(0); ; {
		keys, next, err := s.scanOnce(ctx, client, cursor, scanKeys)
		if err != nil {
			return err
		}
		if err := look(keys); err != nil {
			return err
		}
		if cursor = next; cursor == 0 {
			return nil
		}
	}
}

// scanOnce takes one step of SCAN over about n keys, and returns those of the
// store's records. Other prefixes may begin with this one.
func (s *Store) scanOnce(ctx context.Context, client rueidis.Client, cursor uint64, n int) (keys []string, next uint64, err error) {
	page, err := client.Do(ctx, client.B().Scan().Cursor(cursor).Match(s.opts.Prefix+":{*").Count(int64(n)).Build()).AsScanEntry()
	if err != nil {
		return nil, 0, err
	}
	keys = page.Elements[:0]
	for _, key := range page.Elements {
		if _, ok := s.digest(key); ok {
			keys = append(keys, key)
		}
	}
	return keys, page.Cursor, nil
}
