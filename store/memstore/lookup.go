package memstore

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/machine"
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

// List implements [semel.Lister]. It looks at every record, one shard at a
// time, so its cost grows with the store; verbs on other shards go on beside it.
func (s *Store) List(ctx context.Context, p semel.ListParams) ([]semel.Record, error) {
	if p.Limit < 0 || p.Limit > semel.MaxListLimit {
		return nil, fmt.Errorf("memstore: limit %d is not between 0 and %d", p.Limit, semel.MaxListLimit)
	}
	if p.Limit == 0 {
		p.Limit = semel.MaxListLimit
	}
	top := newest{limit: p.Limit}
	for i := range s.shards {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := s.listShard(&s.shards[i], &p, &top); err != nil {
			return nil, err
		}
	}
	return top.trim(), nil
}

func (s *Store) listShard(sh *shard, p *semel.ListParams, top *newest) error {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if s.closed.Load() {
		return semel.ErrClosed
	}
	now := s.now().UnixMilli()
	for _, e := range sh.entries {
		for ; e != nil; e = e.twin {
			if machine.Reached(now, e.expires) || e.fence <= top.floor || !e.matches(p) {
				continue
			}
			rec := e.record(now)
			if !p.Outcomes {
				rec.Outcome = nil
			}
			top.add(rec)
		}
	}
	return nil
}

func (e *entry) matches(p *semel.ListParams) bool {
	return (p.Scope == "" || e.scope() == p.Scope) &&
		(p.Name == "" || e.name() == p.Name) &&
		(p.Before == 0 || e.fence < p.Before) &&
		(len(p.States) == 0 || slices.Contains(p.States, e.state))
}

// newest collects the records with the greatest fences in memory bounded by
// twice the limit.
type newest struct {
	limit   int
	floor   semel.Fence // fences up to this one are not among the newest
	records []semel.Record
}

func (n *newest) add(rec semel.Record) {
	n.records = append(n.records, rec)
	if len(n.records) == 2*n.limit {
		n.trim()
		n.floor = n.records[len(n.records)-1].Fence
	}
}

func (n *newest) trim() []semel.Record {
	slices.SortFunc(n.records, func(a, b semel.Record) int { return cmp.Compare(b.Fence, a.Fence) })
	n.records = n.records[:min(n.limit, len(n.records))]
	return n.records
}
