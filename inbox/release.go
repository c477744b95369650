package inbox

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/waiting"
	"github.com/semel-dev/semel/operator"
)

const (
	// defaultInterval is that of Released.
	defaultInterval = 5 * time.Second
	// decisionMargin is the time for which a decision outlives what it is about.
	decisionMargin = time.Hour
	// maxExamined bounds the records that one pass of Released looks at, and maxErrors those of its errors that are logged.
	maxExamined = 5 * semel.MaxListExamined
	maxErrors   = 10
	// bellName names the record that tells consumers of released messages.
	bellName = "waiting"
)

// Held is a message in quarantine.
type Held struct {
	Digest   semel.Digest // names it
	Consumer string
	Message  Message
	Reason   Reason
	Why      string // what the handler or the inbox said
	Attempts int    // begun by a handler; 0 when none saw the message
	Earlier  int    // how often it was released before
	At       time.Time
	Expires  time.Time // when it is forgotten, unless released
	ReadAt   time.Time // the store's clock when this was read
	// Err says why the copy cannot be read: the guard lacks its key, or another version of this package
	// wrote it. The Message is then empty; it can be dropped, but not released.
	Err error
	// Decision is empty while the message waits for an operator, otherwise "released" (its
	// consumer is about to handle it), "handled" or "dropped".
	Decision string
}

// List calls show with the messages in quarantine, the latest first: those of the consumer, or
// of all consumers when it is empty. s bounds the search (After, Examine); its other fields are
// not used. A copy that cannot be read is shown with its Err. The guard's store must be a [semel.Lister],
// and the guard must not hide keys.
func List(ctx context.Context, guard *semel.Guard, consumer string, s operator.Search, show func(*Held) error) (operator.Progress, error) {
	records, err := listed(guard)
	if err != nil {
		return operator.Progress{}, err
	}
	search := operator.Search{After: s.After, Examine: s.Examine, States: settled()}
	if consumer != "" {
		search.Scope = quarantineScope + consumer
	} else { // most records are something else, and without their outcomes all of them count as completed
		search.Bare, search.States = true, []semel.State{semel.StateCompleted}
	}
	return records.List(ctx, search, func(rec *semel.Record) error {
		if !isCopy(rec) {
			return nil
		}
		if search.Bare {
			full, err := guard.Store().Lookup(ctx, rec.Digest)
			if errors.Is(err, semel.ErrNotFound) { // it has expired meanwhile
				return nil
			}
			if err != nil {
				return err
			}
			rec = &full
		}
		h, _, err := holdOf(ctx, guard, rec)
		if err != nil {
			return err
		}
		return show(h)
	})
}

// Find returns the message in quarantine with this digest, or [semel.ErrNotFound].
func Find(ctx context.Context, guard *semel.Guard, d semel.Digest) (*Held, error) {
	h, _, _, err := find(ctx, guard, d)
	if err != nil {
		return nil, fmt.Errorf("inbox: find: %w", err)
	}
	return h, nil
}

// find returns the message, what is kept of it, and its record.
func find(ctx context.Context, guard *semel.Guard, d semel.Digest) (*Held, *held, semel.Record, error) {
	rec, err := guard.Store().Lookup(ctx, d)
	if err == nil && !isCopy(&rec) {
		err = fmt.Errorf("it is not a message in quarantine: %w", semel.ErrNotFound)
	}
	if err != nil {
		return nil, nil, rec, err
	}
	h, from, err := holdOf(ctx, guard, &rec)
	return h, from, rec, err
}

// listed returns the records of a guard whose records are found by their scope.
func listed(guard *semel.Guard) (*operator.Records, error) {
	if guard != nil && guard.HidesKeys() {
		return nil, errors.New("inbox: the guard hides keys, so messages in quarantine are not found by their consumer")
	}
	return operator.New(guard, nil)
}

