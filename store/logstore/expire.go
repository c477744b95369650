package logstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/transition"
)

const (
	expireEvery = time.Minute
	copyAtOnce  = 1024 // records that are copied forward with one sync
	fewLiving   = 8    // a segment goes when less than an eighth of it has not expired
	leastLiving = 3    // and so does the oldest when less than a third of the log has not
)

// expireAlways frees what expired, until the store is closed.
func (s *Store) expireAlways() {
	ticker := time.NewTicker(expireEvery)
	defer ticker.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-s.log.rolled:
		case <-ticker.C:
		}
		if err := s.expire(); err != nil {
			s.logger.LogAttrs(context.Background(), slog.LevelWarn, "logstore: expired records stay in the log for now", slog.String("dir", s.log.name), slog.Any("err", err))
		}
	}
}

// expire forgets expired records in memory, and removes segments from the oldest on, as long as little in the oldest or
// in the whole log is live. So the log takes at most three times the size of its live records, plus a few segments.
func (s *Store) expire() error {
	s.expiring.Lock()
	defer s.expiring.Unlock()
	newest := s.log.end()[0]
	for {
		claims := s.expireHeld()
		seg := s.log.mostlyExpired(s.clock.read(), claims)
		if seg == nil || seg.number >= newest || s.stopped() {
			return nil
		}
		if err := s.drop(seg); err != nil {
			return err
		}
	}
}

func (s *Store) stopped() bool {
	select {
	case <-s.stop:
		return true
	default:
		return false
	}
}

// expireHeld forgets expired records in memory, and returns the bytes of claims by the places of their segments.
func (s *Store) expireHeld() map[int]int64 {
	claims := map[int]int64{}
	for i := range s.shards {
		sh := &s.shards[i]
		sh.mu.Lock()
		now := s.clock.read()
		for _, h := range sh.held {
			if !s.retire(sh, h, now) && h.state == semel.StateClaimed {
				e := entry{kind: kindRecord, record: h.record}
				claims[h.place.segment()] += int64(padded(e.size()))
			}
		}
		sh.mu.Unlock()
	}
	return claims
}

// mostlyExpired returns the oldest segment when it should go. Claims that are open live: were they copied for nothing, a log
// that is full of them would be copied for ever.
func (j *journal) mostlyExpired(now int64, claims map[int]int64) *segment {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.oldest == j.current.number || j.dead != nil {
		return nil
	}
	seg := j.window[j.oldest%maxSegments].Load()
	lives := func(s *segment) int64 { return s.living(now) + claims[s.placeOf(0).segment()] }
	switch {
	case j.maxBytes > 0 && lives(seg) > j.free()-j.current.bytes/16:
		return nil // the copies would not fit
	case lives(seg)*fewLiving <= seg.used-segmentHeader:
		return seg
	}
	var living, used int64
	for n := j.oldest; n <= j.current.number; n++ {
		s := j.window[n%maxSegments].Load()
		living, used = living+lives(s), used+s.used-segmentHeader
	}
	if living*leastLiving < used {
		return seg
	}
	return nil
}

// drop copies the live records of the oldest segment to the end of the log, syncs them, and only then removes the segment. Segments
// go in their order, so a release is never gone before the claim that it ends.
func (s *Store) drop(seg *segment) error {
	if err := s.barrier(); err != nil {
		return err
	}
	c := copier{s: s, seg: seg}
	sc := scanner{seg: seg, at: segmentHeader}
	for {
		var e entry
		at, ok, err := sc.next(&e)
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		if e.kind != kindRecord {
			continue
		}
		if err := c.copy(&e, seg.placeOf(at)); err != nil {
			return err
		}
	}
	if sc.at < seg.used {
		return fmt.Errorf("segment %s is %w at byte %d (run: semel records check, when this program has ended)", segmentName(seg.number), errDamaged, sc.at)
	}
	if err := c.arrive(); err != nil {
		return err
	}
	if err := s.barrier(); err != nil {
		return err
	}
	if err := s.forget(seg); err != nil {
		return err
	}
	return s.log.remove(seg)
}

