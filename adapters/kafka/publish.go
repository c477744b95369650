package kafka

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
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

	mu   sync.Mutex // guards open
	open map[name]*sending
}

// name is that of a message on its topic.
type name struct{ topic, id string }

// sending is a record that the client has and the broker has not acknowledged.
type sending struct {
	record *kgo.Record
	ended  chan struct{} // closed when err is set
	err    error
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
	return &Publisher{client: client, timeout: cmp.Or(o.Timeout, defaultTimeout), open: map[name]*sending{}}, nil
}

// Publish sends a batch and waits until the in-sync replicas have it, as [outbox.Publisher] says. All keys go side by side; a message
// of a key is sent when the one before it was acknowledged. A record that the broker refuses for what it is fails with [outbox.Permanent].
// One that is not acknowledged in time may arrive later; the id says that it is the same. While the client tries, publishing it again waits
// for that record and makes no other.
func (p *Publisher) Publish(ctx context.Context, batch []outbox.Message) []error {
	return keyorder.Publish(batch, func(round []int, errs []error) {
		ctx, cancel := context.WithTimeout(ctx, p.timeout)
		defer cancel()
		sent := make([]*sending, len(round))
		for n, i := range round {
			sent[n], errs[i] = p.send(ctx, &batch[i])
		}
		for n, i := range round {
			if errs[i] == nil {
				errs[i] = sent[n].await(ctx)
			}
		}
	})
}

// send begins to send a message, unless the client still sends the same.
func (p *Publisher) send(ctx context.Context, m *outbox.Message) (*sending, error) {
	r, err := sent(m)
	if err != nil {
		return nil, outbox.Permanent(err)
	}
	as := name{m.Topic, m.ID}
	p.mu.Lock()
	if s := p.open[as]; s != nil && s.is(r) {
		p.mu.Unlock()
		return s, nil
	}
	s := &sending{record: r, ended: make(chan struct{})}
	p.open[as] = s
	p.mu.Unlock()
	p.client.Produce(ctx, r, func(_ *kgo.Record, err error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.open[as] == s {
			delete(p.open, as)
		}
		s.err = err
		close(s.ended)
	})
	return s, nil
}

// is reports whether a record would repeat the one that is sent.
func (s *sending) is(r *kgo.Record) bool {
	return bytes.Equal(s.record.Key, r.Key) && bytes.Equal(s.record.Value, r.Value) && (s.record.Value == nil) == (r.Value == nil) &&
		slices.EqualFunc(s.record.Headers, r.Headers, func(a, b kgo.RecordHeader) bool { return a.Key == b.Key && bytes.Equal(a.Value, b.Value) })
}

// await returns nil when the broker has stored the record.
func (s *sending) await(ctx context.Context) (err error) {
	select {
	case <-s.ended:
		err = s.err
	case <-ctx.Done():
		err = fmt.Errorf("not acknowledged: %w", context.Cause(ctx))
	}
	if err == nil {
		return nil
	}
	err = fmt.Errorf("kafka: publish to %s: %w", s.record.Topic, err)
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
	// The client may have the record for longer than the caller's call.
	r := &kgo.Record{Topic: m.Topic, Value: bytes.Clone(m.Body), Headers: []kgo.RecordHeader{{Key: IDHeader, Value: []byte(m.ID)}}}
	switch {
	case m.Key != "":
		r.Key = []byte(m.Key)
	case r.Value == nil:
		r.Value = []byte{} // a tombstone without a key deletes nothing, and a compacted topic refuses it
	}
	for _, key := range slices.Sorted(maps.Keys(m.Header)) {
		r.Headers = append(r.Headers, kgo.RecordHeader{Key: key, Value: []byte(m.Header[key])})
	}
	return r, nil
}
