package inbox_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/inbox"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/operator"
)

// TestExactBytes: a message whose ID, subject or headers are not UTF-8 is released as it came (promise 7).
func TestExactBytes(t *testing.T) {
	t.Parallel()
	for name, m := range map[string]inbox.Message{
		"subject":      {ID: "1", Subject: "Bestellung \xfc\x00", Body: []byte{0xff}, Header: map[string]string{"trace": "1"}},
		"header":       {ID: "1", Subject: "a", Body: []byte{}, Header: map[string]string{"trace": "\xff\xfe", "\x80": "ä"}},
		"no header":    {ID: "1", Subject: "\xff", Body: []byte("a"), Header: map[string]string{}},
		"id":           {ID: "\xff1", Subject: "a", Body: []byte("a"), Header: map[string]string{"trace": "1"}},
		"key":          {ID: "1", Subject: "a", Key: []byte{0, 0xff, '\n'}, Body: []byte("a"), Header: map[string]string{"trace": "1"}},
		"empty key":    {ID: "1", Subject: "\xff", Key: []byte{}, Body: []byte("a"), Header: map[string]string{}, Deliveries: 3},
		"tombstone":    {ID: "1", Subject: "a", Key: []byte("customer-17"), Header: map[string]string{"trace": "1"}},
		"several":      {ID: "1", Subject: "a", Body: []byte("a"), Header: map[string]string{"Via": "a"}, Repeated: map[string][]string{"Via": {"a", "b", ""}}},
		"several, odd": {ID: "1", Subject: "a", Body: []byte("a"), Header: map[string]string{"Via": "a"}, Repeated: map[string][]string{"Via": {"a", "\xff"}}},
		"time":         {ID: "1", Subject: "\xff", Body: []byte("a"), Header: map[string]string{"Via": "a"}, Time: time.Date(2026, 11, 28, 1, 2, 3, 4_000_000, time.UTC)},
		"all is UTF-8": {ID: "1", Subject: "\u2028\ufffd", Body: []byte("a"), Header: map[string]string{"<&>": "\"\\"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, n := inMemory(t, inbox.Options{}), 0
			if v := c.Handle(t.Context(), m, returns(&n, semel.MarkFinal(errDown))); v.Act != inbox.Quarantine {
				t.Fatalf("got %+v", v)
			}
			if diff := cmp.Diff(c.one(t).Message, m); diff != "" {
				t.Errorf("in quarantine (-got +want):\n%s", diff)
			}
			c.release(t, c.one(t))
			var got []inbox.Message
			c.released(t, func(_ context.Context, m inbox.Message) error { got = append(got, m); return nil }, func() bool { return c.one(t).Decision == "handled" })
			if diff := cmp.Diff(got, []inbox.Message{m}); diff != "" {
				t.Errorf("handled (-got +want):\n%s", diff)
			}
		})
	}
}

// TestBadRelease: a message that cannot be handled after its release does not hold up others, released before it or after, and is
// logged (promise 7).
func TestBadRelease(t *testing.T) {
	t.Parallel()
	c, n := inMemory(t, inbox.Options{}), 0
	var lines bytes.Buffer
	var err error
	c.Inbox, err = inbox.New(c.guard, &inbox.Options{Consumer: "billing", Logger: slog.New(slog.NewTextHandler(&lines, nil))})
	claimtest.NoError(t, err)
	for _, id := range []string{"1", "bad", "2"} {
		want(t, c.Handle(t.Context(), message(id, "a"), returns(new(int), semel.MarkFinal(errDown))), inbox.Quarantine, "final")
		c.release(t, c.held(t)[0])
	}
	handled := func() (ids string) {
		for _, h := range c.held(t) {
			if h.Decision == "handled" {
				ids += h.Message.ID
			}
		}
		return ids
	}
	c.releasedTo(t, func(ctx context.Context, m inbox.Message) inbox.Verdict { //nolint:contextcheck // see below.
		if m.ID == "bad" {
			ctx = context.Background() //nolint:usetesting // the mistake
		}
		return c.Handle(ctx, m, returns(&n, nil))
	}, func() bool { return handled() == "21" })
	if n != 2 || !strings.Contains(lines.String(), "must call Handle or HandleTx of this inbox") {
		t.Errorf("handled %d messages, want 2; the log: %s", n, &lines)
	}
}

// narrow is a store that looks at two records in each List, and counts them since the bell was last looked up.
type narrow struct {
	semel.Store
	bell  semel.Digest
	lists atomic.Int32
	mu    sync.Mutex // guards most
	most  int32
}