// Release has a message from quarantine handled again, by a consumer that runs
// [Inbox.Released], even if it may have happened: find that out first. by and the reason are kept
// in the audit trail, which is written before. The consumer must take it up within its
// Options.Retention; after that the message is in quarantine as before.
//
// Errors: [operator.ErrVerdict]; [semel.ErrNotFound]; [semel.ErrSettled] when another
// operator decided on it before; or that its copy cannot be read.
func Release(ctx context.Context, guard *semel.Guard, by operator.Identity, d semel.Digest, reason string) (*Held, error) {
	h, err := decide(ctx, guard, by, d, released, reason)
	if err == nil || errors.Is(err, semel.ErrSettled) && h != nil && h.Decision == "released" {
		err = errors.Join(err, ring(ctx, guard, h.Consumer))
	}
	return h, err
}

// Drop ends a message in quarantine: it is not handled any more. Its errors are those of
// [Release]. A drop is remembered for as long as the message is.
func Drop(ctx context.Context, guard *semel.Guard, by operator.Identity, d semel.Digest, reason string) (*Held, error) {
	return decide(ctx, guard, by, d, dropped, reason)
}

func decide(ctx context.Context, guard *semel.Guard, by operator.Identity, d semel.Digest, act, reason string) (*Held, error) {
	records, err := listed(guard)
	if err != nil {
		return nil, err
	}
	h, from, rec, err := find(ctx, guard, d)
	if h == nil {
		return nil, fmt.Errorf("inbox: %s: %w", act, err)
	}
	if err == nil && act == released {
		err = h.Err
	}
	if err != nil {
		return h, err
	}
	retention := rec.RetentionLeft() + decisionMargin
	if act == released { // as long as the record of its handling is remembered, so that it is not handled twice
		retention = time.Duration(from.Retention) * time.Millisecond
	}
	outcome, err := json.Marshal(decision{Form: form, Act: act, By: by.Name, Why: reason, Copy: rec.Name})
	if err != nil {
		return h, err
	}
	s := semel.Settlement{State: semel.StateCompleted, Outcome: outcome, Kept: true, Note: reason, Retention: retention}
	if h.Decision == "handled" {
		return h, &semel.Error{Op: act, Digest: d, Record: &rec, Err: semel.ErrSettled}
	}
	if _, err := records.Decide(ctx, by, act, decisionKey(h.Consumer, &rec), s); err != nil {
		return h, err
	}
	h.Decision = wordOf(act)
	return h, nil
}

// isCopy reports whether the record is that of a message in quarantine.
func isCopy(rec *semel.Record) bool {
	return strings.HasPrefix(rec.Scope, quarantineScope) && rec.State == semel.StateCompleted
}

// holdOf reads a message in quarantine, and how it was decided on.
func holdOf(ctx context.Context, guard *semel.Guard, rec *semel.Record) (*Held, *held, error) {
	h := &Held{
		Digest: rec.Digest, Consumer: strings.TrimPrefix(rec.Scope, quarantineScope),
		At: rec.SettledAt, Expires: rec.ExpiresAt, ReadAt: rec.ReadAt,
	}
	from := &held{}
	if h.Err = guard.Reveal(rec); h.Err == nil {
		h.Err = read(rec, from, &from.Form)
	}
	if h.Err == nil {
		h.Message, h.Reason, h.Why, h.Attempts, h.Earlier = from.message(), from.Reason, from.Why, from.Attempts, from.Earlier
	}
	_, err := guard.Lookup(ctx, doneKey(h.Consumer, rec))
	if err == nil {
		h.Decision = "handled"
	}
	if errors.Is(err, semel.ErrNotFound) {
		var dec decision
		if dec, err = decisionOn(ctx, guard, h.Consumer, rec); err == nil {
			h.Decision = wordOf(dec.Act)
		}
	}
	switch {
	case errors.Is(err, semel.ErrNotFound):
		err = nil
	case errors.Is(err, semel.ErrUnreadable), errors.Is(err, errUnreadable):
		h.Err, err = cmp.Or(h.Err, err), nil
	}
	return h, from, err
}

// wordOf returns the word for a decision, as in Held.Decision.
func wordOf(act string) string {
	return map[string]string{released: "released", dropped: "dropped"}[act]
}

