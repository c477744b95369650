package lease_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/semel-dev/semel/internal/lease"
)

// A claim's clock beats every third of a lease, trusts it from the start of the call, and bounds the work.
func TestClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		c := lease.Clock[int]{Began: began, Lease: 30 * time.Second, MaxRun: time.Minute}
		beats := make(chan time.Duration, 9)
		c.Start(&lease.Beats{}, 15*time.Second, beater(func() { beats <- time.Since(began) }))
		if at := <-beats; at != 5*time.Second {
			t.Errorf("it beats after %v, want a third of what is left", at)
		}
		expect(t, &c, lease.Renewal, began.Add(12*time.Second)) // nine tenths of a lease, less the half that was over
		c.Renewed(began.Add(4 * time.Second))
		if at := <-beats; at != 14*time.Second {
			t.Errorf("it beats again at %v, want a third of a lease after the call", at)
		}
		expect(t, &c, lease.Renewal, began.Add(31*time.Second))
		c.Renewed(began.Add(55 * time.Second))
		if at := <-beats; at != time.Minute {
			t.Errorf("it beats at %v, want at the end of the work", at)
		}
		expect(t, &c, lease.Overrun, time.Time{})
	})
}

// A settlement ends the heartbeat, and detached work goes on until its bound.
func TestClockAfterTheSettlement(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		c := lease.Clock[int]{Began: began, Lease: time.Hour, MaxRun: time.Minute}
		beats := make(chan time.Duration, 9)
		c.Start(&lease.Beats{}, time.Hour, beater(func() { beats <- time.Since(began) }))
		work := new(int)
		if got := c.Detach(work); got != work {
			t.Errorf("detached as %p, want %p", got, work)
		}
		if got := c.Detach(new(int)); got != work {
			t.Errorf("detached again as %p, want %p", got, work)
		}
		if !c.Settle(time.Second) || c.Settle(time.Second) || c.Open() {
			t.Error("one settlement can begin, and only one")
		}
		expect(t, &c, lease.Nothing, time.Time{}) // as a beat finds it that was under way when the settlement began
		if at := <-beats; at != time.Second {
			t.Errorf("the settlement has %v, want its time-out", at)
		}
		expect(t, &c, lease.Silence, time.Time{})
		if first, detached := c.End(); !first || !detached {
			t.Error("the first end is not the first, or its work is not detached")
		}
		if first, _ := c.End(); first {
			t.Error("the second end passes for the first")
		}
		c.Stop() // the bound of the work goes on
		if at := <-beats; at != time.Minute {
			t.Errorf("detached work has %v, want its bound", at)
		}
		expect(t, &c, lease.DetachedOverrun, time.Time{})
		if !c.Return() {
			t.Error("the claim of the work that returned is not settled")
		}
		expect(t, &c, lease.Nothing, time.Time{})
		if got := c.Detach(work); got != nil {
			t.Error("work is detached after the settlement")
		}
	})
}

func expect(t *testing.T, c *lease.Clock[int], due lease.Due, trusted time.Time) {
	t.Helper()
	if gotDue, gotTrusted := c.Due(); gotDue != due || !gotTrusted.Equal(trusted) {
		t.Errorf("due %d, trusted until %v; want %d, %v", gotDue, gotTrusted, due, trusted)
	}
}

type beater func()

func (b beater) Beat() { b() }
