package rabbitmq

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/semel-dev/semel/internal/keyorder"
	"github.com/semel-dev/semel/outbox"
)

const (
	defaultConfirmTimeout = 10 * time.Second
	// window bounds the messages that wait for their confirmations on one channel.
	window = 256
	// mostIdle bounds the channels that wait for the next batch.
	mostIdle = 16
)

// PublisherOptions are the options of [NewPublisher]. Nil means all defaults.
type PublisherOptions struct {
	// Timeout bounds how long up to 256 messages may take until all are confirmed; then the connection is given up. Default: 10 s.
	Timeout time.Duration
}

// Publisher publishes the messages of an outbox to RabbitMQ. It is safe for concurrent use. Make one with [NewPublisher], and
// close it.
type Publisher struct {
	dial    Dial
	timeout time.Duration

	mu     sync.Mutex // guards the fields below
	conn   *amqp.Connection
	idle   []*lane // channels of conn
	closed bool
}

var _ outbox.Publisher = (*Publisher)(nil)

// NewPublisher returns a publisher with a connection of its own, which it opens when a batch needs it, and again after it was
// interrupted.
func NewPublisher(dial Dial, o *PublisherOptions) (*Publisher, error) {
	if dial == nil {
		return nil, errors.New("rabbitmq: NewPublisher needs a way to connect")
	}
	if o == nil {
		o = &PublisherOptions{}
	}
	p := &Publisher{dial: dial, timeout: cmp.Or(o.Timeout, defaultConfirmTimeout)}
	if p.timeout < 0 {
		return nil, errors.New("rabbitmq: PublisherOptions.Timeout is negative")
	}
	return p, nil
}

// Close closes the connection. Batches that are being published fail.
func (p *Publisher) Close() error {
	p.mu.Lock()
	conn := p.conn
	p.conn, p.idle, p.closed = nil, nil, true
	p.mu.Unlock()
	if conn == nil {
		return nil
	}
	return hangUp(conn)
}

// Publish sends a batch and waits until the broker has confirmed it, as [outbox.Publisher] says: a durable queue has stored a
// confirmed message. Messages are persistent and mandatory: one that no queue takes fails. All keys go side by side; a
// message of a key is sent when the one before it was confirmed. A message that cannot be written down, or is
// too large for the broker, fails with [outbox.Permanent].
func (p *Publisher) Publish(ctx context.Context, batch []outbox.Message) []error {
	return keyorder.Publish(batch, func(round []int, errs []error) {
		for part := range slices.Chunk(round, window) {
			if !p.publish(ctx, batch, part, errs) || len(part) == 1 {
				continue
			}
			for _, i := range part { // the broker does not say which message it closed the channel for
				if errs[i] != nil {
					p.publish(ctx, batch, []int{i}, errs)
				}
			}
		}
	})
}

// publish sends messages together and sets their errors. It reports whether the broker refused one of them by closing the
// channel, which leaves open what happened to the others.
func (p *Publisher) publish(ctx context.Context, batch []outbox.Message, part []int, errs []error) (refused bool) {
	conn, err := p.connection(ctx)
	if err != nil {
		for _, i := range part {
			errs[i] = err
		}
		return false
	}
	ctx, cancel := context.WithTimeoutCause(ctx, p.timeout, errors.New("no confirmation in time"))
	defer cancel()
	// The client does not obey contexts. Without the connection, every wait ends.
	defer context.AfterFunc(ctx, func() { _ = conn.CloseDeadline(time.Now()) })()
	l, err := p.lane(conn)
	if err != nil {
		for _, i := range part {
			errs[i] = err
		}
		return false
	}
	l.publish(ctx, batch, part, errs)
	refused = l.channel.IsClosed() && !conn.IsClosed()
	p.giveBack(l)
	return refused
}

// connection returns the connection, a new one if need be.
func (p *Publisher) connection(ctx context.Context) (*amqp.Connection, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case p.closed:
		return nil, errors.New("rabbitmq: the publisher is closed")
	case p.conn != nil && !p.conn.IsClosed():
		return p.conn, nil
	}
	p.idle = nil
	var err error
	p.conn, err = p.dial.connect()
	return p.conn, err
}

