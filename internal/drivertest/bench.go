package drivertest

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/inbox"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/internal/waiting"
	"github.com/semel-dev/semel/outbox"
	"github.com/semel-dev/semel/store/sqlitestore"
)

const (
	consumerName = "drivertest"
	// lease of the claims, which lapse when a process was killed.
	lease = 3 * time.Second
	// publishTimeout bounds one batch.
	publishTimeout = 30 * time.Second
	// tryPause is between two attempts to publish.
	tryPause = 5 * time.Millisecond
)

// bench is a topic with a publisher, behind a proxy, and an inbox whose handler counts.
type bench struct {
	*testing.T

	driver    Driver
	direct    string // the address of the broker without the proxy
	proxy     *testserver.Proxy
	topic     string
	left      func() int
	publisher outbox.Publisher
	path      string // of the store
	store     *sqlitestore.Store
	guard     *semel.Guard
	inbox     *inbox.Inbox
	exact     map[string]outbox.Message // by their case: those that refusedOrExact published

	mu      sync.Mutex // guards the fields below
	effects map[string]int
	order   []string // the IDs in the order of their first effects
}

func newBench(t *testing.T, d Driver, addr string) *bench {
	t.Helper()
	b := &bench{T: t, driver: d, direct: addr, proxy: testserver.NewProxy(t, addr), effects: map[string]int{}, exact: map[string]outbox.Message{}}
	b.topic = "semel-" + strings.ToLower(rand.Text())
	b.left = d.Make(t, addr, b.topic)
	var end func()
	var err error
	b.publisher, end, err = d.Publisher(b.proxy.Addr())
	b.must(err)
	t.Cleanup(end)
	b.path = filepath.Join(t.TempDir(), "inbox.db")
	b.store, b.guard, b.inbox, err = openInbox(t.Context(), b.path, &inbox.Options{})
	b.must(err)
	t.Cleanup(func() {
		for _, err := range []error{b.guard.Close(), b.store.Close()} {
			if err != nil {
				t.Error(err)
			}
		}
	})
	return b
}

// openInbox also serves the processes that tests start.
func openInbox(ctx context.Context, path string, o *inbox.Options) (*sqlitestore.Store, *semel.Guard, *inbox.Inbox, error) {
	store, err := sqlitestore.Open(ctx, path, nil)
	if err != nil {
		return nil, nil, nil, err
	}
	guard, err := semel.New(store, &semel.Options{Policy: semel.Policy{Lease: lease}})
	if err != nil {
		return nil, nil, nil, err
	}
	o.Consumer = consumerName
	in, err := inbox.New(guard, o)
	return store, guard, in, err
}

func (b *bench) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// messages are n messages without a key.
func (b *bench) messages(n int) []outbox.Message {
	all := make([]outbox.Message, n)
	for i := range all {
		all[i] = b.message(fmt.Sprint("m", i), "")
	}
	return all
}

func (b *bench) message(id, key string) outbox.Message {
	return outbox.Message{ID: id, Topic: b.topic, Key: key, Body: []byte("body of " + id), Header: map[string]string{"Trace": id}}
}

// publish publishes a batch, and must succeed.
func (b *bench) publish(batch []outbox.Message) {
	b.Helper()
	for i, err := range b.try(batch) {
		if err != nil {
			b.Fatalf("publish message %d: %v", i, err)
		}
	}
}

// try publishes a batch once.
func (b *bench) try(batch []outbox.Message) []error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(b.Context()), publishTimeout)
	defer cancel()
	errs := b.publisher.Publish(ctx, batch)
	if errs != nil && len(errs) != len(batch) {
		b.Errorf("a batch of %d messages has %d errors", len(batch), len(errs))
	}
	return errs
}

// persist publishes until every message is acknowledged, as a relay does.
func (b *bench) persist(batch []outbox.Message) {
	b.Helper()
	b.wantClosed(b.persisting(batch))
}

// persisting does so in the background, however long the broker is away; what it returns is closed when it is done.
func (b *bench) persisting(batch []outbox.Message) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		for len(batch) > 0 {
			var left []outbox.Message
			for i, err := range b.try(batch) {
				if err != nil {
					left = append(left, batch[i])
				}
			}
			if batch = left; !waiting.Sleep(b.Context(), tryPause) {
				return // the test has failed
			}
		}
		close(done)
	}()
	return done
}

