package inbox_test

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/inbox"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/operator"
)

var grace = operator.Identity{Name: "Grace", Via: "test"}

// held returns the messages in quarantine.
func (c *consumer) held(t *testing.T) []*inbox.Held {
	t.Helper()
	var all []*inbox.Held
	_, err := inbox.List(t.Context(), c.guard, "billing", operator.Search{}, func(h *inbox.Held) error { all = append(all, h); return nil })
	claimtest.NoError(t, err)
	return all
}

// bell is the key of the record that exists while released messages wait.
func bell() semel.Key { return semel.Key{Scope: "semel:quarantine-released:billing", Name: "waiting"} }

// one returns the only message in quarantine.
func (c *consumer) one(t *testing.T) *inbox.Held {
	t.Helper()
	all := c.held(t)
	if len(all) != 1 {
		t.Fatalf("got %d messages in quarantine, want one", len(all))
	}
	return all[0]
}

func (c *consumer) release(t *testing.T, h *inbox.Held) {
	t.Helper()
	_, err := inbox.Release(t.Context(), c.guard, grace, h.Digest, "the ledger says no")
	claimtest.NoError(t, err)
}

// released runs Released until done reports true.
func (c *consumer) released(t *testing.T, fn inbox.Handler, done func() bool) {
	t.Helper()
	c.releasedTo(t, func(ctx context.Context, m inbox.Message) inbox.Verdict { return c.Handle(ctx, m, fn) }, done)
}

func (c *consumer) releasedTo(t *testing.T, handle func(context.Context, inbox.Message) inbox.Verdict, done func() bool) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Released(ctx, time.Millisecond, handle) }()
	testserver.Eventually(t, "the released message is handled", done)
	stop()
	claimtest.NoError(t, <-ended)
}

// hollow is an error whose methods need what a nil pointer does not have.
type hollow struct{ cause error }

func (e *hollow) Error() string { return e.cause.Error() }

// TestUnknownIsQuarantinedAndReleased: a message that may have happened never runs again on a
// guess; an operator's decision has it handled once more, and only once (promise 3).
func TestUnknownIsQuarantinedAndReleased(t *testing.T) {
	t.Parallel()
	for name, fails := range map[string]inbox.Handler{
		"panic":   func(context.Context, inbox.Message) error { panic("nil map") },
		"timeout": func(context.Context, inbox.Message) error { return context.DeadlineExceeded },
		"hollow":  func(context.Context, inbox.Message) error { return (*hollow)(nil) },
		"marked":  func(context.Context, inbox.Message) error { return semel.MarkUnknown(errDown) },
		"recovered inside": func(_ context.Context, m inbox.Message) (err error) {
			defer func() { err, _ = recover().(error) }()
			_ = m.Body[len(m.Body)]
			return nil
		},
		"one of several": func(context.Context, inbox.Message) error {
			return errors.Join(semel.MarkReleased(errDown), context.DeadlineExceeded)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, n := inMemory(t, inbox.Options{}), 0
			want(t, c.Handle(t.Context(), message("1", "a"), fails), inbox.Quarantine, "unknown")
			for range 3 {
				want(t, c.Handle(t.Context(), message("1", "a"), returns(&n, nil)), inbox.Quarantine, "quarantined")
			}
			h := c.one(t)
			if h.Message.ID != "1" || string(h.Message.Body) != "a" || h.Message.Header["trace"] != "1" || h.Attempts != 1 || h.Decision != "" {
				t.Errorf("got %+v", h)
			}
			c.release(t, h)
			want(t, c.Handle(t.Context(), message("1", "a"), returns(&n, nil)), inbox.Quarantine, "quarantined")
			c.released(t, returns(&n, nil), func() bool { return c.one(t).Decision == "handled" })
			want(t, c.Handle(t.Context(), message("1", "a"), returns(&n, nil)), inbox.Ack, "duplicate")
			if _, err := inbox.Drop(t.Context(), c.guard, grace, h.Digest, "late"); !errors.Is(err, semel.ErrSettled) {
				t.Errorf("a message that was handled was dropped: %v", err)
			}
			c.clock.Advance(8 * 24 * time.Hour) // the intent and the decision are forgotten
			if again := c.one(t); again.Decision != "handled" {
				t.Errorf("after its decision was forgotten, the message is %q again", again.Decision)
			}
			if n != 1 {
				t.Errorf("it was handled %d times after its release, want once", n)
			}
		})
	}
}

