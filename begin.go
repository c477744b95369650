package semel

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/semel-dev/semel/internal/machine"
)

const (
	// pollFirst and pollMost bound how often a waiter asks the store, for the
	// case that the twin runs in another process.
	pollFirst = 20 * time.Millisecond
	pollMost  = 500 * time.Millisecond
	// retryInFlight, retryUnavailable and retryFull are the advice of
	// Error.RetryAfter.
	retryInFlight    = time.Second
	retryUnavailable = time.Second
	retryFull        = 30 * time.Second
	// takeOverRounds bounds how often one Begin tries to take over a record
	// that others take over at the same time.
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
	claim, rec, err := a.run()
	rec, err = a.reveal(rec, err)
	if rec != nil {
		rec.Waited = a.waited
	}
	if hook := g.core.trace.Began; hook != nil {
		hook(ctx, a.info(claim, rec, err))
	}
	return claim, rec, err
}

// attempt is one call of Begin.
type attempt struct {
	guard  *Guard
	ctx    context.Context //nolint:containedctx // an attempt is one call, this is its context.
	key    Key
	fp     Fingerprint
	digest Digest
	owner  Owner
	start  time.Time
	waited time.Duration
	met    *Record // the record that stood in the way, if any
	inTx   bool    // transaction mode: what is absent is claimed by the transaction
}

func (a *attempt) run() (*Claim, *Record, error) {
	if err := a.enter(); err != nil {
		return nil, nil, a.fail(err)
	}
	claim, rec, err := a.decide()
	if claim == nil {
		a.guard.core.idle.exit() // a claim keeps its seat until it is settled
	}
	return claim, rec, err
}

// enter takes a seat, unless the key is bad or the guard takes nothing new.
func (a *attempt) enter() error {
	if err := a.key.Validate(); err != nil {
		return err
	}
	c := a.guard.core
	c.idle.enter()
	if c.closed.Load() {
		c.idle.exit()
		return ErrClosed
	}
	if c.live.Load() >= c.maxLive {
		c.idle.exit()
		return fmt.Errorf("%w: %w: %d", ErrUnavailable, ErrBusy, c.maxLive)
	}
	a.digest = c.digester.digest(a.key)
	a.owner = c.newOwner()
	return nil
}

// step is one answer of the store to an attempt.
type step struct {
	rec   Record
	began time.Time // when the lease can be trusted from
	won   bool
	err   error
}

// nested refuses an intent on which a transaction around this attempt works:
// it would wait for itself.
func (a *attempt) nested() error {
	for outer := TxClaimFrom(a.ctx); outer != nil; outer = TxClaimFrom(outer.outside) {
		if outer.Digest() == a.digest || a.guard.core.names(a.key, outer.Digest()) {
			return fmt.Errorf("%w: the transaction around this call works on it (nested use of one key)", ErrInFlight)
		}
	}
	return nil
}

// decide is the walk of the state machine: claim, or look at what is there.
func (a *attempt) decide() (*Claim, *Record, error) {
	if err := a.nested(); err != nil {
		return nil, nil, a.fail(err)
	}
	s := a.claimFresh(a.start)
	for round := 0; ; round++ {
		if s.err == nil && !s.won && a.running(&s.rec) {
			s = a.wait(s.rec)
		}
		switch {
		case s.err != nil:
			return nil, nil, a.fail(s.err)
		case s.won:
			return a.open(s), nil, nil
		}
		if err := a.refusal(&s.rec); err != nil {
			a.met = new(s.rec)
			return nil, nil, a.fail(err)
		}
		if s.rec.State == StateCompleted {
			replay := s.rec // a copy of its own: s need not live on the heap
			return nil, &replay, nil
		}
		if round == takeOverRounds {
			a.met = new(s.rec)
			return nil, nil, a.fail(ErrInFlight)
		}
		before := s.rec
		a.met = &before // whatever fails from here on, the caller knows that there was something
		s = a.takeOver(&before)
		if s.err == nil && s.won && a.guard.policy.OnUnknown == Reconcile && !a.neverRan(&before) {
			return a.reconcile(before, s)
		}
	}
}

// running reports whether the record is this intent, being executed.
func (a *attempt) running(rec *Record) bool { return a.look(rec) == machine.Wait }

// look asks the transition table what to do about the record.
func (a *attempt) look(rec *Record) machine.Decision {
	p := &a.guard.policy
	return machine.Decide(
		machine.Met{
			State:    machine.State(rec.State),
			Lapsed:   rec.Lapsed(),
			Asked:    a.asks(rec),
			Kept:     rec.Kept,
			NeverRan: a.neverRan(rec),
		},
		machine.Ways{Dedup: p.Mode == Dedup, Refuse: p.OnUnknown == Refuse},
	)
}

