package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/seize"
	"github.com/semel-dev/semel/internal/verdict"
	"github.com/semel-dev/semel/internal/waiting"
)

const (
	// unattendedNewest is the part of each pass that looks at the newest records.
	unattendedNewest = 5
	// unattendedName is the operator in the audit trail.
	unattendedName = "semel"
)

// Unattended says how records with an unknown outcome are reconciled
// without a caller. Any number of processes may do so on one store: each record is
// taken over by one of them at a time.
//
//	unknown, lapsed ──take over──▶ claimed ──Policy.Reconcile─┬─ Happened ────▶ completed
//	      ▲                                                   ├─ NotHappened ─▶ released: a retry executes
//	      └───────── after a pause that doubles ──────────────┴─ StillUnknown
//
// No index leads to these records: it would cost every claim. A pass looks at
// Examine records at most, however many there are. A fifth of them are the
// newest ones, in which most unknown outcomes are found by the next pass; the
// rest continues where the pass before ended, so that every record is looked at
// once in (records / four fifths of Examine) passes.
//
// The pause is counted from the last try, by the store's clock, and doubles
// with every claim of the record, so that it holds for all processes together.
// Trying does not prolong how long the record is remembered. A bound that is
// negative is an error.
type Unattended struct {
	// Policy returns the policy of a record; one whose OnUnknown is not
	// [semel.Reconcile], or false, leaves the record alone. It sees the record without
	// its outcome. nil means the guard's own policy for every record, except those that
	// parts of this module keep for themselves, such as the steps of a flow.
	Policy func(*semel.Record) (semel.Policy, bool)
	// Every is the rest between two passes. Default 15 s.
	Every time.Duration
	// Examine bounds the records that one pass in the background looks at. Default
	// 50,000.
	Examine int
	// MinPause and MaxPause bound the pause before a record is tried again; a MaxPause
	// that is less than MinPause counts as MinPause. Defaults 10 s and 1 h.
	MinPause, MaxPause time.Duration
	// MaxAttempts bounds the claims of a record; after that it is left to operators.
	// Default 20.
	MaxAttempts int
	// Concurrency bounds the records that are reconciled at a time by this guard.
	// Default 4.
	Concurrency int
}

// Report counts the records of one pass.
type Report struct {
	Examined    int // records looked at
	Unknown     int // records seen whose outcome is unknown
	Happened    int // of those: completed now
	NotHappened int // released now
	Still       int // tried in vain
	Failed      int // could not be tried or settled; tried again later
}

// unattended is a running reconciliation.
type unattended struct {
	records   *Records
	opts      Unattended
	lister    semel.Lister
	after     string // where the next pass continues; empty for behind the newest records
	unordered bool   // the store has no newest records

	seats   chan struct{} // holds one for each reconciliation under way
	running sync.WaitGroup

	mu     sync.Mutex // guards report
	report Report
}

func (r *Records) newUnattended(o Unattended) (*unattended, error) {
	for _, b := range []struct {
		name  string
		value int64
	}{
		{"Every", int64(o.Every)},
		{"Examine", int64(o.Examine)},
		{"MinPause", int64(o.MinPause)},
		{"MaxPause", int64(o.MaxPause)},
		{"MaxAttempts", int64(o.MaxAttempts)},
		{"Concurrency", int64(o.Concurrency)},
	} {
		if b.value < 0 {
			return nil, fmt.Errorf("semel: unattended reconciliation: %s is negative (leave it out for the default)", b.name)
		}
	}
	u := &unattended{records: r, opts: o}
	var ok bool
	if u.lister, ok = semel.StoreAs[semel.Lister](r.guard.Store()); !ok {
		return nil, errors.New("semel: unattended reconciliation: this store cannot show its records")
	}
	if u.opts.Policy == nil {
		own := r.guard.Policy()
		if own.OnUnknown != semel.Reconcile {
			return nil, errors.New("semel: unattended reconciliation: neither the guard's policy nor a Policy function says how to reconcile")
		}
		u.opts.Policy = func(rec *semel.Record) (semel.Policy, bool) {
			return own, !strings.HasPrefix(rec.Scope, verdict.OwnScopes)
		}
	}
	u.opts.Every = cmp.Or(o.Every, 15*time.Second)
	u.opts.Examine = cmp.Or(o.Examine, 50_000)
	u.opts.MinPause = cmp.Or(o.MinPause, 10*time.Second)
	u.opts.MaxPause = max(u.opts.MinPause, cmp.Or(o.MaxPause, time.Hour))
	u.opts.MaxAttempts = cmp.Or(o.MaxAttempts, 20)
	u.opts.Concurrency = cmp.Or(o.Concurrency, 4)
	u.seats = make(chan struct{}, u.opts.Concurrency)
	return u, nil
}

