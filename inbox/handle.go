package inbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"runtime/debug"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/job"
	"github.com/semel-dev/semel/internal/mark"
	"github.com/semel-dev/semel/internal/verdict"
)

// Handle runs fn for a message whose effect lies outside of the store's database, and says
// what the driver does with the message. What fn returns decides:
//
//   - nil: it happened; every later delivery is acknowledged;
//   - an error made with [semel.MarkFinal]: it had no effect, and never will; quarantine;
//   - an error made with [semel.MarkUnknown], a panic, or an error that [semel.Do] takes for
//     unknown, such as a time-out: it may have happened. Options.Ask finds out at the next delivery; quarantine without;
//   - any other error: it had no effect. Delivered again after a pause, until fn has begun
//     Options.MaxAttempts times; then quarantine.
//
// fn's context has the values of ctx but not its end: a consumer that stops waits for fn.
// It ends after [semel.Policy].MaxRun, and when the claim is lost.
func (in *Inbox) Handle(ctx context.Context, m Message, fn Handler) Verdict {
	return in.judge(ctx, &delivery{message: m, fn: fn})
}

func (in *Inbox) judge(ctx context.Context, d *delivery) Verdict {
	began := time.Now()
	d.in, d.ctx, d.last, d.release = in, context.WithoutCancel(ctx), semel.Fence(math.MaxUint64), in.releaseFrom(ctx, &d.message)
	v := d.judge(ctx)
	if in.opts.Observe != nil {
		in.opts.Observe(d.message, v, time.Since(began))
	}
	return v
}

var errInTransaction = errors.New("inbox: this context belongs to a transaction, which may be rolled back after the message was acknowledged " +
	"(call HandleTx with the consumer's context)")

// delivery is one call of Handle or HandleTx.
type delivery struct {
	in      *Inbox
	ctx     context.Context //nolint:containedctx // a delivery is one call, this is its context.
	message Message
	fn      Handler
	key     semel.Key
	fp      semel.Fingerprint
	other   semel.Fingerprint // under which the message may be recorded as well
	turned  bool              // fp and other have changed places
	again   bool              // the intent was taken over once
	// last is the fence of the last attempt's record, or greater than all.
	last semel.Fence
	// release is the operator's decision on a message from quarantine; nil for a delivery of the broker.
	release *release
	// transactor is set by HandleTx.
	transactor semel.Transactor
}

func (d *delivery) judge(caller context.Context) Verdict {
	if caller.Err() != nil {
		return Verdict{Reason: unavailable, Err: context.Cause(caller)}
	}
	if d.transactor != nil && verdict.TransactionOf(caller) != nil {
		return Verdict{After: d.in.pause(1), Reason: unavailable, Err: errInTransaction}
	}
	d.fp, d.other = d.in.fingerprints(&d.message)
	d.key = d.in.key(d.message.ID)
	if d.release != nil {
		d.key.Name, d.fp, d.other = d.release.intent, d.release.fp, d.release.fp
	} else if reason, err := d.malformed(); err != nil {
		return d.quarantine(reason, 0, err)
	}
	d.ctx = job.With(d.ctx, d.key)
	return d.attempt(d.first(), progress{}) //nolint:contextcheck // a delivery has a context of its own.
}

// KeyFor returns the key of the message under whose context a handler works, for a service that deduplicates: the same in every
// attempt, whatever the guard's secrets are, and another for every other message and every other consumer, which a message's ID is not.
// It is empty outside of a handler.
func KeyFor(ctx context.Context) string { return job.KeyFor(ctx) }

// first is the guard of an attempt that takes nothing over.
func (d *delivery) first() *semel.Guard {
	if d.transactor != nil {
		return d.in.rows
	}
	return d.in.guard
}

// malformed returns why the message is not handled at all.
func (d *delivery) malformed() (Reason, error) {
	if d.message.ID == "" {
		return noID, errors.New("the message has no ID")
	}
	if n := d.message.size(); n > d.in.opts.MaxBytes {
		return tooLarge, fmt.Errorf("the message has %d bytes, at most %d are handled", n, d.in.opts.MaxBytes)
	}
	return "", nil
}

// attempt handles the message if the guard lets it. so tells how far it got before.
func (d *delivery) attempt(guard *semel.Guard, so progress) Verdict {
	if d.transactor != nil {
		return d.attemptTx(guard, so)
	}
	var v Verdict
	ran := false
	_, err := semel.Do(d.ctx, guard, d.key, d.fp, func(ctx context.Context) (struct{}, error) {
		ran = true
		var err error
		v, err = d.attemptClaimed(ctx, so)
		return struct{}{}, err
	})
	switch {
	case !ran:
		return d.refused(err)
	case v.Act == Ack && err != nil: // the record lapses into unknown
		return d.in.away(unrecorded, err)
	}
	d.in.outages.Store(0)
	return v
}

