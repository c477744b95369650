package logstore

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/listing"
	"github.com/semel-dev/semel/internal/transition"
	"github.com/semel-dev/semel/store/internal/verb"
)

// List implements [semel.Lister]. It reads the log backwards, and returns the records whose last change it finds. Each page
// is sorted, newest claims first, but the log is in the order of changes, so a later page may hold newer claims.
func (s *Store) List(ctx context.Context, p semel.ListParams) (semel.ListPage, error) {
	if err := p.Validate(); err != nil {
		return semel.ListPage{}, err
	}
	if err := s.enter(ctx, "list", verb.Reads); err != nil {
		return semel.ListPage{}, err
	}
	defer s.gate.Leave()
	begin, err := listing.ParsePart(p.After)
	if err == nil && begin.At[1] > maxSegment {
		err = fmt.Errorf("%w: byte %d does not exist", semel.ErrCursor, begin.At[1])
	}
	if err != nil {
		return semel.ListPage{}, err
	}
	if begin.At == [2]uint64{} {
		begin.At = s.log.end()
	}
	l := &lister{s: s, p: &p, top: &listing.Newest{Params: &p, Before: begin.Before}}
	next, err := l.walk(ctx, begin.At)
	if err != nil {
		return semel.ListPage{}, err
	}
	page := l.top.Page(begin, next)
	page.Unordered = next != nil || p.After != ""
	return page, nil
}

// end returns where the log ends.
func (j *journal) end() [2]uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return [2]uint64{j.current.number, uint64(j.current.used)} //nolint:gosec // an offset.
}

// lister is one List.
type lister struct {
	s      *Store
	p      *semel.ListParams
	top    *listing.Newest
	looked int
}

// walk examines the entries before at, backwards, until it has examined enough. It returns the part where it stopped as next.
func (l *lister) walk(ctx context.Context, at [2]uint64) (next *listing.Part, err error) {
	for number := at[0]; ; number-- {
		seg, marks := l.s.log.segment(number)
		if seg == nil {
			return nil, nil
		}
		if number != at[0] {
			at = [2]uint64{number, maxSegment}
		}
		stopped, err := l.segment(ctx, seg, marks, int64(at[1])) //nolint:gosec // bounded by maxSegment.
		switch {
		case err != nil && !l.s.log.has(number):
			return nil, nil // it expired meanwhile
		case err != nil:
			return nil, err
		case stopped > 0:
			return &listing.Part{At: [2]uint64{number, uint64(stopped)}}, nil
		}
	}
}

// segment examines the entries of a segment before an offset. It returns the offset before which it stopped, or 0.
func (l *lister) segment(ctx context.Context, seg *segment, marks []uint32, before int64) (stopped int64, err error) {
	for _, mark := range slices.Backward(marks) {
		from := int64(mark) * entryAlign
		if from < before {
			stopped, err = l.chunk(seg, from, before)
		}
		before = min(before, from)
		if stopped > 0 || err != nil || ctx.Err() != nil {
			return stopped, errors.Join(err, ctx.Err())
		}
	}
	return 0, nil
}

// segment returns a segment of the log, and its marks; nil when it is not there.
func (j *journal) segment(number uint64) (*segment, []uint32) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if number < j.oldest || number > j.current.number {
		return nil, nil
	}
	seg := j.window[number%maxSegments].Load()
	return seg, slices.Clip(seg.marks)
}

func (j *journal) has(number uint64) bool {
	seg, _ := j.segment(number)
	return seg != nil
}

// chunk examines the records between two offsets, the last one first. It returns the offset before which it stopped, or 0.
func (l *lister) chunk(seg *segment, from, to int64) (stopped int64, err error) {
	var places []int64
	sc := scanner{seg: seg, at: from}
	var e entry
	for sc.at < to {
		at, ok, err := sc.next(&e)
		if err != nil {
			return 0, err
		}
		if !ok {
			break // it is not written yet
		}
		if e.kind == kindRecord {
			places = append(places, at)
		}
	}
	for _, at := range slices.Backward(places) {
		if l.looked >= l.p.Examine {
			return at + 1, nil
		}
		l.looked++
		if err := l.look(seg, at); err != nil {
			return 0, err
		}
	}
	return 0, nil
}

// look adds the record whose last change is at this offset.
func (l *lister) look(seg *segment, at int64) error {
	e, err := l.s.log.read(seg.placeOf(at))
	if err != nil {
		return err
	}
	rec, now, ok := l.s.current(&e, seg.placeOf(at))
	if !ok {
		l.top.Look(0)
		return nil
	}
	l.top.Look(semel.Fence(rec.fence))
	if transition.Reached(now, rec.expires) || !l.top.Wants(semel.Fence(rec.fence), rec.key[:rec.scopeLen], rec.key[rec.scopeLen:], rec.state) {
		return nil
	}
	found := rec.public(now)
	if !l.p.Outcomes {
		found.Outcome = nil
	}
	l.top.Add(found)
	return nil
}

// current returns the record of an entry as it is now, if the entry is the last that changed it as a whole, durably.
func (s *Store) current(e *entry, p place) (rec record, now int64, ok bool) {
	sh := s.shard(&e.digest)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	now = s.clock.read()
	if h := sh.held[e.digest]; h != nil && h.place == p {
		rec = h.record
		rec.outcome, rec.note = e.outcome, e.note
		return rec, now, h.batch.durable() && h.batch.err == nil && !h.gone
	}
	ok = sh.table.find(digestPath(&e.digest), func(there place) bool { return there == p })
	return e.record, now, ok
}