// wantClosed waits for what persisting returned, once the broker can be reached.
func (b *bench) wantClosed(published <-chan struct{}) {
	b.Helper()
	testserver.Eventually(b, "the batch is published", func() bool {
		select {
		case <-published:
			return true
		default:
			return false
		}
	})
}

// effect is the handler of the inbox.
func (b *bench) effect(_ context.Context, m inbox.Message) error {
	if m.Header["Trace"] != m.ID && m.Header["Trace"] != "" || !strings.HasPrefix(string(m.Body), "body of ") {
		b.Errorf("message %s arrived with body %q and headers %v", m.ID, m.Body, m.Header)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.effects[m.ID]++
	if b.effects[m.ID] == 1 {
		b.order = append(b.order, m.ID)
	}
	return nil
}

func (b *bench) handle(ctx context.Context, m inbox.Message) inbox.Verdict {
	return b.inbox.Handle(ctx, m, b.effect)
}

// consume consumes through the proxy until stop is called, which waits for its end, or until the test ends.
func (b *bench) consume(handlers int, handle Handle) (stop func()) {
	return b.consumeFrom(b.proxy.Addr(), handlers, handle)
}

func (b *bench) consumeFrom(addr string, handlers int, handle Handle) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(b.Context()))
	ended := make(chan error, 1)
	go func() { ended <- b.driver.Consume(ctx, addr, b.topic, handlers, handle) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			b.Errorf("consume: %v", err)
		}
	})
	b.Cleanup(stop)
	return stop
}

// wantEffects waits until each message has had an effect; none may have had two, and no other message any.
func (b *bench) wantEffects(messages []outbox.Message) {
	b.Helper()
	want := map[string]int{}
	for i := range messages {
		want[messages[i].ID] = 1
	}
	testserver.Eventually(b, fmt.Sprintf("%d messages have had their effects", len(want)), func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		return len(b.effects) >= len(want)
	})
	b.mu.Lock()
	defer b.mu.Unlock()
	if diff := cmp.Diff(want, maps.Clone(b.effects)); diff != "" {
		b.Errorf("effects (-want +got):\n%s", diff)
	}
}

// count returns how many messages have had effects.
func (b *bench) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.effects)
}

// wantSome waits for so many effects, so that what is broken then is broken in the middle.
func (b *bench) wantSome(n int) {
	b.Helper()
	testserver.Eventually(b, fmt.Sprint(n, " messages have had effects"), func() bool { return b.count() >= n })
}

// finish stops a consumer when no message is left for it. What it held then goes to another one, which leaves nothing.
func (b *bench) finish(stop func()) {
	b.Helper()
	const rounds = 5
	for range rounds {
		b.wantNothingLeft()
		stop()
		if b.left() == 0 {
			return
		}
		stop = b.consumeFrom(b.direct, 1, b.handle)
	}
	stop()
	b.Error("messages come back that were acknowledged")
}

// wantNothingLeft waits until the broker has no message left for the topic's consumer.
func (b *bench) wantNothingLeft() {
	b.Helper()
	testserver.Eventually(b, "every message is acknowledged", func() bool { return b.left() == 0 })
}

// wantCopies waits until so many messages are in quarantine.
func (b *bench) wantCopies(want int) {
	b.Helper()
	testserver.Eventually(b, fmt.Sprintf("%d messages are in quarantine", want), func() bool { return b.copies() == want })
}

func (b *bench) copies() int {
	page, err := b.store.List(b.Context(), semel.ListParams{Scope: "semel:quarantine:" + consumerName})
	b.must(err)
	return len(page.Records)
}

// wantOrder checks that the messages of each key had their first effects in the order of the batch.
func (b *bench) wantOrder(batch []outbox.Message) {
	b.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	last := map[string]int{}
	for i := range batch {
		at := slices.Index(b.order, batch[i].ID)
		if key := batch[i].Key; key != "" {
			if at < last[key] {
				b.Errorf("%s arrived before an earlier message of key %s: %v", batch[i].ID, key, b.order)
			}
			last[key] = at
		}
	}
}
