package verb_test

import (
	"errors"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/transition"
	"github.com/semel-dev/semel/store/internal/verb"
)

// Close waits for the verbs that were begun, and refuses those that follow.
func TestGate(t *testing.T) {
	t.Parallel()
	g := verb.Gate{Name: "x", ReadOnly: true}
	if err := g.Enter("claim", verb.Writes); !errors.Is(err, verb.ErrReadOnly) {
		t.Errorf("a verb that writes in a read-only store: got %v", err)
	}
	if err := g.Enter("look up", verb.Reads); err != nil {
		t.Fatal(err)
	}
	if !g.Close() || g.Close() {
		t.Error("only the first Close is the first")
	}
	done := make(chan struct{})
	go func() {
		g.Wait()
		close(done)
	}()
	for _, refused := range []error{g.Enter("look up", verb.Reads), g.Check("look up", verb.Reads), g.Go("look up", func() {})} {
		if !errors.Is(refused, semel.ErrClosed) || refused.Error()[:10] != "x: look up" {
			t.Errorf("a verb after Close: got %v", refused)
		}
	}
	select {
	case <-done:
		t.Error("Wait did not wait for the verb")
	default:
	}
	g.Leave()
	<-done
}

// A row that was released or has expired is absent to claims and settlements.
func TestDecide(t *testing.T) {
	t.Parallel()
	now := verb.Time(1000)
	row := func(state semel.State, lease, expires int64) *semel.Record {
		return &semel.Record{State: state, Fence: 7, Owner: semel.Owner{1}, LeaseUntil: verb.Time(lease), ExpiresAt: verb.Time(expires), ReadAt: now}
	}
	for _, test := range []struct {
		name   string
		rec    *semel.Record
		claim  transition.ClaimAnswer
		settle error
	}{
		{"none", nil, transition.Fresh, semel.ErrLost},
		{"zero", &semel.Record{}, transition.Fresh, semel.ErrLost},
		{"released", row(semel.StateReleased, 2000, 2000), transition.Fresh, semel.ErrLost},
		{"expired", row(semel.StateCompleted, 900, 1000), transition.Fresh, semel.ErrLost},
		{"claimed", row(semel.StateClaimed, 1001, 2000), transition.Repeated, nil},
		{"lapsed", row(semel.StateClaimed, 1000, 2000), transition.TakenOver, nil},
		{"completed", row(semel.StateCompleted, 900, 2000), transition.NotWon, semel.ErrSettled},
	} {
		if got := verb.Claim(test.rec, &semel.ClaimParams{Owner: semel.Owner{1}, TakeOver: 7}); got != test.claim {
			t.Errorf("claim of %s: got %d, want %d", test.name, got, test.claim)
		}
		done, err := verb.Settle(test.rec, 7, &semel.Settlement{State: semel.StateCompleted, Outcome: []byte("x")})
		if done || !errors.Is(err, test.settle) {
			t.Errorf("settlement of %s: got %v, %v, want %v", test.name, done, err, test.settle)
		}
	}
	if done, err := verb.Settle(row(semel.StateCompleted, 900, 2000), 7, &semel.Settlement{State: semel.StateCompleted}); !done || err != nil {
		t.Errorf("the same settlement again: got %v, %v", done, err)
	}
}

// A row of another shape is an error, and a kept outcome is never nil.
func TestRow(t *testing.T) {
	t.Parallel()
	r := verb.Row{Digest: make([]byte, 32), Owner: make([]byte, 16), Fingerprint: make([]byte, 32), Fence: 1, Kept: true, State: semel.StateCompleted}
	rec, err := r.Record()
	if err != nil || rec.Outcome == nil || !rec.SettledAt.IsZero() {
		t.Errorf("got %+v, %v", rec, err)
	}
	for _, change := range []func(*verb.Row){
		func(r *verb.Row) { r.Digest = r.Digest[1:] }, func(r *verb.Row) { r.Owner = append(r.Owner, 0) }, func(r *verb.Row) { r.Fence = 0 },
	} {
		broken := r
		change(&broken)
		if _, err := broken.Record(); err == nil {
			t.Errorf("%+v is read as a record", broken)
		}
	}
	for _, s := range []semel.State{semel.StateClaimed, semel.StateCompleted, semel.StateReleased, semel.StateUnknown, semel.StateCancelled} {
		if got, err := verb.State([]byte(s.String())); got != s || err != nil {
			t.Errorf("state %v: got %v, %v", s, got, err)
		}
	}
	if _, err := verb.State("paused"); !errors.Is(err, semel.ErrNewerRecord) {
		t.Errorf("an unknown state: got %v", err)
	}
}

// Migrations are numbered without gaps.
func TestScripts(t *testing.T) {
	t.Parallel()
	fsys := fstest.MapFS{"migrations/0001_a.sql": {Data: []byte("A")}, "migrations/0002_b.sql": {Data: []byte("B")}}
	got, err := verb.Scripts(fsys, 1)
	if diff := cmp.Diff([]verb.Script{{1, "0001_a", "A"}, {2, "0002_b", "B"}}, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if _, err := verb.Scripts(fsys, 0); err == nil {
		t.Error("a gap is accepted")
	}
}
