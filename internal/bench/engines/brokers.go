package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	natsjs "github.com/semel-dev/semel/adapters/nats"
	"github.com/semel-dev/semel/inbox"
	"github.com/semel-dev/semel/internal/bench/contest"
	"github.com/semel-dev/semel/internal/testserver/dbserver"
	"github.com/semel-dev/semel/outbox"
	"github.com/semel-dev/semel/store/pgstore"
)

const (
	streamName  = "rows"
	batch       = 500
	maxPending  = 16384
	relayed     = 50_000 // messages in a measurement of a relay
	consumed    = 10_000 // and of a consumer
	aimInbox    = 0.8
	aimWriter   = 0.85
	aimRelay    = 40_000 // messages in a second
	streamWords = "row.>"
)

// broker is a NATS server with a stream in a file.
type broker struct {
	home   *dbserver.Home
	conn   *nats.Conn
	js     jetstream.JetStream
	stream jetstream.Stream
}

func openBroker(ctx context.Context) (b *broker, err error) {
	b = &broker{}
	if b.home, err = dbserver.Open(); err != nil {
		return nil, err
	}
	server, err := b.home.NATS(ctx, nil)
	if err == nil {
		b.conn, err = nats.Connect("nats://" + server.Addr())
	}
	if err == nil {
		b.js, err = jetstream.New(b.conn, jetstream.WithPublishAsyncMaxPending(maxPending))
	}
	if err == nil {
		b.stream, err = b.js.CreateStream(ctx, jetstream.StreamConfig{Name: streamName, Subjects: []string{streamWords}})
	}
	if err != nil {
		return nil, errors.Join(err, b.home.Close())
	}
	return b, nil
}

func (b *broker) close() {
	b.conn.Close()
	_ = b.home.Close() // only measured
}

// way is one way to move messages: the time of move counts, that of fill does not.
type way struct {
	name       string
	fill, move func(ctx context.Context) error
	rates      []float64 // messages in a second
}

// race measures the ways in turn, and adds a row for each to the table; the first is the rival.
func race(ctx context.Context, set *contest.Settings, t *contest.Table, messages int, ways ...*way) error {
	for round := range set.Rounds + 1 {
		for _, w := range ways {
			if err := w.fill(ctx); err != nil {
				return fmt.Errorf("%s: %w", w.name, err)
			}
			began := time.Now()
			if err := w.move(ctx); err != nil {
				return fmt.Errorf("%s: %w", w.name, err)
			}
			if round > 0 { // the first one warms up
				w.rates = append(w.rates, float64(messages)/time.Since(began).Seconds())
			}
		}
	}
	for i, w := range ways {
		rate := contest.ValueOf(w.rates)
		row := contest.Row{Subject: w.name, Time: fmt.Sprintf("%.1f k/s", rate.Median/1e3)}
		if i > 0 {
			row.Against = fmt.Sprintf("%v × %s", contest.Ratio(w.rates, ways[0].rates), ways[0].name)
		}
		if messages == relayed && i > 0 {
			row.Aim, row.Met = fmt.Sprintf("≥ %d k/s", aimRelay/1000), rate.AtLeast(aimRelay)
		}
		t.Rows = append(t.Rows, row)
	}
	return nil
}

// relaying compares a relay, which reads and deletes the messages, with publishing what is in memory.
func relaying(ctx context.Context, set *contest.Settings, s *shop, t *contest.Table) error {
	b, err := openBroker(ctx)
	if err != nil {
		return err
	}
	defer b.close()
	publisher, err := natsjs.NewPublisher(b.conn, nil)
	if err != nil {
		return err
	}
	purge := func(ctx context.Context) error { return b.stream.Purge(ctx) }
	return race(
		ctx, set, t, relayed,
		&way{name: "bare publish to NATS, acknowledged", fill: purge, move: func(ctx context.Context) error { return b.publish(ctx, s, relayed) }},
		&way{
			name: "relay to NATS, acknowledged", fill: func(ctx context.Context) error { return errors.Join(purge(ctx), s.fill(ctx, relayed)) },
			move: func(ctx context.Context) error { return s.relay(ctx, publisher) },
		},
	)
}