func (s *narrow) Unwrap() semel.Store { return s.Store }

func (s *narrow) Lookup(ctx context.Context, d semel.Digest) (semel.Record, error) {
	if d == s.bell {
		s.mu.Lock()
		s.most = max(s.most, s.lists.Swap(0))
		s.mu.Unlock()
	}
	return s.Store.Lookup(ctx, d)
}

func (s *narrow) List(ctx context.Context, p semel.ListParams) (semel.ListPage, error) {
	s.lists.Add(1)
	p.Examine = 2
	lister, _ := semel.StoreAs[semel.Lister](s.Store)
	return lister.List(ctx, p)
}

// asked counts the questions for a page of records.
type asked struct {
	semel.Store

	pages atomic.Int32
}

func (s *asked) Unwrap() semel.Store { return s.Store }

func (s *asked) List(ctx context.Context, p semel.ListParams) (semel.ListPage, error) {
	s.pages.Add(1)
	lister, _ := semel.StoreAs[semel.Lister](s.Store)
	return lister.List(ctx, p)
}

// TestListAmongMany: one message in quarantine is found, whole, among many records of other kinds by few questions.
func TestListAmongMany(t *testing.T) {
	t.Parallel()
	c := inMemory(t, inbox.Options{})
	s := &asked{Store: c.store}
	c.guard = claimtest.Guard(t, s, nil)
	var err error
	c.Inbox, err = inbox.New(c.guard, &inbox.Options{Consumer: "billing"})
	claimtest.NoError(t, err)
	want(t, c.Handle(t.Context(), message("lost", "a"), returns(new(int), semel.MarkFinal(errDown))), inbox.Quarantine, "final")
	for i := range 2000 {
		want(t, c.Handle(t.Context(), message(fmt.Sprint(i), "a"), returns(new(int), nil)), inbox.Ack, "handled")
	}
	var found []*inbox.Held
	_, err = inbox.List(t.Context(), c.guard, "", operator.Search{}, func(h *inbox.Held) error { found = append(found, h); return nil })
	if err != nil || len(found) != 1 || found[0].Err != nil || found[0].Message.ID != "lost" || string(found[0].Message.Body) != "a" {
		t.Fatalf("got %+v, error %v", found, err)
	}
	if n := s.pages.Load(); n > 20 {
		t.Errorf("%d questions for 2,000 records", n)
	}
}