// ReconcileInBackground reconciles records with an unknown outcome, without
// waiting for a caller to ask, until the guard ends. The store must be a [semel.Lister].
// See [Unattended] for what it costs and how soon a record is found.
func (r *Records) ReconcileInBackground(opts Unattended) error {
	u, err := r.newUnattended(opts)
	if err != nil {
		return err
	}
	r.guard.Background(func(ctx context.Context) {
		// Processes that start together do not pass together.
		for waiting.Sleep(ctx, u.opts.Every/2+rand.N(u.opts.Every)) { //nolint:gosec // it needs no secret.
			_, _ = u.pass(ctx) // the next pass tries again; Trace.Reconciled reports
		}
	})
	return nil
}

// ReconcileUnknown looks at all records now, page by page, and reconciles as
// [Records.ReconcileInBackground] does. An error means that the records could not
// all be seen; the report is of those that were.
func (r *Records) ReconcileUnknown(ctx context.Context, opts Unattended) (Report, error) {
	u, err := r.newUnattended(opts)
	if err != nil {
		return Report{}, err
	}
	return u.runPass(func() error {
		_, err := u.walk(ctx, "", math.MaxInt)
		return err
	})
}

// pass looks at the newest records, and then at those behind the last pass.
func (u *unattended) pass(ctx context.Context) (Report, error) {
	return u.runPass(func() error {
		rest := u.opts.Examine
		if !u.unordered {
			newest := max(1, rest/unattendedNewest)
			next, err := u.walk(ctx, "", newest)
			if err != nil {
				return err
			}
			if next == "" || u.after == "" {
				u.after = next
			}
			if next == "" {
				return nil
			}
			rest -= newest
		}
		next, err := u.walk(ctx, u.after, max(1, rest))
		if errors.Is(err, semel.ErrCursor) { // the store's servers changed
			next = ""
		}
		u.after = next
		return err
	})
}

// runPass makes one pass, and waits for what it began.
func (u *unattended) runPass(look func() error) (Report, error) {
	u.report = Report{}
	err := look()
	u.running.Wait()
	if err != nil {
		return u.report, fmt.Errorf("semel: unattended reconciliation: %w", err)
	}
	return u.report, nil
}

// walk looks at up to most records from the cursor on, reconciles those that are
// due, and returns where it ended. After an error, repeat that page.
func (u *unattended) walk(ctx context.Context, after string, most int) (next string, err error) {
	for most > 0 && !u.draining() {
		list := semel.ListParams{States: []semel.State{semel.StateUnknown, semel.StateClaimed}, After: after, Examine: min(most, semel.MaxListExamined)}
		page, err := u.lister.List(ctx, list)
		if err != nil {
			return after, err
		}
		u.unordered = page.Unordered
		u.count(func(r *Report) { r.Examined += page.Examined })
		for i := range page.Records {
			if err := u.start(ctx, &page.Records[i]); err != nil {
				return after, err
			}
		}
		if after = page.Next; after == "" {
			break
		}
		if len(page.Records) < semel.MaxListLimit { // then it looked at as many as it might
			most -= list.Examine
		} else {
			most -= page.Examined
		}
	}
	return after, nil
}

// start reconciles the record if it is due, as soon as a seat is free.
func (u *unattended) start(ctx context.Context, rec *semel.Record) error {
	guard, due := u.due(rec)
	if !due {
		return nil
	}
	if err := u.seat(ctx); err != nil {
		return err
	}
	before := *rec
	u.running.Go(func() {
		defer func() { <-u.seats }()
		u.reconcile(ctx, guard, &before)
	})
	return nil
}