// TestGoexit: promise 3: a handler whose goroutine ended may have had its effect.
func TestGoexit(t *testing.T) {
	t.Parallel()
	c, n := inMemory(t, inbox.Options{}), 0
	var consumer sync.WaitGroup
	consumer.Go(func() {
		c.Handle(t.Context(), message("1", "a"), func(context.Context, inbox.Message) error {
			runtime.Goexit()
			return nil
		})
	})
	consumer.Wait()
	want(t, c.Handle(t.Context(), message("1", "a"), returns(&n, nil)), inbox.Quarantine, "unknown")
	if n != 0 {
		t.Errorf("it was handled %d times again", n)
	}
}

// TestReleasedAndFailsAgain: what is released and fails again is in quarantine again, and the first
// decision does not apply to it.
func TestReleasedAndFailsAgain(t *testing.T) {
	t.Parallel()
	t.Run("for good", func(t *testing.T) {
		t.Parallel()
		failsAgain(t, semel.MarkFinal(errDown), "final", 1)
	})
	t.Run("for now", func(t *testing.T) {
		t.Parallel()
		failsAgain(t, errDown, "attempts", 2)
	})
}

func failsAgain(t *testing.T, err error, reason inbox.Reason, runs int) {
	t.Helper()
	c, n := inMemory(t, inbox.Options{MaxAttempts: 2}), 0
	bad := func(context.Context, inbox.Message) error {
		if n++; n > 2*runs {
			t.Errorf("it ran %d times", n)
		}
		return err
	}
	for range runs {
		c.Handle(t.Context(), message("1", "a"), bad)
		c.clock.Advance(time.Minute)
	}
	want(t, c.Handle(t.Context(), message("1", "a"), bad), inbox.Quarantine, "quarantined")
	c.release(t, c.one(t))
	c.released(t, bad, func() bool {
		c.clock.Advance(time.Minute)
		return t.Failed() || len(c.held(t)) == 2 && c.held(t)[1].Decision == "handled"
	})
	if t.Failed() {
		return
	}
	second := c.held(t)[0]
	if n != 2*runs || second.Reason != reason || second.Decision != "" || second.Earlier != 1 {
		t.Errorf("handled %d times, then %+v", n, second)
	}
	dropped, err := inbox.Drop(t.Context(), c.guard, grace, second.Digest, "customer is gone")
	if err != nil || dropped.Decision != "dropped" {
		t.Fatal(dropped, err)
	}
	want(t, c.Handle(t.Context(), message("1", "a"), bad), inbox.Quarantine, "quarantined")
	if _, err := inbox.Release(t.Context(), c.guard, grace, second.Digest, "no, wait"); !errors.Is(err, semel.ErrSettled) {
		t.Errorf("a dropped message was released: %v", err)
	}
	records, err := operator.New(c.guard, nil)
	claimtest.NoError(t, err)
	trail, err := records.Audit(t.Context(), operator.AuditParams{})
	if err != nil || len(trail.Entries) != 2 || trail.Entries[0].Act != "drop" || trail.Entries[1].Act != "release" || trail.Entries[0].Reason != "customer is gone" {
		t.Errorf("the audit trail is %+v, %v", trail, err)
	}
}

// TestNeverHandled: what has no usable ID, or is too large, is kept without being handled; an
// operator's release handles it, once.
func TestNeverHandled(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		m      inbox.Message
		reason inbox.Reason
	}{
		{"no id", message("", "a"), "no-id"},
		{"large", message("1", strings.Repeat("x", 100)), "too-large"},
		{"large headers", inbox.Message{ID: "1", Header: map[string]string{"a": strings.Repeat("x", 100)}}, "too-large"},
		{"other body", message("taken", "b"), "mismatch"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c, n := inMemory(t, inbox.Options{MaxBytes: 100}), 0
			if test.reason != "too-large" {
				c = inMemory(t, inbox.Options{})
			}
			want(t, c.Handle(t.Context(), message("taken", "a"), returns(new(int), nil)), inbox.Ack, "handled")
			for range 3 {
				want(t, c.Handle(t.Context(), test.m, returns(&n, nil)), inbox.Quarantine, test.reason)
			}
			h := c.one(t)
			if n != 0 || h.Message.ID != test.m.ID || string(h.Message.Body) != string(test.m.Body) || h.Attempts != 0 {
				t.Errorf("handled %d times, got %+v", n, h)
			}
			c.release(t, h)
			c.released(t, returns(&n, nil), func() bool { return c.one(t).Decision == "handled" })
			if v := c.Handle(t.Context(), test.m, returns(&n, nil)); v.Act != inbox.Quarantine || n != 1 {
				t.Errorf("handled %d times, then %+v, want once", n, v)
			}
		})
	}
}

