package machine_test

import (
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/machine"
)

// The table's states are those of package semel, number for number.
func TestStatesAgree(t *testing.T) {
	t.Parallel()
	for got, want := range map[machine.State]semel.State{
		machine.Absent: semel.StateAbsent, machine.Claimed: semel.StateClaimed, machine.Completed: semel.StateCompleted,
		machine.Released: semel.StateReleased, machine.Unknown: semel.StateUnknown, machine.Cancelled: semel.StateCancelled,
	} {
		if semel.State(got) != want {
			t.Errorf("state %d of the table is %v, want %v", got, semel.State(got), want)
		}
	}
}

func states() []machine.Record {
	return []machine.Record{
		{},
		{State: machine.Claimed, Fence: 7},
		{State: machine.Claimed, Fence: 7, Lapsed: true},
		{State: machine.Completed, Fence: 7},
		{State: machine.Unknown, Fence: 7},
		{State: machine.Cancelled, Fence: 7},
	}
}

// Promise 1: who wins a claim of what.
func TestClaim(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name     string
		takeOver uint64
		own      bool
		want     [6]machine.ClaimAnswer
	}{
		{"anybody", 0, false, [6]machine.ClaimAnswer{machine.Fresh}},
		{"the owner", 0, true, [6]machine.ClaimAnswer{machine.Fresh, machine.Repeated}},
		{"by its fence", 7, false, [6]machine.ClaimAnswer{machine.Fresh, machine.Stands, machine.TakenOver, machine.Stands, machine.TakenOver}},
		{"by another fence", 6, false, [6]machine.ClaimAnswer{machine.Fresh}},
		{"the owner, by its fence", 7, true, [6]machine.ClaimAnswer{machine.Fresh, machine.Repeated, machine.TakenOver, machine.Stands, machine.TakenOver}},
	} {
		for i, rec := range states() {
			if got := machine.Claim(rec, test.takeOver, test.own); got != test.want[i] {
				t.Errorf("%s, of %+v: got %d, want %d", test.name, rec, got, test.want[i])
			}
		}
	}
}

// Promise 1: a former holder neither renews nor settles.
func TestFence(t *testing.T) {
	t.Parallel()
	for i, rec := range states() {
		if got, want := machine.Renew(rec, 7), i == 1 || i == 2; got != want {
			t.Errorf("renew of %+v: got %v, want %v", rec, got, want)
		}
		if machine.Renew(rec, 6) {
			t.Errorf("renew of %+v by another fence", rec)
		}
		for _, to := range []machine.State{machine.Completed, machine.Unknown, machine.Cancelled, machine.Released} {
			want := machine.Lost
			if i == 0 && to == machine.Released {
				want = machine.Nothing
			}
			if got := machine.Settle(rec, 6, to, true); got != want {
				t.Errorf("settle %+v as %d by another fence: got %d, want %d", rec, to, got, want)
			}
		}
	}
}

// Promise 2: what is settled for good stays.
func TestSettle(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		to   machine.State
		same bool
		want [6]machine.SettleAnswer
	}{
		{machine.Completed, true, [6]machine.SettleAnswer{machine.Lost, machine.Write, machine.Write, machine.Nothing, machine.Write, machine.Settled}},
		{machine.Completed, false, [6]machine.SettleAnswer{machine.Lost, machine.Write, machine.Write, machine.Settled, machine.Write, machine.Settled}},
		{machine.Unknown, true, [6]machine.SettleAnswer{machine.Lost, machine.Write, machine.Write, machine.Settled, machine.Nothing, machine.Settled}},
		{machine.Cancelled, true, [6]machine.SettleAnswer{machine.Lost, machine.Write, machine.Write, machine.Settled, machine.Write, machine.Nothing}},
		{machine.Released, false, [6]machine.SettleAnswer{machine.Nothing, machine.Remove, machine.Remove, machine.Settled, machine.Remove, machine.Settled}},
	} {
		for i, rec := range states() {
			if got := machine.Settle(rec, 7, test.to, test.same); got != test.want[i] {
				t.Errorf("settle %+v as %d (same: %v): got %d, want %d", rec, test.to, test.same, got, test.want[i])
			}
		}
	}
}

// Promises 2, 3 and 6: what a guard does about a record.
func TestDecide(t *testing.T) {
	t.Parallel()
	refuse, dedup := machine.Ways{Refuse: true}, machine.Ways{Dedup: true}
	for _, test := range []struct {
		met  machine.Met
		ways machine.Ways
		want machine.Decision
	}{
		{machine.Met{State: machine.Cancelled}, refuse, machine.SayCancelled},
		{machine.Met{State: machine.Claimed}, refuse, machine.SayMismatch},
		{machine.Met{State: machine.Completed, Kept: true}, refuse, machine.SayMismatch},
		{machine.Met{State: machine.Unknown}, machine.Ways{}, machine.SayMismatch},
		{machine.Met{State: machine.Claimed, Asked: true}, machine.Ways{}, machine.Wait},
		{machine.Met{State: machine.Completed, Asked: true, Kept: true}, refuse, machine.Replay},
		{machine.Met{State: machine.Completed, Asked: true}, refuse, machine.SayNotKept},
		{machine.Met{State: machine.Completed, Asked: true, Kept: true}, dedup, machine.SayDuplicate},
		{machine.Met{State: machine.Claimed, Lapsed: true, Asked: true}, refuse, machine.SayUnknown},
		{machine.Met{State: machine.Claimed, Lapsed: true, Asked: true, NeverRan: true}, refuse, machine.TakeOver},
		{machine.Met{State: machine.Claimed, Lapsed: true, Asked: true}, machine.Ways{}, machine.TakeOver},
		{machine.Met{State: machine.Unknown, Asked: true}, refuse, machine.SayUnknown},
		{machine.Met{State: machine.Unknown, Asked: true}, machine.Ways{}, machine.TakeOver},
	} {
		if got := machine.Decide(test.met, test.ways); got != test.want {
			t.Errorf("%+v under %+v: got %d, want %d", test.met, test.ways, got, test.want)
		}
	}
}

// Promise 9: a deadline has come at its very instant, and a holder gives up a
// tenth of its lease earlier.
func TestDeadlines(t *testing.T) {
	t.Parallel()
	until := machine.ClaimedAt(100, 30, 500)
	if want := (machine.Deadlines{Lapses: 130, Expires: 630}); until != want {
		t.Errorf("claimed: got %+v, want %+v", until, want)
	}
	if got, want := until.RenewedAt(110, 60), (machine.Deadlines{Lapses: 170, Expires: 670}); got != want {
		t.Errorf("renewed: got %+v, want %+v", got, want)
	}
	if got := machine.SettledAt(100, 500); got != 600 {
		t.Errorf("settled: got %d, want 600", got)
	}
	for now, want := range map[int64]bool{629: false, 630: true, 631: true} {
		if machine.Reached(now, until.Expires) != want || machine.Sweepable(now, until.Expires) != want {
			t.Errorf("at %d a record that expires at 630 must be absent, and may be swept: %v", now, want)
		}
	}
	if got := machine.Trusted(30 * time.Second); got != 27*time.Second {
		t.Errorf("a lease of 30 s is relied on for %v, want 27 s", got)
	}
}
