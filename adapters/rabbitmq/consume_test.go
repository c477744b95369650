package rabbitmq_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/semel-dev/semel/adapters/rabbitmq"
	"github.com/semel-dev/semel/inbox"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/outbox"
)

// collect consumes one message after the other until judge has seen all it wants.
func collect(t *testing.T, queue string, hold time.Duration, judge func(m inbox.Message) (v inbox.Verdict, last bool)) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	must(t, rabbitmq.Consume(ctx, rabbitmq.Source{Dial: dial(testserver.RabbitMQ(t)), Queue: queue}, func(_ context.Context, m inbox.Message) inbox.Verdict {
		v, last := judge(m)
		if last {
			cancel()
		}
		return v
	}, &rabbitmq.ConsumeOptions{Concurrency: 1, HoldBack: hold, Logger: slog.New(slog.DiscardHandler)}))
}

// A message that is to be retried stays in the process, where the broker does not count it, until HoldBack is over.
func TestHeldBack(t *testing.T) {
	t.Parallel()
	addr := testserver.RabbitMQ(t)
	const hold, tries = 500 * time.Millisecond, 3
	queue := makeQueue(t, addr, amqp.Table{"x-queue-type": "quorum", "x-delivery-limit": 1})
	if errs := publisher(t, addr).Publish(t.Context(), []outbox.Message{{ID: "1", Topic: queue}}); errs != nil {
		t.Fatal(errs)
	}
	var deliveries []int
	collect(t, queue, hold, func(m inbox.Message) (inbox.Verdict, bool) {
		deliveries = append(deliveries, m.Deliveries)
		switch n := len(deliveries); {
		case n < tries:
			return inbox.Verdict{}, false
		case n == tries:
			return inbox.Verdict{After: time.Hour}, false // no longer than HoldBack
		default:
			return inbox.Verdict{Act: inbox.Ack}, true
		}
	})
	for i, n := range deliveries {
		if want := 1 + i/tries; n != want {
			t.Errorf("the deliveries count %v, want %d at %d: only HoldBack gives a message back", deliveries, want, i)
		}
	}
}

// What cannot be consumed is an error at once.
func TestSourceThatCannotBeConsumed(t *testing.T) {
	t.Parallel()
	addr := testserver.RabbitMQ(t)
	ack := func(context.Context, inbox.Message) inbox.Verdict { return inbox.Verdict{Act: inbox.Ack} }
	recovering := func() (*amqp.Connection, error) {
		return amqp.DialConfig("amqp://guest:guest@"+addr, amqp.Config{Recovery: &amqp.Recovery{}})
	}
	for name, source := range map[string]rabbitmq.Source{
		"no way to connect": {}, "no such queue": {Dial: dial(addr), Queue: "none"}, "no broker": {Dial: dial("127.0.0.1:1"), Queue: "none"},
		"a connection that recovers": {Dial: recovering, Queue: makeQueue(t, addr, nil)},
	} {
		if err := rabbitmq.Consume(t.Context(), source, ack, nil); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	for _, o := range []rabbitmq.ConsumeOptions{{Concurrency: -1}, {Prefetch: 1}, {Concurrency: 1 << 20}, {HoldBack: -1}} {
		if err := rabbitmq.Consume(t.Context(), rabbitmq.Source{Dial: dial(addr), Queue: "none"}, ack, &o); err == nil {
			t.Errorf("%+v: no error", o)
		}
	}
}

// What a message says about itself arrives in the words of the inbox.
func TestReceived(t *testing.T) {
	t.Parallel()
	addr := testserver.RabbitMQ(t)
	queue := makeQueue(t, addr, nil)
	ch := channel(t, addr)
	must(t, ch.QueueBind(queue, "a.b", "amq.topic", false, nil))
	sent := time.Date(2026, 11, 28, 1, 2, 3, 0, time.UTC)
	headers := amqp.Table{
		"text": "x", "bytes": []byte("y"), "number": int32(3), "table": amqp.Table{"a": "b"}, "none": nil,
		"array": []any{"a", amqp.Table{"n": int32(1)}}, "time": sent, "app-id": "of the headers",
	}
	must(t, ch.PublishWithContext(t.Context(), "amq.topic", "a.b", true, false, amqp.Publishing{
		MessageId: "1", Body: []byte("body"), Headers: headers, Timestamp: sent, ContentType: "text/plain", CorrelationId: "17", AppId: "of the properties",
	}))
	if errs := publisher(t, addr).Publish(t.Context(), []outbox.Message{{ID: "2", Topic: "amq.topic/a.b", Key: "k", Header: map[string]string{"text": "x"}}}); errs != nil {
		t.Fatal(errs)
	}
	var got []inbox.Message
	collect(t, queue, 0, func(m inbox.Message) (inbox.Verdict, bool) {
		got = append(got, m)
		return inbox.Verdict{Act: inbox.Ack}, len(got) == 2
	})
	if now := got[1].Time; now.Before(sent) {
		t.Errorf("the second message was sent at %v", now)
	}
	got[1].Time = time.Time{}
	want := []inbox.Message{
		{ID: "1", Subject: "amq.topic/a.b", Body: []byte("body"), Header: map[string]string{
			"text": "x", "bytes": "y", "number": "3", "table": `{"a":"b"}`, "none": "", "array": "a", "time": "2026-11-28T01:02:03Z", "app-id": "of the headers",
			"content-type": "text/plain", "correlation-id": "17",
		}, Repeated: map[string][]string{"array": {"a", `{"n":1}`}}, Time: sent, Deliveries: 1},
		{ID: "2", Subject: "amq.topic/a.b", Key: []byte("k"), Body: []byte{}, Header: map[string]string{"text": "x", rabbitmq.KeyHeader: "k"}, Deliveries: 1},
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}
