package logstore

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/claimtest"
)

func openOn(t *testing.T, d *powerDisk, o Options) *Store {
	t.Helper()
	o.disk = d
	if o.segment == 0 {
		o.segment = powerSegment
	}
	s, err := Open(t.Context(), "sim", &o)
	claimtest.NoError(t, err)
	return s
}

// Promises 7 and 10: after a failed sync the contents of the disk are unknown. The store ends: waiting verbs and all later ones
// return the error.
func TestFailedSync(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(*powerDisk){
		"sync fails":           func(d *powerDisk) { d.syncErr = syscall.EIO },
		"write stops half-way": func(d *powerDisk) { d.short = true },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newPowerDisk()
			s := openOn(t, d, Options{})
			rec := claimtest.Wins(t, s, claimtest.Params("before"))
			claimtest.NoError(t, s.Health())
			d.mu.Lock()
			fail(d)
			d.mu.Unlock()
			var wg sync.WaitGroup
			for i := range 20 {
				wg.Go(func() {
					if _, won, err := s.Claim(t.Context(), claimtest.Params(fmt.Sprint("k", i%5))); won || err == nil {
						t.Errorf("promise 10: a claim was won (%v) without a sync, error %v", won, err)
					}
				})
			}
			wg.Wait()
			_, lookup := s.Lookup(t.Context(), rec.Digest)
			_, list := s.List(t.Context(), semel.ListParams{})
			for verb, err := range map[string]error{
				"lookup": lookup, "list": list, "health": s.Health(),
				"renew":  s.Renew(t.Context(), rec.Digest, rec.Fence, time.Hour),
				"settle": s.Settle(t.Context(), rec.Digest, rec.Fence, claimtest.Completed("x")),
			} {
				claimtest.Words(t, err, "write the log", "start this program again")
				if errors.Is(err, semel.ErrLost) || errors.Is(err, semel.ErrNotFound) {
					t.Errorf("%s: %v looks like an answer", verb, err)
				}
			}
			_ = s.Close()
			d.mu.Lock()
			d.syncErr, d.short = nil, false
			d.mu.Unlock()
			again := openOn(t, d.cut(rand.New(rand.NewPCG(1, 1))), Options{})
			claimtest.WantFound(t, again, rec.Digest, semel.StateClaimed)
			claimtest.NoError(t, again.Close())
		})
	}
}

// Promise 8: on a full disk new intents are refused, held claims can still be settled, and everything goes on when there
// is room.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	clock := &claimtest.Clock{}
	d := newPowerDisk()
	d.room = 3*powerSegment + 2*manifestSlot
	s := openOn(t, d, Options{Now: clock.Now})
	var held []semel.Record
	var full error
	for i := 0; full == nil; i++ {
		rec, won, err := s.Claim(t.Context(), claimtest.Params(fmt.Sprint("k", i)))
		if err == nil && won {
			held = append(held, rec)
		}
		full = err
	}
	claimtest.WantErr(t, "", full, semel.ErrFull)
	claimtest.Words(t, full, "free space on the disk")
	big := claimtest.Completed(strings.Repeat("x", 2000))
	claimtest.WantErr(t, "an answer that does not fit: ", s.Settle(t.Context(), held[0].Digest, held[0].Fence, big), semel.ErrFull)
	claimtest.WantFound(t, s, held[0].Digest, semel.StateClaimed)
	claimtest.Settles(t, s, held[0], semel.Settlement{State: semel.StateCompleted, Retention: time.Hour})
	claimtest.Settles(t, s, held[1], semel.Settlement{State: semel.StateReleased})
	claimtest.NoError(t, s.Renew(t.Context(), held[2].Digest, held[2].Fence, time.Hour))

	d.mu.Lock()
	d.room = 0
	d.mu.Unlock()
	for err := full; err != nil; { // attempts to make a segment are spaced out
		if _, _, err = s.Claim(t.Context(), claimtest.Params("room again")); err != nil && !errors.Is(err, semel.ErrFull) {
			t.Fatal(err)
		}
	}
	claimtest.Settles(t, s, held[3], big)
	claimtest.NoError(t, s.Close())
	s = openOn(t, d, Options{Now: clock.Now})
	for _, rec := range held[4:] {
		claimtest.WantFound(t, s, rec.Digest, semel.StateClaimed)
	}
	claimtest.WantFound(t, s, held[0].Digest, semel.StateCompleted)
	claimtest.WantGone(t, s, held[1].Digest)
	claimtest.NoError(t, s.Close())
}

