package kafka_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/semel-dev/semel/adapters/kafka"
	"github.com/semel-dev/semel/inbox"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/outbox"
)

func (b *broker) publisher(o *kafka.PublisherOptions) *kafka.Publisher {
	b.Helper()
	p, err := kafka.NewPublisher(b.client, o)
	claimtest.NoError(b, err)
	return p
}

func message(id, key string) outbox.Message {
	return outbox.Message{ID: id, Topic: topic, Key: key, Body: []byte("body of " + id), Header: map[string]string{"trace": id}}
}

// Messages of a key arrive in their order, with their ids and headers; what is published twice takes effect once.
func TestPublish(t *testing.T) {
	t.Parallel()
	b := newBroker(t, 3)
	p := b.publisher(nil)
	var batch []outbox.Message
	var names []string
	for _, key := range []string{"x", "y", "z", ""} {
		for n := range 20 {
			names = append(names, fmt.Sprintf("%s%02d", key, n))
			batch = append(batch, message(names[len(names)-1], key))
		}
	}
	for range 2 {
		if errs := p.Publish(t.Context(), batch); errs != nil {
			t.Fatal(errs)
		}
	}
	b.wantKeys(2 * len(batch))
	last := map[string]string{}
	b.consume(func(ctx context.Context, m inbox.Message) inbox.Verdict {
		return b.inbox.Handle(ctx, m, func(ctx context.Context, m inbox.Message) error {
			b.mu.Lock()
			key := strings.TrimRight(m.ID, "0123456789")
			if key != "" && last[key] > m.ID {
				t.Errorf("%s came after %s", m.ID, last[key])
			}
			last[key] = m.ID
			b.mu.Unlock()
			if m.Header["trace"] != m.ID || string(m.Body) != "body of "+m.ID || m.Subject != topic {
				t.Errorf("got %+v", m)
			}
			return b.effect(ctx, m)
		})
	})
	b.wantEffects(names...)
}

// wantKeys reads so many records: their keys are those of the messages, and each key is in one partition.
func (b *broker) wantKeys(records int) {
	b.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(b.addrs...), kgo.ConsumeTopics(topic))
	claimtest.NoError(b, err)
	defer client.Close()
	in := map[string]int32{}
	for records > 0 {
		client.PollFetches(b.Context()).EachRecord(func(r *kgo.Record) {
			records--
			key := string(r.Key)
			if want := strings.TrimRight(strings.TrimPrefix(string(r.Value), "body of "), "0123456789"); key != want {
				b.Errorf("%s has key %q, want %q", r.Value, key, want)
			}
			if before, seen := in[key]; seen && before != r.Partition && key != "" {
				b.Errorf("key %q is in partitions %d and %d", key, before, r.Partition)
			}
			in[key] = r.Partition
		})
	}
}

// Of a batch, only the message that fails and the later ones of its key are reported, and those are not sent.
func TestPublishRefused(t *testing.T) {
	t.Parallel()
	b := newBroker(t, 1)
	large := message("large", "x")
	large.Body = make([]byte, 2<<20)
	named := message("named", "y")
	named.Header["id"] = "17" // as other producers name theirs
	batch := []outbox.Message{message("first", "x"), large, message("late", "x"), named, message("other", "z"), message("none", "")}
	for i, err := range b.publisher(nil).Publish(t.Context(), batch) {
		if failed, want := err != nil, i == 1 || i == 2; failed != want {
			t.Errorf("%s: got error %v, want one: %v", batch[i].ID, err, want)
		}
	}
	b.consume(b.handle)
	b.wantEffects("first", "named", "other", "none")
}

// A publisher does not say that a message arrived before it knows.
func TestPublishUnreachable(t *testing.T) {
	t.Parallel()
	b := newBroker(t, 1)
	client, err := kgo.NewClient(kgo.SeedBrokers("127.0.0.1:1"))
	claimtest.NoError(t, err)
	t.Cleanup(client.Close)
	p, err := kafka.NewPublisher(client, &kafka.PublisherOptions{Timeout: 200 * time.Millisecond})
	claimtest.NoError(t, err)
	if errs := p.Publish(t.Context(), []outbox.Message{message("a", "x"), message("b", "")}); len(errs) != 2 || errs[0] == nil || errs[1] == nil {
		t.Errorf("got %v, want an error for each", errs)
	}
	for name, opt := range map[string][]kgo.Opt{
		"acks":       {kgo.RequiredAcks(kgo.LeaderAck()), kgo.DisableIdempotentWrite()},
		"idempotent": {kgo.DisableIdempotentWrite()},
	} {
		client, err := kgo.NewClient(append(opt, kgo.SeedBrokers(b.addrs...))...)
		claimtest.NoError(t, err)
		t.Cleanup(client.Close)
		if _, err := kafka.NewPublisher(client, nil); err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
}

// A client keeps what it could not send. Publishing that again waits for it, so an outage does not fill the topic with copies.
func TestOutageMakesNoCopies(t *testing.T) {
	t.Parallel()
	b := newBroker(t, 3)
	proxy := testserver.NewProxy(t, b.addrs[0])
	client, err := kgo.NewClient(dial(proxy.Addr())...)
	claimtest.NoError(t, err)
	t.Cleanup(client.Close)
	p, err := kafka.NewPublisher(client, &kafka.PublisherOptions{Timeout: 200 * time.Millisecond})
	claimtest.NoError(t, err)
	batch := []outbox.Message{message("a", "x"), message("b", "y"), message("c", "")}
	testserver.Eventually(t, "it is connected", func() bool { return p.Publish(t.Context(), []outbox.Message{message("first", "x")}) == nil })
	proxy.Down()
	for range 5 {
		if errs := p.Publish(t.Context(), batch); errs == nil {
			t.Error("no error from a broker that cannot be reached")
		}
	}
	if n := client.BufferedProduceRecords(); n > int64(len(batch)) {
		t.Errorf("the client keeps %d records of %d messages", n, len(batch))
	}
	other := message("a", "x")
	other.Body = []byte("body of another message")
	_ = p.Publish(t.Context(), []outbox.Message{other})
	proxy.Up()
	testserver.Eventually(t, "all are published", func() bool { return p.Publish(t.Context(), append(batch, other)) == nil })
	bodies := make(chan string, 1000)
	b.consume(func(ctx context.Context, m inbox.Message) inbox.Verdict {
		bodies <- string(m.Body)
		return b.handle(ctx, m)
	})
	b.wantEffects("first", "a", "b", "c")
	for body := range bodies {
		if body == "body of another message" {
			return
		}
	}
}
