package natsjs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/semel-dev/semel/internal/keyorder"
	"github.com/semel-dev/semel/outbox"
)

const (
	defaultAckTimeout = 10 * time.Second
	// maxPending bounds the messages that wait for their acknowledgements, over all batches.
	maxPending = 16384
)

// The error codes with which a stream refuses a message for what it is.
const (
	codeTooLarge       = 10054 // larger than the stream's MaxMsgSize
	codeHeaderTooLarge = 10097
)

// PublisherOptions are the options of [NewPublisher]. Nil means all defaults.
type PublisherOptions struct {
	// Timeout bounds how long a message waits for its acknowledgement. Default: 10 s.
	Timeout time.Duration
}

// Publisher publishes the messages of an outbox to JetStream. It is safe for concurrent use. Make one with [NewPublisher].
type Publisher struct {
	conn      *nats.Conn
	jetStream jetstream.JetStream
}

var _ outbox.Publisher = (*Publisher)(nil)

// NewPublisher returns a publisher whose messages' topics are subjects of streams. It uses the connection and does not close it.
func NewPublisher(conn *nats.Conn, o *PublisherOptions) (*Publisher, error) {
	if conn == nil {
		return nil, errors.New("natsjs: NewPublisher needs a connection")
	}
	if o == nil {
		o = &PublisherOptions{}
	}
	timeout := cmp.Or(o.Timeout, defaultAckTimeout)
	if timeout < 0 {
		return nil, errors.New("natsjs: PublisherOptions.Timeout is negative")
	}
	js, err := jetstream.New(conn, jetstream.WithPublishAsyncMaxPending(maxPending), jetstream.WithPublishAsyncTimeout(timeout))
	if err != nil {
		return nil, fmt.Errorf("natsjs: make a publisher: %w", err)
	}
	return &Publisher{conn: conn, jetStream: js}, nil
}

// Publish sends a batch and waits until streams have stored it, as [outbox.Publisher] says. All keys go side by side; a
// message of a key is sent when the one before it was acknowledged. While the connection is interrupted it fails at once.
// A message that a stream refuses for its size, or that cannot be written down, fails with [outbox.Permanent].
func (p *Publisher) Publish(ctx context.Context, batch []outbox.Message) []error {
	return keyorder.Publish(batch, func(round []int, errs []error) {
		acks := make([]jetstream.PubAckFuture, len(round))
		for n, i := range round {
			acks[n], errs[i] = p.send(ctx, &batch[i])
		}
		for n, i := range round {
			if acks[n] != nil {
				errs[i] = await(ctx, acks[n])
			}
		}
	})
}

// send begins to publish a message. It does not leave that to the connection when it comes back: by then the relay has tried
// again, maybe in another process.
func (p *Publisher) send(ctx context.Context, m *outbox.Message) (jetstream.PubAckFuture, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if status := p.conn.Status(); status != nats.CONNECTED {
		return nil, fmt.Errorf("natsjs: publish: the connection is %s", status)
	}
	msg, err := sent(m)
	if err != nil {
		return nil, outbox.Permanent(err)
	}
	ack, err := p.jetStream.PublishMsgAsync(msg, jetstream.WithRetryAttempts(0))
	switch {
	case err == nil:
		return ack, nil
	case errors.Is(err, nats.ErrMaxPayload):
		return nil, outbox.Permanent(fmt.Errorf("natsjs: publish to %s: %w", m.Topic, err))
	}
	return nil, fmt.Errorf("natsjs: publish to %s: %w", m.Topic, err)
}

// await returns nil when a stream has stored the message, now or earlier.
func await(ctx context.Context, ack jetstream.PubAckFuture) error {
	select {
	case <-ack.Ok():
		return nil
	case err := <-ack.Err():
		err = fmt.Errorf("natsjs: publish to %s: %w", ack.Msg().Subject, err)
		refusal, ok := errors.AsType[*jetstream.APIError](err)
		if ok && (refusal.ErrorCode == codeTooLarge || refusal.ErrorCode == codeHeaderTooLarge) {
			return outbox.Permanent(err)
		}
		return err
	case <-ctx.Done():
		return fmt.Errorf("natsjs: publish to %s: not acknowledged: %w", ack.Msg().Subject, context.Cause(ctx))
	}
}