// A new log on a full disk is refused, leaves nothing behind, and is made when there is room.
func TestNewOnFullDisk(t *testing.T) {
	t.Parallel()
	d := newPowerDisk()
	d.room = powerSegment / 2
	_, err := Open(t.Context(), "sim", &Options{disk: d, segment: powerSegment})
	claimtest.Words(t, err, "sim", "no space left on device", "free space on the disk")
	if names, _ := d.names(); len(names) > 0 {
		t.Errorf("the files %v are left", names)
	}
	d.room = 0
	claimtest.NoError(t, openOn(t, d, Options{}).Close())
}

// Promise 8: the bound of the log is its files; when what is in them has expired there is room again.
func TestMaxBytes(t *testing.T) {
	t.Parallel()
	clock := &claimtest.Clock{}
	d := newPowerDisk()
	s := openOn(t, d, Options{Now: clock.Now, MaxBytes: 4 * powerSegment})
	n := 0
	for ; ; n++ {
		rec, _, err := s.Claim(t.Context(), claimtest.Params(fmt.Sprint("k", n)))
		if errors.Is(err, semel.ErrFull) {
			claimtest.Words(t, err, "reached its bound of 65536", "semel_max_bytes", "shorten the retention")
			break
		}
		claimtest.NoError(t, err)
		claimtest.Settles(t, s, rec, claimtest.Completed("x"))
		if n > 1000 {
			t.Fatal("the log has no bound")
		}
	}
	clock.Advance(2 * claimtest.Retention)
	claimtest.NoError(t, s.expire())
	for i := range n {
		claimtest.Wins(t, s, claimtest.Params(fmt.Sprint("k", i)))
		if i > n/2 {
			break
		}
	}
	claimtest.NoError(t, s.Close())
}

// Promise 8: what is in memory has a bound.
func TestMaxOpen(t *testing.T) {
	t.Parallel()
	s := openOn(t, newPowerDisk(), Options{MaxOpen: 2})
	first := claimtest.Wins(t, s, claimtest.Params("a"))
	claimtest.Wins(t, s, claimtest.Params("b"))
	_, _, err := s.Claim(t.Context(), claimtest.Params("c"))
	claimtest.WantErr(t, "", err, semel.ErrFull)
	claimtest.Words(t, err, "Options.MaxOpen")
	claimtest.Settles(t, s, first, claimtest.Completed("x"))
	claimtest.Wins(t, s, claimtest.Params("c"))
	claimtest.NoError(t, s.Close())
}

// Promises 2 and 3: one flipped bit, wherever it is, is refused, or changes nothing.
func TestFlipAnywhere(t *testing.T) {
	t.Parallel()
	clock := &claimtest.Clock{}
	d := newPowerDisk()
	o := Options{Now: clock.Now, segment: 8 << 10}
	s := openOn(t, d, o)
	var records []semel.Record
	for i := range 60 {
		records = append(records, claimtest.Wins(t, s, claimtest.Params(fmt.Sprint("k", i))))
		claimtest.Settles(t, s, records[i], claimtest.Completed(strings.Repeat("x", 3*i)))
	}
	claimtest.NoError(t, s.Close())
	rng := rand.New(rand.NewPCG(rand.Uint64(), 1))
	refused := 0
	for range 300 {
		flipped := d.cut(rng)
		for _, f := range flipped.files {
			if rng.IntN(len(flipped.files)) == 0 {
				f.now[rng.IntN(len(f.now))] ^= 1 << rng.IntN(8)
			}
		}
		o.disk = flipped
		s, err := Open(t.Context(), "sim", &o)
		if err != nil {
			refused++
			claimtest.WantErr(t, "", err, errDamaged)
			continue
		}
		for i, rec := range records {
			got, err := s.Lookup(t.Context(), rec.Digest)
			if err != nil || got.State != semel.StateCompleted || len(got.Outcome) != 3*i {
				t.Errorf("promise 2: after a flip record %d is %v with %d bytes, error %v", i, got.State, len(got.Outcome), err)
			}
		}
		claimtest.NoError(t, s.Close())
	}
	if refused == 0 {
		t.Error("no flip was noticed: the test showed nothing")
	}
}

