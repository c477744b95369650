package rabbitmq

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/semel-dev/semel/inbox"
	"github.com/semel-dev/semel/internal/waiting"
)

const (
	defaultConcurrency = 8
	mostConcurrency    = 1<<16 - 1 // AMQP counts them in 16 bits

	// defaultHoldBack is well below RabbitMQ's consumer_timeout of 30 minutes.
	defaultHoldBack = 10 * time.Minute

	// leastDelay of a Retry without one keeps a message from spinning.
	leastDelay = 100 * time.Millisecond

	// openTimeout bounds the beginning of a session on a new connection.
	openTimeout = 30 * time.Second

	// closeTimeout bounds the end of a connection.
	closeTimeout = 5 * time.Second
)

// Dial opens a connection, as [amqp.Dial] and [amqp.DialConfig] do. Its amqp.Config has no Recovery: the driver connects again
// on its own, because messages that were delivered before cannot be acknowledged afterwards.
type Dial func() (*amqp.Connection, error)

// connect opens a connection that does not connect again on its own.
func (d Dial) connect() (*amqp.Connection, error) {
	conn, err := d()
	if err != nil {
		return nil, fmt.Errorf("rabbitmq: connect: %w", err)
	}
	if conn.IsRecoveryEnabled() {
		return nil, errors.Join(errors.New("rabbitmq: leave amqp.Config.Recovery out: the driver connects again on its own"), conn.Close())
	}
	return conn, nil
}

// Source names a queue, which exists.
type Source struct {
	Dial  Dial
	Queue string
}

// ConsumeOptions are the options of [Consume]. Nil means all defaults.
type ConsumeOptions struct {
	// Concurrency bounds the messages that are handled at once, at most 65535. Default: 8.
	// A handler that takes a second connection next to that of inbox.Inbox.HandleTx needs a larger pool: pgstore's has 4 by default.
	Concurrency int
	// Prefetch bounds the messages that the broker hands out before it gets one back, at least Concurrency. Messages
	// that are held back count: with a larger one, others go past them, and may wait in this process while all handlers run.
	// Default: Concurrency.
	Prefetch int
	// HoldBack bounds the time for which a message that is to be retried waits here, before it goes back to the queue. The
	// broker's consumer_timeout must be longer than twice that and the longest handler. Default: 10 minutes.
	HoldBack time.Duration
	// Logger gets what goes wrong. Default: slog.Default().
	Logger *slog.Logger
}

// Consume gives each message of the queue to handle and acknowledges it afterwards: Ack and Quarantine acknowledge. With
// Retry the message stays unacknowledged and is given to handle again after the delay, at least 100 ms, until it is
// acknowledged or HoldBack is over and it goes back to the queue. An acknowledgement that is lost leads to one more
// delivery, which the inbox recognises.
//
// It returns nil when ctx has ended and the running handlers have finished: their context is ctx, so a handler that must not be
// interrupted detaches itself, as [inbox.Inbox.Handle] does. What was delivered and not handled goes back to the queue.
// It returns an error when it cannot consume the queue at first. Later it connects again, with pauses of up to half a second, and warns
// once for each reason that the broker gives: a queue that is missing may be back when its node is.
func Consume(ctx context.Context, source Source, handle func(context.Context, inbox.Message) inbox.Verdict, o *ConsumeOptions) error {
	c, err := newConsumption(source, handle, o)
	if err != nil {
		return err
	}
	defer c.running.Wait()
	s, err := c.openSession(ctx)
	if err != nil && ctx.Err() == nil {
		return err
	}
	for err == nil {
		s, err = c.reopen(ctx, c.consume(ctx, s))
	}
	return nil // ctx has ended
}

// reopen connects again until it succeeds or ctx ends.
func (c *consumption) reopen(ctx context.Context, err error) (*brokerSession, error) {
	if ctx.Err() == nil {
		c.log.LogAttrs(ctx, slog.LevelWarn, "rabbitmq: interrupted; connecting again", slog.Any("error", err))
	}
	told := ""
	for pause := range waiting.Backoffs() {
		if !waiting.Sleep(ctx, pause) {
			break
		}
		s, err := c.openSession(ctx)
		if err == nil {
			return s, nil
		}
		level := slog.LevelDebug
		if refusal, ok := errors.AsType[*amqp.Error](err); ok && refusal.Reason != told { // such as a queue that was deleted
			level, told = slog.LevelWarn, refusal.Reason
		}
		c.log.LogAttrs(ctx, level, "rabbitmq: still interrupted", slog.Any("error", err))
	}
	return nil, context.Cause(ctx)
}

// consumption is one call of Consume.
type consumption struct {
	source   Source
	handle   func(context.Context, inbox.Message) inbox.Verdict
	prefetch int
	slots    chan struct{}  // one for each handler
	running  sync.WaitGroup // handlers, and messages held back
	hold     time.Duration
	log      *slog.Logger
}