// TestAnyID: a message is handled once whatever its ID is, and comes back from quarantine under it.
func TestAnyID(t *testing.T) {
	t.Parallel()
	for _, id := range []string{strings.Repeat("x", 256), strings.Repeat("é", 130), "a\nb", "a\x00b", "\xff", "Ame\u0301lie", "a b "} {
		c, n := inMemory(t, inbox.Options{}), 0
		want(t, c.Handle(t.Context(), message(id, "a"), returns(&n, semel.MarkFinal(errDown))), inbox.Quarantine, "final")
		h := c.one(t)
		c.release(t, h)
		c.released(t, returns(&n, nil), func() bool { return c.one(t).Decision == "handled" })
		want(t, c.Handle(t.Context(), message(id, "a"), returns(&n, nil)), inbox.Ack, "duplicate")
		want(t, c.Handle(t.Context(), message(id+"2", "a"), returns(&n, nil)), inbox.Ack, "handled")
		if n != 3 || h.Message.ID != id {
			t.Errorf("%q: handled %d times, want twice and another message once; the copy has %q", id, n, h.Message.ID)
		}
	}
}

// TestReleaseIsForgotten: a released message that no consumer takes up in time waits for an
// operator again, and does not run.
func TestReleaseIsForgotten(t *testing.T) {
	t.Parallel()
	c, n := inMemory(t, inbox.Options{Retention: time.Hour}), 0
	want(t, c.Handle(t.Context(), message("1", "a"), returns(new(int), semel.MarkFinal(errDown))), inbox.Quarantine, "final")
	c.release(t, c.one(t))
	c.clock.Advance(2 * time.Hour)
	c.released(t, returns(&n, nil), func() bool { // it has looked, and found nothing to wait for
		_, err := c.guard.Lookup(t.Context(), bell())
		return errors.Is(err, semel.ErrNotFound)
	})
	if h := c.one(t); n != 0 || h.Decision != "" {
		t.Errorf("handled %d times, the message is %q, want it to wait again", n, h.Decision)
	}
}

// TestReleasedWithoutItsContext: a function that drops the context of a released message does not
// have it marked as handled.
func TestReleasedWithoutItsContext(t *testing.T) {
	t.Parallel()
	c, n := inMemory(t, inbox.Options{}), 0
	want(t, c.Handle(t.Context(), message("1", "a"), returns(new(int), semel.MarkFinal(errDown))), inbox.Quarantine, "final")
	c.release(t, c.one(t))
	var tries atomic.Int32
	c.releasedTo(t, func(_ context.Context, m inbox.Message) inbox.Verdict {
		tries.Add(1)
		return c.Handle(context.Background(), m, returns(&n, nil)) //nolint:contextcheck,usetesting // the mistake
	}, func() bool { return tries.Load() > 2 })
	if h := c.one(t); n != 0 || h.Decision != "released" {
		t.Errorf("handled %d times, the message is %q, want it to wait", n, h.Decision)
	}
	c.released(t, returns(&n, nil), func() bool { return c.one(t).Decision == "handled" })
}

// away fails verbs of the store while it is set.
type away struct {
	semel.Store
	claims, settles atomic.Pointer[string] // of records in scopes that begin so
	scopes          map[semel.Digest]string
	fails           error // of a settlement; nil for semel.ErrFull
}

func (s *away) Unwrap() semel.Store { return s.Store }

