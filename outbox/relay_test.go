package outbox_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/internal/testserver/databases"
	"github.com/semel-dev/semel/operator"
	"github.com/semel-dev/semel/outbox"
	"github.com/semel-dev/semel/store/memstore"
)

// receiver is a publisher in this process: it takes what refuse lets through.
type receiver struct {
	mu     sync.Mutex // guards the fields below
	got    []outbox.Message
	refuse func(m outbox.Message) error
}

// Publish implements [outbox.Publisher].
func (r *receiver) Publish(_ context.Context, batch []outbox.Message) []error {
	r.mu.Lock()
	defer r.mu.Unlock()
	errs := make([]error, len(batch))
	for i, m := range batch {
		if i > 0 && m.Key != "" && m.Key == batch[i-1].Key && errs[i-1] != nil {
			errs[i] = errors.New("behind one that failed")
		} else if r.refuse != nil {
			errs[i] = r.refuse(m)
		}
		if errs[i] == nil {
			r.got = append(r.got, m)
		}
	}
	return errs
}

// let replaces refuse.
func (r *receiver) let(refuse func(m outbox.Message) error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refuse = refuse
}

// ids are those of the messages of a key, in the order of their arrival.
func (r *receiver) ids(key string) (all []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range r.got {
		if m.Key == key {
			all = append(all, m.ID)
		}
	}
	return all
}

// eventually waits until try has no complaint.
func eventually(tb testing.TB, try func() error) {
	tb.Helper()
	var err error
	defer func() {
		if err != nil {
			tb.Log(err)
		}
	}()
	testserver.Eventually(tb, "it comes to be as expected", func() bool {
		err = try()
		return err == nil
	})
}

// wants waits until the messages of the key have arrived, and ends the test when others have.
func (r *receiver) wants(tb testing.TB, key string, want ...string) {
	tb.Helper()
	eventually(tb, func() error {
		got := r.ids(key)
		diff := cmp.Diff(want, got)
		if arrived := min(len(got), len(want)); len(got) > len(want) || !slices.Equal(got, want[:arrived]) {
			tb.Fatalf("messages of %s (-want +got):\n%s", key, diff)
		}
		if diff != "" {
			return fmt.Errorf("messages of %s (-want +got):\n%s", key, diff)
		}
		return nil
	})
}

// place is a database with an outbox, and the guard of its relays.
type place struct {
	*databases.Database

	out   *outbox.Outbox
	guard *semel.Guard
}

func at(tb testing.TB, d *databases.Database, o *outbox.Options) *place {
	tb.Helper()
	return &place{d, open(tb, d.DB, o), claimtest.Guard(tb, memstore.New(nil), nil)}
}

func (p *place) adds(tb testing.TB, messages ...outbox.Message) {
	tb.Helper()
	claimtest.NoError(tb, add(tb, p.out, p.DB, messages...))
}

// empties waits until nothing is left.
func (p *place) empties(tb testing.TB) {
	tb.Helper()
	eventually(tb, func() error {
		var left int
		err := p.DB.QueryRowContext(tb.Context(), "SELECT (SELECT COUNT(*) FROM semel_outbox) + (SELECT COUNT(*) FROM semel_outbox_hold)").Scan(&left)
		if err == nil && left > 0 {
			return fmt.Errorf("%d rows are left", left)
		}
		return err
	})
}

// quick are options under which failures are tried again soon.
func quick() outbox.RelayOptions {
	return outbox.RelayOptions{
		Lease: 300 * time.Millisecond, MinPause: time.Millisecond, MaxPause: 2 * time.Millisecond, MaxAttempts: 3,
		Logger: slog.New(slog.DiscardHandler),
	}
}

// runs starts a relay, and returns what stops it.
func (p *place) runs(tb testing.TB, to outbox.Publisher, o outbox.RelayOptions) (relay *outbox.Relay, stop func()) {
	tb.Helper()
	relay, err := outbox.NewRelay(p.out, p.guard, to, &o)
	claimtest.NoError(tb, err)
	ctx, cancel := context.WithCancel(tb.Context())
	done := make(chan error, 1)
	go func() { done <- relay.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			tb.Error(err)
		}
	})
	tb.Cleanup(stop)
	return relay, stop
}

// takes claims the partitions from first to end, and returns what gives them back.
func (p *place) takes(tb testing.TB, first, end int) (release func()) {
	tb.Helper()
	var claims []*semel.Claim
	for number := first; number < end; number++ {
		claim, _, err := p.guard.Begin(tb.Context(), p.lease(tb, number), semel.Fingerprint{})
		claimtest.NoError(tb, err)
		claims = append(claims, claim)
	}
	return func() {
		for _, claim := range claims {
			claimtest.NoError(tb, claim.Release("the test gives it back"))
		}
	}
}