// doneKey is that of the record which says that a released message was handled.
func doneKey(consumer string, copied *semel.Record) semel.Key {
	key := decisionKey(consumer, copied)
	key.Scope = doneScope + consumer
	return key
}

func bellKey(consumer string) semel.Key {
	return semel.Key{Scope: doneScope + consumer, Name: bellName}
}

// ring tells consumers that messages were released. The record lasts until they are handled.
func ring(ctx context.Context, guard *semel.Guard, consumer string) error {
	bells, err := guard.With(semel.Policy{OnUnknown: semel.Rerun, UnknownRetention: maxRetention})
	if err != nil {
		return err
	}
	claim, _, err := bells.Begin(ctx, bellKey(consumer), semel.Fingerprint{})
	if err != nil {
		return err
	}
	return claim.Unknown("messages that were released from quarantine wait for their consumer") //nolint:contextcheck // a claim has a context of its own.
}

// release is an operator's decision that a message is handled again.
type release struct {
	inbox   *Inbox
	id      string
	fp      semel.Fingerprint
	intent  string      // the name of the message's intent
	fence   semel.Fence // of the decision
	earlier int         // how often it was released before
	found   atomic.Bool // by Handle or HandleTx
}

type releaseKey struct{}

// releaseFrom returns the decision under which the message is handled, if there is one.
func (in *Inbox) releaseFrom(ctx context.Context, m *Message) *release {
	r, ok := ctx.Value(releaseKey{}).(*release)
	if !ok || r.inbox != in || r.id != m.ID {
		return nil
	}
	if keyed, keyless := m.fingerprints(); r.fp != keyed && r.fp != keyless {
		return nil
	}
	r.found.Store(true)
	return r
}

// Released handles the messages that operators release from quarantine, until ctx ends: it
// gives each to handle, which calls [Inbox.Handle] or [Inbox.HandleTx] with the context that it
// gets, and again after the pause of a verdict that retries. It checks for them every interval (5 s
// when it is 0), by one lookup. Run it in at least one of the consumer's processes. A nil error
// means that ctx has ended, and handle returned; [semel.ErrClosed] that the guard or its store was closed.
func (in *Inbox) Released(ctx context.Context, interval time.Duration, handle func(context.Context, Message) Verdict) error {
	records, err := listed(in.guard)
	if err != nil {
		return err
	}
	if _, ok := semel.StoreAs[semel.Lister](in.guard.Store()); !ok {
		return errors.New("inbox: this store cannot show its records, so released messages are not found")
	}
	interval = cmp.Or(interval, defaultInterval)
	if interval < 0 {
		return fmt.Errorf("inbox: an interval of %v is negative", interval)
	}
	s := &searcher{in: in, records: records, handle: handle}
	for {
		if err := s.pass(ctx); err != nil && ctx.Err() == nil {
			if errors.Is(err, semel.ErrClosed) {
				return err
			}
			in.log.WarnContext(ctx, "inbox: released messages could not be handled; trying again",
				slog.String("consumer", in.opts.Consumer), slog.Any("error", err))
		}
		if !waiting.Sleep(ctx, interval) {
			return nil
		}
	}
}

// searcher looks for released messages, a bounded part of the store in each pass.
type searcher struct {
	in      *Inbox
	records *operator.Records
	handle  func(context.Context, Message) Verdict

	after string       // where the next pass goes on; empty for the newest decisions
	first semel.Record // the bell, as it was when this round began
	heard semel.Fence  // of the bell, as the last pass saw it
	waits bool         // a message of this round was not handled
}

// pass looks at one part. A round that found nothing to wait for silences the bell.
func (s *searcher) pass(ctx context.Context) error {
	bell, err := s.in.guard.Lookup(ctx, bellKey(s.in.opts.Consumer))
	if errors.Is(err, semel.ErrNotFound) {
		s.after = ""
		return nil
	}
	if err != nil {
		return err
	}
	var newer error
	switch {
	case s.after == "":
		s.first, s.waits = bell, false
	case bell.Fence != s.heard: // released since; this round has passed it
		_, newer = s.part(ctx, "")
	}
	s.heard = bell.Fence
	at, err := s.part(ctx, s.after)
	if s.after = at.Next; s.after == "" && !s.waits {
		err = errors.Join(err, s.in.silence(ctx, &s.first))
	}
	return errors.Join(newer, err)
}

