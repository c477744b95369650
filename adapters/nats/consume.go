package natsjs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/semel-dev/semel/inbox"
)

const (
	defaultConcurrency = 8
	mostConcurrency    = 1 << 16

	// leastPrefetch leaves room for the heartbeat of a pull request next to a message.
	leastPrefetch = 2

	// leastDelay of a Retry without one keeps a message that comes back at once from spinning.
	leastDelay = 100 * time.Millisecond

	// pullExpiry and pullHeartbeat bound the time in which a lost pull request is noticed to two heartbeats.
	pullExpiry    = 30 * time.Second
	pullHeartbeat = 5 * time.Second

	// beatsPerWait counts the signs of life of a message that is being handled, within the time after which it would come back.
	beatsPerWait = 3

	// shortWait is an AckWait that a process that is paused for a moment exceeds.
	shortWait = 5 * time.Second

	// flushTimeout bounds how long the last acknowledgements may take to leave the process.
	flushTimeout = 5 * time.Second
)

// Source names a durable pull consumer, which exists.
type Source struct {
	JetStream jetstream.JetStream
	Stream    string
	Consumer  string
}

// ConsumeOptions are the options of [Consume]. Nil means all defaults.
type ConsumeOptions struct {
	// Concurrency bounds the messages that are handled at once, at most 65536. Default: 8. With 1, and no other process on the
	// consumer, messages are handled in the order of the stream, except those that come back.
	// A handler that takes a second connection next to that of inbox.Inbox.HandleTx needs a larger pool: pgstore's has 4 by default.
	Concurrency int
	// Prefetch bounds the messages that wait in this process while all handlers run, at least 2. One that waits for longer than
	// the consumer's AckWait is delivered again. Default: Concurrency.
	Prefetch int
	// Retention is that of the inbox, for a warning when the stream keeps messages for longer. Default:
	// [inbox.DefaultRetention].
	Retention time.Duration
	// Logger gets warnings about the configuration, and what goes wrong later. Default: slog.Default().
	Logger *slog.Logger
}

// Consume gives each message of the source to handle and acknowledges it afterwards: Ack and Quarantine acknowledge, Retry
// has it delivered again after its delay, at least 100 ms. A message that is being handled is kept alive,
// however long that takes. An acknowledgement that is lost leads to one more delivery, which the inbox recognises.
//
// It returns nil when ctx has ended and the running handlers have finished: their context is ctx, so a handler that must not be
// interrupted detaches itself, as [inbox.Inbox.Handle] does. What was fetched and not handled is given back at once.
// It goes on through interruptions of the connection, which reconnects as its options say; and returns an error when the
// connection has been closed, when the consumer does not exist, or when it does not want each message acknowledged.
func Consume(ctx context.Context, source Source, handle func(context.Context, inbox.Message) inbox.Verdict, o *ConsumeOptions) error {
	c, err := newConsumption(ctx, source, handle, o)
	if err != nil {
		if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
			return nil
		}
		return err
	}
	for ctx.Err() == nil {
		if err := c.fetch(ctx); err != nil {
			return err
		}
	}
	flush, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTimeout)
	defer cancel()
	if err := source.JetStream.Conn().FlushWithContext(flush); err != nil {
		c.log.LogAttrs(flush, slog.LevelWarn, "natsjs: the last acknowledgements may be lost, and their messages come back", slog.Any("error", err))
	}
	return nil
}

// consumption is one call of Consume.
type consumption struct {
	source   jetstream.Consumer
	handle   func(context.Context, inbox.Message) inbox.Verdict
	prefetch int
	slots    chan struct{} // one for each handler
	wait     time.Duration // after which a message without a sign of life comes back
	log      *slog.Logger
}

func newConsumption(ctx context.Context, source Source, handle func(context.Context, inbox.Message) inbox.Verdict, o *ConsumeOptions) (*consumption, error) {
	if source.JetStream == nil || handle == nil {
		return nil, errors.New("natsjs: Consume needs a JetStream and a function that handles messages")
	}
	if o == nil {
		o = &ConsumeOptions{}
	}
	concurrency := cmp.Or(o.Concurrency, defaultConcurrency)
	if concurrency < 1 || concurrency > mostConcurrency || o.Prefetch < 0 || o.Prefetch > mostConcurrency {
		return nil, fmt.Errorf("natsjs: Concurrency and Prefetch are between 1 and %d", mostConcurrency)
	}
	stream, err := source.JetStream.Stream(ctx, source.Stream)
	if err != nil {
		return nil, fmt.Errorf("natsjs: find stream %s: %w", source.Stream, err)
	}
	consumer, err := stream.Consumer(ctx, source.Consumer)
	if err != nil {
		return nil, fmt.Errorf("natsjs: find consumer %s of stream %s: %w", source.Consumer, source.Stream, err)
	}
	config := consumer.CachedInfo().Config
	if config.AckPolicy != jetstream.AckExplicitPolicy {
		return nil, fmt.Errorf("natsjs: consumer %s of stream %s has AckPolicy %v and would lose messages: make it with AckExplicitPolicy",
			source.Consumer, source.Stream, config.AckPolicy)
	}
	if config.HeadersOnly {
		return nil, fmt.Errorf("natsjs: consumer %s of stream %s delivers no bodies: make it without HeadersOnly", source.Consumer, source.Stream)
	}
	c := &consumption{
		source: consumer, handle: handle, prefetch: max(cmp.Or(o.Prefetch, concurrency), leastPrefetch),
		slots: make(chan struct{}, concurrency), wait: slices.Min(append(config.BackOff, config.AckWait)),
		log: cmp.Or(o.Logger, slog.Default()),
	}
	c.log = c.log.With(slog.String("stream", source.Stream), slog.String("consumer", source.Consumer))
	c.warn(ctx, stream.CachedInfo().Config, config, cmp.Or(o.Retention, inbox.DefaultRetention))
	if reconnects := source.JetStream.Conn().Opts.MaxReconnect; reconnects >= 0 {
		c.log.LogAttrs(ctx, slog.LevelWarn, "natsjs: the connection gives up for good during a long outage: connect with nats.MaxReconnects(-1)",
			slog.Int("max_reconnects", reconnects))
	}
	return c, nil
}

