package semel

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

// Defaults of [Unattended].
const (
	DefaultUnattendedEvery       = 15 * time.Second
	DefaultUnattendedAttempts    = 20
	DefaultUnattendedConcurrency = 4
	DefaultUnattendedFirst       = 10 * time.Second
	DefaultUnattendedMost        = time.Hour
	// unattendedScan bounds the records that one pass reads.
	unattendedScan = 10_000
	// unattendedName is the operator in the audit trail.
	unattendedName = "semel"
)

// Unattended says how records with an unknown outcome are reconciled by
// themselves. Any number of processes may do so on one store: each record is
// taken over by one of them at a time.
//
//	unknown, lapsed ──take over──▶ claimed ──Policy.Reconcile─┬─ Happened ────▶ completed
//	      ▲                                                   ├─ NotHappened ─▶ released: a retry executes
//	      └───────── after a pause that doubles ──────────────┴─ StillUnknown
//
// The pause is counted from the last try, by the store's clock, and doubles
// with every claim of the record, so that it holds for all processes together.
// Trying does not prolong how long the record is remembered. A bound that is
// negative is an error.
type Unattended struct {
	// Policy returns the policy of a record; one whose OnUnknown is not
	// [Reconcile], or false, leaves the record alone. It sees the record without
	// its outcome. nil means the guard's own policy for every record.
	Policy func(*Record) (Policy, bool)
	// Every is how long to rest between two passes. Default
	// DefaultUnattendedEvery.
	Every time.Duration
	// First and Most bound the pause before a record is tried again; a Most that
	// is less than First counts as First. Defaults DefaultUnattendedFirst and
	// DefaultUnattendedMost.
	First, Most time.Duration
	// Attempts is after how many claims of a record it is left to operators.
	// Default DefaultUnattendedAttempts.
	Attempts int
	// Concurrency is how many records are reconciled at a time by this guard.
	// Default DefaultUnattendedConcurrency.
	Concurrency int
}

// UnattendedReport is what one pass came to.
type UnattendedReport struct {
	Unknown     int // records seen whose outcome is unknown
	Happened    int // of those: completed now
	NotHappened int // released now
	Still       int // tried in vain
	Failed      int // could not be tried or settled; tried again later
}

// unattended is a running reconciliation.
type unattended struct {
	guard  *Guard
	opts   Unattended
	lister Lister
	before Fence // where the next pass goes on

	mu     sync.Mutex // guards report
	report UnattendedReport
}

func (g *Guard) newUnattended(opts *Unattended) (*unattended, error) {
	err := checkBounds("unattended reconciliation", []bound{
		{"Every", int64(opts.Every)},
		{"First", int64(opts.First)},
		{"Most", int64(opts.Most)},
		{"Attempts", int64(opts.Attempts)},
		{"Concurrency", int64(opts.Concurrency)},
	})
	if err != nil {
		return nil, err
	}
	u := &unattended{guard: g, opts: *opts}
	var ok bool
	if u.lister, ok = StoreAs[Lister](g.core.store); !ok {
		return nil, errors.New("semel: unattended reconciliation: this store cannot show its records")
	}
	if u.opts.Policy == nil {
		if g.policy.OnUnknown != Reconcile {
			return nil, errors.New("semel: unattended reconciliation: neither the guard's policy nor a Policy function says how to reconcile")
		}
		u.opts.Policy = func(*Record) (Policy, bool) { return g.policy, true }
	}
	u.opts.Every = positive(opts.Every, DefaultUnattendedEvery)
	u.opts.First = positive(opts.First, DefaultUnattendedFirst)
	u.opts.Most = max(u.opts.First, positive(opts.Most, DefaultUnattendedMost))
	u.opts.Attempts = positive(opts.Attempts, DefaultUnattendedAttempts)
	u.opts.Concurrency = positive(opts.Concurrency, DefaultUnattendedConcurrency)
	return u, nil
}

// ReconcileInBackground reconciles records with an unknown outcome, without
// waiting for a caller to ask, until the guard ends. The store must be a [Lister].
func (g *Guard) ReconcileInBackground(opts Unattended) error {
	u, err := g.newUnattended(&opts)
	if err != nil {
		return err
	}
	g.core.background.enter()
	go func() {
		defer g.core.background.exit()
		// Processes that start together do not pass together.
		for sleep(g.core.life, u.opts.Every/2+rand.N(u.opts.Every)) { //nolint:gosec // it needs no secret.
			_, _ = u.pass(g.core.life) // the next pass tries again; Trace.Reconciled is told
		}
	}()
	return nil
}

// ReconcileUnknown makes one pass as [Guard.ReconcileInBackground] does it, now. An error
// means that the records could not all be seen; the report is of those that were.
func (g *Guard) ReconcileUnknown(ctx context.Context, opts Unattended) (UnattendedReport, error) {
	u, err := g.newUnattended(&opts)
	if err != nil {
		return UnattendedReport{}, err
	}
	return u.pass(ctx)
}

