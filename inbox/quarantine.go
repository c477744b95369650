package inbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/seize"
	"github.com/semel-dev/semel/internal/verdict"
	"github.com/semel-dev/semel/internal/wire"
)

// maxWhyBytes bounds what is kept of an error, which may hold a whole answer of a service.
const maxWhyBytes = 1 << 10

// form is the version in which messages and decisions are kept.
const form = 1

// held is a message as its record in quarantine keeps it. Fields are only ever added.
type held struct {
	Form       int                 `json:"semel_inbox"`
	Consumer   string              `json:"consumer"`
	Retention  int64               `json:"retention_ms"` // of what is remembered of a message that was handled
	ID         string              `json:"id"`
	Subject    string              `json:"subject"`
	Key        []byte              `json:"key,omitzero"` // absent for none
	Header     map[string]string   `json:"header,omitempty"`
	Repeated   map[string][]string `json:"repeated,omitempty"`
	Time       time.Time           `json:"time,omitzero"`
	Body       []byte              `json:"body"` // null for a tombstone
	Deliveries int                 `json:"deliveries,omitempty"`
	Reason     Reason              `json:"reason"`
	Why        string              `json:"why,omitempty"`
	Attempts   int                 `json:"attempts,omitempty"`
	Earlier    int                 `json:"earlier,omitempty"` // how often it was released before
	Exact      *exact              `json:"exact,omitempty"`   // in place of ID, Subject, Header and Repeated when they are not all UTF-8
}

// exact holds the texts of a message byte for byte, which JSON does only for UTF-8.
type exact struct {
	ID       []byte      `json:"id"`
	Subject  []byte      `json:"subject"`
	Header   [][2][]byte `json:"header"`
	Repeated [][2][]byte `json:"repeated,omitempty"`
}

func exactOf(m *Message) *exact {
	plain := utf8.ValidString(m.ID) && utf8.ValidString(m.Subject)
	e := &exact{ID: []byte(m.ID), Subject: []byte(m.Subject)}
	for name, value := range m.Header {
		plain = plain && utf8.ValidString(name) && utf8.ValidString(value)
		e.Header = append(e.Header, [2][]byte{[]byte(name), []byte(value)})
	}
	for name, values := range m.Repeated {
		for _, value := range values {
			plain = plain && utf8.ValidString(name) && utf8.ValidString(value)
			e.Repeated = append(e.Repeated, [2][]byte{[]byte(name), []byte(value)})
		}
	}
	if plain {
		return nil
	}
	return e
}

func (h *held) message() Message {
	m := Message{
		ID: h.ID, Subject: h.Subject, Key: h.Key, Body: h.Body, Header: h.Header, Repeated: h.Repeated, Time: h.Time, Deliveries: h.Deliveries,
	}
	if h.Exact == nil {
		return m
	}
	m.ID, m.Subject, m.Header, m.Repeated = string(h.Exact.ID), string(h.Exact.Subject), map[string]string{}, nil
	for _, field := range h.Exact.Header {
		m.Header[string(field[0])] = string(field[1])
	}
	for _, field := range h.Exact.Repeated {
		if m.Repeated == nil {
			m.Repeated = map[string][]string{}
		}
		name := string(field[0])
		m.Repeated[name] = append(m.Repeated[name], string(field[1]))
	}
	return m
}

// nameless reports whether the message cannot be handled under its ID.
func (r Reason) nameless() bool { return r == mismatch || r == noID }

// copyKey is that of a message's copy in quarantine, after so many earlier ones that an operator
// released.
func (in *Inbox) copyKey(id string, fp semel.Fingerprint, earlier int) semel.Key {
	return semel.Key{
		Scope: quarantineScope + in.opts.Consumer,
		Name:  semel.FingerprintOf(id, fp.String(), strconv.Itoa(earlier)).String(),
	}
}

// quarantine keeps the message. Only when that is recorded, the driver may acknowledge it.
func (d *delivery) quarantine(reason Reason, begun int, why error) Verdict {
	h := held{
		Form: form, Consumer: d.in.opts.Consumer, Retention: d.in.opts.Retention.Milliseconds(),
		ID: d.message.ID, Subject: d.message.Subject, Key: d.message.Key, Body: d.message.Body,
		Header: d.message.Header, Repeated: d.message.Repeated, Time: wire.Time(d.message.Time),
		Deliveries: d.message.Deliveries, Reason: reason, Why: verdict.CutNote(why.Error(), maxWhyBytes), Attempts: begun,
		Exact: exactOf(&d.message),
	}
	fp := d.fp
	if reason.nameless() && d.release == nil { // the copy alone tells it from another message, whatever Options.IgnoreKey says
		fp, _ = d.message.fingerprints()
	}
	for ; ; h.Earlier++ {
		rec, err := d.in.hold(d.ctx, d.in.copyKey(d.message.ID, fp, h.Earlier), fp, &h)
		var dec decision
		if err == nil && rec != nil {
			dec, err = d.in.decided(d.ctx, rec)
		}
		switch {
		case err == nil && rec == nil, errors.Is(err, semel.ErrNotFound): // kept now, or before and not decided on
			return d.in.reached(Verdict{Act: Quarantine, Reason: reason, Err: why})
		case err != nil:
			return d.in.away(unavailable, fmt.Errorf("inbox: the message could not be put into quarantine: %w", err))
		case d.release == nil && (reason.nameless() || reason == tooLarge), d.last < dec.fence:
			return d.in.reached(Verdict{Act: Quarantine, Reason: quarantined}) // the operator decided about this very attempt
		}
	}
}