// asks reports whether the record is of what this attempt asks for. That of an
// operator who cancels what never arrived knows of no request until it is
// settled.
func (a *attempt) asks(rec *Record) bool {
	return rec.Fingerprint == a.fp || (rec.Fingerprint == Fingerprint{} && rec.State != StateCompleted)
}

// neverRan reports whether the record is a claim of this very attempt that
// lapsed before its reply arrived, with nothing before it.
func (a *attempt) neverRan(rec *Record) bool {
	return rec.State == StateClaimed && rec.Owner == a.owner && rec.Attempt == 1
}

// refusal returns the sentinel that keeps the attempt from going on with the
// record, or nil when it is to be replayed or taken over.
func (a *attempt) refusal(rec *Record) error {
	switch a.look(rec) {
	case machine.SayCancelled:
		return ErrCancelled
	case machine.SayMismatch:
		return ErrMismatch
	case machine.SayDuplicate:
		return ErrDuplicate
	case machine.SayNotKept:
		return ErrNotKept
	case machine.Wait:
		return ErrInFlight
	case machine.SayUnknown:
		return ErrUnknown
	case machine.Replay, machine.TakeOver:
	}
	return nil
}

// claim asks the store, within the quotas of the scope. began is now, or a
// little earlier.
func (a *attempt) claim(takeOver Fence, began time.Time) step {
	if err := a.admit(takeOver); err != nil {
		return a.lookOnly(takeOver, err)
	}
	s := a.claimAdmitted(takeOver, began)
	if s.err != nil || !s.won {
		a.dismiss(takeOver)
	}
	return s
}

// claimAdmitted asks the store, and asks again while the answer is lost: the
// owner token makes that safe.
func (a *attempt) claimAdmitted(takeOver Fence, began time.Time) step {
	c := a.guard.core
	defer c.queue.Add(-1)
	if c.queue.Add(1) > c.maxQueue {
		return step{err: fmt.Errorf("%w: %w: %d wait for the store already", ErrUnavailable, ErrBusy, c.maxQueue)}
	}
	p := a.params(takeOver)
	ctx := c.boundVerb(a.ctx, began)
	defer ctx.end()
	rec, won, err := c.store.Claim(ctx, p)
	if err == nil {
		return step{rec: rec, began: began, won: won}
	}
	return a.claimAgain(ctx, p, began, err)
}

func (a *attempt) claimAgain(ctx context.Context, p ClaimParams, began time.Time, err error) step {
	c := a.guard.core
	for pause := range backoffs() {
		if definite(err) || !sleep(ctx, pause) {
			break
		}
		rec, won, again := c.store.Claim(ctx, p)
		if again == nil {
			return step{rec: rec, began: began, won: won}
		}
		err = again
	}
	if !definite(err) {
		c.giveBack(p)
	}
	if a.ctx.Err() != nil {
		return step{err: fmt.Errorf("claim: %w", context.Cause(a.ctx))}
	}
	return step{err: fmt.Errorf("%w: claim: %w", ErrUnavailable, err)}
}

// definite reports whether a store's error says for sure that nothing changed.
func definite(err error) bool {
	return errors.Is(err, ErrFull) || errors.Is(err, ErrClosed) || errors.Is(err, ErrLost) || errors.Is(err, ErrSettled) ||
		errors.Is(err, ErrNewerRecord)
}

func (a *attempt) params(takeOver Fence) ClaimParams {
	p := ClaimParams{
		Digest:      a.digest,
		Scope:       a.key.Scope,
		Name:        a.key.Name,
		Fingerprint: a.fp,
		Owner:       a.owner,
		Lease:       a.guard.policy.Lease,
		Retention:   a.guard.policy.UnknownRetention, // what it gets if it lapses
		TakeOver:    takeOver,
	}
	if a.guard.core.hideKeys {
		p.Scope, p.Name = "", ""
	}
	return p
}

// wait sits until the running twin ends, looks at what it left, and claims if
// that is nothing.
func (a *attempt) wait(met Record) step {
	from := time.Now()
	defer func() { a.waited += time.Since(from) }()
	a.met = &met
	left := a.guard.policy.Wait - a.waited
	if left <= 0 {
		return step{rec: met}
	}
	deadline := time.NewTimer(left)
	defer deadline.Stop()
	for poll := pollFirst; ; poll = min(2*poll, pollMost) {
		rec, again, err := a.sit(deadline.C, poll)
		s := step{rec: rec, err: err}
		if errors.Is(err, ErrNotFound) && !a.inTx {
			s = a.claimFresh(time.Now())
		}
		if s.err != nil || s.won || !again || !a.running(&s.rec) {
			return s
		}
	}
}