// pass reads up to unattendedScan records and reconciles those that are due.
func (u *unattended) pass(ctx context.Context) (UnattendedReport, error) {
	u.report = UnattendedReport{}
	seats := make(chan struct{}, u.opts.Concurrency)
	var running sync.WaitGroup
	defer running.Wait()
	for scanned := 0; scanned < unattendedScan && !u.guard.core.closed.Load(); {
		page, err := u.lister.List(ctx, ListParams{States: []State{StateUnknown, StateClaimed}, Before: u.before, Limit: MaxListLimit})
		if err != nil {
			running.Wait()
			return u.report, fmt.Errorf("semel: unattended reconciliation: %w", err)
		}
		scanned += len(page)
		for i := range page {
			rec := &page[i]
			u.before = rec.Fence
			policy, due := u.due(rec)
			if !due {
				continue
			}
			if err := u.seat(ctx, seats); err != nil {
				running.Wait()
				return u.report, fmt.Errorf("semel: unattended reconciliation: %w", err)
			}
			running.Go(func() {
				defer func() { <-seats }()
				u.reconcile(ctx, *rec, policy)
			})
		}
		if len(page) < MaxListLimit {
			u.before = 0
			break
		}
	}
	running.Wait()
	return u.report, nil
}

// seat takes one of the seats, unless nothing new is to start.
func (u *unattended) seat(ctx context.Context, seats chan<- struct{}) error {
	core := u.guard.core
	select {
	case seats <- struct{}{}:
	case <-core.drain:
		return ErrClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	switch { // of several that are ready, select takes any
	case core.closed.Load():
		return ErrClosed
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return nil
}

// due reports whether it is time to try the record, and how.
func (u *unattended) due(rec *Record) (Policy, bool) {
	if rec.Scope == AuditScope || (rec.State == StateClaimed && !rec.Lapsed()) {
		return Policy{}, false
	}
	u.count(func(r *UnattendedReport) { r.Unknown++ })
	last := rec.SettledAt
	if rec.State == StateClaimed {
		last = rec.LeaseUntil
	}
	if rec.Attempt > u.opts.Attempts || rec.ReadAt.Sub(last) < u.pause(rec.Attempt) {
		return Policy{}, false
	}
	policy, ok := u.opts.Policy(rec)
	if !ok || policy.OnUnknown != Reconcile {
		return Policy{}, false
	}
	policy, err := policy.withDefaults()
	if err != nil {
		u.count(func(r *UnattendedReport) { r.Failed++ })
		return Policy{}, false
	}
	return policy, true
}

// pause is how long a record rests after its claim with this number.
func (u *unattended) pause(attempt int) time.Duration {
	pause := u.opts.First
	for range attempt - 1 {
		if pause = 2 * pause; pause >= u.opts.Most {
			return u.opts.Most
		}
	}
	return pause
}

func (u *unattended) count(add func(*UnattendedReport)) {
	u.mu.Lock()
	defer u.mu.Unlock()
	add(&u.report)
}

// reconcile takes the record over and settles it as the policy finds.
func (u *unattended) reconcile(ctx context.Context, before Record, policy Policy) {
	core := u.guard.core
	core.idle.enter() // the claim gives it back
	view := &Guard{core: core, policy: policy}
	a := &attempt{
		guard: view, ctx: ctx, digest: before.Digest, fp: before.Fingerprint, owner: core.newOwner(), start: time.Now(),
		key: Key{before.Scope, before.Name},
	}
	// What it is remembered for does not grow by trying.
	view.policy.UnknownRetention = max(before.RetentionLeft(), time.Millisecond)
	s := a.takeOverAlone(&before) //nolint:contextcheck // what gives a claim back outlives the call.
	if s.err != nil || !s.won {
		core.idle.exit()
		if s.err != nil {
			u.count(func(r *UnattendedReport) { r.Failed++ })
		}
		return
	}
	claim := a.open(s)
	found, err := a.ask(claim, before) //nolint:contextcheck // a claim has a context of its own.
	if err != nil {
		found = Reconciliation{Note: fmt.Sprintf("reconcile: %v", err)}
	}
	u.settle(claim, &before, found) //nolint:contextcheck // as above.
}

// settle ends the claim as it was found; a verdict is written down first.
func (u *unattended) settle(claim *Claim, before *Record, found Reconciliation) {
	if found.Note == "" {
		found.Note = before.Note
	}
	as := map[Verdict]State{Happened: StateCompleted, NotHappened: StateReleased}[found.Verdict]
	if as != StateAbsent {
		entry := AuditEntry{
			Operator: Operator{Name: unattendedName, Via: "reconciliation"}, Act: "reconcile", Reason: maxNote(found.Note),
			Digest: before.Digest, Scope: before.Scope, Name: before.Name, Before: StateUnknown, As: as, Fence: claim.fence,
		}
		if err := u.guard.core.writeAudit(claim.Context(), &entry); err != nil {
			found = Reconciliation{Note: maxNote(err.Error())}
		}
	}
	var err error
	switch found.Verdict {
	case Happened:
		err = claim.adopt(found)
	case NotHappened:
		err = claim.Release(found.Note)
	case StillUnknown:
		fallthrough
	default: // what a function of the caller's made up is no verdict
		err = claim.Unknown(found.Note)
	}
	u.count(func(r *UnattendedReport) {
		switch {
		case err != nil:
			r.Failed++
		case found.Verdict == Happened:
			r.Happened++
		case found.Verdict == NotHappened:
			r.NotHappened++
		default:
			r.Still++
		}
	})
}
