package semel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/semel-dev/semel/internal/transition"
	"github.com/semel-dev/semel/internal/verdict"
	"github.com/semel-dev/semel/internal/waiting"
)

const (
	// Values of Error.RetryAfter that the table of errors does not have.
	retryUnavailable = time.Second
	retryFull        = 30 * time.Second
	retryUnknown     = 5 * time.Second // for an outcome that the next attempt looks up again
	// takeOverRounds bounds how often one Begin competes with others to take over
	// a record.
	takeOverRounds = 4
)

// Begin starts an attempt. It returns exactly one of three things:
//
//   - a *Claim: execute, then settle it with one of its methods;
//   - a *Record: it was completed before; replay [Record.Outcome];
//   - an error, an [*Error] that says what the caller should do next.
//
// ctx governs Begin alone. If another attempt of the same intent is running,
// Begin waits for it within [Policy.Wait].
func (g *Guard) Begin(ctx context.Context, k Key, fp Fingerprint) (*Claim, *Record, error) {
	a := attempt{guard: g, ctx: ctx, key: k, fp: fp, start: time.Now()}
	rec, err := a.begin()
	return a.claim, rec, err
}

// attempt is one call of Begin or BeginTx.
type attempt struct {
	guard  *Guard
	ctx    context.Context //nolint:containedctx // an attempt is one call, this is its context.
	key    Key
	fp     Fingerprint
	digest Digest
	owner  Owner
	start  time.Time
	waited time.Duration
	met    *Record       // the record that was in the way, if any
	again  time.Duration // when asking again can find out more, as a reconciliation said; 0 if it said nothing
	// transactor is set by BeginTx: an absent intent is claimed inside a transaction.
	transactor Transactor
	// unbounded: made by an operator; the scope's quotas neither count nor refuse it.
	unbounded bool

	// What was won: claim by Begin, tx by BeginTx.
	claim *Claim
	tx    *TxClaim
}

// begin returns a record to replay, or an error, unless something was won.
func (a *attempt) begin() (*Record, error) {
	rec, err := a.walk()
	if err != nil {
		err = a.fail(err)
	}
	rec, err = a.reveal(rec, err)
	if rec != nil {
		rec.Waited = a.waited
	}
	if hook := a.guard.core.trace.Began; hook != nil {
		hook(a.ctx, a.info(rec, err))
	}
	return rec, err
}

func (a *attempt) walk() (*Record, error) {
	if err := a.enter(); err != nil {
		return nil, err
	}
	rec, err := a.decide()
	if a.claim == nil && a.tx == nil {
		a.guard.core.idle.Exit() // a claim keeps its seat until it has ended
	}
	return rec, err
}

// enter takes a seat, unless the key is bad or the guard takes nothing new.
func (a *attempt) enter() error {
	if a.transactor == nil {
		if err := a.outside(); err != nil {
			return err
		}
	} else if err := a.guard.CheckTx(); err != nil {
		return err
	}
	if err := a.key.Validate(); err != nil {
		return err
	}
	c := a.guard.core
	c.idle.Enter()
	if c.closed.Load() {
		c.idle.Exit()
		return ErrClosed
	}
	if c.live.Load() >= c.maxLive {
		c.idle.Exit()
		return fmt.Errorf("%w: %w: %d", ErrUnavailable, ErrBusy, c.maxLive)
	}
	a.digest = c.digest(a.key)
	a.owner = c.owners.Next()
	return nil
}

// storeAnswer is one answer of the store to an attempt.
type storeAnswer struct {
	rec   Record
	began time.Time // the lease counts from here
	won   bool
	err   error
}

// errInTransaction refuses a claim that a rollback of the transaction around it would
// not undo, although it undoes the rows that the work wrote there.
var errInTransaction = errors.New("semel: this context belongs to a transaction of the guard's store, and Do or Begin would stay completed when that rolls back " +
	"(call it before or after the transaction; DoTx with this context commits with it)")

// outside refuses an attempt with a lease in a transaction of the guard's store.
func (a *attempt) outside() error {
	for t := verdict.TransactionOf(a.ctx); t != nil; t = verdict.TransactionOf(t.Outside) {
		if t.Store != nil && t.Store == a.guard.core.records {
			return errInTransaction
		}
	}
	return nil
}

// nested refuses an intent on which the work around this attempt works: it would
// wait for itself.
func (a *attempt) nested() error {
	same := func(d Digest) bool { return d == a.digest || a.guard.core.names(a.key, d) }
	for outer := TxClaimFrom(a.ctx); outer != nil; outer = TxClaimFrom(outer.around.Outside) {
		if same(outer.Digest()) {
			return errNested("transaction")
		}
	}
	for outer := ClaimFrom(a.ctx); outer != nil; outer = ClaimFrom(outer.ctx.values) {
		if same(outer.digest) && outer.clock.Open() {
			return errNested("work")
		}
	}
	return nil
}

