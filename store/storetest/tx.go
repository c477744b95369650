package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/semel-dev/semel"
)

const (
	// txPatience bounds a rule about transactions, so that one that hangs says which.
	txPatience = 2 * time.Minute
	// txWait is the wait of a claim that must not give up.
	txWait = time.Minute
	// txBrief is the wait of a claim that must give up.
	txBrief = 20 * time.Millisecond
	// txGrace is the time for a twin to start to wait. The rule holds whether it
	// did or not.
	txGrace = 50 * time.Millisecond
	// txHold is the time of the work in a race, so that there is one.
	txHold = 5 * time.Millisecond
)

// TxInstance is one database under test, empty at first: records, and a table
// of business rows next to them.
type TxInstance struct {
	// Store holds the records. The suite closes it.
	Store semel.Store
	// Transactor opens transactions of the store's database.
	Transactor semel.Transactor
	// Second does so too, over another pool of connections, as another process would.
	Second semel.Transactor
	// Insert adds a business row, equal ones included: in the transaction of
	// ctx, or on its own if ctx has none.
	Insert func(ctx context.Context, row string) error
	// Count returns how many committed rows are equal to row.
	Count func(ctx context.Context, row string) (int, error)
	// Advance moves the store's clock forward. It is never called while a
	// verb runs or a transaction is open.
	Advance func(time.Duration)
	// Do is the store's Do: with a context of work, it is a part of that
	// transaction. nil means that transactions do not nest.
	Do func(ctx context.Context, g *semel.Guard, k semel.Key, fp semel.Fingerprint, fn func(context.Context) (string, error)) (string, error)
	// Own begins a transaction as an application does. nil means that
	// none can be joined.
	Own func(ctx context.Context) (*OwnTx, error)
	// Connections bounds the transactions that each of the two can have open at
	// once.
	Connections int
	// OneWriter says that the database lets one transaction at a time write,
	// whatever its key (SQLite). Rules that need two are then skipped.
	OneWriter bool
	// Running says that the store's clock also runs on its own.
	Running bool
	// Check looks at the integrity of the database when a rule is done. nil
	// means nothing to check.
	Check func(testing.TB)
}

// TxHarness makes one TxInstance for one rule; rules run in parallel. It frees
// in tb.Cleanup whatever else it opens.
type TxHarness func(tb testing.TB) *TxInstance

// txRule is one sentence of the contract of [semel.Transactor] and [semel.Tx],
// or of what a guard makes of them.
type txRule struct {
	// Name names the rule, such as "tx/rollback".
	Name string
	// Promise is the number of the guarantee it keeps; 0 for a rule that is
	// only part of the contract.
	Promise int
	// Says is the rule in plain words.
	Says string

	writers int                    // at once, at least
	needs   func(*TxInstance) bool // nil means that every database can do it
	check   func(*txCheck)
}

// doTx is a way to execute an intent in a transaction.
type doTx func(ctx context.Context, g *semel.Guard, k semel.Key, fp semel.Fingerprint, fn func(context.Context) (string, error)) (string, error)

// txRules returns every rule about transactions.
func txRules() []txRule {
	return slices.Concat(txClaimRules(), txEndRules(), txWaitRules(), txRaceRules(), doTxRules(), nestedTxRules())
}

// RunTx checks every rule about transactions, each as a subtest with an
// instance of its own; only is as for [Run]:
//
//	func TestTx(t *testing.T) { storetest.RunTx(t, openTx) }
func RunTx(t *testing.T, h TxHarness, only ...string) {
	t.Helper()
	rules := slices.DeleteFunc(txRules(), func(r txRule) bool { return !picked(r.Name, only) })
	if len(rules) == 0 {
		t.Fatalf("storetest: no rule has a name that begins with one of %q", only)
	}
	for _, rule := range rules {
		t.Run(rule.Name, func(t *testing.T) {
			t.Parallel()
			rule.Check(t, h)
		})
	}
}

// Check checks this rule alone, with a fresh instance.
func (r txRule) Check(tb testing.TB, h TxHarness) {
	tb.Helper()
	inst := h(tb)
	if inst == nil || inst.Store == nil || inst.Transactor == nil || inst.Second == nil ||
		inst.Insert == nil || inst.Count == nil || inst.Advance == nil || inst.Connections < 1 {
		tb.Fatal("storetest: the harness must give all but Do, Own and Check")
	}
	ctx, cancel := context.WithTimeout(tb.Context(), txPatience)
	c := &txCheck{
		check: &check{
			TB: tb, ctx: ctx, rule: storeRule{Name: r.Name, Promise: r.Promise, Says: r.Says},
			Instance: &Instance{Store: inst.Store, Advance: inst.Advance, Running: inst.Running},
		},
		db: inst,
	}
	tb.Cleanup(func() {
		cancel()
		if inst.Check != nil {
			inst.Check(tb)
		}
		if err := inst.Store.Close(); err != nil {
			tb.Errorf("%s: Close after the rule: %v", r.Name, err)
		}
	})
	if inst.OneWriter && r.writers > 1 {
		tb.Skip("the database lets one transaction at a time write")
	}
	if r.needs != nil && !r.needs(inst) {
		tb.Skip("the harness lacks a field that the rule needs (Do, Own)")
	}
	r.check(c)
}