// publish publishes so many messages of a row's size, and waits until the stream has them.
func (b *broker) publish(ctx context.Context, s *shop, n int) error {
	acks := make([]jetstream.PubAckFuture, n)
	for i := range acks {
		m := s.message()
		msg := nats.NewMsg(m.Topic)
		msg.Data = m.Body
		var err error
		if acks[i], err = b.js.PublishMsgAsync(msg); err != nil {
			return err
		}
	}
	for _, ack := range acks {
		select {
		case <-ack.Ok():
		case err := <-ack.Err():
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// fill adds messages to the outbox.
func (s *shop) fill(ctx context.Context, n int) error {
	for ; n > 0; n -= batch {
		messages := make([]outbox.Message, min(n, batch))
		for i := range messages {
			messages[i] = s.message()
		}
		if err := s.inTx(ctx, func(tx pgx.Tx) error { return s.out.Add(ctx, outbox.Pgx(tx), messages...) }); err != nil {
			return err
		}
	}
	return nil
}

// relay publishes all that waits.
func (s *shop) relay(ctx context.Context, to outbox.Publisher) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	passes := make(chan outbox.Pass)
	relay, err := outbox.NewRelay(s.out, s.guard, to, &outbox.RelayOptions{
		Logger: slog.New(slog.DiscardHandler),
		Observe: func(pass outbox.Pass) {
			select {
			case passes <- pass:
			case <-ctx.Done():
			}
		},
	})
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- relay.Run(ctx) }()
	for published := 0; published < relayed; {
		select {
		case pass := <-passes:
			if pass.Err != nil || pass.Failed > 0 {
				return fmt.Errorf("%d messages failed: %w", pass.Failed, pass.Err)
			}
			published += pass.Published
		case err := <-ended:
			return errors.Join(errors.New("the relay ended early"), err)
		}
	}
	stop()
	return <-ended // it has deleted the last ones
}

// consuming compares a consumer whose handler writes a row with the same one without an inbox.
func consuming(ctx context.Context, set *contest.Settings, s *shop, t *contest.Table) error {
	b, err := openBroker(ctx)
	if err != nil {
		return err
	}
	defer b.close()
	source := natsjs.Source{JetStream: b.js, Stream: streamName, Consumer: "bench"}
	_, err = b.stream.CreateConsumer(ctx, jetstream.ConsumerConfig{Durable: source.Consumer, AckPolicy: jetstream.AckExplicitPolicy})
	if err != nil {
		return err
	}
	fill := func(ctx context.Context) error { return b.publish(ctx, s, consumed) }
	consume := func(handle func(context.Context, inbox.Message) inbox.Verdict) func(context.Context) error {
		return func(ctx context.Context) error { return all(ctx, source, handle) }
	}
	return race(
		ctx, set, t, consumed,
		&way{name: "bare consumer on NATS, a transaction of one INSERT", fill: fill, move: consume(func(ctx context.Context, _ inbox.Message) inbox.Verdict {
			if err := s.inTx(ctx, func(tx pgx.Tx) error { return s.insert(ctx, tx) }); err != nil {
				return inbox.Verdict{Act: inbox.Retry, Err: err}
			}
			return inbox.Verdict{Act: inbox.Ack}
		})},
		&way{name: "consumer on NATS with HandleTx", fill: fill, move: consume(func(ctx context.Context, m inbox.Message) inbox.Verdict {
			return s.in.HandleTx(ctx, s.store.Transactor(nil), m, func(ctx context.Context, _ inbox.Message) error {
				return s.insert(ctx, pgstore.TxFrom(ctx))
			})
		})},
	)
}

// all handles all messages that wait.
func all(ctx context.Context, source natsjs.Source, handle func(context.Context, inbox.Message) inbox.Verdict) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var done atomic.Int64
	err := natsjs.Consume(ctx, source, func(ctx context.Context, m inbox.Message) inbox.Verdict {
		v := handle(context.WithoutCancel(ctx), m)
		if v.Act == inbox.Ack && done.Add(1) == consumed {
			stop()
		}
		return v
	}, &natsjs.ConsumeOptions{Concurrency: callers, Prefetch: 4 * callers, Logger: slog.New(slog.DiscardHandler)})
	if err == nil && done.Load() < consumed {
		err = ctx.Err()
	}
	return err
}
