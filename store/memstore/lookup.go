package memstore

import (
	"context"
	"fmt"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/listing"
	"github.com/semel-dev/semel/internal/transition"
)

// Lookup implements [semel.Store]. The record's Outcome is shared with the
// store; the reader must not change it.
func (s *Store) Lookup(ctx context.Context, d semel.Digest) (semel.Record, error) {
	if err := ctx.Err(); err != nil {
		return semel.Record{}, err
	}
	sh, now, err := s.lock(d)
	defer sh.mu.Unlock()
	if err != nil {
		return semel.Record{}, err
	}
	e := sh.find(d, now)
	if e == nil {
		return semel.Record{}, semel.ErrNotFound
	}
	return e.record(now), nil
}

// List implements [semel.Lister]. It keeps no order that a claim would have to
// pay for: it goes through the shards one by one, until the next one would take
// it beyond p.Examine, and returns the newest records of these. A shard is
// looked at whole, and holds a 64th of the store.
func (s *Store) List(ctx context.Context, p semel.ListParams) (semel.ListPage, error) {
	if err := p.Validate(); err != nil {
		return semel.ListPage{}, err
	}
	begin, err := listing.ParsePart(p.After)
	if err == nil && (begin.At[0] >= shardCount || begin.At[1] != 0) {
		err = fmt.Errorf("%w: shard %d does not exist", semel.ErrCursor, begin.At[0])
	}
	if err != nil {
		return semel.ListPage{}, err
	}
	top := &listing.Newest{Params: &p, Before: begin.Before}
	examined := 0
	for i := begin.At[0]; i < shardCount; i++ {
		if err := ctx.Err(); err != nil {
			return semel.ListPage{}, err
		}
		n, ok, err := s.listShard(&s.shards[i], &p, top, examined)
		if err != nil {
			return semel.ListPage{}, err
		}
		if !ok {
			return top.Page(begin, &listing.Part{At: [2]uint64{i}}), nil
		}
		examined += n
	}
	return top.Page(begin, nil), nil
}

// listShard looks at the records of a shard, unless more than p.Examine would have
// been examined then.
func (s *Store) listShard(sh *shard, p *semel.ListParams, top *listing.Newest, examined int) (n int, ok bool, err error) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if s.closed.Load() {
		return 0, false, semel.ErrClosed
	}
	if examined > 0 && examined+len(sh.entries) > p.Examine {
		return 0, false, nil
	}
	now := s.now().UnixMilli()
	for _, e := range sh.entries {
		for ; e != nil; e = e.twin {
			n++
			top.Look(e.fence)
			if transition.Reached(now, e.expires) || !top.Wants(e.fence, e.scope(), e.name(), e.state) {
				continue
			}
			rec := e.record(now)
			if !p.Outcomes {
				rec.Outcome = nil
			}
			top.Add(rec)
		}
	}
	return n, true, nil
}