// settled are the states of copies and decisions, encrypted ones without their key included.
func settled() []semel.State { return []semel.State{semel.StateCompleted, semel.StateUnreadable} }

// part handles the messages of one part, from the cursor on. One that cannot be handled does not stop the others.
func (s *searcher) part(ctx context.Context, after string) (operator.Progress, error) {
	var failed []error
	search := operator.Search{
		Scope: decisionScope + s.in.opts.Consumer, States: settled(), After: after, Examine: maxExamined,
	}
	at, err := s.records.List(ctx, search, func(rec *semel.Record) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		ended, err := s.in.handleDecision(ctx, rec, s.handle)
		s.waits = s.waits || !ended
		if err != nil && len(failed) < maxErrors {
			failed = append(failed, fmt.Errorf("decision %.12s: %w", rec.Digest, err))
		}
		return nil
	})
	s.waits = s.waits || err != nil
	return at, errors.Join(append(failed, err)...)
}

// handleDecision handles the message of one decision, and reports whether it has ended.
func (in *Inbox) handleDecision(ctx context.Context, rec *semel.Record, handle func(context.Context, Message) Verdict) (ended bool, err error) {
	if err := in.guard.Reveal(rec); err != nil {
		return false, err
	}
	dec, err := readDecision(rec)
	if err != nil || dec.Act != released {
		return err == nil, err
	}
	copied, err := in.guard.Lookup(ctx, semel.Key{Scope: quarantineScope + in.opts.Consumer, Name: dec.Copy})
	switch {
	case errors.Is(err, semel.ErrNotFound), err == nil && decisionKey(in.opts.Consumer, &copied).Name != rec.Name:
		return true, nil // it has expired
	case err != nil:
		return false, err
	}
	h, from, err := holdOf(ctx, in.guard, &copied)
	if err == nil {
		err = h.Err
	}
	if err != nil || h.Decision == "handled" {
		return err == nil, err
	}
	r := &release{inbox: in, id: h.Message.ID, fp: copied.Fingerprint, intent: in.key(h.Message.ID).Name, fence: dec.fence, earlier: from.Earlier}
	if from.Reason.nameless() {
		r.intent = copied.Name
	}
	v := handle(context.WithValue(ctx, releaseKey{}, r), h.Message)
	switch {
	case !r.found.Load():
		return false, errors.New("the function given to Released must call Handle or HandleTx of this inbox with the context and the message that it gets")
	case v.Act == Retry:
		return false, nil
	}
	claim, _, err := in.copies.Begin(ctx, doneKey(in.opts.Consumer, &copied), semel.Fingerprint{})
	if err != nil || claim == nil {
		return err == nil, err
	}
	return true, claim.CompleteWithout(nil) //nolint:contextcheck // a claim has a context of its own.
}

// silence removes the record of ring, unless it rang again.
func (in *Inbox) silence(ctx context.Context, bell *semel.Record) error {
	guard, err := in.guard.With(semel.Policy{
		Wait: semel.NoWait, OnUnknown: semel.Reconcile, Reconcile: func(_ context.Context, before semel.Record) (semel.Reconciliation, error) {
			found := semel.Reconciliation{Verdict: semel.NotHappened}
			if before.Fence != bell.Fence {
				found.Verdict = semel.StillUnknown
			}
			return found, nil
		},
	})
	if err != nil {
		return err
	}
	claim, _, err := guard.Begin(ctx, bellKey(in.opts.Consumer), semel.Fingerprint{})
	switch {
	case errors.Is(err, semel.ErrUnknown), errors.Is(err, semel.ErrInFlight):
		return nil
	case err != nil || claim == nil:
		return err
	}
	return claim.Release("all released messages were handled") //nolint:contextcheck // a claim has a context of its own.
}
