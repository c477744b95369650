package inbox_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/inbox"
	"github.com/semel-dev/semel/internal/claimtest"
)

// TestAsk: Options.Ask decides about an outcome that is unknown, within bounds.
func TestAsk(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		finds semel.Reconciliation
		err   error
		act   inbox.Act
		why   inbox.Reason
		runs  int
	}{
		{"happened", semel.Reconciliation{Verdict: semel.Happened}, nil, inbox.Ack, "duplicate", 1},
		{"did not", semel.Reconciliation{Verdict: semel.NotHappened}, nil, inbox.Ack, "handled", 2},
		{"cannot tell", semel.Reconciliation{}, nil, inbox.Retry, "unknown", 1},
		{"fails", semel.Reconciliation{Verdict: semel.Happened}, errDown, inbox.Retry, "unknown", 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			n, asked := 0, 0
			c := inMemory(t, inbox.Options{Ask: func(_ context.Context, rec semel.Record, m inbox.Message) (semel.Reconciliation, error) {
				if asked++; rec.Name != m.ID {
					t.Errorf("asked about %q for message %q", rec.Name, m.ID)
				}
				return test.finds, test.err
			}})
			fn := returns(&n, semel.MarkUnknown(errDown), nil)
			want(t, c.Handle(t.Context(), message("1", "a"), fn), inbox.Retry, "unknown")
			c.clock.Advance(time.Second)
			want(t, c.Handle(t.Context(), message("1", "a"), fn), test.act, test.why)
			if n != test.runs || asked != 1 {
				t.Errorf("handled %d times, asked %d times, want %d and 1", n, asked, test.runs)
			}
			if test.act != inbox.Retry {
				return
			}
			for range 100 { // a broker that delivers for ever
				v := c.Handle(t.Context(), message("1", "a"), fn)
				if v.Act == inbox.Quarantine {
					break
				}
				c.clock.Advance(v.After)
			}
			if n != 1 || asked != 20 || len(c.held(t)) != 1 {
				t.Errorf("handled %d times, asked %d times, %d in quarantine, want 1, 20, 1", n, asked, len(c.held(t)))
			}
		})
	}
}

// TestAskedAboutADeadProcess: attempts whose process died count, so that what kills it is
// quarantined.
func TestAskedAboutADeadProcess(t *testing.T) {
	t.Parallel()
	c := inMemory(t, inbox.Options{MaxAttempts: 3, Ask: func(context.Context, semel.Record, inbox.Message) (semel.Reconciliation, error) {
		return semel.Reconciliation{Verdict: semel.NotHappened}, nil
	}})
	n := 0
	for range 10 {
		dies, die := context.WithCancel(t.Context())
		left := make(chan struct{})
		go func() { // a goroutine that never comes back is a process that died, once its lease lapsed
			defer close(left)
			c.Handle(t.Context(), message("1", "a"), func(context.Context, inbox.Message) error {
				n++
				die()
				<-t.Context().Done()
				return errDown
			})
			die()
		}()
		<-dies.Done()
		c.clock.Advance(time.Hour)
	}
	want(t, c.Handle(t.Context(), message("1", "a"), returns(&n, nil)), inbox.Quarantine, "quarantined")
	if n != 3 || c.one(t).Attempts != 3 {
		t.Errorf("handled %d times, want 3", n)
	}
}

// TestTwins: of two consumers that get one message at a time, one handles it.
func TestTwins(t *testing.T) {
	t.Parallel()
	c, n := inMemory(t, inbox.Options{}), 0
	v := c.Handle(t.Context(), message("1", "a"), func(context.Context, inbox.Message) error {
		n++
		twin := c.Handle(t.Context(), message("1", "a"), returns(&n, nil)) //nolint:contextcheck // another consumer.
		want(t, twin, inbox.Retry, "in-flight")
		if twin.After <= 0 {
			t.Error("the twin is delivered again at once")
		}
		return nil
	})
	want(t, v, inbox.Ack, "handled")
	failing := inMemory(t, inbox.Options{})
	guard, err := failing.guard.With(semel.Policy{Lease: time.Hour}) // longer than all pauses: no claim lapses while its handler runs
	claimtest.NoError(t, err)
	failing.Inbox, err = inbox.New(guard, &inbox.Options{Consumer: "billing", MaxAttempts: 5})
	claimtest.NoError(t, err)
	var mu sync.Mutex
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 50 {
				failing.Handle(t.Context(), message("2", "a"), func(context.Context, inbox.Message) error {
					mu.Lock()
					defer mu.Unlock()
					n++
					return errDown
				})
				failing.clock.Advance(time.Second)
			}
		})
	}
	all.Wait()
	if n != 1+5 {
		t.Errorf("handled %d times, want once and 5 times", n)
	}
}