func errNested(around string) error {
	return fmt.Errorf("%w: the %s around this call works on it (nested use of one key)", ErrInFlight, around)
}

// decide walks the state machine: claim, or look at the record in the way.
func (a *attempt) decide() (replay *Record, err error) {
	if err := a.nested(); err != nil {
		return nil, err
	}
	s := a.claimFresh(a.start)
	for round := 0; ; round++ {
		if s.err == nil && !s.won && a.running(&s.rec) {
			s = a.wait(s.rec)
		}
		last := round == takeOverRounds
		switch {
		case errors.Is(s.err, ErrNotFound) && last:
			return nil, ErrInFlight
		case errors.Is(s.err, ErrNotFound): // it was released or rolled back
			s = a.claimFresh(time.Now())
			continue
		case s.err != nil:
			return nil, s.err
		case s.won && a.tx == nil:
			a.claim = a.openClaim(s)
			return nil, nil //nolint:nilnil // it is a.claim.
		case s.won:
			return nil, nil //nolint:nilnil // it is a.tx.
		}
		if err := a.refusal(&s.rec); err != nil {
			a.met = new(s.rec)
			return nil, err
		}
		if s.rec.State == StateCompleted {
			rec := s.rec // a copy keeps s off the heap
			return &rec, nil
		}
		before := s.rec
		a.met = &before // whatever fails from here on, the caller knows that there was something
		if last {
			return nil, ErrInFlight
		}
		s = a.takeOver(&before)
		if s.err == nil && s.won && a.tx == nil && a.guard.policy.OnUnknown == Reconcile && !a.neverRan(&before) {
			return a.reconcile(before, s)
		}
	}
}

// running reports whether the record is this intent, being executed.
func (a *attempt) running(rec *Record) bool { return a.look(rec) == transition.Wait }

// look asks the transition table what to do about the record.
func (a *attempt) look(rec *Record) transition.Decision {
	p := &a.guard.policy
	return transition.Decide(
		transition.Found{
			State:    transition.State(rec.State),
			Lapsed:   rec.Lapsed(),
			Asked:    a.asks(rec),
			Kept:     rec.Kept,
			NeverRan: a.neverRan(rec),
		},
		transition.Policy{Dedup: p.Dedup, Refuse: p.OnUnknown == Refuse},
	)
}

// asks reports whether the record is for the request of this attempt. The
// record of an operator who cancels an intent that never arrived has no
// fingerprint until it is settled.
func (a *attempt) asks(rec *Record) bool {
	return rec.Fingerprint == a.fp || (rec.Fingerprint == Fingerprint{} && rec.State != StateCompleted)
}

// neverRan reports whether the record is a claim of this very attempt that
// lapsed before its reply arrived, with nothing before it.
func (a *attempt) neverRan(rec *Record) bool {
	return rec.State == StateClaimed && rec.Owner == a.owner && rec.Attempt == 1
}

// refusal returns the sentinel that ends the attempt, or nil when the record is
// to be replayed or taken over.
func (a *attempt) refusal(rec *Record) error {
	switch a.look(rec) {
	case transition.SayCancelled:
		return ErrCancelled
	case transition.SayMismatch:
		return ErrMismatch
	case transition.SayDuplicate:
		return ErrDuplicate
	case transition.SayNotKept:
		return ErrNotKept
	case transition.Wait:
		return ErrInFlight
	case transition.SayUnknown:
		return ErrUnknown
	case transition.Replay, transition.TakeOver:
	}
	return nil
}

// claimFresh claims an intent without a record, or returns the record that is
// in the way. began is now, or a little earlier.
func (a *attempt) claimFresh(began time.Time) storeAnswer {
	switch {
	case a.transactor != nil:
		return a.claimInTx()
	case a.guard.core.rotating():
		return a.claimRotating(began)
	}
	return a.ask(0, began)
}

// ask asks the store, within the quotas of the scope. began is now, or a
// little earlier.
func (a *attempt) ask(takeOver Fence, began time.Time) storeAnswer {
	if err := a.admit(takeOver); err != nil {
		return a.lookOnly(takeOver, err)
	}
	s := a.claimAdmitted(takeOver, began)
	if s.err != nil || !s.won {
		a.giveSeats(takeOver)
	}
	return s
}

