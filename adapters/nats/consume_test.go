package natsjs_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	natsjs "github.com/semel-dev/semel/adapters/nats"
	"github.com/semel-dev/semel/inbox"
	"github.com/semel-dev/semel/internal/testserver"
)

// A configuration under which messages are lost or handled twice is reported, or refused.
func TestConfiguration(t *testing.T) {
	t.Parallel()
	js := connect(t, testserver.StartNATS(t, nil).Addr())
	for name, tt := range map[string]struct {
		stream   jetstream.StreamConfig
		consumer jetstream.ConsumerConfig
		options  natsjs.ConsumeOptions
		warns    []string
		fails    string
	}{
		"fine":                        {stream: jetstream.StreamConfig{MaxAge: time.Hour}},
		"the shortest wait":           {stream: jetstream.StreamConfig{MaxAge: time.Hour}, consumer: jetstream.ConsumerConfig{AckWait: 5 * time.Second}},
		"a stream without an end":     {warns: []string{"after the inbox has forgotten it"}},
		"a stream beyond retention":   {stream: jetstream.StreamConfig{MaxAge: time.Hour}, options: natsjs.ConsumeOptions{Retention: time.Minute}, warns: []string{"after the inbox has forgotten it"}},
		"bounded deliveries":          {stream: jetstream.StreamConfig{MaxAge: time.Hour}, consumer: jetstream.ConsumerConfig{MaxDeliver: 3}, warns: []string{"MaxDeliver"}},
		"a short wait":                {stream: jetstream.StreamConfig{MaxAge: time.Hour}, consumer: jetstream.ConsumerConfig{AckWait: time.Second}, warns: []string{"AckWait is short"}},
		"a short wait in the backoff": {stream: jetstream.StreamConfig{MaxAge: time.Hour}, consumer: jetstream.ConsumerConfig{BackOff: []time.Duration{time.Second, time.Hour}, MaxDeliver: 5}, warns: []string{"MaxDeliver", "AckWait is short"}},
		"acknowledgements in bulk":    {consumer: jetstream.ConsumerConfig{AckPolicy: jetstream.AckAllPolicy}, fails: "AckExplicitPolicy"},
		"too many handlers":           {options: natsjs.ConsumeOptions{Concurrency: 1 << 20}, fails: "between 1 and"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.stream.Name = strings.ReplaceAll(name, " ", "-")
			tt.stream.Subjects = []string{tt.stream.Name}
			_, err := js.CreateStream(t.Context(), tt.stream)
			must(t, err)
			tt.consumer.Durable = consumerName
			_, err = js.CreateConsumer(t.Context(), tt.stream.Name, tt.consumer)
			must(t, err)
			var log bytes.Buffer
			tt.options.Logger = slog.New(slog.NewTextHandler(&log, nil))
			ctx, cancel := context.WithCancel(t.Context())
			_, err = js.Publish(ctx, tt.stream.Name, nil)
			must(t, err)
			err = natsjs.Consume(ctx, natsjs.Source{JetStream: js, Stream: tt.stream.Name, Consumer: consumerName}, func(context.Context, inbox.Message) inbox.Verdict {
				cancel()
				return inbox.Verdict{Act: inbox.Ack}
			}, &tt.options)
			if tt.fails == "" {
				must(t, err)
			} else if err == nil || !strings.Contains(err.Error(), tt.fails) {
				t.Errorf("got error %v, want one about %s", err, tt.fails)
			}
			if got := strings.Count(log.String(), "\n"); got != len(tt.warns) {
				t.Errorf("%d lines are logged, want %d", got, len(tt.warns))
			}
			for _, warning := range tt.warns {
				if !strings.Contains(log.String(), warning) {
					t.Errorf("no warning about %s in\n%s", warning, log.String())
				}
			}
		})
	}
}