// attemptClaimed is an attempt under its claim. The error says how the claim is settled.
func (d *delivery) attemptClaimed(ctx context.Context, so progress) (Verdict, error) {
	d.last = semel.FenceFrom(ctx)
	if so.begun >= d.in.opts.MaxAttempts {
		return d.keep(attempts, undone, so, errors.New(so.why))
	}
	so.begun, so.asked = so.begun+1, 0
	panicked, err := d.call(ctx)
	marked := mark.Of[semel.State](err)
	switch {
	case err == nil:
		return Verdict{Act: Ack, Reason: handled}, nil
	case marked == semel.StateCompleted:
		return d.keep(final, doomed, so, err)
	case marked == semel.StateUnknown, panicked, marked == semel.StateAbsent && mark.Open(err):
		if d.in.opts.Ask == nil {
			return d.keep(unknown, open, so, err)
		}
		return so.retry(unknown, open, d.in.pause(1), err)
	}
	if so.begun >= d.in.opts.MaxAttempts {
		return d.keep(attempts, undone, so, err)
	}
	return so.retry(failed, undone, d.in.pause(so.begun), err)
}

// call runs the handler, whose panic becomes an error.
func (d *delivery) call(ctx context.Context) (panicked bool, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			panicked, err = true, d.panicked(ctx, "handler", cause)
		}
	}()
	if err = d.fn(ctx, d.message); err != nil {
		_, _ = mark.Of[semel.State](err), err.Error() // the error's own methods can panic as well
	}
	return false, dialect.Discreet(err) // it is kept and logged
}

// panicked logs a panic with its stack, which its record has no room for, and returns it as an error.
func (d *delivery) panicked(ctx context.Context, who string, cause any) error {
	cause = dialect.DiscreetPanic(cause)
	d.in.log.ErrorContext(ctx, "inbox: a function of the application panicked", slog.String("function", who), slog.String("consumer", d.in.opts.Consumer),
		slog.String("digest", d.in.guard.Digest(d.key).String()[:16]), slog.String("panic", fmt.Sprint(cause)), slog.String("stack", string(debug.Stack())))
	return fmt.Errorf("panic: %v", cause)
}

// keep puts the message into quarantine, under its claim. If that fails, its next delivery
// tries again without handling it.
func (d *delivery) keep(reason Reason, ended fate, so progress, err error) (Verdict, error) {
	v := d.quarantine(reason, so.begun, err)
	if v.Act == Quarantine {
		ended = kept
	}
	_, note := so.retry(reason, ended, 0, err)
	return v, note
}

// retry returns the verdict after an attempt that did not end the message, and the error that
// settles its claim.
func (p progress) retry(reason Reason, ended fate, after time.Duration, err error) (Verdict, error) {
	p.fate, p.why = ended, err.Error()
	return Verdict{After: after, Reason: reason, Err: err}, semel.MarkUnknown(errors.New(p.recordNote()))
}

// refused says what it means that the guard did not let the message be handled.
func (d *delivery) refused(err error) Verdict {
	refusal, ok := errors.AsType[*semel.Error](err)
	switch {
	case !ok:
		return d.in.away(unavailable, err)
	case errors.Is(err, semel.ErrDuplicate):
		return d.in.reached(Verdict{Act: Ack, Reason: duplicate})
	case errors.Is(err, semel.ErrCancelled):
		return d.in.reached(Verdict{Act: Ack, Reason: cancelled})
	case errors.Is(err, semel.ErrMismatch) && !d.turned && d.fp != d.other:
		d.fp, d.other, d.turned = d.other, d.fp, true
		return d.attempt(d.first(), progress{})
	case errors.Is(err, semel.ErrMismatch):
		return d.quarantine(mismatch, 0, err)
	case errors.Is(err, semel.ErrInFlight):
		return d.in.reached(Verdict{After: refusal.RetryAfter, Reason: inFlight, Err: err})
	case errors.Is(err, semel.ErrUnknown) && d.again:
		return d.in.reached(Verdict{After: refusal.RetryAfter, Reason: unknown, Err: err})
	case errors.Is(err, semel.ErrUnknown) && refusal.Record != nil:
		return d.goOn(refusal.Record)
	}
	return d.in.away(unavailable, err)
}

