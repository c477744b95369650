package logstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/semel-dev/semel/store/internal/verb"
)

// Report holds what [Check] or [Repair] found.
type Report struct {
	Segments int    `json:"segments"`
	Bytes    int64  `json:"bytes"`
	Entries  uint64 `json:"entries"`
	// Unacknowledged counts the bytes after the last entry: what a crash left of an interrupted sync. The next Open cuts them off.
	Unacknowledged int64    `json:"unacknowledged,omitempty"`
	Damage         []Damage `json:"damage,omitempty"`
}

// Damage describes entries that were synced and cannot be read. An intent that they claimed or completed may be executed
// again after a repair (promises 2 and 3 end there).
type Damage struct {
	Segment string `json:"segment"`
	At      int64  `json:"at"` // byte of the segment at which it begins
	// Entries counts the missing entries; 0 when their number is unknown, at the beginning and at the end of the log.
	Entries uint64 `json:"entries"`
	// From and To are times of the store's clock before and after the missing entries; zero when unknown.
	From time.Time `json:"from,omitzero"`
	To   time.Time `json:"to,omitzero"`
	// Saved is the copy of the original segment, made by Repair.
	Saved string `json:"saved,omitempty"`

	left, right *run
	lost        []uint64 // segments in between that are no longer there
}

// run is a part of a segment without damage.
type run struct {
	seg         *segment
	from, to    int64
	first, last uint64
	sync        uint64 // the latest sync's first entry
	begin, end  int64  // the store's clock
}

// Check reads the log in a directory from the first to the last byte, and changes nothing. No process may have it open.
func Check(ctx context.Context, dir string) (Report, error) {
	return inspect(ctx, dir, nil)
}

// Repair cuts damage out of the log in a directory, so that it can be opened again. It keeps a copy of every file that it
// changes, and reports what is missing: read the report before you open the log.
func Repair(ctx context.Context, dir string) (Report, error) {
	return inspect(ctx, dir, (*inspection).repair)
}

// inspection is one pass over a log.
type inspection struct {
	j        *journal
	repairs  bool
	numbers  []uint64
	segments map[uint64]*segment // without those whose header is gone
	dirty    map[uint64]bool     // segments that hold something, but no entry
	saved    map[string]string   // the copies of segments that a repair keeps, by the names of the segments
	report   Report
	runs     []*run
}

func inspect(ctx context.Context, dir string, repair func(*inspection) error) (report Report, err error) {
	d, held, err := openDir(dir)
	if err != nil {
		return Report{}, err
	}
	in := inspection{j: &journal{disk: d, name: dir}, repairs: repair != nil, segments: map[uint64]*segment{}, dirty: map[uint64]bool{}, saved: map[string]string{}}
	defer func() {
		for _, seg := range in.segments {
			err = errors.Join(err, seg.f.Close())
		}
		if in.j.manifest != nil {
			err = errors.Join(err, in.j.manifest.f.Close())
		}
		err = errors.Join(err, release(held))
	}()
	if err = in.open(); err == nil {
		err = in.read(ctx)
	}
	if err == nil {
		in.judge()
	}
	if err == nil && repair != nil {
		err = repair(&in)
	}
	if err != nil {
		err = fmt.Errorf("logstore: %s: %w", dir, err)
	}
	return in.report, err
}

// list finds the segments that are there or that the manifest names.
func (in *inspection) list() error {
	l, err := readLayout(in.j.disk)
	switch {
	case err != nil:
		return err
	case len(l.old) > 0 && !in.repairs:
		return fmt.Errorf("an earlier version wrote it (start the gateway once, or run semel records repair: either gives its files their present names; then check it)")
	case len(l.old) > 0 || l.listed:
		in.j.manifest, err = l.settle(in.j.disk)
	}
	in.numbers = l.numbers
	m := in.j.manifest
	switch {
	case errors.Is(err, errDamaged), m == nil && err == nil && len(l.numbers) > 0:
		in.report.Damage = append(in.report.Damage, Damage{Segment: manifestName})
		return nil
	case m == nil:
		return err
	}
	last := m.last
	if n := len(l.numbers); n > 0 {
		last = max(last, l.numbers[n-1])
	}
	if last >= m.first+maxSegments {
		return fmt.Errorf("%s is of another log: there are at most %d segments, and %s is the first (move it away)", segmentName(last), maxSegments, segmentName(m.first))
	}
	in.numbers = nil
	for number := m.first; number <= last; number++ { // what is before was being removed
		in.numbers = append(in.numbers, number)
	}
	return nil
}

