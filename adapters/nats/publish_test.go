package natsjs_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	natsjs "github.com/semel-dev/semel/adapters/nats"
	"github.com/semel-dev/semel/inbox"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/outbox"
)

// A stream drops what has the Nats-Msg-Id of another message, whatever its subject and body: of messages with one ID it must
// drop repetitions only.
func TestSameIDIsNotDropped(t *testing.T) {
	t.Parallel()
	addr := testserver.StartNATS(t, nil).Addr()
	js := connect(t, addr)
	makeStream(t, js, "orders", jetstream.ConsumerConfig{})
	p := publisher(t, addr)
	batch := []outbox.Message{
		{ID: "1", Topic: "orders.paid", Body: []byte("a")},
		{ID: "1", Topic: "orders.sent", Body: []byte("a")},
		{ID: "1", Topic: "orders.paid", Body: []byte("b")},
	}
	for range 2 {
		if errs := p.Publish(t.Context(), batch); errs != nil {
			t.Fatal(errs)
		}
	}
	var got []string
	ctx, cancel := context.WithCancel(t.Context())
	must(t, natsjs.Consume(ctx, natsjs.Source{JetStream: js, Stream: "orders", Consumer: consumerName}, func(_ context.Context, m inbox.Message) inbox.Verdict {
		if got = append(got, m.ID+" "+m.Subject+" "+string(m.Body)); len(got) == len(batch) {
			cancel()
		}
		return inbox.Verdict{Act: inbox.Ack}
	}, &natsjs.ConsumeOptions{Concurrency: 1, Logger: slog.New(slog.DiscardHandler)}))
	if got, want := strings.Join(got, ", "), "1 orders.paid a, 1 orders.sent a, 1 orders.paid b"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	stream, err := js.Stream(t.Context(), "orders")
	must(t, err)
	if n := stream.CachedInfo().State.Msgs; n != uint64(len(batch)) {
		t.Errorf("the stream has %d messages, want %d", n, len(batch))
	}
}

// What will never be published fails for good, and the rest of the batch does not.
func TestPermanentErrors(t *testing.T) {
	t.Parallel()
	addr := testserver.StartNATS(t, nil).Addr()
	js := connect(t, addr)
	_, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "small", MaxMsgSize: 1000})
	must(t, err)
	makeStream(t, js, "large", jetstream.ConsumerConfig{})
	p := publisher(t, addr)
	for name, tt := range map[string]struct {
		message   outbox.Message
		permanent bool
	}{
		"no ID":                        {outbox.Message{Topic: "large"}, true},
		"no subject":                   {outbox.Message{ID: "1"}, true},
		"a wildcard":                   {outbox.Message{ID: "1", Topic: "large.>"}, true},
		"a command to the stream":      {outbox.Message{ID: "1", Topic: "large", Header: map[string]string{"nats-Rollup": "all"}}, true},
		"a line break in a header":     {outbox.Message{ID: "1", Topic: "large", Header: map[string]string{"A": "b\r\nNats-Rollup: all"}}, true},
		"a line break in the ID":       {outbox.Message{ID: "1\r\nA: b", Topic: "large"}, true},
		"too large for the stream":     {outbox.Message{ID: "1", Topic: "small", Body: make([]byte, 2000)}, true},
		"too large for the server":     {outbox.Message{ID: "1", Topic: "large", Body: make([]byte, 2<<20)}, true},
		"a subject without any stream": {outbox.Message{ID: "1", Topic: "none"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			errs := p.Publish(t.Context(), []outbox.Message{{ID: name + " before", Topic: "large"}, tt.message, {ID: name + " after", Topic: "large"}})
			if errs == nil || errs[0] != nil || errs[1] == nil || errs[2] != nil {
				t.Fatalf("got errors %v, want one for the second message", errs)
			}
			if got := permanent(errs[1]); got != tt.permanent {
				t.Errorf("error %v is permanent: %v, want %v", errs[1], got, tt.permanent)
			}
		})
	}
}

// A publisher does not leave messages to a connection that is interrupted: it would send them when the relay has tried again.
func TestNothingIsSentLater(t *testing.T) {
	t.Parallel()
	server := testserver.StartNATS(t, nil)
	conn := connect(t, server.Addr()).Conn()
	p, err := natsjs.NewPublisher(conn, nil)
	must(t, err)
	server.Kill()
	testserver.Eventually(t, "the connection is interrupted", func() bool { return conn.Status() == nats.RECONNECTING })
	if errs := p.Publish(t.Context(), []outbox.Message{{ID: "1", Topic: "late"}}); errs == nil {
		t.Error("no error over an interrupted connection")
	}
	if n, err := conn.Buffered(); err != nil || n != 0 {
		t.Errorf("%d bytes wait for the connection, error %v", n, err)
	}
	server.Start()
}

// permanent reports whether an error was made with outbox.Permanent.
func permanent(err error) bool {
	return fmt.Sprintf("%T", err) == fmt.Sprintf("%T", outbox.Permanent(err))
}
