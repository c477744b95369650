package outbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Bounds of a [Message]. [Outbox.Add] refuses a message beyond them; nothing is cut. A message
// within them passes brokers, web servers and package inbox with their default settings;
// docs/messages.md has the sizes that decide.
const (
	// MaxIDBytes bounds Message.ID: a message id of AMQP.
	MaxIDBytes = 255
	// MaxTopicBytes bounds Message.Topic: the name of a topic of Kafka.
	MaxTopicBytes = 249
	// MaxKeyBytes bounds Message.Key.
	MaxKeyBytes = 255
	// MaxHeaderBytes bounds the names and values of Message.Header together: one line of a header in
	// nginx and Apache. There are at most 64, with names of at most 255 bytes.
	MaxHeaderBytes = 8000

	maxHeaders          = 64      // Apache takes 100 lines
	maxHeaderNameBytes  = 255     // of AMQP
	defaultMaxBodyBytes = 960_000 // with the rest less than franz-go's 1,000,012, NATS' 1 MiB and the inbox's
)

// partitions is the number of partitions. It is part of the schema: every program
// that shares a table computes the same partition for a key.
const partitions = 16

// ErrInvalid says that a message cannot be added. Roll the transaction back: messages before
// it may have been added.
var ErrInvalid = errors.New("outbox: invalid message")

// Message is to be published once its transaction has committed.
type Message struct {
	// ID travels as the broker's message id, the same at every attempt, so that the
	// receiver recognises a repetition. Add sets it when it is empty. At most MaxIDBytes
	// of printable ASCII.
	ID     string
	Topic  string // subject, topic, or exchange and routing key, as the publisher reads it
	Key    string // messages of one key are published in the order of their commits; empty for no order
	Body   []byte // nil with a Key is Kafka's tombstone, which deletes what the key names; elsewhere it is the same as an empty one
	Header map[string]string
}

// Publisher gives messages to a broker or a receiver.
type Publisher interface {
	// Publish sends a batch and waits until the receiver has it for good. It returns an
	// error for each message that it cannot say that of, nil for the others, in the order of the batch;
	// a nil slice when all are there. Messages of one key are next to each other in the order in which
	// they must arrive, and when one fails, Publish must not have sent a later one of its key.
	// An error made with Permanent will not go away by trying again; one made with Postponed is no
	// attempt; one with a method RetryAfter() time.Duration says how long to wait at least.
	//
	// It may be called for several batches at a time, which have no key in common, and must
	// return soon after ctx has ended. It must not keep or change the messages.
	Publish(ctx context.Context, batch []Message) []error
}

// Permanent says that publishing a message again will not help: the receiver refuses
// it for good. It returns nil for nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &permanent{err}
}

type permanent struct{ error }

func (p *permanent) Unwrap() error { return p.error }

// Postponed says that a message was not tried, since its receiver is busy or rests: it does not count
// as an attempt. after is the wait before the next one; 0 for the shortest that the relay takes. It
// returns nil for nil.
func Postponed(err error, after time.Duration) error {
	if err == nil {
		return nil
	}
	return &postponed{err, after}
}

type postponed struct {
	error
	after time.Duration
}

func (p *postponed) Unwrap() error { return p.error }

// RetryAfter returns the wait that the publisher asks for.
func (p *postponed) RetryAfter() time.Duration { return p.after }

// check reports why a message cannot be added.
func (m *Message) check(maxBody int) error {
	header := 0
	for name, value := range m.Header {
		header += len(name) + len(value)
		switch {
		case len(name) > maxHeaderNameBytes:
			return tooLong("name of a header", len(name), maxHeaderNameBytes)
		case name == "" || strings.ContainsFunc(name, func(c rune) bool { return c <= ' ' || c > '~' || c == ':' }):
			return fmt.Errorf("%w: the name of header %q needs printable ASCII without spaces and colons", ErrInvalid, name)
		case !plain(value):
			return fmt.Errorf("%w: header %s holds a control character, or is not UTF-8 (encode it, as in base64)", ErrInvalid, name)
		}
	}
	switch {
	case len(m.ID) > MaxIDBytes:
		return tooLong("id", len(m.ID), MaxIDBytes)
	case strings.ContainsFunc(m.ID, func(c rune) bool { return c < ' ' || c > '~' }):
		return fmt.Errorf("%w: the id needs printable ASCII", ErrInvalid)
	case m.Topic == "":
		return fmt.Errorf("%w: the topic is missing", ErrInvalid)
	case len(m.Topic) > MaxTopicBytes:
		return tooLong("topic", len(m.Topic), MaxTopicBytes)
	case len(m.Key) > MaxKeyBytes:
		return tooLong("key", len(m.Key), MaxKeyBytes)
	case !plain(m.Topic) || !plain(m.Key):
		return fmt.Errorf("%w: topic or key holds a control character, or is not UTF-8 (encode it, as in base64)", ErrInvalid)
	case len(m.Header) > maxHeaders:
		return fmt.Errorf("%w: it has %d headers, more than %d", ErrInvalid, len(m.Header), maxHeaders)
	case header > MaxHeaderBytes:
		return tooLong("header", header, MaxHeaderBytes)
	case len(m.Body) > maxBody:
		return fmt.Errorf("%w (keep the body elsewhere and send its place, or raise Options.MaxBodyBytes together with the bounds of the broker and of inbox.Options.MaxBytes)", tooLong("body", len(m.Body), maxBody))
	}
	return nil
}

func tooLong(what string, have, most int) error {
	return fmt.Errorf("%w: the %s has %d bytes, at most %d are possible", ErrInvalid, what, have, most)
}

func plain(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
}

// partition returns the partition of the message, from 0.
func (m *Message) partition() int64 {
	h := fnv.New64a()
	if m.Key != "" {
		h.Write([]byte(m.Key))
	} else {
		h.Write([]byte(m.ID))
	}
	const shift = 64 - 4 // of the four highest bits, which depend on every byte
	return int64(h.Sum64() >> shift)
}

// tombstone precedes the header of a message with a key whose body is nil, for which the table has no place. JSON ignores it, and so
// does a relay that was built before: it publishes an empty body.
const tombstone = " "

// header returns the header as the table keeps it: empty for none.
func (m *Message) header() (string, error) {
	mark := ""
	if m.Body == nil && m.Key != "" {
		mark = tombstone
	}
	if len(m.Header) == 0 && mark == "" {
		return "", nil
	}
	text, err := json.Marshal(m.Header)
	return mark + string(text), err
}

// restore reads what header returned.
func (m *Message) restore(header string) error {
	if m.Body == nil { // some drivers of databases read an empty one so
		m.Body = []byte{}
	}
	if header == "" {
		return nil
	}
	if strings.HasPrefix(header, tombstone) {
		m.Body = nil
	}
	return json.Unmarshal([]byte(header), &m.Header)
}