// What lives is copied out of segments that go, in whatever state it is, and a log does not grow without bound.
func TestExpiry(t *testing.T) {
	t.Parallel()
	clock := &claimtest.Clock{}
	d := newPowerDisk()
	s := openOn(t, d, Options{Now: clock.Now})
	long := map[string]semel.Record{}
	for name, to := range map[string]semel.Settlement{
		"claimed": {}, "completed": claimtest.Completed("kept"), "cancelled": {State: semel.StateCancelled}, "unknown": {State: semel.StateUnknown, Note: "why", Outcome: []byte("part")},
	} {
		p := claimtest.Params(name)
		p.Retention = 1000 * claimtest.Retention
		rec := claimtest.Wins(t, s, p)
		if to.State != semel.StateAbsent {
			to.Retention = p.Retention
			claimtest.Settles(t, s, rec, to)
		}
		found, err := s.Lookup(t.Context(), rec.Digest)
		claimtest.NoError(t, err)
		long[name] = found
	}
	for day := range 20 {
		for i := range 50 {
			rec := claimtest.Wins(t, s, claimtest.Params(fmt.Sprint(day, "/", i)))
			claimtest.Settles(t, s, rec, claimtest.Completed(strings.Repeat("x", 300)))
		}
		clock.Advance(claimtest.Retention)
		claimtest.NoError(t, s.expire())
		if names, _ := d.names(); len(names) > 8 {
			t.Fatalf("day %d: the log has %d segments", day, len(names))
		}
		if day%5 == 4 {
			claimtest.NoError(t, s.Close())
			s = openOn(t, d, Options{Now: clock.Now})
		}
		for name, want := range long {
			got, err := s.Lookup(t.Context(), want.Digest)
			got.ReadAt, want.ReadAt = time.Time{}, time.Time{}
			if err != nil || got.Fence != want.Fence || got.State != want.State || !bytes.Equal(got.Outcome, want.Outcome) || got.Note != want.Note || got.ExpiresAt != want.ExpiresAt {
				t.Fatalf("day %d: %s is %+v, error %v, want %+v", day, name, got, err, want)
			}
		}
	}
	if n, err := s.Count(t.Context()); err != nil || n > 200 {
		t.Errorf("got %d records, error %v", n, err)
	}
	claimtest.Lists(t, s, 4)
	claimtest.NoError(t, s.Close())
}

// A log of a later version is left alone.
func TestFutureFormat(t *testing.T) {
	t.Parallel()
	d := newPowerDisk()
	s := openOn(t, d, Options{})
	claimtest.Wins(t, s, claimtest.Params("k"))
	claimtest.NoError(t, s.Close())
	f := d.files[segmentName(1)]
	for _, at := range headerCopies() {
		h := f.now[at : at+52]
		h[8]++
		binary.LittleEndian.PutUint32(h[48:], crc32.Checksum(h[:48], castagnoli))
	}
	before := bytes.Clone(f.now)
	_, err := Open(t.Context(), "sim", &Options{disk: d})
	claimtest.Words(t, err, "format 2", "upgrade")
	if !bytes.Equal(before, f.now) {
		t.Error("it was changed")
	}
}

// Promise 2: digests with the same hash are two intents, completed ones too.
func TestSameHash(t *testing.T) {
	t.Parallel()
	a, b := claimtest.Params("a"), claimtest.Params("b")
	b.Digest = a.Digest
	b.Digest[0] ^= 1
	// The last word of a digest is mixed in last: choose it so that it undoes the difference.
	mixed := func(d semel.Digest) uint64 {
		clear(d[24:])
		return unmix(hash(&d))
	}
	word := binary.LittleEndian.Uint64(a.Digest[24:]) ^ mixed(a.Digest) ^ mixed(b.Digest)
	binary.LittleEndian.PutUint64(b.Digest[24:], word)
	if hash(&a.Digest) != hash(&b.Digest) {
		t.Fatal("the digests have different hashes")
	}
	s := openOn(t, newPowerDisk(), Options{})
	claimtest.Settles(t, s, claimtest.Wins(t, s, a), claimtest.Completed("a"))
	claimtest.WantGone(t, s, b.Digest)
	claimtest.Settles(t, s, claimtest.Wins(t, s, b), claimtest.Completed("b"))
	for want, p := range map[string]semel.ClaimParams{"a": a, "b": b} {
		if rec, err := s.Lookup(t.Context(), p.Digest); err != nil || string(rec.Outcome) != want {
			t.Errorf("promise 2: got %q, error %v, want %q", rec.Outcome, err, want)
		}
	}
	claimtest.NoError(t, s.Close())
}