// txCheck is the argument of a rule about transactions.
type txCheck struct {
	*check

	db *TxInstance
}

// txOpen opens a transaction, which is rolled back when the rule is done.
func (c *txCheck) txOpen(t semel.Transactor) semel.Tx {
	c.Helper()
	tx, err := t.Transaction(c.ctx)
	c.wantErr("Transaction must not fail", err, nil)
	c.Cleanup(func() { _ = tx.Rollback() }) // for a rule that failed
	return tx
}

// txWins opens a transaction that claims the key, and must win.
func (c *txCheck) txWins(reason string, p semel.ClaimParams) (semel.Tx, semel.Record) {
	c.Helper()
	tx := c.txOpen(c.db.Transactor)
	rec, won, err := tx.Claim(c.ctx, p, txWait)
	c.wantErr("the Claim of a transaction must not fail", err, nil)
	if !won {
		c.fail(reason, "won = false, "+describe(rec), "won = true")
	}
	if rec.Fence == 0 {
		c.fail("a won claim must have a fence", rec.Fence, "> 0")
	}
	return tx, rec
}

// txClaimed opens a transaction with a claim that was just won.
func (c *txCheck) txClaimed(name string) (semel.ClaimParams, semel.Tx, semel.Record) {
	c.Helper()
	p := c.params(name)
	tx, rec := c.txWins("an absent intent must be won", p)
	return p, tx, rec
}

// txLoses claims in a transaction, must not win, must return the present
// record, and must not change it.
func (c *txCheck) txLoses(reason string, p semel.ClaimParams, stands semel.Record) {
	c.Helper()
	tx := c.txOpen(c.db.Second)
	rec, won, err := tx.Claim(c.ctx, p, txWait)
	c.wantErr("the Claim of a transaction must not fail", err, nil)
	if won {
		c.fail(reason, "won = true, "+describe(rec), "won = false")
	}
	c.equal("a Claim that is not won must return the present record", rec, stands)
	c.rollback(tx)
	c.equal("a Claim that is not won must change nothing", c.lookup(p.Digest), stands)
}

// insert adds a row in the transaction.
func (c *txCheck) insert(tx semel.Tx, row string) {
	c.Helper()
	c.wantErr("the work must be able to write in the transaction", c.db.Insert(tx.Context(c.ctx), row), nil)
}

// rows fails unless so many committed rows are there.
func (c *txCheck) rows(reason, row string, want int) {
	c.Helper()
	n, err := c.db.Count(c.ctx, row)
	c.wantErr("the rows must be countable", err, nil)
	c.equal(fmt.Sprintf("%s: rows %q", reason, row), n, want)
}

// commit commits, and must succeed.
func (c *txCheck) commit(tx semel.Tx, to semel.Settlement) {
	c.Helper()
	c.wantErr("Commit must not fail", tx.Commit(c.ctx, to), nil)
	c.rollback(tx)
}

func (c *txCheck) rollback(tx semel.Tx) {
	c.Helper()
	c.wantErr("Rollback must not fail", tx.Rollback(), nil)
}

// done commits one intent with one row, from beginning to end.
func (c *txCheck) done(p semel.ClaimParams) semel.Record {
	c.Helper()
	tx, _ := c.txWins("an absent intent must be won", p)
	c.insert(tx, p.Name)
	c.commit(tx, completed("answer"))
	return c.lookup(p.Digest)
}

// twin is a claim that another transaction makes meanwhile.
type twin struct {
	rec  semel.Record
	won  bool
	err  error
	end  error // of its rollback
	done chan struct{}
}

// meanwhile lets another transaction claim, and gives it time to start waiting.
// keep says what it does when it has won.
func (c *txCheck) meanwhile(ctx context.Context, p semel.ClaimParams, wait time.Duration, keep func(semel.Tx) error) *twin {
	c.Helper()
	t := &twin{done: make(chan struct{})}
	go func() {
		defer close(t.done)
		tx, err := c.db.Second.Transaction(ctx)
		if err != nil {
			t.err = err
			return
		}
		t.rec, t.won, t.err = tx.Claim(ctx, p, wait)
		if t.err == nil && t.won && keep != nil {
			t.err = keep(tx)
		}
		t.end = tx.Rollback()
	}()
	c.Cleanup(func() { <-t.done })
	c.grace(txGrace, t.done)
	return t
}

// grace waits a moment, or less when done is closed before.
func (c *txCheck) grace(moment time.Duration, done <-chan struct{}) {
	timer := time.NewTimer(moment)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-done:
	}
}

// wait returns when the twin is through.
func (c *txCheck) wait(t *twin) {
	c.Helper()
	<-t.done
	c.wantErr("Rollback must not fail", t.end, nil)
}

// undecidedTx fails unless err is one that says nothing but that it went wrong.
func (c *txCheck) undecidedTx(err error) {
	c.Helper()
	c.undecided(err)
	if errors.Is(err, semel.ErrInFlight) || errors.Is(err, semel.ErrRolledBack) {
		c.fail("a context that has ended must not look like an answer", err, context.Canceled)
	}
}
