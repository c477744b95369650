package rabbitmq_test

import (
	"context"
	"crypto/rand"
	"log/slog"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
	"go.uber.org/goleak"

	"github.com/semel-dev/semel/adapters/rabbitmq"
	"github.com/semel-dev/semel/inbox"
	"github.com/semel-dev/semel/internal/drivertest"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/outbox"
)

func TestMain(m *testing.M) {
	drivertest.Child(driver())
	goleak.VerifyTestMain(m)
}

func TestDriver(t *testing.T) {
	t.Parallel()
	drivertest.Run(t, driver())
}

func driver() drivertest.Driver {
	return drivertest.Driver{
		Addr: func(tb testing.TB) string { tb.Helper(); return testserver.RabbitMQ(tb) },
		Own:  func(tb testing.TB) drivertest.Server { tb.Helper(); return testserver.StartRabbitMQ(tb) },
		Make: func(tb testing.TB, addr, name string) func() int {
			tb.Helper()
			kind := "quorum"
			if addr != testserver.RabbitMQ(tb) { // a quorum queue of a single node finds no leader when that was killed: docs/messages.md
				kind = "classic"
			}
			declareQueue(tb, addr, name, amqp.Table{"x-queue-type": kind})
			ch := channel(tb, addr)
			return func() int {
				if ch.IsClosed() { // the broker was killed
					ch = channel(tb, addr)
				}
				queue, err := ch.QueueDeclarePassive(name, true, false, false, false, nil)
				must(tb, err)
				return queue.Messages
			}
		},
		Consume: func(ctx context.Context, addr, topic string, handlers int, handle drivertest.Handle) error {
			return rabbitmq.Consume(ctx, rabbitmq.Source{Dial: dial(addr), Queue: topic}, handle,
				&rabbitmq.ConsumeOptions{Concurrency: handlers, Logger: slog.New(slog.DiscardHandler)})
		},
		Publisher: func(addr string) (outbox.Publisher, func(), error) {
			p, err := rabbitmq.NewPublisher(dial(addr), &rabbitmq.PublisherOptions{Timeout: 3 * time.Second})
			return p, func() { _ = p.Close() }, err // the broker may be gone
		},
		Foreign:  foreign,
		Refused:  "no such queue",
		Reserved: []string{"CC", "x-death", "x-First-Death-Reason"},
	}
}

// foreign sends a message as another producer does.
func foreign(ctx context.Context, addr, topic string, m inbox.Message) error {
	conn, err := dial(addr)()
	if err != nil {
		return err
	}
	defer conn.Close()
	ch, err := conn.Channel()
	if err == nil {
		err = ch.Confirm(false)
	}
	if err != nil {
		return err
	}
	headers := amqp.Table{}
	for name, value := range m.Header {
		headers[name] = value
		var all []any
		for _, v := range m.Repeated[name] {
			all = append(all, v)
		}
		if all != nil {
			headers[name] = all
		}
	}
	if m.Key != nil {
		headers[rabbitmq.KeyHeader] = m.Key
	}
	sent, err := ch.PublishWithDeferredConfirm("", topic, true, false, amqp.Publishing{MessageId: m.ID, Headers: headers, Timestamp: time.Now(), Body: m.Body})
	if err != nil {
		return err
	}
	_, err = sent.WaitContext(ctx)
	return err
}

// makeQueue makes a queue for the test and returns its name.
func makeQueue(tb testing.TB, addr string, args amqp.Table) string {
	tb.Helper()
	name := "semel-" + rand.Text()
	declareQueue(tb, addr, name, args)
	return name
}

func declareQueue(tb testing.TB, addr, name string, args amqp.Table) {
	tb.Helper()
	_, err := channel(tb, addr).QueueDeclare(name, true, false, false, false, args)
	must(tb, err)
	tb.Cleanup(func() {
		_, err := channel(tb, addr).QueueDelete(name, false, false, false)
		must(tb, err)
	})
}

func publisher(tb testing.TB, addr string) *rabbitmq.Publisher {
	tb.Helper()
	p, err := rabbitmq.NewPublisher(dial(addr), &rabbitmq.PublisherOptions{Timeout: 3 * time.Second})
	must(tb, err)
	tb.Cleanup(func() { must(tb, p.Close()) })
	return p
}

func dial(addr string) rabbitmq.Dial {
	return func() (*amqp.Connection, error) { return amqp.Dial("amqp://guest:guest@" + addr) }
}

// channel is for what only tests do. Its connection is closed after the test.
func channel(tb testing.TB, addr string) *amqp.Channel {
	tb.Helper()
	conn, err := dial(addr)()
	must(tb, err)
	tb.Cleanup(func() { _ = conn.Close() }) // the broker may have been killed
	channel, err := conn.Channel()
	must(tb, err)
	return channel
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Error(err)
		tb.FailNow()
	}
}
