package inbox_test

import (
	"context"
	"encoding/hex"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/inbox"
	"github.com/semel-dev/semel/internal/claimtest"
)

// keyed is a message with a key. A nil body is a tombstone.
func keyed(key string, body []byte) inbox.Message {
	return inbox.Message{ID: "1", Subject: "orders.paid", Key: []byte(key), Body: body, Deliveries: 1}
}

// TestKeysAreWishes: under one ID, another key is another wish, which is kept and not taken for done (promises 6 and 7).
func TestKeysAreWishes(t *testing.T) {
	t.Parallel()
	text := []byte(`{"active":false}`)
	for name, test := range map[string]struct{ first, second inbox.Message }{
		"tombstones":           {keyed("customer-17", nil), keyed("customer-18", nil)},
		"bodies":               {keyed("customer-17", text), keyed("customer-18", text)},
		"empty key, other key": {keyed("", text), keyed("customer-18", text)},
		"tombstone, empty":     {keyed("customer-17", nil), keyed("customer-17", []byte{})},
		"key runs into body":   {keyed("ab", []byte("c")), keyed("b", []byte("ca"))},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, n := inMemory(t, inbox.Options{}), 0
			want(t, c.Handle(t.Context(), test.first, returns(&n, nil)), inbox.Ack, "handled")
			want(t, c.Handle(t.Context(), test.first, returns(&n, nil)), inbox.Ack, "duplicate")
			want(t, c.Handle(t.Context(), test.second, returns(&n, nil)), inbox.Quarantine, "mismatch")
			if diff := cmp.Diff(c.one(t).Message, test.second); n != 1 || diff != "" {
				t.Errorf("handled %d times, want once; in quarantine (-got +want):\n%s", n, diff)
			}
		})
	}
}

// TestKeysWithoutID: messages without an ID, and those under one that differ in their keys alone, have a copy each (promise 7).
func TestKeysWithoutID(t *testing.T) {
	t.Parallel()
	for _, ignore := range []bool{false, true} {
		c, n := inMemory(t, inbox.Options{IgnoreKey: ignore}), 0
		for _, key := range []string{"a", "b", "b"} {
			m := keyed(key, nil)
			m.ID = ""
			if v := c.Handle(t.Context(), m, returns(&n, nil)); v.Act != inbox.Quarantine || v.Reason != "no-id" {
				t.Errorf("got %+v", v)
			}
		}
		all := c.held(t)
		if len(all) != 2 || string(all[0].Message.Key) != "b" || string(all[1].Message.Key) != "a" {
			t.Fatalf("got %+v, want a copy of each key", all)
		}
		c.release(t, all[0])
		c.released(t, returns(&n, nil), func() bool { return c.held(t)[0].Decision == "handled" })
		if n != 1 {
			t.Errorf("handled %d times, want once", n)
		}
	}
}

// What a version recorded that knew no keys: the fingerprint of keyed("…", []byte("a")), the name of its copy in quarantine, and the copy.
const (
	formerPrint = "ad55103adc359c51a9fb8863c911a81080d718b12ff5f37881237425916a2a17"
	formerName  = "4dc9e262cb113b43a653ecc512455c1814bc9aebad2d7becfc46134396a01b0c"
	formerCopy  = `{"semel_inbox":1,"consumer":"billing","retention_ms":604800000,"id":"1","subject":"orders.paid","header":{"trace":"1"},` +
		`"body":"YQ==","deliveries":1,"reason":"final","why":"the service is down","attempts":1}`
)

func former(t *testing.T) (fp semel.Fingerprint) {
	t.Helper()
	_, err := hex.Decode(fp[:], []byte(formerPrint))
	claimtest.NoError(t, err)
	return fp
}

// recorded settles a record as a former version did.
func (c *consumer) recorded(t *testing.T, key semel.Key, s semel.Settlement) {
	t.Helper()
	d := c.guard.Digest(key)
	rec, won, err := c.store.Claim(t.Context(), semel.ClaimParams{
		Digest: d, Scope: key.Scope, Name: key.Name, Fingerprint: former(t), Owner: semel.Owner{1}, Lease: time.Minute, Retention: time.Hour,
	})
	if err != nil || !won {
		t.Fatal(won, err)
	}
	s.Retention = time.Hour
	claimtest.NoError(t, c.store.Settle(t.Context(), d, rec.Fence, s))
}

