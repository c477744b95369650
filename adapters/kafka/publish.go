package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/semel-dev/semel/internal/keyorder"
	"github.com/semel-dev/semel/internal/wire"
	"github.com/semel-dev/semel/outbox"
)

const defaultTimeout = 10 * time.Second

// PublisherOptions are the options of [NewPublisher]. Nil means all defaults.
type PublisherOptions struct {
	// Timeout bounds how long a message waits for its acknowledgement. Default: 10 s.
	Timeout time.Duration
}

// Publisher publishes the messages of an outbox. It is safe for concurrent use. Make one with [NewPublisher].
type Publisher struct {
	client  *kgo.Client
	timeout time.Duration
}

var _ outbox.Publisher = (*Publisher)(nil)

// NewPublisher returns a publisher over a client that waits for all in-sync replicas and writes idempotently, as franz-go does by
// default; another client is an error. It does not close the client. A message's Topic is the topic, its Key the key of the
// record, so that the messages of a key are in one partition in their order; its ID travels as the header [IDHeader].
func NewPublisher(client *kgo.Client, o *PublisherOptions) (*Publisher, error) {
	if client == nil {
		return nil, errors.New("kafka: NewPublisher needs a client")
	}
	if client.OptValue(kgo.RequiredAcks) != any(kgo.AllISRAcks()) || client.OptValue(kgo.DisableIdempotentWrite) != any(false) {
		return nil, errors.New("kafka: the client could lose or repeat records: leave kgo.RequiredAcks and kgo.DisableIdempotentWrite out")
	}
	o = cmp.Or(o, &PublisherOptions{})
	if o.Timeout < 0 {
		return nil, errors.New("kafka: PublisherOptions.Timeout is negative")
	}
	return &Publisher{client: client, timeout: cmp.Or(o.Timeout, defaultTimeout)}, nil
}

// Publish sends a batch and waits until the in-sync replicas have it, as [outbox.Publisher] says. All keys go side by side; a message
// of a key is sent when the one before it was acknowledged. A record that the broker refuses for what it is fails with [outbox.Permanent].
// One that is not acknowledged in time may arrive later; the id says that it is the same.
func (p *Publisher) Publish(ctx context.Context, batch []outbox.Message) []error {
	return keyorder.Publish(batch, func(round []int, errs []error) {
		ctx, cancel := context.WithTimeout(ctx, p.timeout)
		defer cancel()
		stored := make([]<-chan error, len(round))
		for n, i := range round {
			stored[n], errs[i] = p.send(ctx, &batch[i])
		}
		for n, i := range round {
			if errs[i] == nil {
				errs[i] = await(ctx, batch[i].Topic, stored[n])
			}
		}
	})
}

// send begins to send a message. The channel gets nil when the broker has stored it.
func (p *Publisher) send(ctx context.Context, m *outbox.Message) (<-chan error, error) {
	r, err := sent(m)
	if err != nil {
		return nil, outbox.Permanent(err)
	}
	stored := make(chan error, 1)
	p.client.Produce(ctx, r, func(_ *kgo.Record, err error) { stored <- err })
	return stored, nil
}

// await returns nil when the broker has stored the message.
func await(ctx context.Context, topic string, stored <-chan error) (err error) {
	select {
	case err = <-stored:
	case <-ctx.Done():
		err = fmt.Errorf("not acknowledged: %w", context.Cause(ctx))
	}
	if err == nil {
		return nil
	}
	err = fmt.Errorf("kafka: publish to %s: %w", topic, err)
	for _, refusal := range []error{kerr.MessageTooLarge, kerr.RecordListTooLarge, kerr.InvalidRecord, kerr.InvalidTopicException} {
		if errors.Is(err, refusal) {
			return outbox.Permanent(err)
		}
	}
	return err
}

// sent returns the message as it is sent, or why it never can be.
func sent(m *outbox.Message) (*kgo.Record, error) {
	if m.ID == "" || m.Topic == "" {
		return nil, errors.New("kafka: the message has no ID or no topic")
	}
	if err := wire.CheckHeader(m.Header); err != nil {
		return nil, fmt.Errorf("kafka: %w", err)
	}
	r := &kgo.Record{Topic: m.Topic, Value: m.Body, Headers: []kgo.RecordHeader{{Key: IDHeader, Value: []byte(m.ID)}}}
	if m.Key != "" {
		r.Key = []byte(m.Key)
	}
	for name, value := range m.Header {
		r.Headers = append(r.Headers, kgo.RecordHeader{Key: name, Value: []byte(value)})
	}
	return r, nil
}
