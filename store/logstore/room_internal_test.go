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

// Promise 8: what the holders of claims write last leaves room to remove what expired.
func TestFullOfRenewals(t *testing.T) {
	t.Parallel()
	clock := &claimtest.Clock{}
	s := openOn(t, newPowerDisk(), Options{Now: clock.Now, MaxBytes: 4 * powerSegment})
	var held semel.Record
	for i := 0; ; i++ {
		rec, _, err := s.Claim(t.Context(), claimtest.Params(fmt.Sprint("k", i)))
		if errors.Is(err, semel.ErrFull) {
			break
		}
		claimtest.NoError(t, err)
		held = rec
	}
	for err := error(nil); err == nil; {
		err = s.Renew(t.Context(), held.Digest, held.Fence, time.Minute)
	}
	clock.Advance(1000 * claimtest.Retention)
	claimtest.NoError(t, s.expire())
	claimtest.Wins(t, s, claimtest.Params("room again"))
	claimtest.NoError(t, s.Close())
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