// admit takes the attempt's seats within the quotas of its scope. A takeover
// creates no new record, so it does not count against the quota of records.
func (a *attempt) admit(takeOver Fence) error {
	if a.unbounded {
		return nil
	}
	retention := a.guard.policy.Retention
	if takeOver != 0 {
		retention = 0
	}
	if err := a.guard.core.quota.Enter(a.key.Scope, retention); err != nil {
		return fmt.Errorf("%w: %w", ErrQuota, err)
	}
	return nil
}

// giveSeats gives back what admit took, for a claim that was not won or not
// kept.
func (a *attempt) giveSeats(takeOver Fence) {
	if a.unbounded {
		return
	}
	a.guard.core.quota.Leave(a.key.Scope)
	if takeOver == 0 {
		a.guard.core.quota.Forget(a.key.Scope)
	}
}

// lookOnly serves an attempt that was not admitted: it may replay a record or wait
// for it, but claims nothing new.
func (a *attempt) lookOnly(takeOver Fence, refused error) storeAnswer {
	if takeOver != 0 {
		return storeAnswer{err: refused}
	}
	rec, err := a.lookup()
	if errors.Is(err, ErrNotFound) {
		err = refused
	}
	return storeAnswer{rec: rec, err: err}
}

// claimAdmitted asks the store, again while the answer is lost, which the owner
// token makes safe.
func (a *attempt) claimAdmitted(takeOver Fence, began time.Time) storeAnswer {
	c := a.guard.core
	defer c.queue.Add(-1)
	if c.queue.Add(1) > c.maxQueue {
		return storeAnswer{err: fmt.Errorf("%w: %w: %d wait for the store already", ErrUnavailable, ErrBusy, c.maxQueue)}
	}
	p := a.params(takeOver)
	ctx := waiting.Within(a.ctx, began.Add(c.timeout))
	defer ctx.End()
	rec, won, err := c.store.Claim(ctx, p)
	if err == nil {
		return storeAnswer{rec: rec, began: began, won: won}
	}
	return a.claimAgain(ctx, p, began, err)
}

func (a *attempt) claimAgain(ctx context.Context, p ClaimParams, began time.Time, err error) storeAnswer {
	c := a.guard.core
	refusals := 0
	for pause := range waiting.Backoffs() {
		if refused(err) {
			refusals++
		}
		// The first refusal may come from a connection to a server that was the primary.
		if definite(err) || refusals > 1 || !waiting.Sleep(ctx, pause) {
			break
		}
		rec, won, again := c.store.Claim(ctx, p)
		if again == nil {
			return storeAnswer{rec: rec, began: began, won: won}
		}
		if ctx.Err() == nil || definite(again) { // an attempt that the end of the time cut off says less than the one before it
			err = again
		}
	}
	if !definite(err) {
		c.giveBack(p)
	}
	if a.ctx.Err() != nil {
		return storeAnswer{err: fmt.Errorf("claim: %w", context.Cause(a.ctx))}
	}
	return storeAnswer{err: fmt.Errorf("%w: claim: %w", ErrUnavailable, err)}
}

// definite reports whether a store's error proves that nothing changed.
func definite(err error) bool {
	return errors.Is(err, ErrFull) || errors.Is(err, ErrClosed) || errors.Is(err, ErrLost) || errors.Is(err, ErrSettled) ||
		errors.Is(err, ErrNewerRecord)
}

// refused reports whether a store's server refused, and waiting does not help: it is read-only, its disk fails, a right or a table is
// missing.
func refused(err error) bool {
	_, is := errors.AsType[interface {
		error
		Refused()
	}](err)
	return is
}

func (a *attempt) params(takeOver Fence) ClaimParams {
	p := ClaimParams{
		Digest:      a.digest,
		Scope:       a.key.Scope,
		Name:        a.key.Name,
		Fingerprint: a.fp,
		Owner:       a.owner,
		Lease:       a.guard.policy.Lease,
		Retention:   a.guard.policy.UnknownRetention, // in case it lapses
		TakeOver:    takeOver,
	}
	if a.guard.core.hideKeys {
		p.Scope, p.Name = "", ""
	}
	return p
}

// fail makes the caller's error from a sentinel.
func (a *attempt) fail(err error) error {
	e := &Error{Op: "begin", Digest: a.digest, Err: err, RetryAfter: retryAfter(err)}
	if a.met != nil && !errors.Is(err, ErrMismatch) {
		e.Record = a.met
	}
	switch {
	case errors.Is(err, ErrFull):
		e.RetryAfter = retryFull
	case errors.Is(err, ErrUnknown) && a.guard.policy.OnUnknown == Reconcile:
		e.RetryAfter = cmp.Or(a.again, retryUnknown)
	}
	return e
}
