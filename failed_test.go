package semel_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/memdb"
	"github.com/semel-dev/semel/operator"
	"github.com/semel-dev/semel/outcomelog"
	"github.com/semel-dev/semel/store/memstore"
)

var errDeclined = errors.New("the card is declined")

// stateOf returns the state of a record for an operator with the guard's keys.
func stateOf(t *testing.T, g *semel.Guard, k semel.Key) semel.State {
	t.Helper()
	rec, err := g.Store().Lookup(t.Context(), g.Digest(k))
	if err != nil {
		t.Fatal(err)
	}
	_ = g.Reveal(&rec)
	return operator.State(&rec)
}

// Work that fails for good is failed to traces, to the door of its request and to operators, and completed to the store; work
// that succeeds with the word error in its result is not.
func TestFinalErrorsAreFailed(t *testing.T) {
	t.Parallel()
	fail := func(context.Context) (string, error) { return "", semel.MarkFinal(errDeclined) }
	for name, tt := range map[string]struct {
		policy semel.Policy
		work   func(context.Context, *semel.Guard, semel.Key) error
		want   semel.State
	}{
		"Do": {work: func(ctx context.Context, g *semel.Guard, k semel.Key) error {
			_, err := semel.Do(ctx, g, k, semel.Fingerprint{}, fail)
			return err
		}, want: semel.StateFailed},
		"Dedup": {policy: semel.Policy{Dedup: true}, work: func(ctx context.Context, g *semel.Guard, k semel.Key) error {
			_, err := semel.Do(ctx, g, k, semel.Fingerprint{}, fail)
			return err
		}, want: semel.StateFailed},
		"too large": {policy: semel.Policy{MaxOutcomeBytes: 1000}, work: func(ctx context.Context, g *semel.Guard, k semel.Key) error {
			_, err := semel.Do(ctx, g, k, semel.Fingerprint{}, func(context.Context) (string, error) {
				return "", semel.MarkFinal(errors.New(strings.Repeat("no ", 4000)))
			})
			return err
		}, want: semel.StateFailed},
		"DoTx": {work: func(ctx context.Context, g *semel.Guard, k semel.Key) error {
			_, err := semel.DoTx(ctx, g, g.Store().(*memdb.DB), k, semel.Fingerprint{}, fail)
			return err
		}, want: semel.StateFailed},
		"a result": {work: func(ctx context.Context, g *semel.Guard, k semel.Key) error {
			_, err := semel.Do(ctx, g, k, semel.Fingerprint{}, func(context.Context) (map[string]string, error) {
				return map[string]string{"error": "none"}, nil
			})
			return err
		}, want: semel.StateCompleted},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var settled []semel.State
			g := newGuard(t, memdb.New(memstore.New(nil), nil), &semel.Options{Policy: tt.policy, Trace: &semel.Trace{
				Settled: func(_ context.Context, i semel.SettleInfo) { settled = append(settled, i.State) },
			}})
			note := &outcomelog.Note{}
			note.Say(outcomelog.Rejected, "customer_email", []string{"email"})
			err := tt.work(context.WithValue(t.Context(), outcomelog.NoteKey{}, note), g, testKey("a"))
			if failed := tt.want == semel.StateFailed; failed != (err != nil) {
				t.Fatal(err)
			}
			if got := stateOf(t, g, testKey("a")); got != tt.want {
				t.Errorf("an operator sees %v, want %v", got, tt.want)
			}
			if !slices.Contains(settled, tt.want) {
				t.Errorf("traces saw %v, want %v", settled, tt.want)
			}
			if rec := mustLookup(t, g, testKey("a")); rec.State != semel.StateCompleted {
				t.Errorf("the store has %v", rec.State)
			}
			said, rule, fields := note.Said()
			if (said == outcomelog.Failed) != (tt.want == semel.StateFailed) || rule != "customer_email" || len(fields) != 1 {
				t.Errorf("the door heard %q, %q, %v", said, rule, fields)
			}
		})
	}
}

// A settlement as failed or unreadable does not exist: a store keeps both as completed.
func TestStatesThatNoStoreKeeps(t *testing.T) {
	t.Parallel()
	for _, s := range []semel.State{semel.StateFailed, semel.StateUnreadable} {
		if err := (&semel.Settlement{State: s, Retention: semel.DefaultRetention}).Validate(); err == nil || !strings.Contains(err.Error(), s.String()) {
			t.Errorf("%v: got %v", s, err)
		}
	}
}

// A search tells failed, unreadable and completed records apart, encrypted ones as well: an answer that cannot be decrypted
// makes its record unreadable, never completed.
func TestSearchForFailed(t *testing.T) {
	t.Parallel()
	store := memstore.New(nil)
	own, other := outcomeKey("own"), outcomeKey("other")
	for i, key := range [][]semel.OutcomeKey{nil, {own}, {other}} {
		g := newGuard(t, store, &semel.Options{OutcomeKeys: key})
		for name, err := range map[string]error{"failed": semel.MarkFinal(errDeclined), "done": nil} {
			_, _ = semel.Do(t.Context(), g, testKey(name+strconv.Itoa(i)), semel.Fingerprint{}, func(context.Context) (string, error) { return "x", err })
		}
	}
	g := newGuard(t, store, &semel.Options{OutcomeKeys: []semel.OutcomeKey{own}})
	mustSucceed(t, mustClaim(t, g, testKey("lost")).Unknown("it hung"))
	for _, tt := range []struct {
		bare   bool
		states []semel.State
		want   []string
	}{
		{states: []semel.State{semel.StateFailed}, want: []string{"failed0", "failed1"}},
		{states: []semel.State{semel.StateCompleted}, want: []string{"done0", "done1"}},
		{states: []semel.State{semel.StateUnreadable}, want: []string{"done2", "failed2"}},
		{states: []semel.State{semel.StateUnknown, semel.StateFailed}, want: []string{"failed0", "failed1", "lost"}},
		{bare: true, states: []semel.State{semel.StateFailed}, want: []string{"failed0", "failed1"}},
		{bare: true, states: []semel.State{semel.StateCompleted}, want: []string{"done0", "done1", "done2", "failed0", "failed1", "failed2"}},
	} {
		var got []string
		_, err := operate(g).List(t.Context(), operator.Search{States: tt.states, Bare: tt.bare}, func(rec *semel.Record) error {
			got = append(got, rec.Name)
			return nil
		})
		slices.Sort(got)
		if err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("%v, bare %v: got %v, %v, want %v", tt.states, tt.bare, got, err, tt.want)
		}
	}
}

// Promise 8: a search that reads answers stops after a bounded number of their bytes, and says where to go on.
func TestSearchForFailedIsBounded(t *testing.T) {
	t.Parallel()
	g := newGuard(t, memstore.New(nil), nil)
	const size, n = 1 << 20, 60
	text := strings.Repeat("x", size-100)
	for i := range n {
		if _, err := semel.Do(t.Context(), g, testKey(strconv.Itoa(i)), semel.Fingerprint{}, func(context.Context) (string, error) { return text, nil }); err != nil {
			t.Fatal(err)
		}
	}
	p, err := operate(g).List(t.Context(), operator.Search{States: []semel.State{semel.StateFailed}, Limit: 50, Examine: semel.MaxListExamined}, func(*semel.Record) error {
		t.Error("a completed record was shown as failed")
		return nil
	})
	if err != nil || p.Next == "" || p.Examined >= n {
		t.Errorf("got %+v, %v, want the rest of %d for the next search", p, err, n)
	}
}