func newConsumption(source Source, handle func(context.Context, inbox.Message) inbox.Verdict, o *ConsumeOptions) (*consumption, error) {
	if source.Dial == nil || handle == nil {
		return nil, errors.New("rabbitmq: Consume needs a way to connect and a function that handles messages")
	}
	if o == nil {
		o = &ConsumeOptions{}
	}
	concurrency := cmp.Or(o.Concurrency, defaultConcurrency)
	prefetch := cmp.Or(o.Prefetch, concurrency)
	hold := cmp.Or(o.HoldBack, defaultHoldBack)
	if concurrency < 1 || prefetch < concurrency || prefetch > mostConcurrency || hold < 0 {
		return nil, fmt.Errorf("rabbitmq: Concurrency %d, Prefetch %d and HoldBack %v are out of range", concurrency, prefetch, hold)
	}
	return &consumption{
		source: source, handle: handle, prefetch: prefetch, slots: make(chan struct{}, concurrency), hold: hold,
		log: cmp.Or(o.Logger, slog.Default()).With(slog.String("queue", source.Queue)),
	}, nil
}

// brokerSession is one connection to the broker.
type brokerSession struct {
	conn       *amqp.Connection
	channel    *amqp.Channel
	closed     chan *amqp.Error
	deliveries <-chan amqp.Delivery
}

// consumerTag is the consumer's name on its channel.
const consumerTag = "semel"

func (c *consumption) openSession(ctx context.Context) (*brokerSession, error) {
	conn, err := c.source.Dial.connect()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	// The client does not obey contexts. Without the connection, every wait ends: such as that for the leader of a quorum queue.
	defer context.AfterFunc(ctx, func() { _ = hangUp(conn) })()
	s := &brokerSession{conn: conn}
	if s.channel, err = conn.Channel(); err == nil {
		s.closed = s.channel.NotifyClose(make(chan *amqp.Error, 1))
		err = s.channel.Qos(c.prefetch, 0, false)
	}
	if err == nil {
		s.deliveries, err = s.channel.Consume(c.source.Queue, consumerTag, false, false, false, false, nil)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("rabbitmq: consume %s: %w", c.source.Queue, err), hangUp(conn))
	}
	return s, nil
}

// hangUp closes a connection within a bounded time.
func hangUp(conn *amqp.Connection) error {
	err := conn.CloseDeadline(time.Now().Add(closeTimeout))
	if errors.Is(err, amqp.ErrClosed) {
		return nil
	}
	return err
}

// consume handles messages until ctx or the session ends, and returns why the session did.
func (c *consumption) consume(ctx context.Context, s *brokerSession) error {
	alive, end := context.WithCancel(ctx)
	defer end()
	for {
		select {
		case <-ctx.Done():
			c.finish(s) //nolint:contextcheck // the end has come
			return nil
		case d, ok := <-s.deliveries:
			if !ok {
				return c.interrupted(s)
			}
			select {
			case c.slots <- struct{}{}:
				c.running.Go(func() { c.deliver(ctx, alive, &d) })
			case <-ctx.Done():
				c.settled(&d, d.Nack(false, true)) //nolint:contextcheck // it only logs
			}
		}
	}
}

// interrupted returns why the deliveries have ended.
func (*consumption) interrupted(s *brokerSession) error {
	err := errors.New("rabbitmq: the broker cancelled the consumer, as when the queue is deleted")
	select {
	case closed := <-s.closed:
		if closed != nil {
			err = closed
		}
	default:
	}
	return errors.Join(err, hangUp(s.conn))
}

// finish gives back what no handler has begun, and waits for the others.
func (c *consumption) finish(s *brokerSession) {
	err := s.bounded(func() error {
		err := s.channel.Cancel(consumerTag, true)
		for d := range s.deliveries {
			c.settled(&d, d.Nack(false, true))
		}
		return err
	})
	c.running.Wait()
	err = errors.Join(err, s.bounded(s.channel.Close), hangUp(s.conn)) // after all acknowledgements
	if err != nil {
		c.log.LogAttrs(context.Background(), slog.LevelWarn, "rabbitmq: the last acknowledgements may be lost, and their messages come back", slog.Any("error", err))
	}
}

// bounded gives the connection up when f waits too long for the broker.
func (s *brokerSession) bounded(f func() error) error {
	defer time.AfterFunc(closeTimeout, func() { _ = hangUp(s.conn) }).Stop()
	return f()
}

// deliver handles one message until it is settled. It holds a slot at first, and whenever the message is handled.
func (c *consumption) deliver(ctx, alive context.Context, d *amqp.Delivery) {
	m := received(d)
	for began := time.Now(); ; {
		v := inbox.Verdict{}
		if ctx.Err() == nil {
			v = c.handle(ctx, m)
		}
		<-c.slots
		if v.Act == inbox.Ack || v.Act == inbox.Quarantine {
			c.settled(d, d.Ack(false)) //nolint:contextcheck // it only logs
			return
		}
		if !waiting.Sleep(alive, min(max(v.After, leastDelay), c.hold)) || time.Since(began) >= c.hold {
			c.settled(d, d.Nack(false, true)) //nolint:contextcheck // it only logs
			return
		}
		c.slots <- struct{}{}
	}
}

func (c *consumption) settled(d *amqp.Delivery, err error) {
	if err != nil {
		c.log.LogAttrs(context.Background(), slog.LevelWarn, "rabbitmq: a message could not be settled and will come back",
			slog.String("topic", topic(d.Exchange, d.RoutingKey)), slog.Any("error", err))
	}
}
