package kafka_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/goleak"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/adapters/kafka"
	"github.com/semel-dev/semel/inbox"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/drivertest"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/store/memstore"
)

func TestMain(m *testing.M) {
	beBroker()
	drivertest.Child(driver())
	goleak.VerifyTestMain(m)
}

const topic, group = "orders", "billing"

// broker is kfake with a topic, and an inbox whose handler counts.
type broker struct {
	*testing.T

	addrs  []string
	client *kgo.Client
	inbox  *inbox.Inbox

	mu      sync.Mutex // guards the fields below
	effects map[string]int
	reasons map[inbox.Reason]int
}

func newBroker(t *testing.T, partitions int32) *broker {
	t.Helper()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(partitions, topic), kfake.GroupMinSessionTimeout(time.Second))
	claimtest.NoError(t, err)
	t.Cleanup(cluster.Close)
	b := &broker{T: t, addrs: cluster.ListenAddrs(), effects: map[string]int{}, reasons: map[inbox.Reason]int{}}
	b.client, err = kgo.NewClient(kgo.SeedBrokers(b.addrs...), kgo.DefaultProduceTopic(topic))
	claimtest.NoError(t, err)
	t.Cleanup(b.client.Close)
	store := memstore.New(nil)
	claimtest.Closes(t, store)
	guard, err := semel.New(store, nil)
	claimtest.NoError(t, err)
	claimtest.Closes(t, guard)
	b.inbox, err = inbox.New(guard, &inbox.Options{
		Consumer: group, MaxAttempts: 3, Pause: time.Millisecond, Logger: slog.New(slog.DiscardHandler),
		Observe: func(_ inbox.Message, v inbox.Verdict, _ time.Duration) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.reasons[v.Reason]++
		},
	})
	claimtest.NoError(t, err)
	return b
}

// produce sends records "0", "1", … to one partition, named by their header.
func (b *broker) produce(partition int32, names ...string) {
	b.Helper()
	for _, name := range names {
		r := &kgo.Record{Key: []byte(fmt.Sprint(partition)), Value: []byte("body of " + name)}
		if name != "" {
			r.Headers = []kgo.RecordHeader{{Key: "id", Value: []byte(name)}}
		}
		claimtest.NoError(b, b.client.ProduceSync(b.Context(), r).FirstErr())
	}
}

func (b *broker) effect(_ context.Context, m inbox.Message) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.effects[m.ID]++
	return nil
}

func (b *broker) handle(ctx context.Context, m inbox.Message) inbox.Verdict {
	return b.inbox.Handle(ctx, m, b.effect)
}

// consume consumes until the returned function ends it, or the test ends.
func (b *broker) consume(handle func(context.Context, inbox.Message) inbox.Verdict, more ...kgo.Opt) (stop func()) {
	b.Helper()
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- kafka.Consume(ctx, kafka.Source{Group: group, Topics: []string{topic}, Client: append(more,
			kgo.SeedBrokers(b.addrs...), kgo.HeartbeatInterval(50*time.Millisecond), kgo.SessionTimeout(5*time.Second), kgo.RebalanceTimeout(2*time.Second),
		)}, handle, &kafka.ConsumeOptions{CommitInterval: 100 * time.Millisecond, Logger: slog.New(slog.DiscardHandler)})
	}()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			b.Error(err)
		}
	})
	b.Cleanup(stop)
	return stop
}

// committed returns the sum of the group's offsets.
func (b *broker) committed() (sum int64) {
	b.Helper()
	offsets, err := kadm.NewClient(b.client).FetchOffsets(b.Context(), group)
	claimtest.NoError(b, err)
	offsets.Each(func(o kadm.OffsetResponse) { sum += max(o.At, 0) })
	return sum
}

func (b *broker) wantEffects(names ...string) {
	b.Helper()
	testserver.Eventually(b, fmt.Sprint("effects of ", names), func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		return slices.Equal(slices.Sorted(maps.Keys(b.effects)), slices.Sorted(slices.Values(names)))
	})
	b.mu.Lock()
	defer b.mu.Unlock()
	for name, n := range b.effects {
		if n != 1 {
			b.Errorf("%s has %d effects", name, n)
		}
	}
}