// open opens every segment that has a header.
func (in *inspection) open() error {
	if err := in.list(); err != nil {
		return err
	}
	for _, number := range in.numbers {
		seg := &segment{number: number, used: segmentHeader}
		var err error
		if seg.f, err = in.j.disk.open(segmentName(number)); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		var cut *cutOffError
		err = seg.readHeader()
		switch {
		case errors.As(err, &cut):
			in.report.Damage = append(in.report.Damage, Damage{Segment: segmentName(number), At: cut.left})
		case errors.Is(err, errDamaged):
			if err := seg.f.Close(); err != nil {
				return err
			}
			continue
		case err != nil:
			return errors.Join(fmt.Errorf("segment %s: %w", segmentName(number), err), seg.f.Close())
		}
		in.segments[number] = seg
	}
	return nil
}

// read finds every entry.
func (in *inspection) read(ctx context.Context) error {
	for _, number := range in.numbers {
		seg := in.segments[number]
		if seg == nil {
			continue
		}
		in.report.Segments++
		in.report.Bytes += seg.bytes
		if err := errors.Join(ctx.Err(), in.readSegment(seg)); err != nil {
			return err
		}
	}
	return nil
}

func (in *inspection) readSegment(seg *segment) error {
	sc := scanner{seg: seg, at: segmentHeader}
	var here *run
	for {
		var e entry
		at, ok, err := sc.next(&e)
		if err != nil {
			return err
		}
		if ok && here != nil && e.number == here.last+1 {
			here.add(&e, sc.at)
			in.report.Entries++
			continue
		}
		if !ok {
			found, dirty, err := sc.seek(&e)
			if err != nil || !found {
				in.dirty[seg.number] = here == nil && sc.seg.used == segmentHeader && dirty > 0
				return err
			}
			here = nil
			continue
		}
		here = &run{seg: seg, from: at, first: e.number, begin: e.clock}
		here.add(&e, sc.at)
		in.report.Entries++
		in.runs = append(in.runs, here)
		seg.used = sc.at
	}
}

func (r *run) add(e *entry, to int64) {
	r.to, r.last, r.sync = to, e.last(), max(r.sync, e.sync())
	if e.kind != kindGap {
		r.end = max(r.end, e.clock)
	}
}

// judge distinguishes damage from what is left of an interrupted sync: only damage is followed by entries of a later sync.
func (in *inspection) judge() {
	if len(in.runs) == 0 {
		in.lostAtEnd(0)
		return
	}
	tail := len(in.runs)
	for i := len(in.runs) - 1; i > 0; i-- {
		left, right := in.runs[i-1], in.runs[i]
		if right.first == left.last+1 && (right.seg != left.seg || right.from == left.to) {
			continue
		}
		if in.interrupted(i) {
			tail = i
			continue
		}
		in.report.Damage = append(in.report.Damage, in.between(left, right))
	}
	for _, r := range in.runs[tail:] {
		in.report.Unacknowledged += r.to - r.from
		in.report.Entries -= r.last - r.first + 1
	}
	in.lostAtEnd(in.runs[tail-1].seg.number)
	if first := in.runs[0]; first.from > segmentHeader || slices.ContainsFunc(in.numbers, func(n uint64) bool {
		return n < first.seg.number && (in.dirty[n] || in.segments[n] == nil)
	}) {
		in.report.Damage = append(in.report.Damage, in.between(nil, first))
	}
	slices.SortFunc(in.report.Damage, func(a, b Damage) int { return slices.Compare([]string{a.Segment}, []string{b.Segment}) })
}

// interrupted reports whether all runs from i on hold entries of one sync, which may have been interrupted before them.
func (in *inspection) interrupted(i int) bool {
	last := uint64(0)
	for _, r := range in.runs[:i] {
		last = max(last, r.last)
	}
	for _, r := range in.runs[i:] {
		if r.sync > last+1 {
			return false
		}
	}
	return true
}

func (in *inspection) between(left, right *run) Damage {
	d := Damage{Segment: segmentName(right.seg.number), At: segmentHeader, Entries: 1, To: verb.Time(right.begin), left: left, right: right}
	from := in.numbers[0]
	if left != nil {
		d.Segment, d.At, d.Entries, d.From = segmentName(left.seg.number), left.to, right.first-left.last-1, verb.Time(left.end)
		from = left.seg.number + 1
	}
	for n := from; n < right.seg.number; n++ {
		if in.segments[n] == nil {
			d.lost = append(d.lost, n)
		}
	}
	if left == nil && len(d.lost) > 0 {
		d.Entries = 0
	}
	return d
}

// lostAtEnd reports segments without a header behind the last entry.
func (in *inspection) lostAtEnd(last uint64) {
	for _, number := range in.numbers {
		if number > last && in.segments[number] == nil {
			in.report.Damage = append(in.report.Damage, Damage{Segment: segmentName(number), lost: []uint64{number}})
		}
	}
}
