package logstore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/semel-dev/semel"
)

const (
	tailSegment = 8 << 10
	tailNow     = 1_700_000_000_000 // ms
	tailExpires = tailNow + 3_600_000
)

// tailDisk is a log of two segments whose first one ends in the middle. After it, or in the second one, a test writes what
// it likes.
type tailDisk struct {
	*powerDisk

	segments [2]*segment
	used     int64  // of the first segment
	number   uint64 // of its last entry
	acked    map[semel.Digest]record
}

// newTailDisk makes a log that holds a record in every state.
func newTailDisk() *tailDisk {
	d := &tailDisk{powerDisk: newPowerDisk(), used: segmentHeader, acked: map[semel.Digest]record{}}
	for i := range d.segments {
		s := &segment{number: uint64(i + 1), salt: goldenSalt + uint32(i), bytes: tailSegment, clock: tailNow - 10}
		b := make([]byte, tailSegment)
		for _, at := range headerCopies() {
			copy(b[at:], s.header())
		}
		d.segments[i], d.files[segmentName(s.number)] = s, &powerFile{d: d.powerDisk, now: b}
	}
	if _, err := createManifest(d.powerDisk, 1, 2); err != nil {
		panic(err)
	}
	for i, state := range []semel.State{semel.StateClaimed, semel.StateCompleted, semel.StateUnknown, semel.StateCancelled, semel.StateCompleted} {
		e := tailEntry(uint64(i+1), byte(i+1))
		e.state, e.outcome = state, bytes.Repeat([]byte{byte(i)}, 40*i)
		d.acked[e.digest] = e.record
		d.append(&e)
	}
	d.append(&entry{number: 6, clock: tailNow, kind: kindMark})
	return d
}

// tailEntry is a claim that begins a sync.
func tailEntry(number uint64, id byte) entry {
	return entry{number: number, clock: tailNow, kind: kindRecord, record: record{
		digest: semel.Digest{id, 31: id}, key: "scope" + string('a'+rune(id)), scopeLen: 5, fence: uint64(tailNow)*1000 + number,
		claimed: tailNow - 5, settled: tailNow - 1, lease: tailExpires, expires: tailExpires, attempt: 1, state: semel.StateClaimed, kept: true,
	}}
}

func (d *tailDisk) append(e *entry) {
	b := e.encode(nil, d.segments[0].salt)
	copy(d.files[segmentName(1)].now[d.used:], b)
	d.used, d.number = d.used+int64(len(b)), e.number
}

// write writes the tail, into the second segment or behind what the first one holds. sealed makes whatever has the form of
// an entry a valid one, which a fuzzer would not find.
func (d *tailDisk) write(tail []byte, second, sealed bool) {
	seg, at := d.segments[0], d.used
	if second {
		seg, at = d.segments[1], segmentHeader
	}
	b := d.files[segmentName(seg.number)].now[at:]
	copy(b, tail)
	for sealed && entrySize(b) > 0 && entrySize(b) <= len(b) {
		size := entrySize(b)
		binary.LittleEndian.PutUint32(b[4:], crc32.Update(seg.salt, castagnoli, b[8:size]))
		b = b[min(padded(size), len(b)):]
	}
}

// tailWant holds what the contract demands of a log with this tail.
type tailWant struct {
	touched map[semel.Digest]bool // by entries that continue the log
	damaged bool                  // an entry of a later sync shows that others are missing
	clock   int64                 // the latest of any entry
}

// want reads the log as its format describes it.
func (d *tailDisk) want() tailWant {
	w := tailWant{touched: map[semel.Digest]bool{}, clock: tailNow}
	number, froms := d.number, [2]int64{d.used, segmentHeader}
	for i, seg := range d.segments {
		b := d.files[segmentName(seg.number)].now
		for {
			e, size := validAt(b[froms[i]:], seg.salt)
			if size == 0 || e.number != number+1 {
				break
			}
			number, w.touched[e.digest], w.clock = e.last(), true, max(w.clock, e.clock)
			if froms[i] += int64(padded(size)); e.kind == kindGap {
				froms[i] = min(tailSegment, froms[i]+min(tailSegment, max(0, e.clock)))
			}
		}
	}
	for i, seg := range d.segments {
		b := d.files[segmentName(seg.number)].now
		for at := froms[i]; at < tailSegment; at += entryAlign {
			if e, size := validAt(b[at:], seg.salt); size > 0 {
				w.damaged = w.damaged || e.sync() > number+1
				w.clock = max(w.clock, e.clock)
			}
		}
	}
	return w
}