// goOn decides about a message whose last attempt, with this record, did not end it.
func (d *delivery) goOn(rec *semel.Record) Verdict {
	d.again, d.last = true, rec.Fence
	so, o := progressOf(rec), &d.in.opts
	if d.release != nil && rec.Fence < d.release.fence { // an operator decided about this attempt
		d.last = d.release.fence
		return d.takeOver(rec, progress{}, d.retried)
	}
	switch shelved, err := d.shelved(so); {
	case err != nil:
		return d.in.away(unavailable, err)
	case shelved:
		return d.in.reached(Verdict{Act: Quarantine, Reason: quarantined})
	}
	return d.decide(rec, so, o)
}

// decide says how a message goes on that is not in quarantine.
func (d *delivery) decide(rec *semel.Record, so progress, o *Options) Verdict {
	why := errors.New(so.why)
	switch so.fate {
	case doomed:
		return d.quarantine(final, so.begun, why)
	case undone:
		if so.begun >= o.MaxAttempts {
			return d.quarantine(attempts, so.begun, why)
		}
		if rest := restOf(rec, d.in.pause(so.begun)); rest > 0 {
			return d.in.reached(Verdict{After: rest, Reason: pausing, Err: why})
		}
		return d.takeOver(rec, so, d.retried)
	case open, kept:
	}
	if o.Ask == nil || so.asked >= maxQuestions {
		return d.quarantine(unknown, so.begun, fmt.Errorf("%w: %s", semel.ErrUnknown, so.why))
	}
	if so.asked > 0 {
		if rest := restOf(rec, d.in.pause(so.asked)); rest > 0 {
			return d.in.reached(Verdict{After: rest, Reason: unknown, Err: why})
		}
	}
	return d.takeOver(rec, so, d.asked)
}

// restOf returns what is left of a pause since the record was settled, by the store's clock. A
// clock that was set back ends it.
func restOf(rec *semel.Record, pause time.Duration) time.Duration {
	passed := rec.ReadAt.Sub(rec.SettledAt)
	if rec.SettledAt.IsZero() || passed < 0 {
		return 0
	}
	return pause - passed
}

// takeOver makes one more attempt at a message, if find says that the one with this record did
// not happen.
func (d *delivery) takeOver(seen *semel.Record, so progress, find func(context.Context, *semel.Record, progress) semel.Reconciliation) Verdict {
	p := d.in.policy
	p.OnUnknown, p.UnknownOnError = semel.Reconcile, d.transactor == nil
	p.Reconcile = func(ctx context.Context, before semel.Record) (semel.Reconciliation, error) {
		if before.Fence != seen.Fence { // another consumer was faster
			return semel.Reconciliation{}, nil
		}
		return find(ctx, &before, so), nil
	}
	guard, err := d.in.guard.With(p)
	if err != nil {
		return d.in.away(unavailable, err)
	}
	return d.attempt(guard, so)
}

// retried answers for an attempt that is known to have had no effect.
func (*delivery) retried(context.Context, *semel.Record, progress) semel.Reconciliation {
	return semel.Reconciliation{Verdict: semel.NotHappened}
}

// asked answers as Options.Ask does.
func (d *delivery) asked(ctx context.Context, rec *semel.Record, so progress) (found semel.Reconciliation) {
	so.asked++
	defer func() {
		if cause := recover(); cause != nil {
			found, so.why = semel.Reconciliation{}, "Ask: "+d.panicked(ctx, "Ask", cause).Error()
		}
		if found.Verdict == semel.Happened || found.Verdict == semel.NotHappened {
			return
		}
		found = semel.Reconciliation{Note: so.recordNote(), Again: max(found.Again, d.in.pause(so.asked))}
	}()
	found, err := d.in.opts.Ask(ctx, *rec, d.message)
	switch {
	case err != nil:
		found, so.why = semel.Reconciliation{}, "Ask: "+dialect.Discreet(err).Error()
	case found.Note != "":
		so.why = found.Note
	}
	return found
}

// away is the verdict when the store could not be asked, or not told. The pauses grow with time: all deliveries within one pause find
// the same outage.
func (in *Inbox) away(reason Reason, err error) Verdict {
	now, end := time.Now().UnixNano(), in.paused.Load()
	n := in.outages.Load()
	if now >= end && in.paused.CompareAndSwap(end, now+int64(in.pause(int(n+1)))) {
		n = min(in.outages.Add(1), 16)
	}
	return Verdict{After: in.pause(int(max(n, 1))), Reason: reason, Err: err}
}

// reached notes that the store answered.
func (in *Inbox) reached(v Verdict) Verdict {
	in.outages.Store(0)
	return v
}
