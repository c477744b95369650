package inbox

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/mark"
)

// HandleTx is [Inbox.Handle] for a message whose effect is rows in the database of the guard's
// store: fn works in the transaction that its context carries, and its rows commit together with
// the record of the message or not at all, so the message is never unknown. t opens transactions of
// that database. fn may run several times for one attempt, as for [semel.DoTx].
//
// When the statements of fn are known beforehand, a transactor that sends them with the claim saves round
// trips, and lets messages that are handled at the same time share a commit: see pgstore.TxOptions.Queries.
//
// HandleTx is refused inside of a transaction, with a verdict that delivers again: the message
// could be acknowledged, and its rows rolled back.
//
// Each call holds a connection of t's pool. If fn takes a second one, the pool needs more
// connections than messages are handled at once; otherwise they wait for each other.
//
// Every error of fn rolls back, a panic included. An error made with [semel.MarkUnknown] says that
// fn did something elsewhere that may have happened; the others mean what they mean for Handle.
//
// A transaction that ends with its process leaves nothing to count. So attempts are counted in a
// record of their own: before the transaction, unless Message.Deliveries is 1, and after one
// that failed. A message that kills its process is thus quarantined after at most
// Options.MaxAttempts + 1 attempts, and the usual one costs nothing in addition.
func (in *Inbox) HandleTx(ctx context.Context, t semel.Transactor, m Message, fn Handler) Verdict {
	return in.judge(ctx, &delivery{message: m, fn: fn, transactor: t})
}

func (d *delivery) attemptTx(guard *semel.Guard, so progress) Verdict {
	counted := d.again || d.release != nil || d.message.Deliveries != 1
	if counted {
		v, done := d.countFirst(guard, &so)
		if done {
			return v
		}
	}
	var failure error
	ran := false
	_, err := semel.DoTx(d.ctx, guard, d.transactor, d.key, d.fp, func(ctx context.Context) (struct{}, error) {
		ran = true
		_, failure = d.call(ctx)
		return struct{}{}, so.settle(failure)
	})
	switch {
	case !ran:
		return d.refused(err)
	case err == nil:
		return d.in.reached(Verdict{Act: Ack, Reason: handled})
	case failure == nil && (!errors.Is(err, semel.ErrRolledBack) || errors.Is(err, semel.ErrLost)):
		return d.in.away(unrecorded, err) // the next delivery finds out
	case failure == nil:
		failure = dialect.Discreet(err) // the database refused the commit
	}
	return d.failedTx(failure, counted, so)
}

// settle says by the error of a handler how its transaction ends.
func (p progress) settle(err error) error {
	marked := mark.Of[semel.State](err)
	if marked == semel.StateCompleted { // the inbox records it, after the message is in quarantine
		return semel.MarkReleased(err)
	}
	if marked == semel.StateUnknown {
		p.fate, p.begun, p.why = open, p.begun+1, err.Error()
		return semel.MarkUnknown(errors.New(p.recordNote()))
	}
	return err
}

// failedTx says what it means that an attempt was rolled back.
func (d *delivery) failedTx(err error, counted bool, so progress) Verdict {
	so.begun++
	if !counted {
		n, _, countErr := d.count(false)
		if countErr != nil {
			return d.in.away(unavailable, errors.Join(err, countErr))
		}
		so.begun = n
	}
	switch {
	case mark.Of[semel.State](err) == semel.StateCompleted:
		return d.shelve(final, doomed, so, err)
	case mark.Of[semel.State](err) == semel.StateUnknown && d.in.opts.Ask == nil:
		return d.shelve(unknown, open, so, err)
	case mark.Of[semel.State](err) == semel.StateUnknown:
		if refusal := d.bar(open, so, err); refusal != nil {
			return d.refused(refusal)
		}
		return d.in.reached(Verdict{After: d.in.pause(1), Reason: unknown, Err: err})
	case so.begun >= d.in.opts.MaxAttempts:
		return d.shelve(attempts, undone, so, err)
	}
	return d.in.reached(Verdict{After: d.in.pause(so.begun), Reason: failed, Err: err})
}

