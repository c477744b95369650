package redisstore

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/redis/rueidis"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/listing"
	"github.com/semel-dev/semel/store/internal/verb"
)

const (
	// scanKeys limits the keys that one step of a SCAN looks at.
	scanKeys = 500
	// outcomesAtOnce limits the whole records that one trip brings.
	outcomesAtOnce = 32
)

// List implements [semel.Lister]. It has no index, which every claim would
// have to pay for: List goes through the keys by SCAN, on one primary after the
// other, and returns the newest of the records that it found. A step of SCAN is
// taken whole, so it may find a few more than p.Examine.
func (s *Store) List(ctx context.Context, p semel.ListParams) (semel.ListPage, error) {
	if err := p.Validate(); err != nil {
		return semel.ListPage{}, err
	}
	begin, err := listing.ParsePart(p.After)
	if err != nil {
		return semel.ListPage{}, err
	}
	if err := s.enter(ctx, "list", verb.Reads); err != nil {
		return semel.ListPage{}, err
	}
	nodes, err := s.primaries(ctx)
	if err != nil {
		return semel.ListPage{}, err
	}
	if begin.At[0] >= uint64(len(nodes)) && begin.At[0] > 0 {
		return semel.ListPage{}, fmt.Errorf("%w: server %d does not exist", semel.ErrCursor, begin.At[0])
	}
	l := &lister{store: s, nodes: nodes, addrs: slices.Sorted(maps.Keys(nodes)), top: &listing.Newest{Params: &p, Before: begin.Before}}
	next, err := l.part(ctx, begin.At, p.Examine)
	if err != nil {
		return semel.ListPage{}, s.translate("list records", err)
	}
	page := l.top.Page(begin, next)
	if p.Outcomes {
		if err := l.fill(ctx, page.Records); err != nil {
			return semel.ListPage{}, s.translate("list outcomes", err)
		}
	}
	return page, nil
}

// lister is one List.
type lister struct {
	store *Store
	nodes map[string]rueidis.Client
	addrs []string // of the nodes, in order
	top   *listing.Newest
}

// part goes through about so many keys from a place on, which is a node and a
// cursor of its SCAN, and returns the next place.
func (l *lister) part(ctx context.Context, at [2]uint64, keys int) (next *listing.Part, err error) {
	for at[0] < uint64(len(l.addrs)) {
		if keys <= 0 {
			return &listing.Part{At: at}, nil
		}
		client, step := l.nodes[l.addrs[at[0]]], min(keys, scanKeys)
		found, cursor, err := l.store.scanOnce(ctx, client, at[1], step)
		if err == nil {
			err = l.look(ctx, client, found)
		}
		if err != nil {
			return nil, fmt.Errorf("server %s: %w", l.addrs[at[0]], err)
		}
		keys -= step
		if at[1] = cursor; cursor == 0 {
			at[0]++
		}
	}
	return nil, nil
}

// look reads the records of these keys without their outcomes.
func (l *lister) look(ctx context.Context, client rueidis.Client, keys []string) error {
	if len(keys) == 0 {
		return nil
	}
	now, err := l.store.time(ctx, client)
	if err != nil {
		return err
	}
	commands := make([]rueidis.Completed, len(keys))
	for i, key := range keys {
		commands[i] = l.store.client.B().Getrange().Key(key).Start(0).End(maxHead - 1).Build()
	}
	for i, answer := range l.store.client.DoMulti(ctx, commands...) {
		v, err := answer.AsBytes()
		if code(err) == "WRONGTYPE" { // another program's
			l.top.Look(0)
			continue
		}
		if err != nil {
			return err
		}
		d, _ := l.store.digest(keys[i])
		rec, err := read(d, now, v)
		l.top.Look(rec.Fence)
		if err == nil && l.top.Wants(rec.Fence, rec.Scope, rec.Name, rec.State) {
			rec.Outcome = nil
			rec.Scope, rec.Name, rec.Note = strings.Clone(rec.Scope), strings.Clone(rec.Name), strings.Clone(rec.Note)
			l.top.Add(rec)
		}
	}
	return nil
}

// fill reads the outcomes of the records that are still as they were.
func (l *lister) fill(ctx context.Context, recs []semel.Record) error {
	for some := range slices.Chunk(recs, outcomesAtOnce) {
		commands := make([]rueidis.Completed, len(some))
		for i := range some {
			commands[i] = l.store.client.B().Get().Key(l.store.key(&some[i].Digest)).Build()
		}
		for i, answer := range l.store.client.DoMulti(ctx, commands...) {
			v, err := answer.AsBytes()
			if rueidis.IsRedisNil(err) {
				continue
			}
			if err != nil {
				return err
			}
			rec, err := read(some[i].Digest, some[i].ReadAt.UnixMilli(), v)
			if err == nil && rec.Fence == some[i].Fence {
				some[i] = rec
			}
		}
	}
	return nil
}

// time is the clock of one server.
func (s *Store) time(ctx context.Context, client rueidis.Client) (ms int64, err error) {
	return s.milliseconds(client.Do(ctx, client.B().Time().Build()))
}

// milliseconds reads what TIME answers.
func (s *Store) milliseconds(answer rueidis.RedisResult) (ms int64, err error) {
	parts, err := answer.AsIntSlice()
	if err != nil {
		return 0, err
	}
	if len(parts) != 2 {
		return 0, fmt.Errorf("the server answered %d numbers for the time, want 2", len(parts))
	}
	ms = parts[0]*1000 + parts[1]/1000
	if s.opts.clock != nil {
		ms = s.opts.clock.now(ms)
	}
	return ms, nil
}