// warn reports a configuration under which messages are lost, or handled twice.
func (c *consumption) warn(ctx context.Context, stream jetstream.StreamConfig, consumer jetstream.ConsumerConfig, retention time.Duration) {
	if stream.MaxAge == 0 || stream.MaxAge > retention {
		c.log.LogAttrs(ctx, slog.LevelWarn,
			"natsjs: the stream can deliver a message again after the inbox has forgotten it: make its MaxAge shorter than the inbox's Retention",
			slog.Duration("max_age", stream.MaxAge), slog.Duration("retention", retention))
	}
	if consumer.MaxDeliver > 0 {
		c.log.LogAttrs(ctx, slog.LevelWarn,
			"natsjs: JetStream silently stops delivering a message after MaxDeliver deliveries: leave it unlimited, the inbox quarantines poison",
			slog.Int("max_deliver", consumer.MaxDeliver))
	}
	if c.wait < shortWait {
		c.log.LogAttrs(ctx, slog.LevelWarn,
			"natsjs: AckWait is short: a process that is paused for a moment has its messages delivered to others while it handles them",
			slog.Duration("ack_wait", c.wait))
	}
}

// fetch handles messages until ctx ends or the source has to be asked for again.
func (c *consumption) fetch(ctx context.Context) error {
	it, err := c.source.Messages(jetstream.PullMaxMessages(c.prefetch), jetstream.PullExpiry(pullExpiry), jetstream.PullHeartbeat(pullHeartbeat))
	if err != nil {
		return fmt.Errorf("natsjs: fetch messages: %w", err)
	}
	defer it.Stop()
	defer context.AfterFunc(ctx, it.Drain)()
	var running sync.WaitGroup
	defer running.Wait()
	for {
		c.slots <- struct{}{}
		msg, err := it.Next()
		if err != nil {
			<-c.slots
			if again, err := c.interrupted(ctx, err); !again {
				return err
			}
			continue
		}
		running.Go(func() {
			defer func() { <-c.slots }()
			c.deliver(ctx, msg)
		})
	}
}

// interrupted reports whether to wait for the next message after an error.
func (c *consumption) interrupted(ctx context.Context, err error) (again bool, _ error) {
	switch {
	case ctx.Err() != nil && errors.Is(err, jetstream.ErrMsgIteratorClosed):
		return false, nil
	case !errors.Is(err, jetstream.ErrNoHeartbeat):
		return false, fmt.Errorf("natsjs: fetch messages: %w", err)
	}
	c.log.LogAttrs(ctx, slog.LevelWarn, "natsjs: the server is silent; trying again", slog.Any("error", err))
	if _, err := c.source.Info(ctx); errors.Is(err, jetstream.ErrConsumerNotFound) || errors.Is(err, jetstream.ErrStreamNotFound) {
		return false, fmt.Errorf("natsjs: the consumer was removed: %w", err)
	}
	return true, nil
}

// deliver handles one message and settles it.
func (c *consumption) deliver(ctx context.Context, msg jetstream.Msg) {
	v := inbox.Verdict{}
	m, err := received(msg)
	if err == nil && ctx.Err() == nil {
		v = c.verdict(ctx, msg, m)
	}
	if err == nil {
		err = settle(msg, v)
	}
	if err != nil {
		c.log.LogAttrs(ctx, slog.LevelWarn, "natsjs: a message could not be settled and will come back",
			slog.String("subject", msg.Subject()), slog.String("verdict", v.Act.String()), slog.Any("error", err))
	}
}

// verdict has the message handled, and gives signs of life for it meanwhile.
func (c *consumption) verdict(ctx context.Context, msg jetstream.Msg, m inbox.Message) inbox.Verdict {
	done := make(chan inbox.Verdict, 1)
	go func() { done <- c.handle(ctx, m) }()
	ticker := time.NewTicker(c.wait / beatsPerWait)
	defer ticker.Stop()
	for {
		select {
		case v := <-done:
			return v
		case <-ticker.C:
			if err := msg.InProgress(); err != nil {
				c.log.LogAttrs(ctx, slog.LevelWarn, "natsjs: a message could not be kept alive and may be delivered to another consumer",
					slog.String("subject", msg.Subject()), slog.Any("error", err))
			}
		}
	}
}

func settle(msg jetstream.Msg, v inbox.Verdict) error {
	if v.Act == inbox.Ack || v.Act == inbox.Quarantine {
		return msg.Ack()
	}
	return msg.NakWithDelay(max(v.After, leastDelay))
}