// lane returns a channel of the connection that nothing else uses.
func (p *Publisher) lane(conn *amqp.Connection) (*lane, error) {
	p.mu.Lock()
	for len(p.idle) > 0 {
		l := p.idle[len(p.idle)-1]
		p.idle = p.idle[:len(p.idle)-1]
		if l.conn == conn && !l.channel.IsClosed() {
			p.mu.Unlock()
			return l, nil
		}
	}
	p.mu.Unlock()
	return newLane(conn)
}

func (p *Publisher) giveBack(l *lane) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l.conn != p.conn || l.channel.IsClosed() {
		return
	}
	if len(p.idle) < mostIdle {
		p.idle = append(p.idle, l)
		return
	}
	_ = l.channel.Close() // it has nothing left to do
}

// lane is a channel in confirm mode.
type lane struct {
	conn     *amqp.Connection
	channel  *amqp.Channel
	closed   chan *amqp.Error
	returned chan amqp.Return // has room for a window: a return precedes the confirmation of its message
}

func newLane(conn *amqp.Connection) (*lane, error) {
	channel, err := conn.Channel()
	if err == nil {
		err = channel.Confirm(false)
	}
	if err != nil {
		return nil, fmt.Errorf("rabbitmq: open a channel: %w", err)
	}
	return &lane{
		conn: conn, channel: channel,
		closed:   channel.NotifyClose(make(chan *amqp.Error, 1)),
		returned: channel.NotifyReturn(make(chan amqp.Return, window)),
	}, nil
}

// publish sends messages, waits for the confirmations, and sets the errors.
func (l *lane) publish(ctx context.Context, batch []outbox.Message, part []int, errs []error) {
	confirmations := make([]*amqp.DeferredConfirmation, len(part))
	for n, i := range part {
		m := &batch[i]
		message, err := sent(m)
		if err != nil {
			errs[i] = outbox.Permanent(err)
			continue
		}
		exchange, key := address(m.Topic)
		if confirmations[n], err = l.channel.PublishWithDeferredConfirm(exchange, key, true, false, message); err != nil {
			errs[i] = fmt.Errorf("rabbitmq: publish to %s: %w", m.Topic, err)
		}
	}
	for n, i := range part {
		if confirmations[n] != nil && !confirmations[n].Wait() {
			errs[i] = errUnconfirmed
		} else if confirmations[n] != nil {
			errs[i] = nil
		}
	}
	l.explain(ctx, batch, part, errs)
}

var errUnconfirmed = errors.New("the broker has not confirmed it")

// explain completes the errors: with the messages that came back, and with the reason for which the channel was closed.
func (l *lane) explain(ctx context.Context, batch []outbox.Message, part []int, errs []error) {
	returned := l.returns()
	var closed error
	if l.channel.IsClosed() {
		if reason := <-l.closed; reason != nil {
			closed = reason
		}
	}
	for _, i := range part {
		m := &batch[i]
		if text, ok := returned[m.ID]; ok {
			errs[i] = fmt.Errorf("rabbitmq: publish to %s: it came back: %s (bind a queue)", m.Topic, text)
			continue
		}
		if !errors.Is(errs[i], errUnconfirmed) && !errors.Is(errs[i], amqp.ErrClosed) {
			continue
		}
		errs[i] = fmt.Errorf("rabbitmq: publish to %s: %w", m.Topic, cmp.Or(context.Cause(ctx), closed, errs[i]))
		refusal, ok := errors.AsType[*amqp.Error](errs[i])
		if ok && refusal.Code == amqp.PreconditionFailed && len(part) == 1 { // too large
			errs[i] = outbox.Permanent(errs[i])
		}
	}
}

// returns takes the messages that came back: their IDs, and why. Messages with one ID come back together.
func (l *lane) returns() map[string]string {
	all := map[string]string{}
	for {
		select {
		case r, ok := <-l.returned:
			if !ok {
				return all
			}
			all[r.MessageId] = r.ReplyText
		default:
			return all
		}
	}
}