// A message that was sent twice takes effect once, records without a name are handled, and what was handled is not read again.
func TestConsumedOnce(t *testing.T) {
	t.Parallel()
	b := newBroker(t, 2)
	stop := b.consume(b.handle)
	b.produce(0, "a", "b", "a")
	b.produce(1, "c", "d")
	b.wantEffects("a", "b", "c", "d")
	testserver.Eventually(t, "all offsets are committed", func() bool { return b.committed() == 5 })
	stop()
	b.produce(0, "e")
	defer b.consume(func(ctx context.Context, m inbox.Message) inbox.Verdict {
		if m.ID != "e" {
			t.Errorf("%s is read again", m.ID)
		}
		return b.handle(ctx, m)
	})()
	b.wantEffects("a", "b", "c", "d", "e")
}

// The offset of a record is not committed before its verdict, a Retry holds its partition back, and a consumer that follows reads it again.
func TestOffsetFollowsVerdict(t *testing.T) {
	t.Parallel()
	b := newBroker(t, 1)
	b.produce(0, "a", "b", "c")
	var seen []string
	refused := make(chan struct{}, 1000)
	stop := b.consume(func(ctx context.Context, m inbox.Message) inbox.Verdict {
		seen = append(seen, fmt.Sprint(m.ID, m.Deliveries))
		if m.ID == "b" {
			refused <- struct{}{}
			return inbox.Verdict{}
		}
		return b.handle(ctx, m)
	})
	<-refused
	<-refused
	stop()
	if got := b.committed(); got != 1 {
		t.Errorf("got offset %d, want 1", got)
	}
	if want := []string{"a2", "b2", "b3"}; !slices.Equal(seen[:3], want) {
		t.Errorf("got %v, want %v", seen[:3], want)
	}
	b.consume(b.handle)
	b.wantEffects("a", "b", "c")
}

// Poison goes to quarantine after its attempts, and its partition goes on.
func TestPoison(t *testing.T) {
	t.Parallel()
	b := newBroker(t, 1)
	b.produce(0, "a", "poison", "b")
	b.consume(func(ctx context.Context, m inbox.Message) inbox.Verdict {
		return b.inbox.Handle(ctx, m, func(ctx context.Context, m inbox.Message) error {
			if m.ID == "poison" {
				return errors.New("cannot be read")
			}
			return b.effect(ctx, m)
		})
	})
	b.wantEffects("a", "b")
	testserver.Eventually(t, "all offsets are committed", func() bool { return b.committed() == 3 })
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.reasons["failed"] != 2 || b.reasons["attempts"] != 1 {
		t.Errorf("got verdicts %v, want two retries and quarantine", b.reasons)
	}
}

// Consumers come and go while records are handled: each takes effect once, and none is lost.
func TestRebalances(t *testing.T) {
	t.Parallel()
	b := newBroker(t, 4)
	var names []string
	stop := b.consume(b.handle)
	for round := range 4 {
		for n := range 40 {
			name := fmt.Sprintf("%d-%d", round, n)
			names = append(names, name)
			b.produce(int32(n%4), name)
			if n == 20 {
				defer b.consume(b.handle)()
			}
		}
		stop()
		stop = b.consume(b.handle)
	}
	b.wantEffects(names...)
	testserver.Eventually(t, "all offsets are committed", func() bool { return b.committed() == 160 })
	b.mu.Lock()
	defer b.mu.Unlock()
	for reason := range b.reasons {
		if reason != "handled" && reason != "duplicate" && reason != "in-flight" && reason != "unavailable" {
			t.Errorf("got verdicts %v", b.reasons)
		}
	}
}

// A partition that is taken away while its handler runs for too long is given up: its record is read again, waits for the handler, and
// takes effect once.
func TestLateHandler(t *testing.T) {
	t.Parallel()
	b := newBroker(t, 1)
	b.produce(0, "a", "b")
	begun, goOn := make(chan struct{}), make(chan struct{})
	begin, release := sync.OnceFunc(func() { close(begun) }), sync.OnceFunc(func() { close(goOn) })
	inFlight := make(chan struct{}, 1000)
	handle := func(ctx context.Context, m inbox.Message) inbox.Verdict {
		v := b.inbox.Handle(ctx, m, func(ctx context.Context, m inbox.Message) error {
			begin()
			<-goOn
			return b.effect(ctx, m)
		})
		if v.Reason == "in-flight" {
			inFlight <- struct{}{}
			v.After = 0
		}
		return v
	}
	eager := kgo.Balancers(kgo.RangeBalancer()) // every rebalance takes all partitions away
	first := b.consume(handle, eager)
	t.Cleanup(release)
	<-begun
	b.consume(handle, eager)
	<-inFlight
	if got := b.committed(); got != 0 {
		t.Errorf("got offset %d while the first record has no verdict", got)
	}
	release()
	first()
	b.wantEffects("a", "b")
	testserver.Eventually(t, "all offsets are committed", func() bool { return b.committed() == 2 })
}