// shelve puts a message that was rolled back into quarantine. Its intent is barred before: otherwise a late delivery would
// run it if only the copy could be written.
func (d *delivery) shelve(reason Reason, ended fate, so progress, err error) Verdict {
	if refusal := d.bar(ended, so, err); refusal != nil {
		return d.refused(refusal)
	}
	return d.quarantine(reason, so.begun, err)
}

// bar leaves a record of an intent that was rolled back: no delivery runs it without asking the inbox. The error says why
// it has none; a record that it has already is enough.
func (d *delivery) bar(ended fate, so progress, why error) error {
	claim, _, err := d.in.guard.Begin(d.ctx, d.key, d.fp)
	if errors.Is(err, semel.ErrUnknown) {
		return nil
	}
	if err != nil {
		return err
	}
	so.fate, so.why = ended, why.Error()
	return claim.Unknown(so.recordNote())
}

// countFirst counts an attempt before it begins; done says that it must not begin. A message with a
// record needs no count: it is refused, or its record is taken over.
func (d *delivery) countFirst(guard *semel.Guard, so *progress) (v Verdict, done bool) {
	if !d.again {
		_, err := d.in.guard.Lookup(d.ctx, d.key)
		if err == nil {
			return Verdict{}, false
		}
		if !errors.Is(err, semel.ErrNotFound) {
			return d.in.away(unavailable, err), true
		}
		// A twin that runs, or a database that opens no transaction, begins no attempt.
		claim, _, err := guard.BeginTx(d.ctx, bare(d.transactor), d.key, d.fp)
		if claim != nil {
			err = claim.Rollback("the attempt is counted first")
		}
		if err != nil {
			return d.refused(err), true
		}
	}
	n, rest, err := d.count(true)
	switch {
	case err != nil:
		return d.in.away(unavailable, err), true
	case rest > 0:
		return d.in.reached(Verdict{After: rest, Reason: pausing}), true
	case n > d.in.opts.MaxAttempts:
		so.begun = d.in.opts.MaxAttempts
		return d.shelve(attempts, undone, *so, errors.New("its handler has begun as often as it may")), true
	}
	so.begun = n - 1
	return Verdict{}, false
}

// bare returns the transactor without the statements that travel with its claims, if it has any.
func bare(t semel.Transactor) semel.Transactor {
	if b, ok := t.(interface{ Bare() semel.Transactor }); ok {
		return b.Bare()
	}
	return t
}

// count counts one more attempt, and returns its number: one more than Options.MaxAttempts when
// there is none left. With pausing set it counts nothing while the message rests, and returns what is
// left of that. A message that was released from quarantine begins at 1 again.
func (d *delivery) count(pausing bool) (n int, rest time.Duration, err error) {
	for earlier := d.earlier(); ; earlier++ {
		round := d.in.copyKey(d.message.ID, d.fp, earlier)
		for n = 1; n <= d.in.opts.MaxAttempts; n++ {
			key := semel.Key{Scope: attemptsScope + d.in.opts.Consumer, Name: round.Name + " " + strconv.Itoa(n)}
			claim, _, err := d.in.counts.Begin(d.ctx, key, d.fp)
			if err == nil {
				return n, 0, claim.CompleteWithout(nil)
			}
			refusal, ok := errors.AsType[*semel.Error](err)
			switch {
			case errors.Is(err, semel.ErrInFlight): // counted by a twin
			case !ok || !errors.Is(err, semel.ErrDuplicate) || refusal.Record == nil:
				return 0, 0, err
			case pausing:
				if rest := restOf(refusal.Record, d.in.pause(n)); rest > 0 {
					return 0, rest, nil
				}
			}
		}
		copied, err := d.in.copies.Lookup(d.ctx, round)
		if err == nil {
			_, err = d.in.decided(d.ctx, &copied)
		}
		switch {
		case errors.Is(err, semel.ErrNotFound): // it was not released
			return n, 0, nil
		case err != nil:
			return 0, 0, err
		}
	}
}

// earlier returns how often the message was released from quarantine before, as far as it knows.
func (d *delivery) earlier() int {
	if d.release == nil {
		return 0
	}
	return d.release.earlier + 1
}
