package inbox

import (
	"context"
	"time"

	"github.com/semel-dev/semel"
)

// Message is one delivery of a broker, the first or a repetition.
type Message struct {
	ID      string            // names the intent: given by the producer, the same at every delivery
	Subject string            // topic, subject, or exchange and routing key
	Key     []byte            // Kafka's record key, or that of an outbox; nil for none. Must not be changed
	Body    []byte            // nil for Kafka's tombstone, which deletes what Key names. Must not be changed
	Header  map[string]string // the first value of each
	// Repeated has all values of the headers that have several, the first included; nil for none.
	Repeated map[string][]string
	// Time is when the message was sent, as far as its producer or the broker tells: in UTC, to the millisecond; zero otherwise. It is no
	// part of what makes two messages the same.
	Time time.Time
	// Deliveries counts the deliveries of this message as far as the broker tells, this one
	// included; 0 means that it does not tell. It is a hint that the message may have come before,
	// and never decides on its own that it is poison: brokers count deliveries that no handler saw.
	Deliveries int
}

// fingerprints cover what a repetition must have in common with the first delivery: subject, body and key. Brokers change
// headers. The key counts because a tombstone, or a body such as {"active": false}, leaves to it whom it is about: two keys under one
// ID are two wishes, and the second must not pass for done.
//
// keyless leaves it out. It is the fingerprint of a message without a key, and what programs recorded that did not know keys.
func (m *Message) fingerprints() (keyed, keyless semel.Fingerprint) {
	var h semel.Hasher
	h.Add(m.Subject)
	h.AddBytes(m.Body)
	keyless = h.Sum()
	if m.Key == nil {
		return keyless, keyless
	}
	h.AddBytes(m.Key)
	if m.Body == nil {
		h.Add("tombstone")
	}
	return h.Sum(), keyless
}

// size returns the bytes of the message.
func (m *Message) size() int {
	n := len(m.ID) + len(m.Subject) + len(m.Key) + len(m.Body)
	for name, value := range m.Header {
		n += len(name) + len(value)
	}
	for name, values := range m.Repeated {
		for _, value := range values[min(1, len(values)):] { // Header has the first
			n += len(name) + len(value)
		}
	}
	return n
}

// Handler does what the message asks for.
type Handler func(ctx context.Context, m Message) error

// Act tells a driver how to treat a message.
type Act uint8

// The acts.
const (
	Retry      Act = iota // give it back to the broker, to be delivered again after Verdict.After
	Ack                   // it is done, now or earlier
	Quarantine            // acknowledge it: the inbox has kept it, and an operator releases or drops it
)

// String returns the word that logs and metrics use.
func (a Act) String() string {
	switch a {
	case Retry:
		return "retry"
	case Ack:
		return "ack"
	case Quarantine:
		return "quarantine"
	}
	return "invalid"
}

// Verdict says what a driver does with a message that it gave to the inbox.
// The zero Verdict retries.
type Verdict struct {
	Act    Act
	After  time.Duration // of Retry: the wait before the next delivery; 0 for none
	Reason Reason        // why, in one word, for metrics and logs
	Err    error         // what the handler or the store said; nil when the message is done
}

// Reason says why a message got its verdict. These are all there are:
//
//	ack         handled      the handler ran, and that is recorded
//	            duplicate    it was handled before
//	            cancelled    an operator cancelled it
//	retry       failed       the handler returned an error
//	            pausing      an attempt failed a short time ago
//	            in-flight    another consumer is handling it, or did when its process died
//	            unknown      it may have happened, and Options.Ask cannot tell yet
//	            unrecorded   the handler ran, and that could not be recorded
//	            unavailable  the store cannot be reached, or the consumer is shutting down
//	quarantine  attempts     it failed Options.MaxAttempts times
//	            final        its handler's error will not go away
//	            unknown      it may have happened
//	            mismatch     its ID was used for another message: subject, key or body differ
//	            no-id        it has no ID
//	            too-large    it is larger than Options.MaxBytes
//	            quarantined  it was put into quarantine before
type Reason string

const (
	handled     Reason = "handled"
	duplicate   Reason = "duplicate"
	cancelled   Reason = "cancelled"
	failed      Reason = "failed"
	pausing     Reason = "pausing"
	inFlight    Reason = "in-flight"
	unknown     Reason = "unknown"
	unrecorded  Reason = "unrecorded"
	unavailable Reason = "unavailable"
	attempts    Reason = "attempts"
	final       Reason = "final"
	mismatch    Reason = "mismatch"
	noID        Reason = "no-id"
	tooLarge    Reason = "too-large"
	quarantined Reason = "quarantined"
)