// sit waits for one wake-up, poll or end, and returns the record as it is
// then; again is false when the patience has ended.
func (a *attempt) sit(deadline <-chan time.Time, poll time.Duration) (rec Record, again bool, err error) {
	c := a.guard.core
	room, ok := c.join(a.digest, a.key.Scope)
	if !ok {
		return Record{}, false, fmt.Errorf("%w: too many attempts wait for it already", ErrInFlight)
	}
	defer c.waiters.leave(a.digest, a.key.Scope, room)
	// Looked up after joining: a twin that settles from here on wakes us.
	rec, err = a.lookup()
	if err != nil || rec.State != StateClaimed || rec.Lapsed() {
		return rec, true, err
	}
	if room.told.Load() {
		poll = pollMost // the store tells; polling is the fallback
	}
	timer := time.NewTimer(min(poll, max(rec.LeaseLeft(), time.Millisecond)))
	defer timer.Stop()
	select {
	case <-room.done:
		again = true
	case <-timer.C:
		again = true
	case <-deadline:
	case <-c.drain:
		return rec, false, ErrClosed
	case <-a.ctx.Done():
		return rec, false, fmt.Errorf("wait: %w", context.Cause(a.ctx))
	}
	rec, err = a.lookup()
	return rec, again, err
}

// lookup asks the store what there is.
func (a *attempt) lookup() (Record, error) {
	ctx := a.guard.core.boundVerb(a.ctx, time.Now())
	defer ctx.end()
	rec, err := a.guard.core.store.Lookup(ctx, a.digest)
	return rec, a.lookupError(err)
}

func (a *attempt) lookupError(err error) error {
	switch {
	case err == nil || errors.Is(err, ErrNotFound) || errors.Is(err, ErrClosed):
		return err
	case a.ctx.Err() != nil:
		return fmt.Errorf("look up: %w", context.Cause(a.ctx))
	}
	return fmt.Errorf("%w: look up: %w", ErrUnavailable, err)
}

// fail dresses a sentinel for the caller.
func (a *attempt) fail(err error) error {
	e := &Error{Op: "begin", Digest: a.digest, Err: err}
	if a.met != nil && !errors.Is(err, ErrMismatch) {
		e.Record = a.met
	}
	switch {
	case errors.Is(err, ErrFull):
		e.Err = fmt.Errorf("%w: %w", ErrUnavailable, err)
		e.RetryAfter = retryFull
	case errors.Is(err, ErrQuota):
		e.RetryAfter = retryQuota
	case errors.Is(err, ErrInFlight):
		e.RetryAfter = retryInFlight
	case errors.Is(err, ErrUnavailable), errors.Is(err, ErrClosed), errors.Is(err, ErrRolledBack):
		e.RetryAfter = retryUnavailable
	}
	return e
}

func (a *attempt) info(claim *Claim, rec *Record, err error) BeginInfo {
	info := BeginInfo{
		Digest: a.digest, Scope: a.key.Scope, Err: err,
		Took: time.Since(a.start), Waited: a.waited,
	}
	met := rec
	if met == nil {
		met = a.met
	}
	if met != nil {
		info.Fence, info.Attempt = met.Fence, met.Attempt
	}
	switch {
	case claim != nil:
		info.Result, info.Fence, info.Attempt = ResultClaimed, claim.fence, claim.attempt
	case rec != nil:
		info.Result = ResultReplayed
	default:
		info.Result = resultOf(err)
	}
	return info
}

func resultOf(err error) Result {
	table := []struct {
		err    error
		result Result
	}{
		{ErrInFlight, ResultInFlight},
		{ErrMismatch, ResultMismatch},
		{ErrUnknown, ResultUnknown},
		{ErrCancelled, ResultCancelled},
		{ErrNotKept, ResultNotKept},
		{ErrDuplicate, ResultDuplicate},
		{ErrQuota, ResultQuota},
		{ErrUnreadable, ResultUnreadable},
		{ErrClosed, ResultClosed},
		{ErrUnavailable, ResultUnavailable},
		{ErrKeyInvalid, ResultInvalid},
		{ErrScopeMissing, ResultInvalid},
	}
	for _, row := range table {
		if errors.Is(err, row.err) {
			return row.result
		}
	}
	return ResultAborted
}