// TestClockSetBack: a store's clock that is set back neither runs a message again nor holds it up.
func TestClockSetBack(t *testing.T) {
	t.Parallel()
	c, n := inMemory(t, inbox.Options{}), 0
	fn := returns(&n, errDown, nil)
	want(t, c.Handle(t.Context(), message("1", "a"), fn), inbox.Retry, "failed")
	c.clock.Advance(-time.Hour)
	want(t, c.Handle(t.Context(), message("1", "a"), fn), inbox.Ack, "handled")
	c.clock.Advance(-time.Hour)
	want(t, c.Handle(t.Context(), message("1", "a"), fn), inbox.Ack, "duplicate")
}

func TestOptions(t *testing.T) {
	t.Parallel()
	g := inMemory(t, inbox.Options{}).guard
	hides := claimtest.Guard(t, g.Store(), &semel.Options{HideKeys: true})
	for name, o := range map[string]*inbox.Options{
		"no options": nil, "no consumer": {}, "long consumer": {Consumer: strings.Repeat("x", 129)}, "control": {Consumer: "a\nb"},
		"attempts": {Consumer: "a", MaxAttempts: -1}, "retention": {Consumer: "a", Retention: -1}, "bytes": {Consumer: "a", MaxBytes: -1},
		"short quarantine": {Consumer: "a", QuarantineRetention: time.Hour},
	} {
		if _, err := inbox.New(g, o); err == nil {
			t.Errorf("%s: %+v was accepted", name, o)
		}
	}
	if _, err := inbox.New(nil, &inbox.Options{Consumer: "a"}); err == nil {
		t.Error("no guard was accepted")
	}
	for _, test := range []struct {
		guard *semel.Guard
		o     inbox.Options
		warns string
	}{
		{g, inbox.Options{Redelivery: 6 * 24 * time.Hour}, ""},
		{g, inbox.Options{Redelivery: 7 * 24 * time.Hour}, "raise Options.Retention"},
		{hides, inbox.Options{}, "hides keys"},
	} {
		var out bytes.Buffer
		test.o.Consumer, test.o.Logger = "a", slog.New(slog.NewTextHandler(&out, nil))
		in, err := inbox.New(test.guard, &test.o)
		claimtest.NoError(t, err)
		if got := out.String(); !strings.Contains(got, test.warns) || (test.warns == "") != (got == "") {
			t.Errorf("%+v: got the warning %q, want %q", test.o, got, test.warns)
		}
		if test.guard == hides {
			n := 0
			want(t, in.Handle(t.Context(), message("hidden", "a"), returns(&n, nil)), inbox.Ack, "handled")
			if err := in.Released(t.Context(), 0, nil); err == nil {
				t.Error("released messages are looked for by a scope that is hidden")
			}
		}
	}
}

// TestObserve: every delivery is observed, with its verdict.
func TestObserve(t *testing.T) {
	t.Parallel()
	var seen []string
	c := inMemory(t, inbox.Options{Observe: func(m inbox.Message, v inbox.Verdict, took time.Duration) {
		seen = append(seen, m.ID+" "+v.Act.String()+" "+string(v.Reason))
		if took <= 0 {
			t.Error("it took no time")
		}
	}})
	c.Handle(t.Context(), message("1", "a"), returns(new(int), nil))
	c.Handle(t.Context(), message("", "a"), returns(new(int), nil))
	gone, leave := context.WithCancelCause(t.Context())
	leave(errors.New("shutting down"))
	c.Handle(gone, message("2", "a"), returns(new(int), nil))
	if got := strings.Join(seen, ", "); got != "1 ack handled,  quarantine no-id, 2 retry unavailable" {
		t.Errorf("observed %q", got)
	}
}

// explode is found in the stack of its panic.
func explode() { panic("nil map") }

// TestPanicsAreLogged: with their stack, which the record of a message does not have.
func TestPanicsAreLogged(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	c := inMemory(t, inbox.Options{
		Logger: slog.New(slog.NewTextHandler(&out, nil)),
		Ask: func(context.Context, semel.Record, inbox.Message) (semel.Reconciliation, error) {
			explode()
			return semel.Reconciliation{}, nil
		},
	})
	bad := func(context.Context, inbox.Message) error { explode(); return nil }
	for who, handle := range map[string]func() inbox.Verdict{
		"handler": func() inbox.Verdict { return c.Handle(t.Context(), message("1", "a"), bad) },
		"Ask":     func() inbox.Verdict { return c.Handle(t.Context(), message("2", "a"), returns(new(int), nil)) },
	} {
		if who == "Ask" {
			c.Handle(t.Context(), message("2", "a"), returns(new(int), semel.MarkUnknown(errDown)))
		}
		out.Reset()
		want(t, handle(), inbox.Retry, "unknown")
		for _, part := range []string{"function=" + who, "consumer=billing", "nil map", "inbox_test.explode"} {
			if !strings.Contains(out.String(), part) {
				t.Errorf("%s: the log has no %q: %s", who, part, &out)
			}
		}
	}
}
