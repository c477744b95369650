package logstore

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/claimtest"
)

// slowDisk holds up the making of one segment the second time.
type slowDisk struct {
	*powerDisk

	name    string
	mu      sync.Mutex // guards made
	made    int
	begun   chan struct{}
	proceed chan struct{}
}

func (d *slowDisk) create(name string) (file, error) {
	if name == d.name {
		d.mu.Lock()
		d.made++
		second := d.made == 2
		d.mu.Unlock()
		if second {
			close(d.begun)
			<-d.proceed
		}
	}
	return d.powerDisk.create(name)
}

// Promise 2: a segment that is made anew, because an answer does not fit into the one that is there, takes no entries along.
func TestLargerSegment(t *testing.T) {
	t.Parallel()
	d := &slowDisk{powerDisk: newPowerDisk(), name: segmentName(2) + newSuffix, begun: make(chan struct{}), proceed: make(chan struct{})}
	s, err := Open(t.Context(), "sim", &Options{disk: d, segment: powerSegment})
	claimtest.NoError(t, err)
	var recs []semel.Record
	complete := func(bytes int) {
		rec := claimtest.Wins(t, s, claimtest.Params(fmt.Sprint("k", len(recs))))
		claimtest.Settles(t, s, rec, claimtest.Completed(strings.Repeat("x", bytes)))
		recs = append(recs, rec)
	}
	ahead := func() bool {
		s.log.mu.Lock()
		defer s.log.mu.Unlock()
		return s.log.next != nil
	}
	for !ahead() {
		complete(100)
	}
	large := claimtest.Wins(t, s, claimtest.Params("large"))
	var wg sync.WaitGroup
	wg.Go(func() { claimtest.Settles(t, s, large, claimtest.Completed(strings.Repeat("y", 2*powerSegment))) })
	<-d.begun
	var small semel.Record
	wg.Go(func() { // fills what is left
		for i := range powerSegment / 256 {
			small = claimtest.Wins(t, s, claimtest.Params(fmt.Sprint("small", i)))
			claimtest.Settles(t, s, small, claimtest.Completed(strings.Repeat("x", 100)))
		}
	})
	for full := false; !full; runtime.Gosched() { // it goes on in the small segment, or waits for the large one
		s.log.mu.Lock()
		full = s.log.current.number > 1 || s.log.next == nil && s.log.current.bytes-s.log.current.used < powerSegment/8
		s.log.mu.Unlock()
	}
	close(d.proceed)
	wg.Wait()
	recs = append(recs, small, large)
	after := d.cut(rand.New(rand.NewPCG(1, 1)))
	_ = s.Close()
	again := openOn(t, after, Options{})
	for _, rec := range recs {
		claimtest.WantFound(t, again, rec.Digest, semel.StateCompleted)
	}
	claimtest.NoError(t, again.Close())
}

// Promise 8: what the holders of claims write last on a full disk leaves room to remove what expired.
func TestFullOfRenewals(t *testing.T) {
	t.Parallel()
	clock := &claimtest.Clock{}
	d := newPowerDisk()
	d.room = 4 * powerSegment
	s := openOn(t, d, Options{Now: clock.Now})
	records := fillUp(t, s, func(int, semel.Record) bool { return true })
	renewUntilFull(t, s, records[len(records)-1])
	clock.Advance(1000 * claimtest.Retention)
	claimtest.NoError(t, s.expire())
	claimtest.Wins(t, s, claimtest.Params("room again"))
	claimtest.NoError(t, s.Close())
}

// fillUp claims until the store is full, and returns the records. It completes each that open does not keep.
func fillUp(t *testing.T, s *Store, open func(i int, rec semel.Record) bool) (records []semel.Record) {
	t.Helper()
	for i := 0; ; i++ {
		rec, _, err := s.Claim(t.Context(), claimtest.Params(fmt.Sprint("k", i)))
		if errors.Is(err, semel.ErrFull) {
			return records
		}
		claimtest.NoError(t, err)
		records = append(records, rec)
		if !open(i, rec) {
			claimtest.Settles(t, s, rec, claimtest.Completed(strings.Repeat("x", 200)))
		}
	}
}

func renewUntilFull(t *testing.T, s *Store, rec semel.Record) {
	t.Helper()
	err := error(nil)
	for err == nil {
		err = s.Renew(t.Context(), rec.Digest, rec.Fence, time.Minute)
	}
	claimtest.WantErr(t, "", err, semel.ErrFull)
}

// keepLong completes a record that lives longer than the test.
func keepLong(t *testing.T, s *Store, rec semel.Record, bytes int) bool {
	t.Helper()
	to := claimtest.Completed(strings.Repeat("x", bytes))
	to.Retention = 1000 * claimtest.Retention
	claimtest.Settles(t, s, rec, to)
	return true
}

// Promise 8: a log at its bound settles claims in flight with their answers, and has room again when most of it has
// expired, although a few records in its oldest segment have not.
func TestFullWithLongLived(t *testing.T) {
	t.Parallel()
	clock := &claimtest.Clock{}
	s := openOn(t, newPowerDisk(), Options{Now: clock.Now, MaxBytes: 4 * powerSegment})
	const inFlight = 3
	records := fillUp(t, s, func(i int, rec semel.Record) bool { return i < inFlight || i%10 == 0 && keepLong(t, s, rec, 200) })
	for _, rec := range records[:inFlight] {
		claimtest.Settles(t, s, rec, claimtest.Completed(strings.Repeat("x", 1000)))
	}
	clock.Advance(2 * claimtest.Retention)
	claimtest.NoError(t, s.expire())
	claimtest.Wins(t, s, claimtest.Params("room again"))
	for i := 10; i < len(records); i += 10 {
		claimtest.WantFound(t, s, records[i].Digest, semel.StateCompleted)
	}
	claimtest.NoError(t, s.Close())
}

