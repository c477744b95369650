package natsjs_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	natsjs "github.com/semel-dev/semel/adapters/nats"
	"github.com/semel-dev/semel/inbox"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/drivertest"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/outbox"
)

// consumerName is that of every stream's consumer.
const consumerName = "billing"

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
		Addr: func(tb testing.TB) string { tb.Helper(); return testserver.StartNATS(tb, nil).Addr() },
		Own:  func(tb testing.TB) drivertest.Server { tb.Helper(); return testserver.StartNATS(tb, nil) },
		Make: func(tb testing.TB, addr, name string) func() int {
			tb.Helper()
			js := connect(tb, addr)
			makeStream(tb, js, name, jetstream.ConsumerConfig{AckWait: 2 * time.Second})
			return func() int {
				consumer, err := js.Consumer(context.WithoutCancel(tb.Context()), name, consumerName)
				must(tb, err)
				info := consumer.CachedInfo()
				return int(info.NumPending) + info.NumAckPending
			}
		},
		Consume: consume,
		Publisher: func(addr string) (outbox.Publisher, func(), error) {
			conn, err := dial(addr)
			if err != nil {
				return nil, nil, err
			}
			p, err := natsjs.NewPublisher(conn, &natsjs.PublisherOptions{Timeout: 3 * time.Second})
			return p, conn.Close, err
		},
		Foreign:  foreign,
		Names:    true,
		Refused:  "no.stream",
		Reserved: []string{"Nats-Msg-Id", "nats-rollup"},
	}
}

// foreign sends a message as another producer does.
func foreign(ctx context.Context, addr, topic string, m inbox.Message) error {
	conn, err := dial(addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		return err
	}
	msg := nats.NewMsg(topic)
	msg.Data = m.Body
	for name, value := range m.Header {
		msg.Header[name] = append([]string{value}, m.Repeated[name][min(1, len(m.Repeated[name])):]...)
	}
	if m.ID != "" {
		msg.Header.Set(natsjs.IDHeader, m.ID)
	}
	if m.Key != nil {
		msg.Header.Set(natsjs.KeyHeader, string(m.Key))
	}
	for name, values := range msg.Header {
		for _, value := range values {
			if strings.ContainsAny(value, "\r\n") || strings.TrimSpace(value) != value {
				return fmt.Errorf("the client would change header %s", name)
			}
		}
	}
	_, err = js.PublishMsg(ctx, msg)
	return err
}

// makeStream makes a stream with one subject, its name, and a consumer.
func makeStream(tb testing.TB, js jetstream.JetStream, name string, c jetstream.ConsumerConfig) {
	tb.Helper()
	_, err := js.CreateStream(tb.Context(), jetstream.StreamConfig{Name: name, Subjects: []string{name, name + ".>"}, MaxAge: time.Hour})
	must(tb, err)
	c.Durable = consumerName
	_, err = js.CreateConsumer(tb.Context(), name, c)
	must(tb, err)
}

func consume(ctx context.Context, addr, topic string, handlers int, handle drivertest.Handle) error {
	conn, err := dial(addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		return err
	}
	return natsjs.Consume(ctx, natsjs.Source{JetStream: js, Stream: topic, Consumer: consumerName}, handle,
		&natsjs.ConsumeOptions{Concurrency: handlers, Logger: slog.New(slog.DiscardHandler)})
}

func publisher(tb testing.TB, addr string) outbox.Publisher {
	tb.Helper()
	p, end, err := driver().Publisher(addr)
	must(tb, err)
	tb.Cleanup(end)
	return p
}

func dial(addr string) (*nats.Conn, error) {
	return nats.Connect("nats://"+addr, nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond), nats.ReconnectJitter(0, 0))
}

func connect(tb testing.TB, addr string) jetstream.JetStream {
	tb.Helper()
	conn, err := dial(addr)
	must(tb, err)
	tb.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	must(tb, err)
	return js
}

var must = claimtest.NoError
