package memstore

import (
	"context"
	"math/bits"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/transition"
)

const (
	levelBits  = 6
	levelSlots = 1 << levelBits
	levelCount = 8
	// maxTick is the last millisecond the wheel distinguishes: some 8,900 years.
	maxTick = 1<<(levelBits*levelCount) - 1
)

// wheel is a hierarchical timing wheel. A slot of level n spans 64^n ticks. An
// entry is filed at the level of the highest group of six bits in which its
// tick differs from the cursor, so that
//
//   - every slot in use ends after the cursor, and
//   - the first slot in use of each level is found by one bit scan.
//
// Entries may lie in a slot before their time (they were renewed), never after
// it. A slot of a higher level is emptied one entry at a time, so that a sweep
// may stop anywhere.
type wheel struct {
	cursor uint64 // every slot that ends before it is empty
	used   [levelCount]uint64
	heads  [levelCount * levelSlots]*entry
}

// put files an entry that is not in the wheel.
func (w *wheel) put(e *entry, tick uint64) {
	slot := w.slot(tick)
	e.slot, e.prev, e.next = slot, nil, w.heads[slot]
	if e.next != nil {
		e.next.prev = e
	}
	w.heads[slot] = e
	w.used[slot/levelSlots] |= 1 << (slot % levelSlots)
}

// unlink takes an entry out of the wheel.
func (w *wheel) unlink(e *entry) {
	if e.next != nil {
		e.next.prev = e.prev
	}
	if e.prev != nil {
		e.prev.next = e.next
	} else {
		w.heads[e.slot] = e.next
		if e.next == nil {
			w.used[e.slot/levelSlots] &^= 1 << (e.slot % levelSlots)
		}
	}
	e.next, e.prev = nil, nil
}

// move files an entry again if its time came nearer. One whose time moved away
// stays where it is; due will find it there, and its owner files it again.
func (w *wheel) move(e *entry, tick uint64) {
	if w.slot(tick) < e.slot {
		w.unlink(e)
		w.put(e, tick)
	}
}

// due returns an entry from a slot that starts at or before now; nil when there
// is none. The caller takes it out, or files it again. The cursor moves on.
func (w *wheel) due(now uint64) *entry {
	for level, used := range w.used {
		if used == 0 {
			continue
		}
		index := bits.TrailingZeros64(used)
		shift := level * levelBits
		first := w.cursor &^ (1<<(shift+levelBits) - 1) // of the level's slots
		start := first + uint64(index)<<shift           //nolint:gosec // 0 to 63
		if start > now {
			continue // a slot of a higher level may be half emptied
		}
		w.cursor = max(w.cursor, start)
		return w.heads[level*levelSlots+index]
	}
	w.cursor = max(w.cursor, now)
	return nil
}

// slot says where a tick is filed: its level, then its place in the level.
func (w *wheel) slot(tick uint64) uint16 {
	tick = max(tick, w.cursor)
	level := max(0, bits.Len64(tick^w.cursor)-1) / levelBits
	return uint16(level)*levelSlots + uint16(tick>>(level*levelBits)%levelSlots) //nolint:gosec // below levelCount*levelSlots.
}

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