// A source that does not exist is an error, and so is one that is removed.
func TestNoConsumer(t *testing.T) {
	t.Parallel()
	js := connect(t, testserver.StartNATS(t, nil).Addr())
	ack := func(context.Context, inbox.Message) inbox.Verdict { return inbox.Verdict{Act: inbox.Ack} }
	for _, source := range []natsjs.Source{{}, {JetStream: js, Stream: "none"}} {
		if err := natsjs.Consume(t.Context(), source, ack, nil); err == nil {
			t.Errorf("%+v: no error", source)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := natsjs.Consume(ended, natsjs.Source{}, ack, nil); err == nil {
		t.Error("an empty source is accepted once the context has ended")
	}
	makeStream(t, js, "gone", jetstream.ConsumerConfig{})
	must(t, natsjs.Consume(ended, natsjs.Source{JetStream: js, Stream: "gone", Consumer: consumerName}, ack, nil))
	source := natsjs.Source{JetStream: js, Stream: "gone", Consumer: consumerName}
	_, err := js.Publish(t.Context(), "gone", nil)
	must(t, err)
	err = natsjs.Consume(t.Context(), source, func(ctx context.Context, m inbox.Message) inbox.Verdict {
		must(t, js.DeleteConsumer(ctx, "gone", consumerName))
		return ack(ctx, m)
	}, &natsjs.ConsumeOptions{Logger: slog.New(slog.DiscardHandler)})
	if err == nil {
		t.Error("no error from a consumer that was removed")
	}
}

// A message that takes longer than AckWait is not delivered to another consumer meanwhile.
func TestKeptAlive(t *testing.T) {
	t.Parallel()
	js := connect(t, testserver.StartNATS(t, nil).Addr())
	const wait = 2 * time.Second
	makeStream(t, js, "slow", jetstream.ConsumerConfig{AckWait: wait})
	makeStream(t, js, "neglected", jetstream.ConsumerConfig{AckWait: wait})
	neglected, err := js.Consumer(t.Context(), "neglected", consumerName)
	must(t, err)
	for _, subject := range []string{"slow", "neglected"} {
		_, err := js.Publish(t.Context(), subject, nil)
		must(t, err)
	}
	var deliveries atomic.Int32
	ctx, cancel := context.WithCancel(t.Context())
	must(t, natsjs.Consume(ctx, natsjs.Source{JetStream: js, Stream: "slow", Consumer: consumerName}, func(context.Context, inbox.Message) inbox.Verdict {
		defer cancel()
		deliveries.Add(1)
		for range 3 { // the server delivers a message without a sign of life after AckWait
			if _, err := neglected.Next(jetstream.FetchMaxWait(time.Minute)); err != nil {
				t.Error(err)
			}
		}
		return inbox.Verdict{Act: inbox.Ack}
	}, &natsjs.ConsumeOptions{Logger: slog.New(slog.DiscardHandler)}))
	if n := deliveries.Load(); n != 1 {
		t.Errorf("the message was delivered %d times, want once", n)
	}
}

// A message is named by its header, by its Nats-Msg-Id, or by its place; the place is the same at every delivery.
func TestNames(t *testing.T) {
	t.Parallel()
	js := connect(t, testserver.StartNATS(t, nil).Addr())
	makeStream(t, js, "names", jetstream.ConsumerConfig{})
	for _, header := range []nats.Header{
		{natsjs.IDHeader: {"own"}, jetstream.MsgIDHeader: {"wire"}, "Several": {"first", "second"}}, {jetstream.MsgIDHeader: {"wire 2"}}, nil,
	} {
		_, err := js.PublishMsg(t.Context(), &nats.Msg{Subject: "names", Header: header})
		must(t, err)
	}
	var all []inbox.Message
	ctx, cancel := context.WithCancel(t.Context())
	must(t, natsjs.Consume(ctx, natsjs.Source{JetStream: js, Stream: "names", Consumer: consumerName}, func(_ context.Context, m inbox.Message) inbox.Verdict {
		if all = append(all, m); len(all) == 4 {
			cancel()
		}
		return inbox.Verdict{Act: map[bool]inbox.Act{true: inbox.Retry, false: inbox.Ack}[len(all) == 3]}
	}, &natsjs.ConsumeOptions{Concurrency: 1, Logger: slog.New(slog.DiscardHandler)}))
	if all[0].ID != "own" || all[1].ID != "wire 2" || !strings.HasPrefix(all[2].ID, "names:3:") || all[3].ID != all[2].ID {
		t.Errorf("got messages %q, %q, %q and %q", all[0].ID, all[1].ID, all[2].ID, all[3].ID)
	}
	if all[0].Header["Several"] != "first" || all[0].Deliveries != 1 || all[3].Deliveries != 2 {
		t.Errorf("got header %v, and %d and %d deliveries", all[0].Header, all[0].Deliveries, all[3].Deliveries)
	}
}
