package outcomecache

import (
	"bytes"
	"slices"
	"sync"
	"time"

	"github.com/semel-dev/semel"
)

// entryBytes estimates what an entry takes in addition to its outcome and its texts: the
// record, its place in the map and its links.
const entryBytes = 512

// entry is one record in memory.
type entry struct {
	rec        semel.Record
	asked      time.Time     // before the store was asked
	left       time.Duration // for which the record surely lives from then on
	size       int64
	prev, next *entry // towards the more and the less recently used
}

// shard is a part of the cache with a lock of its own; the entry that was not
// used for the longest time goes first.
type shard struct {
	mu      sync.Mutex // guards the fields below
	max     int64
	most    int64 // the largest entry
	bytes   int64
	era     uint64 // grows with everything that is forgotten
	entries map[semel.Digest]*entry
	ring    entry // its next is the most recently used, its prev the least
}

func (s *shard) init(maxBytes, mostBytes int64) {
	s.max, s.most = maxBytes, mostBytes
	s.entries = map[semel.Digest]*entry{}
	s.ring.prev, s.ring.next = &s.ring, &s.ring
}

// get returns the record with its clock moved on, or the era for put.
func (s *shard) get(d *semel.Digest, now time.Time) (rec semel.Record, era uint64, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.entries[*d]
	if e == nil {
		return rec, s.era, false
	}
	elapsed := since(e.asked, now)
	if elapsed >= e.left {
		s.drop(e)
		return rec, s.era, false
	}
	e.unlink()
	e.linkAfter(&s.ring)
	rec = e.rec
	rec.ReadAt = rec.ReadAt.Add(elapsed.Truncate(time.Millisecond))
	return rec, s.era, true
}

// since is the time that has passed in this process. The monotonic clock may
// stop while the machine is suspended, and the wall clock may be set
// back: what has gone further counts.
func since(from, now time.Time) time.Duration {
	return max(now.Sub(from), now.Round(0).Sub(from.Round(0)), 0)
}

// put remembers the record, unless something was forgotten since it was asked
// for: it may have been this one.
func (s *shard) put(rec *semel.Record, asked time.Time, era uint64) {
	left := rec.RetentionLeft()
	left -= left / 100
	size := sizeOf(rec)
	if left <= 0 || size > s.most {
		return
	}
	e := &entry{rec: *rec, asked: asked, left: left, size: size}
	e.own()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.era != era {
		return
	}
	if old := s.entries[rec.Digest]; old != nil {
		if old.rec.Fence >= rec.Fence {
			return // another reader was faster
		}
		s.drop(old)
	}
	s.entries[rec.Digest] = e
	e.linkAfter(&s.ring)
	s.bytes += e.size
	for s.bytes > s.max {
		s.drop(s.ring.prev)
	}
}

// own copies what the record refers to, so that nothing larger is kept alive
// that it was cut from.
func (e *entry) own() {
	r := &e.rec
	text := r.Scope + r.Name + r.Note + "\x00" // never one of them alone, so always a copy
	r.Scope = text[:len(r.Scope)]
	r.Name = text[len(r.Scope):][:len(r.Name)]
	r.Note = text[len(r.Scope)+len(r.Name):][:len(r.Note)]
	r.Outcome = slices.Clip(bytes.Clone(r.Outcome))
}

// sizeOf is about the memory that an entry of the record takes.
func sizeOf(r *semel.Record) int64 {
	return entryBytes + allocated(len(r.Scope)+len(r.Name)+len(r.Note)+1) + allocated(len(r.Outcome))
}

// allocated is about the memory that n bytes take: it comes in sizes.
func allocated(n int) int64 { return int64(n + n/8) }

func (s *shard) forget(d *semel.Digest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.era++
	if e := s.entries[*d]; e != nil {
		s.drop(e)
	}
}

func (s *shard) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bytes = 0
	s.era++
	s.init(s.max, s.most)
}

func (s *shard) size() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bytes
}

// drop forgets the entry. mu is held.
func (s *shard) drop(e *entry) {
	e.unlink()
	delete(s.entries, e.rec.Digest)
	s.bytes -= e.size
}

func (e *entry) unlink() {
	e.prev.next, e.next.prev = e.next, e.prev
	e.prev, e.next = nil, nil
}

func (e *entry) linkAfter(at *entry) {
	e.prev, e.next = at, at.next
	at.next.prev = e
	at.next = e
}