// lease is the key of a partition's lease.
func (p *place) lease(tb testing.TB, number int) semel.Key {
	tb.Helper()
	key, err := outbox.LeaseKey(tb.Context(), p.out, number)
	claimtest.NoError(tb, err)
	return key
}

func message(key, id string) outbox.Message {
	return outbox.Message{ID: id, Key: key, Topic: "t", Body: []byte(id)}
}

func numbered(key string, n int) (messages []outbox.Message, ids []string) {
	for i := range n {
		m := message(key, fmt.Sprintf("%s-%04d", key, i))
		messages, ids = append(messages, m), append(ids, m.ID)
	}
	return messages, ids
}

// What was committed is published whole and in the order of its key, and leaves nothing
// behind.
func TestRelay(t *testing.T) {
	t.Parallel()
	databases.Each(t, func(t *testing.T, d *databases.Database) {
		p := at(t, d, &outbox.Options{MaxBodyBytes: 8 << 20})
		to := &receiver{}
		full := outbox.Message{ID: "full, it", Topic: "orders.créé", Key: "ключ", Body: make([]byte, 5<<20), Header: map[string]string{"Type": "x y, ü"}}
		p.adds(t, full)
		a, wantA := numbered("a", 700)
		b, wantB := numbered("b", 700)
		p.adds(t, slices.Concat(a, b)...)
		relay, stop := p.runs(t, to, quick())
		p.empties(t)
		to.wants(t, "a", wantA...)
		to.wants(t, "b", wantB...)
		p.adds(t, message("c", "later"), outbox.Message{Topic: "none"})
		relay.Wake()
		to.wants(t, "c", "later")
		p.empties(t)
		stop()
		for _, m := range to.got {
			if m.Key == full.Key && !reflect.DeepEqual(full, m) {
				t.Errorf("the message %+v was changed", m.Header)
			}
		}
		if stats, err := p.out.Stats(t.Context()); err != nil || stats != (outbox.Stats{}) {
			t.Errorf("got %+v, %v, want nothing left", stats, err)
		}
	})
}

var errRefused = errors.New("refused")

func refuses(ids ...string) func(outbox.Message) error {
	return func(m outbox.Message) error {
		if slices.Contains(ids, m.ID) {
			return errRefused
		}
		return nil
	}
}

// others go through all the time.
func others(t *testing.T, p *place) {
	t.Helper()
	for t.Context().Err() == nil && p.out.Add(t.Context(), p.DB, outbox.Message{Topic: "others"}) == nil {
		<-time.After(20 * time.Millisecond)
	}
}

// A message that fails holds its key back and no other; an operator releases or skips it.
func TestPoison(t *testing.T) {
	t.Parallel()
	databases.Each(t, func(t *testing.T, d *databases.Database) {
		p := at(t, d, nil)
		to := &receiver{refuse: refuses("a-0001", "single")}
		a, ids := numbered("a", 10)
		b, idsB := numbered("b", 10)
		p.adds(t, slices.Concat(a[:5], b, []outbox.Message{message("", "single")})...)
		_, stop := p.runs(t, to, quick())
		go others(t, p)
		held := p.held(t, 2)
		p.adds(t, a[5:]...)
		to.wants(t, "a", "a-0000")
		to.wants(t, "b", idsB...)
		stop() // what is held survives
		_, stop = p.runs(t, to, quick())
		eventually(t, func() error {
			if got := to.ids("a"); len(got) > 1 {
				t.Fatalf("%v arrived, although the key is held", got)
			}
			if held = p.list(t); held[0].Behind+held[1].Behind != 8 {
				return fmt.Errorf("got %+v", held)
			}
			return nil
		})
		for _, h := range held {
			if h.State != "stopped" || h.Attempts != 3 || h.Error != errRefused.Error() || h.Topic != "t" || h.Added.IsZero() || h.Since.IsZero() {
				t.Errorf("got %+v", h)
			}
		}
		claimtest.WantErr(t, "", p.out.Release(t.Context(), p.guard, grace, "a-0002", "r"), outbox.ErrNotHeld)
		claimtest.WantErr(t, "", p.out.Release(t.Context(), p.guard, grace, "a-0001", ""), operator.ErrVerdict)
		claimtest.WantErr(t, "", p.out.Skip(t.Context(), p.guard, operator.Identity{}, "a-0001", "r", 0), operator.ErrVerdict)
		claimtest.NoError(t, p.out.Skip(t.Context(), p.guard, grace, "a-0001", "broken", time.Hour))
		to.wants(t, "a", slices.Delete(slices.Clone(ids), 1, 2)...)
		to.let(nil)
		claimtest.NoError(t, p.out.Release(t.Context(), p.guard, grace, "single", "fixed"))
		eventually(t, func() error {
			if held = p.list(t); len(held) != 1 {
				return fmt.Errorf("got %+v", held)
			}
			return nil
		})
		if h := held[0]; h.ID != "a-0001" || h.State != "skipped" || h.Operator != "Grace" || h.Reason != "broken" || h.Behind != 0 {
			t.Errorf("got %+v", h)
		}
		claimtest.NoError(t, p.out.Release(t.Context(), p.guard, grace, "a-0001", "after all"))
		to.wants(t, "a", append(slices.Delete(slices.Clone(ids), 1, 2), "a-0001")...)
		stop()
		p.wantAudit(t, "release a-0001: after all", "release single: fixed", "skip a-0001: broken")
	})
}

