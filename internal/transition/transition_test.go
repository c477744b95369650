package transition_test

import (
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/transition"
)

// The table's states are those of package semel, number for number.
func TestStatesAgree(t *testing.T) {
	t.Parallel()
	for got, want := range map[transition.State]semel.State{
		transition.Absent: semel.StateAbsent, transition.Claimed: semel.StateClaimed, transition.Completed: semel.StateCompleted,
		transition.Released: semel.StateReleased, transition.Unknown: semel.StateUnknown, transition.Cancelled: semel.StateCancelled,
	} {
		if semel.State(got) != want {
			t.Errorf("state %d of the table is %v, want %v", got, semel.State(got), want)
		}
	}
}

func states() []transition.Record {
	return []transition.Record{
		{},
		{State: transition.Claimed, Fence: 7},
		{State: transition.Claimed, Fence: 7, Lapsed: true},
		{State: transition.Completed, Fence: 7},
		{State: transition.Unknown, Fence: 7},
		{State: transition.Cancelled, Fence: 7},
	}
}

// Promise 1: who wins a claim of what.
func TestClaim(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name     string
		takeOver uint64
		own      bool
		want     [6]transition.ClaimAnswer
	}{
		{"anybody", 0, false, [6]transition.ClaimAnswer{transition.Fresh}},
		{"the owner", 0, true, [6]transition.ClaimAnswer{transition.Fresh, transition.Repeated}},
		{"by its fence", 7, false, [6]transition.ClaimAnswer{transition.Fresh, transition.NotWon, transition.TakenOver, transition.NotWon, transition.TakenOver}},
		{"by another fence", 6, false, [6]transition.ClaimAnswer{transition.Fresh}},
		{"the owner, by its fence", 7, true, [6]transition.ClaimAnswer{transition.Fresh, transition.Repeated, transition.TakenOver, transition.NotWon, transition.TakenOver}},
	} {
		for i, rec := range states() {
			if got := transition.Claim(rec, test.takeOver, test.own); got != test.want[i] {
				t.Errorf("%s, of %+v: got %d, want %d", test.name, rec, got, test.want[i])
			}
		}
	}
}

// Promise 1: a former holder neither renews nor settles.
func TestFence(t *testing.T) {
	t.Parallel()
	for i, rec := range states() {
		if got, want := transition.Renew(rec, 7), i == 1 || i == 2; got != want {
			t.Errorf("renew of %+v: got %v, want %v", rec, got, want)
		}
		if transition.Renew(rec, 6) {
			t.Errorf("renew of %+v by another fence", rec)
		}
		for _, to := range []transition.State{transition.Completed, transition.Unknown, transition.Cancelled, transition.Released} {
			want := transition.Lost
			if i == 0 && to == transition.Released {
				want = transition.Nothing
			}
			if got := transition.Settle(rec, 6, to, true); got != want {
				t.Errorf("settle %+v as %d by another fence: got %d, want %d", rec, to, got, want)
			}
		}
	}
}

// Promise 2: what is settled for good stays.
func TestSettle(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		to   transition.State
		same bool
		want [6]transition.SettleAnswer
	}{
		{transition.Completed, true, [6]transition.SettleAnswer{transition.Lost, transition.Write, transition.Write, transition.Nothing, transition.Write, transition.Settled}},
		{transition.Completed, false, [6]transition.SettleAnswer{transition.Lost, transition.Write, transition.Write, transition.Settled, transition.Write, transition.Settled}},
		{transition.Unknown, true, [6]transition.SettleAnswer{transition.Lost, transition.Write, transition.Write, transition.Settled, transition.Nothing, transition.Settled}},
		{transition.Cancelled, true, [6]transition.SettleAnswer{transition.Lost, transition.Write, transition.Write, transition.Settled, transition.Write, transition.Nothing}},
		{transition.Released, false, [6]transition.SettleAnswer{transition.Nothing, transition.Remove, transition.Remove, transition.Settled, transition.Remove, transition.Settled}},
	} {
		for i, rec := range states() {
			if got := transition.Settle(rec, 7, test.to, test.same); got != test.want[i] {
				t.Errorf("settle %+v as %d (same: %v): got %d, want %d", rec, test.to, test.same, got, test.want[i])
			}
		}
	}
}

// Promises 2, 3 and 6: what a guard does about a record.
func TestDecide(t *testing.T) {
	t.Parallel()
	refuse, dedup := transition.Policy{Refuse: true}, transition.Policy{Dedup: true}
	for _, test := range []struct {
		met  transition.Found
		ways transition.Policy
		want transition.Decision
	}{
		{transition.Found{State: transition.Cancelled}, refuse, transition.SayCancelled},
		{transition.Found{State: transition.Claimed}, refuse, transition.SayMismatch},
		{transition.Found{State: transition.Completed, Kept: true}, refuse, transition.SayMismatch},
		{transition.Found{State: transition.Unknown}, transition.Policy{}, transition.SayMismatch},
		{transition.Found{State: transition.Claimed, Asked: true}, transition.Policy{}, transition.Wait},
		{transition.Found{State: transition.Completed, Asked: true, Kept: true}, refuse, transition.Replay},
		{transition.Found{State: transition.Completed, Asked: true}, refuse, transition.SayNotKept},
		{transition.Found{State: transition.Completed, Asked: true, Kept: true}, dedup, transition.SayDuplicate},
		{transition.Found{State: transition.Claimed, Lapsed: true, Asked: true}, refuse, transition.SayUnknown},
		{transition.Found{State: transition.Claimed, Lapsed: true, Asked: true, NeverRan: true}, refuse, transition.TakeOver},
		{transition.Found{State: transition.Claimed, Lapsed: true, Asked: true}, transition.Policy{}, transition.TakeOver},
		{transition.Found{State: transition.Unknown, Asked: true}, refuse, transition.SayUnknown},
		{transition.Found{State: transition.Unknown, Asked: true}, transition.Policy{}, transition.TakeOver},
	} {
		if got := transition.Decide(test.met, test.ways); got != test.want {
			t.Errorf("%+v under %+v: got %d, want %d", test.met, test.ways, got, test.want)
		}
	}
}

// Promise 9: a deadline has come at its very instant, and a holder gives up a
// tenth of its lease earlier.
func TestDeadlines(t *testing.T) {
	t.Parallel()
	until := transition.ClaimedAt(100, 30, 500)
	if want := (transition.Deadlines{Lapses: 130, Expires: 630}); until != want {
		t.Errorf("claimed: got %+v, want %+v", until, want)
	}
	if got, want := until.RenewedAt(110, 60), (transition.Deadlines{Lapses: 170, Expires: 670}); got != want {
		t.Errorf("renewed: got %+v, want %+v", got, want)
	}
	if got := transition.SettledAt(100, 500); got != 600 {
		t.Errorf("settled: got %d, want 600", got)
	}
	for now, want := range map[int64]bool{629: false, 630: true, 631: true} {
		if transition.Reached(now, until.Expires) != want || transition.Sweepable(now, until.Expires) != want {
			t.Errorf("at %d a record that expires at 630 must be absent, and may be swept: %v", now, want)
		}
	}
	if got := transition.Trusted(30 * time.Second); got != 27*time.Second {
		t.Errorf("a lease of 30 s is relied on for %v, want 27 s", got)
	}
}