// validAt returns the entry at the start of b, if it has the right sum, and its size.
func validAt(b []byte, salt uint32) (e entry, size int) {
	if size = entrySize(b); size == 0 || size > len(b) || crc32.Update(salt, castagnoli, b[8:size]) != binary.LittleEndian.Uint32(b[4:]) || !e.decode(bytes.Clone(b), salt) {
		return e, 0
	}
	return e, size
}

// open opens the log twice, and compares it with what must be there. In between it claims, with an entry as large as those
// of the tails: what was cut off must not continue it.
func (d *tailDisk) open(t *testing.T, w tailWant) {
	t.Helper()
	o := &Options{disk: d.powerDisk, segment: tailSegment, Now: func() time.Time { return time.UnixMilli(tailNow) }}
	for life := range 2 {
		s, err := Open(t.Context(), "sim", o)
		if life == 0 && w.damaged && errors.Is(err, errDamaged) {
			return
		}
		if w.damaged || err != nil {
			t.Fatalf("life %d: got error %v, want damage: %v", life, err, w.damaged)
		}
		if w.clock < tailExpires {
			d.compare(t, s, w.touched)
		}
		next := tailEntry(0, byte('z'-'a'))
		p := semel.ClaimParams{Digest: next.digest, Scope: "scope", Name: "z", Lease: time.Hour, Retention: time.Hour, Owner: semel.Owner{1}}
		rec, _, err := s.Claim(t.Context(), p)
		next.fence = uint64(rec.Fence)
		d.acked[next.digest] = next.record
		if err := errors.Join(err, s.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

// check wants a check to report what an opening refuses.
func (d *tailDisk) check(t *testing.T, w tailWant) {
	t.Helper()
	in := inspection{j: &journal{disk: d.powerDisk, name: "sim"}, segments: map[uint64]*segment{}, dirty: map[uint64]bool{}, saved: map[string]string{}}
	if err := errors.Join(in.open(), in.read(t.Context())); err != nil {
		t.Fatal(err)
	}
	if in.judge(); len(in.report.Damage) > 0 != w.damaged {
		t.Errorf("a check found %+v, damage is %v", in.report, w.damaged)
	}
}

func (d *tailDisk) compare(t *testing.T, s *Store, touched map[semel.Digest]bool) {
	t.Helper()
	for digest, want := range d.acked {
		got, err := s.Lookup(t.Context(), digest)
		if !touched[digest] && (err != nil || got.State != want.state || got.Fence != semel.Fence(want.fence) || !bytes.Equal(got.Outcome, want.outcome)) {
			t.Errorf("promise 2: got %v with %x, error %v, want %v with %x", got.State, got.Outcome, err, want.state, want.outcome)
		}
	}
	page, err := s.List(t.Context(), semel.ListParams{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range page.Records {
		digest := page.Records[i].Digest
		if _, acked := d.acked[digest]; !acked && !touched[digest] {
			t.Errorf("promise 3: record %v was invented", page.Records[i])
		}
	}
}

// tails are hostile, and harmless.
func tails() map[string][]byte {
	d := newTailDisk()
	salt := d.segments[0].salt
	encoded := func(b []byte, number uint64, back uint32, change func(*entry)) []byte {
		e := tailEntry(number, byte(number))
		if e.back = back; change != nil {
			change(&e)
		}
		return e.encode(b, salt)
	}
	two := encoded(encoded(nil, 7, 0, nil), 8, 1, nil)
	torn := slices.Clone(two)
	torn[entryHeader+60] ^= 1
	later := slices.Clone(torn)
	copy(later[len(later)/2:], encoded(nil, 8, 0, nil))
	gap := func(e *entry) { *e = entry{number: 7, clock: 1<<63 - 1, back: 1<<32 - 1, kind: kindGap} }
	return map[string][]byte{
		"nothing": nil, "another batch": two, "its first entry torn": torn, "one of a later batch": later,
		"a gap without an end": encoded(nil, 7, 0, gap),
		"the end of time":      encoded(nil, 7, 0, func(e *entry) { e.clock = 1<<63 - 1 }),
		"the last fence":       encoded(nil, 7, 0, func(e *entry) { e.fence = 1<<64 - 1 }),
		"a release":            encoded(nil, 7, 0, func(e *entry) { e.kind, e.digest = kindRelease, semel.Digest{1, 31: 1} }),
		"a record of before":   encoded(nil, 5, 0, nil),
		"a number too far":     encoded(nil, 9, 2, nil),
		"a huge size":          {0xff, 0xff, 0xff, 0x00, 1, 2, 3, 4, 5, 6, 7, 8},
		"half an entry":        two[:len(two)/4],
		"noise":                []byte(strings.Repeat("semellog", 300)),
	}
}

// FuzzRecovery: whatever bytes follow the last sync, in whichever segment, no acknowledged record is lost and none is
// invented (promises 2 and 3). A log is refused only when an entry of a later sync proves that one is missing.
func FuzzRecovery(f *testing.F) {
	for _, tail := range tails() {
		for i := range 4 {
			f.Add(tail, i&1 == 1, i&2 == 2)
		}
	}
	f.Fuzz(func(t *testing.T, tail []byte, second, sealed bool) {
		d := newTailDisk()
		d.write(tail, second, sealed)
		w := d.want()
		d.check(t, w)
		d.open(t, w)
	})
}

// Every kind of tail is met: a test of the fuzz target's own judgement.
func TestTails(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"nothing": "0 false", "another batch": "2 false", "its first entry torn": "0 false", "one of a later batch": "0 true", "a release": "1 false", "noise": "0 false",
	} {
		d := newTailDisk()
		d.write(tails()[name], false, false)
		w := d.want()
		if got := fmt.Sprint(len(w.touched), " ", w.damaged); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}

// seek finds an entry wherever it begins, even across the end of what is read at once, and the end of what follows it. A torn entry
// before it gives itself a size after which the bytes that were read end within a word.
func TestSeek(t *testing.T) {
	t.Parallel()
	e := tailEntry(1, 1)
	one := e.encode(nil, goldenSalt)
	end := bytes.LastIndexFunc(one, func(r rune) bool { return r != 0 })/entryAlign*entryAlign + entryAlign
	for _, at := range []int64{
		segmentHeader, 4096, 4096 + entryAlign, scanBytes - entryAlign, scanBytes, scanBytes + entryAlign, 2*scanBytes - 4096,
		segmentHeader + scanBytes - 3*entryAlign, segmentHeader + scanBytes, 3*scanBytes - int64(len(one)),
	} {
		b := make([]byte, 3*scanBytes)
		binary.LittleEndian.PutUint32(b[segmentHeader:], scanBytes+3)
		copy(b[at:], one)
		sc := scanner{at: segmentHeader, seg: &segment{salt: goldenSalt, bytes: int64(len(b)), f: &powerFile{d: newPowerDisk(), now: b}}}
		var found entry
		if ok, dirty, err := sc.seek(&found); !ok || err != nil || sc.at != at || found.digest != e.digest || dirty != at+entryAlign {
			t.Errorf("at %d: found %t at %d, dirty to %d, error %v", at, ok, sc.at, dirty, err)
		}
		sc.at += entryAlign
		if ok, dirty, err := sc.seek(&found); ok || err != nil || dirty != at+int64(end) {
			t.Errorf("after %d: found %t at %d, dirty to %d, want %d, error %v", at, ok, sc.at, dirty, at+int64(end), err)
		}
	}
}