// unmix undoes the end of hash.
func unmix(h uint64) uint64 {
	h ^= h>>29 ^ h>>58
	inverse := uint64(1) // of the odd factor, modulo 2^64
	for range 6 {
		inverse *= 2 - 0x9E3779B97F4A7C15*inverse
	}
	h *= inverse
	return h ^ h>>32
}

// Promise 9: a clock that is set back neither shortens leases nor brings back what has expired, in a life or between two.
func TestClockSetBack(t *testing.T) {
	t.Parallel()
	clock := &claimtest.Clock{}
	d := newPowerDisk()
	s := openOn(t, d, Options{Now: clock.Now})
	short := claimtest.Params("short")
	short.Lease, short.Retention = time.Minute, time.Minute
	claimtest.Wins(t, s, short)
	clock.Advance(2 * time.Minute)
	held := claimtest.Wins(t, s, claimtest.Params("held"))
	for life := range 3 {
		clock.Advance(-time.Hour)
		claimtest.WantGone(t, s, short.Digest)
		rec, err := s.Lookup(t.Context(), held.Digest)
		if err != nil || rec.ReadAt.Before(held.ClaimedAt) || rec.LeaseUntil != held.LeaseUntil {
			t.Errorf("life %d: promise 9: at %v, leased until %v, error %v", life, rec.ReadAt, rec.LeaseUntil, err)
		}
		clock.Advance(time.Minute)
		later, err := s.Lookup(t.Context(), held.Digest)
		if err != nil || later.ReadAt.Sub(rec.ReadAt) != time.Minute {
			t.Errorf("life %d: a minute took %v, error %v", life, later.ReadAt.Sub(rec.ReadAt), err)
		}
		claimtest.Wins(t, s, claimtest.Params(fmt.Sprint("life", life))) // notes the time
		claimtest.NoError(t, s.Close())
		s = openOn(t, d, Options{Now: clock.Now})
	}
	claimtest.NoError(t, s.Close())
}

// Promise 7: a record that is not on the disk yet is shown to no caller.
func TestNotDurableYet(t *testing.T) {
	t.Parallel()
	d := newPowerDisk()
	s := openOn(t, d, Options{})
	p := claimtest.Params("k")
	d.mu.Lock() // the disk hangs
	claimed := make(chan error, 1)
	go func() {
		_, _, err := s.Claim(t.Context(), p)
		claimed <- err
	}()
	for n := int64(0); n == 0; n = s.opened.Load() {
		runtime.Gosched()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := s.Lookup(ctx, p.Digest)
	_, won, claimErr := s.Claim(ctx, claimtest.By(2, p))
	if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(claimErr, context.DeadlineExceeded) || won {
		t.Errorf("promise 7: before the sync: got %v and %v, want to wait", err, claimErr)
	}
	d.mu.Unlock()
	claimtest.NoError(t, <-claimed)
	claimtest.WantFound(t, s, p.Digest, semel.StateClaimed)
	claimtest.NoError(t, s.Close())
}

// Promise 2: what followed an interrupted sync does not come back behind the entries of the next life, whose numbers it has.
func TestInterruptedSyncIsErased(t *testing.T) {
	t.Parallel()
	d := newPowerDisk()
	s := openOn(t, d, Options{})
	claimtest.Wins(t, s, claimtest.Params("k0"))
	seg, at, number := s.log.current, s.log.current.used, s.log.number
	var b []byte
	for i, name := range []string{"k1", "k2"} {
		p := claimtest.Params(name)
		e := entry{kind: kindRecord, number: number + 1 + uint64(i), back: uint32(i), clock: s.clock.read()}
		e.claim(&p, e.clock)
		b = e.encode(b, seg.salt)
	}
	b[100] ^= 1 // the first is torn, the second is whole
	kill := func() {
		killed := d.cut(rand.New(rand.NewPCG(1, 1)))
		claimtest.NoError(t, s.Close())
		d = killed
	}
	kill()
	copy(d.files[segmentName(1)].now[at:], b)
	s = openOn(t, d, Options{})
	claimtest.Wins(t, s, claimtest.Params("k3"))
	kill()
	s = openOn(t, d, Options{})
	claimtest.WantGone(t, s, claimtest.Params("k1").Digest)
	claimtest.WantGone(t, s, claimtest.Params("k2").Digest)
	claimtest.WantFound(t, s, claimtest.Params("k3").Digest, semel.StateClaimed)
	claimtest.NoError(t, s.Close())
}