// shelved reports whether a copy of the message is in quarantine that holds its last attempt, whatever an operator
// decided on it since. The note of the attempt alone does not say: it may not have been written after the copy.
func (d *delivery) shelved(so progress) (bool, error) {
	if so.fate == kept {
		return true, nil
	}
	for earlier := 0; ; earlier++ {
		copied, err := d.in.copies.Lookup(d.ctx, d.in.copyKey(d.message.ID, d.fp, earlier))
		if errors.Is(err, semel.ErrNotFound) || err == nil && copied.State != semel.StateCompleted { // not yet, or its writer died
			return false, nil
		}
		var dec decision
		if err == nil {
			dec, err = d.in.decided(d.ctx, &copied)
		}
		switch {
		case errors.Is(err, semel.ErrNotFound), err == nil && d.last < dec.fence:
			return true, nil
		case err != nil:
			return false, err
		}
	}
}

// hold records the copy, and returns none, or the record of one that was there before.
func (in *Inbox) hold(ctx context.Context, key semel.Key, fp semel.Fingerprint, h *held) (*semel.Record, error) {
	claim, rec, err := in.copies.Begin(ctx, key, fp)
	if err != nil || rec != nil {
		return rec, err
	}
	outcome, err := json.Marshal(h)
	if err != nil {
		return nil, errors.Join(err, claim.Release("it cannot be kept")) //nolint:contextcheck // a claim has a context of its own.
	}
	// Settled word for word: an answer that is too large would otherwise be left out.
	s := semel.Settlement{State: semel.StateCompleted, Outcome: outcome, Kept: true, Retention: in.opts.QuarantineRetention}
	if err := seize.Settle(claim, s); err != nil {
		return nil, err
	}
	in.log.WarnContext(ctx, "inbox: a message was put into quarantine",
		slog.String("consumer", in.opts.Consumer), slog.String("digest", claim.Digest().String()[:16]),
		slog.String("reason", string(h.Reason)), slog.Int("attempts", h.Attempts), slog.String("why", h.Why))
	return nil, nil //nolint:nilnil // it is recorded now.
}

// decision is an operator's word on a message in quarantine. Fields are only ever added.
type decision struct {
	Form int    `json:"semel_inbox"`
	Act  string `json:"act"` // release or drop
	By   string `json:"by"`
	Why  string `json:"why"`
	Copy string `json:"copy"` // its name

	fence semel.Fence
}

const (
	released = "release"
	dropped  = "drop"
)

// decisionKey is that of the decision on a copy. A later copy of the same message has another fence.
func decisionKey(consumer string, copied *semel.Record) semel.Key {
	return semel.Key{Scope: decisionScope + consumer, Name: fmt.Sprintf("%s %d", copied.Name, copied.Fence)}
}

// decided returns the decision on a copy; semel.ErrNotFound for none.
func (in *Inbox) decided(ctx context.Context, copied *semel.Record) (decision, error) {
	dec, err := decisionOn(ctx, in.guard, in.opts.Consumer, copied)
	if !errors.Is(err, semel.ErrNotFound) {
		return dec, err
	}
	// A release is forgotten before the copy; that the message was handled is not.
	done, err := in.guard.Lookup(ctx, doneKey(in.opts.Consumer, copied))
	return decision{fence: done.Fence}, err
}

func decisionOn(ctx context.Context, guard *semel.Guard, consumer string, copied *semel.Record) (decision, error) {
	rec, err := guard.Lookup(ctx, decisionKey(consumer, copied))
	if err == nil && rec.State != semel.StateCompleted { // its process died before it was made
		err = semel.ErrNotFound
	}
	if err != nil {
		return decision{}, err
	}
	return readDecision(&rec)
}

func readDecision(rec *semel.Record) (decision, error) {
	dec := decision{fence: rec.Fence}
	return dec, read(rec, &dec, &dec.Form)
}

// errUnreadable: another version of this package wrote it, or something else did.
var errUnreadable = errors.New("it cannot be read")

// read decodes what the inbox keeps in a record.
func read(rec *semel.Record, into any, version *int) error {
	if err := json.Unmarshal(rec.Outcome, into); err != nil {
		return fmt.Errorf("inbox: record %.12s: %w: %w", rec.Digest, errUnreadable, err)
	}
	if *version != form {
		return fmt.Errorf("inbox: record %.12s: %w: it has version %d, this program knows %d", rec.Digest, errUnreadable, *version, form)
	}
	return nil
}