// TestManyRecords: a pass looks for released messages in a bounded part of the store, the next one goes on there, and messages that
// are released meanwhile are found. When all were handled, no pass lists any more (promise 8).
func TestManyRecords(t *testing.T) {
	t.Parallel()
	c := inMemory(t, inbox.Options{})
	s := &narrow{Store: c.store, bell: c.guard.Digest(bell())}
	c.guard = claimtest.Guard(t, s, nil)
	var err error
	c.Inbox, err = inbox.New(c.guard, &inbox.Options{Consumer: "billing"})
	claimtest.NoError(t, err)
	quarantined := func(id string) semel.Digest {
		want(t, c.Handle(t.Context(), message(id, "a"), returns(new(int), semel.MarkFinal(errDown))), inbox.Quarantine, "final")
		var d semel.Digest
		for _, h := range c.held(t) {
			if h.Message.ID == id {
				d = h.Digest
			}
		}
		return d
	}
	release := func(d semel.Digest) {
		_, err := inbox.Release(t.Context(), c.guard, grace, d, "the ledger says no")
		claimtest.NoError(t, err)
	}
	late := quarantined("late")
	release(quarantined("early"))
	for i := range 60 {
		want(t, c.Handle(t.Context(), message(fmt.Sprint(i), "a"), returns(new(int), nil)), inbox.Ack, "handled")
	}
	s.lists.Store(0)
	s.most = 0
	var handled []string
	c.releasedTo(t, func(ctx context.Context, m inbox.Message) inbox.Verdict {
		handled = append(handled, m.ID)
		return c.Handle(ctx, m, func(context.Context, inbox.Message) error {
			if m.ID == "early" { // an operator releases another one while this pass is under way
				release(late)
			}
			return nil
		})
	}, func() bool {
		_, err := c.guard.Lookup(t.Context(), bell())
		return errors.Is(err, semel.ErrNotFound)
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	if diff := cmp.Diff(handled, []string{"early", "late"}); diff != "" || s.most > 2*5 {
		t.Errorf("a pass made %d lists, want at most 10; handled (-got +want):\n%s", s.most, diff)
	}
}

// TestLongError: an error of any length does not keep a message out of quarantine (promise 8).
func TestLongError(t *testing.T) {
	t.Parallel()
	c := inMemory(t, inbox.Options{})
	long := semel.MarkFinal(errors.New(strings.Repeat("ü", 8<<20)))
	want(t, c.Handle(t.Context(), message("1", "a"), returns(new(int), long)), inbox.Quarantine, "final")
	if why := c.one(t).Why; len(why) > 1<<10 || !strings.HasPrefix(why, "üü") {
		t.Errorf("the reason has %d bytes: %.20q", len(why), why)
	}
}

// TestUnreadableCopies: a copy that this guard cannot read is listed with the reason and does not hide the others; it can be dropped,
// but not released.
func TestUnreadableCopies(t *testing.T) {
	t.Parallel()
	c, n := inMemory(t, inbox.Options{}), 0
	sealing := claimtest.Guard(t, c.store, &semel.Options{OutcomeKeys: []semel.OutcomeKey{{ID: "lost", Key: [32]byte{1}}}})
	sealed, err := inbox.New(sealing, &inbox.Options{Consumer: "billing"})
	claimtest.NoError(t, err)
	fails := returns(&n, semel.MarkFinal(errDown))
	want(t, c.Handle(t.Context(), message("first", "a"), fails), inbox.Quarantine, "final")
	want(t, sealed.Handle(t.Context(), message("sealed", "a"), fails), inbox.Quarantine, "final")
	later(t, c.store)
	want(t, c.Handle(t.Context(), message("decided", "a"), fails), inbox.Quarantine, "final")
	_, err = inbox.Release(t.Context(), sealing, grace, c.held(t)[0].Digest, "its decision is sealed")
	claimtest.NoError(t, err)

	seen := map[string]*inbox.Held{}
	all := c.held(t)
	for _, h := range all {
		if h.Consumer != "billing" || h.At.IsZero() || h.Expires.IsZero() {
			t.Errorf("got %+v, want what is known of it", h)
		}
		seen[h.Message.ID] = h
	}
	if len(all) != 4 || seen["first"] == nil || seen["first"].Err != nil || seen["decided"] == nil || !errors.Is(seen["decided"].Err, semel.ErrUnreadable) {
		t.Fatalf("got %d messages, %+v, want all four, and errors of those that cannot be read", len(all), seen)
	}
	for _, h := range all {
		if h.Message.ID != "" {
			continue
		}
		if !errors.Is(h.Err, semel.ErrUnreadable) && (h.Err == nil || !strings.Contains(h.Err.Error(), "it has version 2")) {
			t.Errorf("got error %v, want the reason", h.Err)
		}
		if _, err := inbox.Release(t.Context(), c.guard, grace, h.Digest, "try it"); err == nil || err.Error() != h.Err.Error() {
			t.Errorf("released: got error %v, want %v", err, h.Err)
		}
		if dropped, err := inbox.Drop(t.Context(), c.guard, grace, h.Digest, "its key is lost"); err != nil || dropped.Decision != "dropped" {
			t.Errorf("dropped: got %+v, error %v", dropped, err)
		}
	}
	decisions := map[string]int{}
	for _, h := range c.held(t) {
		decisions[h.Decision]++
	}
	if decisions["dropped"] != 2 {
		t.Errorf("got decisions %v, want two drops", decisions)
	}
}

// later keeps a copy in the store as a later version of the package might.
func later(t *testing.T, store semel.Store) {
	t.Helper()
	p := semel.ClaimParams{Scope: "semel:quarantine:billing", Name: "later", Owner: semel.Owner{1}, Lease: time.Minute, Retention: time.Hour}
	p.Digest[0] = 1
	rec, won, err := store.Claim(t.Context(), p)
	if err != nil || !won {
		t.Fatalf("claim: won %v, error %v", won, err)
	}
	claimtest.NoError(t, store.Settle(t.Context(), p.Digest, rec.Fence, semel.Settlement{
		State: semel.StateCompleted, Outcome: []byte(`{"semel_inbox":2}`), Kept: true, Retention: time.Hour,
	}))
}

// TestReleasedAfterClose: Released ends with its store.
func TestReleasedAfterClose(t *testing.T) {
	t.Parallel()
	c := inMemory(t, inbox.Options{})
	claimtest.NoError(t, c.store.Close())
	if err := c.Released(t.Context(), time.Millisecond, func(context.Context, inbox.Message) inbox.Verdict { return inbox.Verdict{} }); !errors.Is(err, semel.ErrClosed) {
		t.Errorf("got error %v, want %v", err, semel.ErrClosed)
	}
}