// A consumer that stops while its handler runs, and whose partition goes to another one meanwhile, takes back none of its offsets.
func TestStopsWhileRebalanced(t *testing.T) {
	t.Parallel()
	b := newBroker(t, 1)
	b.produce(0, "a", "b", "c")
	begun, stopping, goOn, stopped := make(chan struct{}), make(chan struct{}), make(chan struct{}), make(chan struct{})
	release := sync.OnceFunc(func() { close(goOn) })
	eager := kgo.Balancers(kgo.RangeBalancer()) // gives the partition to the first name
	stop := b.consume(func(ctx context.Context, _ inbox.Message) inbox.Verdict {
		close(begun)
		<-ctx.Done()
		close(stopping)
		<-goOn
		return inbox.Verdict{Act: inbox.Ack}
	}, eager, kgo.InstanceID("second"))
	t.Cleanup(release)
	<-begun
	go func() {
		defer close(stopped)
		stop()
	}()
	<-stopping
	b.consume(func(context.Context, inbox.Message) inbox.Verdict { return inbox.Verdict{Act: inbox.Ack} }, eager, kgo.InstanceID("first"))
	testserver.Eventually(t, "another consumer has committed all offsets", func() bool { return b.committed() == 3 })
	release()
	<-stopped
	if got := b.committed(); got != 3 {
		t.Errorf("got offset %d, want 3", got)
	}
}

// Of a partition, at most 1001 records were handled and are not committed, even when nothing else commits: as many as say at the start
// that they may have come before.
func TestWindow(t *testing.T) {
	t.Parallel()
	const window, records = 1001, 2100
	b := newBroker(t, 1)
	for range records {
		b.client.Produce(t.Context(), &kgo.Record{Partition: 0}, nil)
	}
	claimtest.NoError(t, b.client.Flush(t.Context()))
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	claimtest.NoError(t, kafka.Consume(ctx, kafka.Source{Group: group, Topics: []string{topic}, Client: []kgo.Opt{kgo.SeedBrokers(b.addrs...)}},
		func(_ context.Context, m inbox.Message) inbox.Verdict {
			n++
			if before := m.Deliveries > 1; before != (n <= window) {
				t.Errorf("record %d has %d deliveries", n, m.Deliveries)
			}
			if open := int64(n) - b.committed(); open > window { //nolint:contextcheck // it asks for the test
				t.Errorf("%d records are open", open)
			}
			if n == records || t.Failed() {
				cancel()
			}
			return inbox.Verdict{Act: inbox.Ack}
		}, &kafka.ConsumeOptions{CommitInterval: time.Hour, Logger: slog.New(slog.DiscardHandler)}))
	if n != records {
		t.Errorf("got %d records, want %d", n, records)
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		source kafka.Source
		o      kafka.ConsumeOptions
	}{
		"no group":     {kafka.Source{Topics: []string{topic}}, kafka.ConsumeOptions{}},
		"no topics":    {kafka.Source{Group: group}, kafka.ConsumeOptions{}},
		"concurrency":  {kafka.Source{Group: group, Topics: []string{topic}}, kafka.ConsumeOptions{Concurrency: -1}},
		"the interval": {kafka.Source{Group: group, Topics: []string{topic}}, kafka.ConsumeOptions{CommitInterval: -1}},
		"the client":   {kafka.Source{Group: group, Topics: []string{topic}}, kafka.ConsumeOptions{CommitInterval: 1}},
	} {
		if err := kafka.Consume(t.Context(), c.source, func(context.Context, inbox.Message) inbox.Verdict { return inbox.Verdict{} }, &c.o); err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
}