// barrier waits until everything that was added is durable.
func (s *Store) barrier() error {
	return s.log.durably(&entry{kind: kindMark, clock: s.clock.read()})
}

// durably adds an entry that no verb waits for.
func (j *journal) durably(e *entry) error {
	for {
		a, err := j.add(e, forExpiry)
		switch {
		case err != nil:
			return err
		case a.ready != nil:
			<-a.ready
		default:
			<-a.batch.done
			return a.batch.err
		}
	}
}

// moved is a completed record that was copied.
type moved struct {
	sh       *shard
	path     uint32
	from, to place
}

// copier copies the records of a segment that have not expired.
type copier struct {
	s     *Store
	seg   *segment
	batch *batch // of the last copy
	moves []moved
}

// copy adds the record again if this entry is its latest.
func (c *copier) copy(e *entry, p place) error {
	for {
		ready, err := c.try(e, p)
		if err != nil || ready == nil {
			if err == nil && len(c.moves) >= copyAtOnce {
				err = c.arrive()
			}
			return err
		}
		<-ready
	}
}

func (c *copier) try(e *entry, p place) (again, error) {
	sh := c.s.shard(&e.digest)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	now := c.s.clock.read()
	h := sh.held[e.digest]
	if h != nil && h.place == p && !h.batch.durable() {
		return h.batch.done, nil
	}
	if h != nil && c.s.retire(sh, h, now) {
		h = nil
	}
	path := digestPath(&e.digest)
	rec := e.record
	switch {
	case h != nil && h.place == p:
		rec = h.record
		rec.outcome, rec.note = e.outcome, e.note
	case transition.Reached(now, e.expires) || !sh.table.find(path, func(there place) bool { return there == p }):
		return nil, nil
	}
	a, err := c.s.log.add(&entry{kind: kindRecord, clock: now, record: rec}, forExpiry)
	if err != nil || a.ready != nil {
		return a.ready, err
	}
	c.batch = a.batch
	if h != nil && h.place == p {
		h.place, h.batch = a.place, a.batch
		return nil, nil
	}
	c.moves = append(c.moves, moved{sh, path, p, a.place})
	return nil, nil
}

// arrive lets the table lead to the copies, once they are durable.
func (c *copier) arrive() error {
	if c.batch == nil {
		return nil
	}
	<-c.batch.done
	if c.batch.err != nil {
		return c.batch.err
	}
	for _, m := range c.moves {
		m.sh.mu.Lock()
		m.sh.table.move(m.path, m.from, m.to)
		m.sh.mu.Unlock()
	}
	c.moves = c.moves[:0]
	return nil
}

// forget removes what leads to the segment. A record in memory that still does keeps it.
func (s *Store) forget(seg *segment) error {
	number := seg.placeOf(0).segment()
	for i := range s.shards {
		sh := &s.shards[i]
		sh.mu.Lock()
		for _, h := range sh.held {
			if h.place.segment() == number && !s.retire(sh, h, s.clock.read()) && !h.gone {
				sh.mu.Unlock()
				return errors.New("a record was changed meanwhile")
			}
		}
		sh.table.forget(func(p place) bool { return p.segment() != number })
		sh.mu.Unlock()
	}
	return nil
}

// remove removes the oldest segment, which nothing refers to any more. The manifest drops it first: after a crash it would
// be missing. Unless the removal is durable, the next one stays, so that a loss of power leaves no gap.
func (j *journal) remove(seg *segment) error {
	if err := j.manifest.setFirst(seg.number + 1); err != nil {
		return err
	}
	if err := j.disk.remove(segmentName(seg.number)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := j.disk.sync(); err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.oldest++
	j.total -= seg.bytes
	j.full = nil // there is room again
	j.window[seg.number%maxSegments].Store(nil)
	return seg.f.Close()
}