// TestFormerRecords: a record of a version that knew no keys is that of its message, whatever its key (promise 3).
func TestFormerRecords(t *testing.T) {
	t.Parallel()
	intent := semel.Key{Scope: "semel:inbox:billing", Name: "1"}
	m := keyed("customer-17", []byte("a"))
	for _, ignore := range []bool{false, true} {
		c, n := inMemory(t, inbox.Options{IgnoreKey: ignore}), 0
		c.recorded(t, intent, semel.Settlement{State: semel.StateCompleted})
		want(t, c.Handle(t.Context(), m, returns(&n, nil)), inbox.Ack, "duplicate")
		other := m
		other.Body = []byte("b")
		want(t, c.Handle(t.Context(), other, returns(&n, nil)), inbox.Quarantine, "mismatch")

		c = inMemory(t, inbox.Options{IgnoreKey: ignore})
		c.recorded(t, intent, semel.Settlement{State: semel.StateUnknown, Note: "failed attempt=1 asked=0: the service is down"})
		want(t, c.Handle(t.Context(), m, returns(&n, nil)), inbox.Retry, "pausing")
		c.clock.Advance(time.Second)
		want(t, c.Handle(t.Context(), m, returns(&n, nil)), inbox.Ack, "handled")
		want(t, c.Handle(t.Context(), m, returns(&n, nil)), inbox.Ack, "duplicate")

		c = inMemory(t, inbox.Options{IgnoreKey: ignore})
		c.recorded(t, semel.Key{Scope: "semel:quarantine:billing", Name: formerName}, semel.Settlement{State: semel.StateCompleted, Kept: true, Outcome: []byte(formerCopy)})
		c.recorded(t, intent, semel.Settlement{State: semel.StateUnknown, Note: "final attempt=1 asked=0: the service is down"}) // died before "quarantined"
		want(t, c.Handle(t.Context(), m, returns(&n, nil)), inbox.Quarantine, "quarantined")
		kept := message("1", "a")
		if diff := cmp.Diff(c.one(t).Message, kept); diff != "" {
			t.Errorf("in quarantine (-got +want):\n%s", diff)
		}
		c.release(t, c.one(t))
		c.released(t, returns(&n, nil), func() bool { return c.one(t).Decision == "handled" })
		want(t, c.Handle(t.Context(), m, returns(&n, nil)), inbox.Ack, "duplicate")
		if n != 2 {
			t.Errorf("handled %d times, want twice", n)
		}
	}
}

// TestIgnoreKey: programs with and without the option recognise each other's messages, and with it the records are those of a
// version that knew no keys (promise 3).
func TestIgnoreKey(t *testing.T) {
	t.Parallel()
	for _, ignore := range []bool{false, true} {
		c, n := inMemory(t, inbox.Options{IgnoreKey: ignore}), 0
		twin, err := inbox.New(c.guard, &inbox.Options{Consumer: "billing", IgnoreKey: !ignore})
		claimtest.NoError(t, err)
		m := keyed("customer-17", []byte("a"))
		want(t, c.Handle(t.Context(), m, returns(&n, nil)), inbox.Ack, "handled")
		want(t, twin.Handle(t.Context(), m, returns(&n, nil)), inbox.Ack, "duplicate")
		rec, err := c.guard.Lookup(t.Context(), semel.Key{Scope: "semel:inbox:billing", Name: "1"})
		claimtest.NoError(t, err)
		if got := rec.Fingerprint == former(t); got != ignore {
			t.Errorf("IgnoreKey %v: the record is one of a former version: %v", ignore, got)
		}
		second := keyed("customer-18", []byte("a"))
		second.ID = "2"
		want(t, c.Handle(t.Context(), second, returns(&n, semel.MarkFinal(errDown))), inbox.Quarantine, "final")
		want(t, twin.Handle(t.Context(), second, returns(&n, nil)), inbox.Quarantine, "quarantined")
		c.release(t, c.one(t))
		ctx, stop := context.WithCancel(t.Context())
		claimtest.NoError(t, twin.Released(ctx, time.Millisecond, func(ctx context.Context, m inbox.Message) inbox.Verdict {
			defer stop()
			return twin.Handle(ctx, m, returns(&n, nil))
		}))
		want(t, c.Handle(t.Context(), second, returns(&n, nil)), inbox.Ack, "duplicate")
		if n != 3 {
			t.Errorf("handled %d times, want 3", n)
		}
	}
}

// TestTimeOfNoCalendar: a message is kept whatever time its producer claims; one that JSON cannot write is left out (promise 7).
func TestTimeOfNoCalendar(t *testing.T) {
	t.Parallel()
	for _, at := range []time.Time{time.UnixMilli(1764291723000000), time.UnixMilli(-1 << 60)} {
		c, m := inMemory(t, inbox.Options{}), message("1", "a")
		m.Time = at
		want(t, c.Handle(t.Context(), m, returns(new(int), semel.MarkFinal(errDown))), inbox.Quarantine, "final")
		if got := c.one(t).Message; !got.Time.IsZero() || string(got.Body) != "a" {
			t.Errorf("a message sent at %v is kept as %+v", at, got)
		}
	}
}