// grace is an operator.
var grace = operator.Identity{Name: "Grace", Via: "a test"}

// wantAudit compares the audit trail, the newest entry first.
func (p *place) wantAudit(tb testing.TB, want ...string) {
	tb.Helper()
	records, err := operator.New(p.guard, nil)
	claimtest.NoError(tb, err)
	page, err := records.Audit(tb.Context(), operator.AuditParams{})
	claimtest.NoError(tb, err)
	var got []string
	for _, e := range page.Entries {
		id, _, _ := strings.Cut(e.Name, " ")
		got = append(got, fmt.Sprintf("%s %s: %s", e.Act, id, e.Reason))
		if e.Operator != grace || e.Scope != "semel:outbox-verdict:semel_outbox" || e.As != semel.StateCompleted {
			tb.Errorf("got %+v", e)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		tb.Errorf("audit trail (-want +got):\n%s", diff)
	}
}

// A verdict that cannot be written to the audit trail changes nothing.
func TestNoVerdictWithoutAnEntry(t *testing.T) {
	t.Parallel()
	p := at(t, databases.Open(t, dialect.SQLite), nil)
	to := &receiver{refuse: func(outbox.Message) error { return outbox.Permanent(errRefused) }}
	p.adds(t, message("k", "a"))
	_, stop := p.runs(t, to, quick())
	want := p.held(t, 1)
	stop()
	claimtest.NoError(t, p.guard.Store().Close())
	for _, err := range []error{
		p.out.Release(t.Context(), p.guard, grace, "a", "fixed"), p.out.Skip(t.Context(), p.guard, grace, "a", "broken", 0),
	} {
		if err == nil {
			t.Error("a verdict was taken without an entry in the audit trail")
		}
	}
	if diff := cmp.Diff(want, p.list(t)); diff != "" {
		t.Errorf("what is held (-before +now):\n%s", diff)
	}
}

func (p *place) list(tb testing.TB) []outbox.Held {
	tb.Helper()
	held, err := p.out.List(tb.Context(), 0)
	claimtest.NoError(tb, err)
	return held
}

// held waits until so many are stopped.
func (p *place) held(tb testing.TB, n int) (held []outbox.Held) {
	tb.Helper()
	eventually(tb, func() error {
		held = p.list(tb)
		if stopped := slices.DeleteFunc(slices.Clone(held), func(h outbox.Held) bool { return h.State != "stopped" }); len(stopped) != n {
			return fmt.Errorf("%d are stopped, want %d: %+v", len(stopped), n, held)
		}
		return nil
	})
	return held
}

// A message that cannot be published is put aside at once under SkipMessage, and its key goes on.
func TestSkipMessage(t *testing.T) {
	t.Parallel()
	databases.Each(t, func(t *testing.T, d *databases.Database) {
		p := at(t, d, nil)
		to := &receiver{refuse: func(m outbox.Message) error {
			if strings.HasSuffix(m.ID, "1") {
				return outbox.Permanent(errRefused)
			}
			return nil
		}}
		a, _ := numbered("a", 3)
		p.adds(t, append(a, message("", "x1"))...)
		o := quick()
		o.OnPoison = outbox.SkipMessage
		_, stop := p.runs(t, to, o)
		to.wants(t, "a", "a-0000", "a-0002")
		eventually(t, func() error {
			if stats, err := p.out.Stats(t.Context()); err != nil || stats.Skipped != 2 || stats.Waiting != 2 {
				return fmt.Errorf("got %+v, %w", stats, err)
			}
			return nil
		})
		stop()
		p.Exec(t, "UPDATE semel_outbox_hold SET next_ms = 0") // the retention is over
		release := p.takes(t, 2, 16)
		passes := make(chan outbox.Pass, 1)
		o.Observe = func(pass outbox.Pass) {
			select {
			case passes <- pass:
			default:
			}
		}
		_, stop = p.runs(t, to, o)
		for range 4 { // the relay has looked at the partitions that it owns
			<-passes
		}
		release()
		p.empties(t)
		stop()
		to.wants(t, "a", "a-0000", "a-0002")
	})
}