func (s *away) Claim(ctx context.Context, p semel.ClaimParams) (semel.Record, bool, error) {
	if prefix := s.claims.Load(); prefix != nil && strings.HasPrefix(p.Scope, *prefix) {
		return semel.Record{}, false, semel.ErrFull
	}
	s.scopes[p.Digest] = p.Scope
	return s.Store.Claim(ctx, p)
}

func (s *away) Settle(ctx context.Context, d semel.Digest, f semel.Fence, to semel.Settlement) error {
	if prefix := s.settles.Load(); prefix != nil && strings.HasPrefix(s.scopes[d], *prefix) {
		return cmp.Or(s.fails, semel.ErrFull)
	}
	return s.Store.Settle(ctx, d, f, to)
}

func unstable(t *testing.T, o inbox.Options) (*consumer, *away) {
	t.Helper()
	c := inMemory(t, o)
	s := &away{Store: c.store, scopes: map[semel.Digest]string{}}
	c.guard = claimtest.Guard(t, s, &semel.Options{StoreTimeout: 20 * time.Millisecond})
	o.Consumer = "billing"
	var err error
	c.Inbox, err = inbox.New(c.guard, &o)
	claimtest.NoError(t, err)
	return c, s
}

// TestStoreIsAway: while the store is away, nothing is handled or acknowledged, the pauses grow with time and not with the number of
// messages, and nothing is lost (promise 7).
func TestStoreIsAway(t *testing.T) {
	t.Parallel()
	c, s := unstable(t, inbox.Options{MaxAttempts: 1, Pause: time.Minute})
	every := ""
	s.claims.Store(&every)
	for i := range 20 {
		if v := c.Handle(t.Context(), message(strings.Repeat("m", i+1), "a"), returns(new(int), nil)); v.After != time.Minute {
			t.Errorf("message %d of one outage: a pause of %v", i, v.After)
		}
	}
	c, s = unstable(t, inbox.Options{MaxAttempts: 1, Pause: time.Millisecond})
	n, all, quarantines := 0, "", "semel:quarantine:"
	s.claims.Store(&all)
	first := c.Handle(t.Context(), message("1", "a"), returns(&n, nil))
	want(t, first, inbox.Retry, "unavailable")
	testserver.Eventually(t, "the pauses grow", func() bool {
		return c.Handle(t.Context(), message("1", "a"), returns(&n, nil)).After > first.After
	})
	if n != 0 {
		t.Errorf("handled %d times", n)
	}
	for name, fail := range map[string]*atomic.Pointer[string]{"claim": &s.claims, "settle": &s.settles} {
		s.claims.Store(nil)
		fail.Store(&quarantines)
		n = 0
		m := message(name, "a")
		want(t, c.Handle(t.Context(), m, returns(&n, errDown)), inbox.Retry, "unavailable")
		fail.Store(nil)
		c.clock.Advance(time.Hour)
		want(t, c.Handle(t.Context(), m, returns(&n, nil)), inbox.Quarantine, "attempts")
		if n != 1 {
			t.Errorf("%s: handled %d times, want once: it was not in quarantine, but had no attempt left", name, n)
		}
	}
	if got := len(c.held(t)); got != 2 {
		t.Errorf("%d messages in quarantine, want 2", got)
	}
}

// TestStoreDiesWhileHandling: what was handled and could not be recorded is not acknowledged,
// and never handled again on a guess (promise 7).
func TestStoreDiesWhileHandling(t *testing.T) {
	t.Parallel()
	c, s := unstable(t, inbox.Options{})
	n, all := 0, ""
	v := c.Handle(t.Context(), message("1", "a"), func(context.Context, inbox.Message) error {
		n++
		s.settles.Store(&all)
		return nil
	})
	want(t, v, inbox.Retry, "unrecorded")
	want(t, c.Handle(t.Context(), message("1", "a"), returns(&n, nil)), inbox.Retry, "in-flight")
	s.settles.Store(nil)
	c.clock.Advance(time.Minute)
	want(t, c.Handle(t.Context(), message("1", "a"), returns(&n, nil)), inbox.Quarantine, "unknown")
	if n != 1 {
		t.Errorf("handled %d times, want once", n)
	}
}

