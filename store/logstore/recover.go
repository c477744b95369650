package logstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/semel-dev/semel"
)

// fenceGap is more than the fences that are drawn and not synced at a time: entries of two batches and of the segments
// between them.
const fenceGap = 1 << 20

// recovery reads the log into a store.
type recovery struct {
	s       *Store
	now     int64  // the host's clock
	number  uint64 // of the last entry
	fence   uint64
	clock   int64
	started bool
	durable *batch
}

// recover reads the log. Every synced entry must be readable; the last one may be followed by what is left of at most one
// batch that was never acknowledged, which is cut off. Anything else is damage, and is refused.
func (s *Store) recover(ctx context.Context) error {
	segments, err := s.openLog(ctx)
	if err != nil {
		return s.log.refuse(err)
	}
	r := &recovery{s: s, now: milliseconds(s.clock.now()), durable: &batch{done: make(chan struct{})}}
	close(r.durable.done)
	if len(segments) == 0 {
		first, err := s.log.create(segment{number: 1, bytes: s.log.firstBytes(), clock: r.now})
		if err != nil {
			return errors.Join(fmt.Errorf("logstore: %s: %w (free space on the disk, or name another directory)", s.log.name, err), s.log.disk.remove(manifestName))
		}
		segments = append(segments, first)
		s.log.window[1].Store(first)
	}
	last, err := r.replay(ctx, segments)
	if err == nil {
		err = r.cutTail(ctx, segments[last:])
	}
	if err != nil {
		return s.log.refuse(err)
	}
	return r.finish(segments, last)
}

// openLog opens the files. A log without a manifest gets one if an earlier version wrote it.
func (s *Store) openLog(ctx context.Context) ([]*segment, error) {
	j := s.log
	l, err := readLayout(j.disk)
	if err != nil {
		return nil, err
	}
	if len(l.old) > 0 && !l.listed {
		s.logger.LogAttrs(ctx, slog.LevelWarn, "logstore: an earlier version wrote this log, without a list of its segments: whether its first or last ones are missing "+
			"cannot be checked this once; it gets the list, and other names, which that version does not read", slog.String("dir", j.name))
	}
	for _, name := range l.rest {
		if err := j.disk.remove(name); err != nil {
			return nil, err
		}
	}
	if j.manifest, err = l.settle(j.disk); err != nil {
		return nil, err
	}
	return j.openSegments(&l)
}

func (j *journal) firstBytes() int64 {
	if j.bytes > 0 {
		return j.bytes
	}
	return firstSegment
}

// openSegments opens the files of the log in their order. It removes those that no longer belong to it.
func (j *journal) openSegments(l *layout) ([]*segment, error) {
	numbers, first, last := l.numbers, j.manifest.first, j.manifest.last
	for ; len(numbers) > 0 && numbers[0] < first; numbers = numbers[1:] {
		if err := j.disk.remove(segmentName(numbers[0])); err != nil {
			return nil, err
		}
	}
	if n := len(numbers); n > 0 {
		last = max(last, numbers[n-1])
	}
	segments := make([]*segment, 0, len(numbers))
	for number := first; number <= last; number++ {
		if len(numbers) == len(segments) || numbers[len(segments)] != number {
			return nil, fmt.Errorf("segment %s is %w: it is missing", segmentName(number), errDamaged)
		}
		seg, err := openSegment(j.disk, number)
		if err != nil {
			return nil, err
		}
		j.window[number%maxSegments].Store(seg)
		segments = append(segments, seg)
	}
	return segments, nil
}

// refuse adds what to run to an error about damage.
func (j *journal) refuse(err error) error {
	if errors.Is(err, errDamaged) {
		return fmt.Errorf("logstore: %s: %w (restore it from a backup, or run: semel records check --store log:%s)", j.name, err, j.name)
	}
	return fmt.Errorf("logstore: %s: %w", j.name, err)
}

// replay applies every entry, and returns the index of the segment in which the last of them is.
func (r *recovery) replay(ctx context.Context, segments []*segment) (last int, err error) {
	for i, seg := range segments {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		r.fence, r.clock = max(r.fence, seg.fence), max(r.clock, seg.clock)
		if err := r.replaySegment(seg); err != nil {
			return 0, err
		}
		if seg.used > segmentHeader {
			last = i
		}
		if !r.started {
			var e entry
			sc := scanner{seg: seg, at: segmentHeader}
			if _, dirty, err := sc.seek(&e); err != nil || dirty > 0 {
				return i, err // the log may have lost its beginning
			}
		}
	}
	return last, nil
}

func (r *recovery) replaySegment(seg *segment) error {
	sc := scanner{seg: seg, at: segmentHeader}
	var e entry
	for {
		at, ok, err := sc.next(&e)
		if err != nil || !ok || (r.started && e.number != r.number+1) {
			return err
		}
		r.started, r.number = true, e.last()
		seg.noteEntry(&e, at, int(sc.at-at))
		if err := r.apply(&e, seg.placeOf(at)); err != nil {
			return err
		}
	}
}

