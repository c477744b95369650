package storecheck

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/semel-dev/semel"
)

// Target is the scratch part of a database in which the checks work.
type Target struct {
	// Kind names the store in the report.
	Kind string
	// Open opens a store on the scratch part, with connections of its own.
	Open func(ctx context.Context, log *slog.Logger) (semel.Store, error)
	// Isolations are the default isolation levels under which the races are repeated; Open uses them through OpenAt.
	// Empty for stores without any.
	Isolations []string
	OpenAt     func(ctx context.Context, isolation string) (semel.Store, error)
	// Failover says what the promotion of a replica can lose; empty for stores without replicas.
	Failover string
	// Business returns business rows next to the records, for the check of transaction mode; nil for stores without it.
	Business func(ctx context.Context, store semel.Store) (Business, error)
}

// Business is a table like the user's in the scratch part.
type Business interface {
	semel.Transactor
	// Insert writes a row in the transaction of ctx.
	Insert(ctx context.Context, row string) error
	// Count counts the rows with this text, outside of any transaction.
	Count(ctx context.Context, row string) (int, error)
}

// Options sets the effort. The zero value is complete.
type Options struct {
	Keys     int                              // in the race; 0 means 64
	Patience time.Duration                    // for one race; 0 means two minutes
	Progress func(done, all int, what string) // called before every check; may be nil
}

// checker is one run.
type checker struct {
	target Target
	opts   Options
	scope  string
	store  semel.Store // the first one opened
	other  semel.Store // with other connections
	log    *warnings
	tests  []test
}

// test is one check.
type test struct {
	finding Finding
	run     func(context.Context, Finding) Finding
}

// Run opens the target and tests every promise. The error is that of opening it, or the context's; broken promises are
// in the report.
func Run(ctx context.Context, t Target, o Options) (Report, error) {
	began := time.Now()
	c := &checker{target: t, opts: o, scope: "semel check-store " + rand.Text(), log: &warnings{}}
	if c.opts.Keys <= 0 {
		c.opts.Keys = 64
	}
	if c.opts.Patience <= 0 {
		c.opts.Patience = 2 * time.Minute
	}
	var err error
	if c.store, err = c.openStore(ctx, slog.New(c.log)); err != nil {
		return Report{}, err
	}
	defer func() { _ = c.store.Close() }() // only read
	if c.other, err = c.openStore(ctx, slog.New(slog.DiscardHandler)); err != nil {
		return Report{}, err
	}
	defer func() { _ = c.other.Close() }() // only read
	report := Report{Store: t.Kind}
	c.plan()
	for i, s := range c.tests {
		if o.Progress != nil {
			o.Progress(i, len(c.tests), s.finding.Says)
		}
		report.Findings = append(report.Findings, s.run(ctx, s.finding))
		if ctx.Err() != nil {
			return report, fmt.Errorf("check store: %w", ctx.Err())
		}
	}
	report.Took = time.Since(began).Seconds()
	return report, nil
}

// openStore opens a store whose verbs are repeated.
func (c *checker) openStore(ctx context.Context, log *slog.Logger) (semel.Store, error) {
	store, err := c.target.Open(ctx, log)
	if err != nil {
		return nil, err
	}
	return repeating{store}, nil
}

func (c *checker) plan() {
	add := func(name string, promise int, says string, run func(context.Context, Finding) Finding) {
		c.tests = append(c.tests, test{Finding{Name: name, Promise: promise, Says: says}, run})
	}
	add("settings", 7, "acknowledged writes survive a crash, according to the database's settings", c.settings)
	add("race", 1, "of many simultaneous claims on one key exactly one wins; waiters take turns; fences only grow", c.race)
	for _, level := range c.target.Isolations {
		add("race at "+level, 1, "the same holds when the database's default isolation is "+level, func(ctx context.Context, f Finding) Finding {
			return c.raceAt(ctx, f, level)
		})
	}
	add("former holder", 1, "a holder that lost its claim can neither renew nor settle it", c.formerHolder)
	add("reopened", 1, "a reopened store gives greater fences", c.reopened)
	add("clock", 9, "the database's clock runs forward, and leases end by it", c.clock)
	add("outcome", 2, "an outcome comes back byte for byte", c.outcome)
	const inTransaction = "in transaction mode many callers of one intent leave one row and get one answer"
	if c.target.Business != nil {
		add("transaction", 4, inTransaction, c.transaction)
		add("rollback with waiters", 4, "when the transaction that holds a key rolls back, exactly one waiter executes", c.rollbackWithWaiters)
	} else {
		add("transaction", 4, inTransaction, c.noTransaction)
	}
	if c.target.Failover != "" {
		add("failover", 1, "acknowledged writes survive the promotion of a replica", c.failover)
	}
}

func (c *checker) noTransaction(_ context.Context, f Finding) Finding {
	return f.untried("a "+c.target.Kind+" store has no transaction mode",
		"Where rows and record must commit together, keep the records in the SQL database of the rows (docs/storage.md).")
}

func (c *checker) failover(_ context.Context, f Finding) Finding {
	return f.untried("a check from outside cannot promote a replica", c.target.Failover)
}

// params returns those of a new attempt on a key.
func (c *checker) params(name string, lease time.Duration) semel.ClaimParams {
	key := semel.Key{Scope: c.scope, Name: name}
	p := semel.ClaimParams{
		Digest: key.Digest(), Scope: key.Scope, Name: key.Name,
		Fingerprint: semel.FingerprintOf(name), Lease: lease, Retention: time.Hour,
	}
	rand.Read(p.Owner[:])
	return p
}

// mustWin returns the error of an uncontested claim.
func mustWin(won bool, err error) error {
	switch {
	case err != nil:
		return fmt.Errorf("claim: %w", err)
	case !won:
		return errors.New("claim: a fresh key was not won")
	}
	return nil
}