// Promise 8: an expiry that has no room for the copies of what lives copies nothing: it would fill the rest for nothing.
func TestNoRoomToCopy(t *testing.T) {
	t.Parallel()
	clock := &claimtest.Clock{}
	s := openOn(t, newPowerDisk(), Options{Now: clock.Now, segment: 4 * powerSegment, MaxBytes: 5 * 4 * powerSegment})
	records := fillUp(t, s, func(i int, rec semel.Record) bool { return i == 0 || s.log.end()[0] == 1 && keepLong(t, s, rec, 5000) })
	renewUntilFull(t, s, records[0])
	clock.Advance(2 * claimtest.Retention)
	before := s.log.end()
	claimtest.NoError(t, s.expire())
	if after := s.log.end(); after != before {
		t.Errorf("the log ended at %v, and ends at %v", before, after)
	}
	clock.Advance(2000 * claimtest.Retention)
	claimtest.NoError(t, s.expire())
	claimtest.Wins(t, s, claimtest.Params("room again"))
	claimtest.NoError(t, s.Close())
}

// Promise 8: segments grow to an eighth of the bound, so that one that expires makes room long before all have.
func TestBoundedSegments(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	for _, c := range []struct {
		current, bound, entry, want int64
	}{
		{firstSegment, 0, 100, 8 * mib},
		{maxSegment, 0, 100, maxSegment},
		{firstSegment, 8 * mib, 100, 4 * mib},
		{8 * mib, 100 * mib, 100, 100 * mib / 8 &^ 4095},
		{maxSegment, 1 << 40, 100, maxSegment},
		{4 * mib, 8 * mib, maxOutcomeBytes, 32 * mib},
		{8 * mib, 100*mib + 7, maxOutcomeBytes, 2 * (100 * mib / 8 &^ 4095)},
	} {
		j := journal{maxBytes: c.bound, current: &segment{bytes: c.current}}
		if got := j.nextBytes(c.entry); got != c.want || got%segmentHeader != 0 {
			t.Errorf("after a segment of %d with bound %d, for an entry of %d: got %d, want %d", c.current, c.bound, c.entry, got, c.want)
		}
	}
}

// Promise 8: a log that is full of open claims is not copied for ever.
func TestManyClaims(t *testing.T) {
	t.Parallel()
	s := openOn(t, newPowerDisk(), Options{})
	for i := range 400 {
		claimtest.Wins(t, s, claimtest.Params(fmt.Sprint("k", i)))
	}
	before := s.log.end()
	for range 5 {
		claimtest.NoError(t, s.expire())
	}
	if after := s.log.end(); after[0] > before[0] {
		t.Errorf("the log ended in segment %d, and ends in %d", before[0], after[0])
	}
	claimtest.NoError(t, s.Close())
}

// Promise 8: a few records that are kept long do not keep a segment, however old the log is.
func TestOldLog(t *testing.T) {
	t.Parallel()
	clock := &claimtest.Clock{}
	d := newPowerDisk()
	s := openOn(t, d, Options{Now: clock.Now})
	clock.Advance(1000 * 24 * time.Hour)
	for i := range 400 {
		rec := claimtest.Wins(t, s, claimtest.Params(fmt.Sprint("k", i)))
		to := claimtest.Completed(strings.Repeat("x", 300))
		if to.Retention = time.Minute; i%40 == 0 {
			to.Retention = 100 * 24 * time.Hour
		}
		claimtest.Settles(t, s, rec, to)
	}
	clock.Advance(24 * time.Hour)
	claimtest.NoError(t, s.expire())
	if names, _ := d.names(); len(names) > 4 {
		t.Errorf("the log has %d segments", len(names))
	}
	claimtest.NoError(t, s.Close())
}

// A crash between the copy of a record and the removal of its segment leaves two of them: they are one record.
func TestCopiedTwice(t *testing.T) {
	t.Parallel()
	clock := &claimtest.Clock{}
	d := newPowerDisk()
	s := openOn(t, d, Options{Now: clock.Now})
	rec := claimtest.Wins(t, s, claimtest.Params("kept"))
	to := claimtest.Completed("kept")
	to.Retention = 1000 * time.Hour
	claimtest.Settles(t, s, rec, to)
	sh := s.shard(&rec.Digest)
	var there place
	sh.table.find(digestPath(&rec.Digest), func(p place) bool { there = p; return true })
	e, err := s.log.read(there)
	claimtest.NoError(t, err)
	claimtest.NoError(t, s.log.durably(&entry{kind: kindRecord, clock: s.clock.read(), record: e.record})) // as copier.try does
	claimtest.NoError(t, s.Close())
	s = openOn(t, d, Options{Now: clock.Now})
	if n, err := s.Count(t.Context()); n != 1 || err != nil {
		t.Errorf("got %d records, error %v", n, err)
	}
	claimtest.Lists(t, s, 1)
	claimtest.NoError(t, s.Close())
}