// TestCopyWithoutNote: a message whose copy is in quarantine does not run again although the note about that could not be
// written, and Ask knows that it did not happen (promise 3).
func TestCopyWithoutNote(t *testing.T) {
	t.Parallel()
	for _, act := range []string{"wait", "drop", "release"} {
		t.Run(act, func(t *testing.T) {
			t.Parallel()
			n, asked, intents := 0, 0, "semel:inbox:"
			c, s := unstable(t, inbox.Options{Ask: func(context.Context, semel.Record, inbox.Message) (semel.Reconciliation, error) {
				asked++
				return semel.Reconciliation{Verdict: semel.NotHappened}, nil
			}})
			s.settles.Store(&intents)
			want(t, c.Handle(t.Context(), message("1", "a"), returns(&n, semel.MarkFinal(errDown))), inbox.Quarantine, "final")
			s.settles.Store(nil)
			c.clock.Advance(time.Hour) // its claim lapses
			switch act {
			case "drop":
				_, err := inbox.Drop(t.Context(), c.guard, grace, c.one(t).Digest, "a test message")
				claimtest.NoError(t, err)
			case "release":
				c.release(t, c.one(t))
			}
			want(t, c.Handle(t.Context(), message("1", "a"), returns(&n, nil)), inbox.Quarantine, "quarantined")
			if n != 1 || asked != 0 {
				t.Errorf("handled %d times, asked %d times, want once and never", n, asked)
			}
			if act == "release" {
				c.released(t, returns(&n, nil), func() bool { return c.one(t).Decision == "handled" })
				want(t, c.Handle(t.Context(), message("1", "a"), returns(&n, nil)), inbox.Ack, "duplicate")
			}
		})
	}
}

// TestForgottenAndFailsAgain: a message that was released and handled, and is delivered after both were forgotten, is in quarantine
// anew when it fails: the copy of its first time hides nothing (promise 7).
func TestForgottenAndFailsAgain(t *testing.T) {
	t.Parallel()
	c, n := inMemory(t, inbox.Options{}), 0
	want(t, c.Handle(t.Context(), message("1", "a"), returns(&n, semel.MarkFinal(errDown))), inbox.Quarantine, "final")
	c.release(t, c.one(t))
	c.released(t, returns(&n, nil), func() bool { return c.one(t).Decision == "handled" })
	c.clock.Advance(8 * 24 * time.Hour)
	want(t, c.Handle(t.Context(), message("1", "a"), returns(&n, errDown)), inbox.Retry, "failed")
	c.clock.Advance(time.Second)
	want(t, c.Handle(t.Context(), message("1", "a"), returns(&n, semel.MarkFinal(errDown))), inbox.Quarantine, "final")
	want(t, c.Handle(t.Context(), message("1", "a"), returns(&n, nil)), inbox.Quarantine, "quarantined")
	if all := c.held(t); n != 4 || len(all) != 2 || all[0].Decision != "" || all[0].Earlier != 1 {
		t.Errorf("handled %d times, in quarantine: %+v, want 4 times, and a second copy that waits", n, all)
	}
}

// TestPoisonIsReportedAsSuch: a message that has used up its attempts is in quarantine for that reason, although it could not be
// copied at first.
func TestPoisonIsReportedAsSuch(t *testing.T) {
	t.Parallel()
	n, intents, copies := 0, "semel:inbox:", "semel:quarantine:"
	c, s := unstable(t, inbox.Options{MaxAttempts: 1, Ask: func(context.Context, semel.Record, inbox.Message) (semel.Reconciliation, error) {
		return semel.Reconciliation{Verdict: semel.NotHappened}, nil
	}})
	s.settles.Store(&intents) // as if its process died
	want(t, c.Handle(t.Context(), message("1", "a"), returns(&n, nil)), inbox.Retry, "unrecorded")
	s.settles.Store(nil)
	c.clock.Advance(time.Hour)
	s.claims.Store(&copies)
	want(t, c.Handle(t.Context(), message("1", "a"), returns(&n, nil)), inbox.Retry, "unavailable")
	s.claims.Store(nil)
	want(t, c.Handle(t.Context(), message("1", "a"), returns(&n, nil)), inbox.Quarantine, "attempts")
	if h := c.one(t); n != 1 || h.Reason != "attempts" || h.Attempts != 1 {
		t.Errorf("handled %d times, then %+v", n, h)
	}
}