// seat takes one of the seats, unless nothing new is to start.
func (u *unattended) seat(ctx context.Context) error {
	select {
	case u.seats <- struct{}{}:
	case <-u.records.guard.Done():
		return semel.ErrClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	switch { // of several that are ready, select takes any
	case u.draining():
		return semel.ErrClosed
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return nil
}

// draining reports whether the guard takes nothing new.
func (u *unattended) draining() bool {
	select {
	case <-u.records.guard.Done():
		return true
	default:
		return false
	}
}

// due returns the guard to reconcile the record with, if it is time to try.
func (u *unattended) due(rec *semel.Record) (*semel.Guard, bool) {
	if rec.Scope == verdict.AuditScope || (rec.State == semel.StateClaimed && !rec.Lapsed()) {
		return nil, false
	}
	u.count(func(r *Report) { r.Unknown++ })
	last := rec.SettledAt
	if rec.State == semel.StateClaimed {
		last = rec.LeaseUntil
	}
	if rec.Attempt > u.opts.MaxAttempts || rec.ReadAt.Sub(last) < u.pause(rec.Attempt) {
		return nil, false
	}
	policy, ok := u.opts.Policy(rec)
	if !ok || policy.OnUnknown != semel.Reconcile {
		return nil, false
	}
	// What it is remembered for does not grow by trying.
	policy.UnknownRetention = max(rec.RetentionLeft(), time.Millisecond)
	guard, err := u.records.guard.With(policy)
	if err != nil {
		u.count(func(r *Report) { r.Failed++ })
		return nil, false
	}
	return guard, true
}

// pause returns how long a record rests after its claim with this number.
func (u *unattended) pause(attempt int) time.Duration {
	pause := u.opts.MinPause
	for range attempt - 1 {
		if pause = 2 * pause; pause >= u.opts.MaxPause {
			return u.opts.MaxPause
		}
	}
	return pause
}

func (u *unattended) count(add func(*Report)) {
	u.mu.Lock()
	defer u.mu.Unlock()
	add(&u.report)
}

// reconcile takes the record over and settles it as the policy finds.
func (u *unattended) reconcile(ctx context.Context, guard *semel.Guard, before *semel.Record) {
	claim, rec, err := seize.Claim(ctx, guard, verdict.Reconciler(), semel.Key{}, before)
	if err != nil {
		u.count(func(r *Report) { r.Failed++ })
	}
	if claim == nil {
		return
	}
	found, err := claim.Reconcile(*before) //nolint:contextcheck // a claim has a context of its own.
	if err != nil {
		found = semel.Reconciliation{Note: fmt.Sprintf("reconcile: %v", err)}
	}
	u.settle(claim, before, rec, found) //nolint:contextcheck // as above.
}

// settle ends the claim as it was found; a verdict is written down first.
func (u *unattended) settle(claim *semel.Claim, before, rec *semel.Record, found semel.Reconciliation) {
	if found.Note == "" {
		found.Note = before.Note
	}
	as := map[semel.Verdict]semel.State{semel.Happened: semel.StateCompleted, semel.NotHappened: semel.StateReleased}[found.Verdict]
	if as != semel.StateAbsent {
		entry := Entry{
			Operator: Identity{Name: unattendedName, Via: "reconciliation"}, Act: actReconcile, Reason: verdict.CutNote(found.Note, semel.MaxNoteBytes),
			Before: semel.StateUnknown, As: as,
		}
		if err := u.records.writeAudit(claim.Context(), &entry, rec); err != nil {
			found = semel.Reconciliation{Note: err.Error()}
		}
	}
	var err error
	switch {
	case found.Verdict == semel.Happened && found.Kept:
		err = claim.Complete(found.Outcome, nil)
	case found.Verdict == semel.Happened:
		err = claim.CompleteWithout(found.Outcome)
	case found.Verdict == semel.NotHappened:
		err = claim.Release(found.Note)
	default: // what a function of the caller's made up is not a verdict
		err = claim.Unknown(found.Note)
	}
	u.count(func(r *Report) {
		switch {
		case err != nil:
			r.Failed++
		case found.Verdict == semel.Happened:
			r.Happened++
		case found.Verdict == semel.NotHappened:
			r.NotHappened++
		default:
			r.Still++
		}
	})
}
