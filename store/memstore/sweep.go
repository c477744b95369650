package memstore

import (
	"context"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/transition"
)

const (
	// sweepSteps limits the steps that are taken before a shard's lock is given
	// to others.
	sweepSteps = 512
	// roomSteps and roomStep bound what a verb that met a full store sweeps
	// before it refuses: in all, and under one lock.
	roomSteps = 1024
	roomStep  = 16
)

// Sweep implements [semel.Sweeper]. It locks one shard at a time, each for a
// bounded number of steps.
func (s *Store) Sweep(ctx context.Context, limit int) (int, error) {
	first := int(s.sweepTurn.Add(1))
	removed := 0
	for i := range shardCount {
		sh := &s.shards[(first+i)%shardCount]
		for done := false; !done && removed < limit; {
			if err := ctx.Err(); err != nil {
				return removed, err
			}
			n, last, err := s.lockAndSweep(sh, sweepSteps, limit-removed)
			if err != nil {
				return removed, err
			}
			removed += n
			done = last
		}
	}
	return removed, nil
}

// makeRoom sweeps until the wanted room is there, and reports whether it freed
// anything. It takes at most roomSteps steps, and one look at each shard.
func (s *Store) makeRoom(records, bytes int64) bool {
	first := int(s.sweepTurn.Add(1))
	freed, steps := 0, roomSteps
	for i := range shardCount {
		if s.records.Load()+records <= s.maxRecords && s.bytes.Load()+bytes <= s.maxBytes {
			return true
		}
		sh := &s.shards[(first+i)%shardCount]
		for done := false; !done && steps > 0; steps -= roomStep {
			n, last, err := s.lockAndSweep(sh, roomStep, roomStep)
			if err != nil {
				return true // closed: the next attempt says so
			}
			freed += n
			done = last
		}
	}
	return freed > 0
}

func (s *Store) lockAndSweep(sh *shard, steps, limit int) (removed int, done bool, err error) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if s.closed.Load() {
		return 0, true, semel.ErrClosed
	}
	removed, done = s.sweepShard(sh, s.now().UnixMilli(), steps, limit)
	return removed, done, nil
}

// sweepShard takes at most the given number of steps: each removes one expired
// record, or files one that has not expired closer to its time. It says whether
// nothing was left to do. The shard is locked.
func (s *Store) sweepShard(sh *shard, now int64, steps, limit int) (removed int, done bool) {
	tick := s.tick(now)
	for ; steps > 0 && removed < limit; steps-- {
		e := sh.wheel.due(tick)
		if e == nil {
			return removed, true
		}
		if transition.Sweepable(now, e.expires) {
			s.remove(sh, e)
			removed++
			continue
		}
		sh.wheel.unlink(e)
		sh.wheel.put(e, s.tick(e.expires))
	}
	return removed, false
}
