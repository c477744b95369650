package redisstore

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/rueidis"

	"github.com/semel-dev/semel"
)

const (
	// scanKeys is how many keys one step of a SCAN looks at.
	scanKeys = 500
	// outcomesAtOnce is how many whole records one trip brings.
	outcomesAtOnce = 32
)

// List implements [semel.Lister]. There is no index, which every claim would
// have to pay for: List reads the beginning of every record of the store, on
// every primary, and keeps the newest. Its memory is bounded by the limit; its
// time is not, except by ctx.
func (s *Store) List(ctx context.Context, p semel.ListParams) ([]semel.Record, error) {
	if p.Limit < 0 || p.Limit > semel.MaxListLimit {
		return nil, fmt.Errorf("redisstore: list limit %d is not between 0 and %d", p.Limit, semel.MaxListLimit)
	}
	if err := s.enter(ctx, "list", reads); err != nil {
		return nil, err
	}
	l := &listing{store: s, params: p, limit: p.Limit}
	if l.limit == 0 {
		l.limit = semel.MaxListLimit
	}
	nodes, err := s.primaries(ctx)
	if err != nil {
		return nil, err
	}
	for addr, client := range nodes {
		err := s.scan(ctx, client, func(keys []string) error { return l.look(ctx, client, keys) })
		if err != nil {
			return nil, s.translate("list the records of "+addr, err)
		}
	}
	recs := l.newest()
	if p.Outcomes {
		if err := l.fill(ctx, recs); err != nil {
			return nil, s.translate("list outcomes", err)
		}
	}
	return recs, nil
}

// listing is one List.
type listing struct {
	store  *Store
	params semel.ListParams
	limit  int
	recs   []semel.Record // the newest so far, and up to as many others
}

// look reads the records of these keys without their outcomes.
func (l *listing) look(ctx context.Context, client rueidis.Client, keys []string) error {
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
		if code(err) == "WRONGTYPE" {
			continue // another program's
		}
		if err != nil {
			return err
		}
		d, _ := l.store.digest(keys[i])
		if rec, err := read(d, now, v); err == nil && l.wants(&rec) {
			l.add(rec)
		}
	}
	return nil
}

// wants reports whether the filters let the record through.
func (l *listing) wants(rec *semel.Record) bool {
	p := &l.params
	return (p.Before == 0 || rec.Fence < p.Before) &&
		(p.Scope == "" || rec.Scope == p.Scope) &&
		(p.Name == "" || rec.Name == p.Name) &&
		(len(p.States) == 0 || slices.Contains(p.States, rec.State))
}

// add keeps the record if it can be among the newest.
func (l *listing) add(rec semel.Record) {
	rec.Outcome = nil
	rec.Scope, rec.Name, rec.Note = strings.Clone(rec.Scope), strings.Clone(rec.Name), strings.Clone(rec.Note)
	if l.recs = append(l.recs, rec); len(l.recs) >= 2*l.limit {
		l.recs = l.newest()
	}
}

// newest returns the newest records, each once.
func (l *listing) newest() []semel.Record {
	slices.SortFunc(l.recs, func(a, b semel.Record) int { return cmp.Compare(b.Fence, a.Fence) })
	l.recs = slices.CompactFunc(l.recs, func(a, b semel.Record) bool { return a.Fence == b.Fence })
	return l.recs[:min(l.limit, len(l.recs))]
}

// fill reads the outcomes of the records that are still as they were.
func (l *listing) fill(ctx context.Context, recs []semel.Record) error {
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