func (r *recovery) apply(e *entry, p place) error {
	if e.kind == kindGap {
		return nil
	}
	r.fence, r.clock = max(r.fence, e.fence), max(r.clock, e.clock)
	if e.kind == kindMark {
		return nil
	}
	sh := r.s.shard(&e.digest)
	h := sh.held[e.digest]
	switch {
	case e.kind == kindRecord && e.final():
		r.drop(sh, h)
		if e.expires > max(r.now, e.clock) {
			return r.put(sh, &e.digest, p)
		}
	case e.kind == kindRecord:
		r.drop(sh, h)
		h = &held{record: e.record, place: p, batch: r.durable}
		h.outcome, h.note = nil, ""
		sh.held[e.digest] = h
		r.s.opened.Add(1)
	case h == nil || h.fence != e.fence: // of a claim that is gone
	case e.kind == kindRenew:
		h.lease, h.expires = e.lease, e.expires
	case e.kind == kindRelease:
		r.drop(sh, h)
	}
	return nil
}

// put lets the table lead to a final record. It may lead to an earlier one of the digest: one that expired, or was copied
// by an expiry that a crash interrupted.
func (r *recovery) put(sh *shard, d *semel.Digest, p place) (err error) {
	path := digestPath(d)
	var earlier place
	found := sh.table.find(path, func(there place) bool {
		e, failed := r.s.log.read(there)
		if earlier, err = there, failed; failed != nil {
			return true
		}
		return e.digest == *d
	})
	switch {
	case err != nil:
	case found:
		sh.table.move(path, earlier, p)
	default:
		sh.table.put(path, p)
	}
	return err
}

func (r *recovery) drop(sh *shard, h *held) {
	if h != nil {
		delete(sh.held, h.digest)
		r.s.opened.Add(-1)
	}
}

// cutTail removes what follows the last entry. Only one batch at a time is written and not synced, so an entry of a later
// batch proves that a synced one is damaged.
func (r *recovery) cutTail(ctx context.Context, segments []*segment) error {
	for i, seg := range segments {
		from := seg.used
		if i > 0 {
			from = segmentHeader
		}
		sc := scanner{seg: seg, at: from}
		var dirty int64
		for {
			var e entry
			found, far, err := sc.seek(&e)
			if err != nil {
				return err
			}
			dirty = max(dirty, far)
			if !found {
				break
			}
			if e.sync() > r.number+1 {
				return fmt.Errorf("segment %s is %w at byte %d: entry %d is missing, but entry %d of a later sync is not",
					segmentName(segments[0].number), errDamaged, segments[0].used, r.number+1, e.number)
			}
			r.fence, r.clock = max(r.fence, e.fence), max(r.clock, e.clock)
			sc.at += entryAlign
		}
		if dirty > 0 {
			if err := r.erase(ctx, seg, from, dirty); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *recovery) erase(ctx context.Context, seg *segment, from, to int64) error {
	r.s.logger.LogAttrs(ctx, slog.LevelWarn, "logstore: cut off what was written last and never acknowledged", slog.String("dir", r.s.log.name),
		slog.String("segment", segmentName(seg.number)), slog.Int64("at", from), slog.Int64("bytes", to-from))
	if _, err := seg.f.WriteAt(make([]byte, to-from), from); err != nil {
		return err
	}
	return seg.f.sync()
}

// finish lets the journal go on behind the last entry.
func (r *recovery) finish(segments []*segment, last int) error {
	j := r.s.log
	r.s.clock.start(r.clock)
	now := r.s.clock.at.UnixMicro()
	j.number, j.clock, j.fence = r.number, r.clock, max(r.fence+fenceGap, uint64(max(0, now)))
	if r.fence == 0 {
		j.fence = uint64(max(1, now))
	}
	j.oldest, j.current = segments[0].number, segments[last]
	if err := j.manifest.setLast(segments[min(last+1, len(segments)-1)].number); err != nil {
		return fmt.Errorf("logstore: %s: %w", j.name, err)
	}
	for i, seg := range slices.Backward(segments) { // a crash must not leave a hole
		if i <= last+1 {
			j.total += seg.bytes
		}
		if i == last+1 {
			j.next = seg
		}
		if i > last+1 { // empty, and behind an empty one
			j.window[seg.number%maxSegments].Store(nil)
			if err := errors.Join(seg.f.Close(), j.disk.remove(segmentName(seg.number))); err != nil {
				return fmt.Errorf("logstore: %s: %w", j.name, err)
			}
		}
	}
	return nil
}

// digestPath is the path of a digest in its shard's table.
func digestPath(d *semel.Digest) uint32 { return pathOf(hash(d)) }
