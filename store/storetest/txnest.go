package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/semel-dev/semel"
)

func nestedTxRules() []txRule {
	return []txRule{
		{Name: "nested/commit", Promise: 4, Says: "an intent inside of another commits with it, and what failed in it is undone alone", check: nestedCommit, needs: nests},
		{Name: "nested/rollback", Promise: 3, Says: "an intent inside of another is rolled back with it, but what became unknown stays so", check: nestedRollback, needs: nests},
		{Name: "nested/transactor", Promise: 4, Says: "a transactor inside of work takes part in its transaction", check: nestedTransactor, needs: nests},
		{Name: "nested/at-once", Promise: 4, Says: "a transaction takes one intent at a time, because savepoints that interleave undo each other", check: nestedAtOnce, needs: nests},
		{Name: "nested/circle", Promise: 8, Says: "of two transactions that want each other's keys one is undone, and runs again", check: nestedCircle, needs: nests, writers: 2},
		{Name: "join/end", Promise: 4, Says: "what joined the caller's transaction is recorded when that commits, or not at all", check: joinEnd, needs: joins},
		{Name: "join/failed", Promise: 4, Says: "what failed is undone alone, and the caller's transaction goes on", check: joinFailed, needs: joins},
		{Name: "join/twin", Promise: 1, Says: "a twin waits for the end of the caller's transaction", check: joinTwin, needs: joins},
	}
}

// OwnTx is a transaction that the application began, and ends.
type OwnTx struct {
	// Join executes an intent in it, as the store's Join does.
	Join func(ctx context.Context, g *semel.Guard, k semel.Key, fp semel.Fingerprint, fn func(context.Context) (string, error)) (string, error)
	// Insert adds a business row in it.
	Insert func(ctx context.Context, row string) error
	// End commits it or rolls it back.
	End func(commit bool) error
}

func nests(db *TxInstance) bool { return db.Do != nil }

func joins(db *TxInstance) bool { return db.Own != nil }

// work describes an intent inside of a transaction: its row, then whatever runs inside of it, and its end.
type work struct {
	name   string
	end    error
	inside []func(context.Context)
}

// executes executes work in the way given, with its row by insert, and fails unless it ends as it should.
func (c *txCheck) executes(ctx context.Context, do doTx, g *semel.Guard, w work, insert func(context.Context, string) error) {
	c.Helper()
	answer, err := recovered(func() (string, error) {
		return do(ctx, g, txName(w.name), txAsked(), func(ctx context.Context) (string, error) {
			if err := insert(ctx, w.name); err != nil {
				return "", err
			}
			for _, inside := range w.inside {
				inside(ctx)
			}
			return "answer of " + w.name, w.end
		})
	})
	if !errors.Is(err, w.end) || err == nil && answer != "answer of "+w.name {
		c.Errorf("%s: got %q, error %v, want %v", c.broken("work must end as its own: "+w.name), answer, err, w.end)
	}
}

// nest executes work with a context of other work.
func (c *txCheck) nest(ctx context.Context, g *semel.Guard, w work) {
	c.Helper()
	c.executes(ctx, c.db.Do, g, w, c.db.Insert)
}

// around executes work named outer in a transaction of its own.
func (c *txCheck) around(g *semel.Guard, end error, inside func(context.Context)) {
	c.Helper()
	c.executes(c.ctx, c.transacts, g, work{name: "outer", end: end, inside: []func(context.Context){inside}}, c.db.Insert)
}

// transacts executes an intent by the transactor.
func (c *txCheck) transacts(ctx context.Context, g *semel.Guard, k semel.Key, fp semel.Fingerprint, fn func(context.Context) (string, error)) (string, error) {
	return semel.DoTx(ctx, g, c.db.Transactor, k, fp, fn)
}

// recovered turns a panic with an error into that error.
func recovered(fn func() (string, error)) (answer string, err error) {
	defer func() {
		if p, ok := recover().(error); ok {
			err = p
		}
	}()
	return fn()
}

// left fails unless the records are in these states, and exactly completed
// intents that are not among the final ones have a row, once.
func (c *txCheck) left(g *semel.Guard, want map[string]semel.State, final ...string) {
	c.Helper()
	for name, state := range want {
		rec, err := g.Lookup(c.ctx, txName(name))
		if rec.State != state || err != nil && !errors.Is(err, semel.ErrNotFound) {
			c.fail("the record must be left as the work ended: "+name, fmt.Sprint(describe(rec), ", error ", err), state)
		}
		rows := 0
		if state == semel.StateCompleted {
			rows = 1
		}
		for _, f := range final {
			if name == f {
				rows = 0
			}
		}
		c.rows("the row must be left as the work ended", name, rows)
	}
}

func nestedCommit(c *txCheck) {
	g := c.guard(semel.Policy{})
	deep := func(ctx context.Context) { c.nest(ctx, g, work{name: "deep", end: semel.MarkUnknown(errWork)}) }
	c.around(g, nil, func(ctx context.Context) {
		for _, w := range []work{
			{name: "inner"},
			{name: "inner"}, // the second is its own duplicate
			{name: "failed", end: errWork},
			{name: "final", end: semel.MarkFinal(errWork)},
			{name: "unknown", end: semel.MarkUnknown(errWork)},
			{name: "middle", end: errWork, inside: []func(context.Context){deep}},
			{name: "panicked", end: errWork, inside: []func(context.Context){func(context.Context) { panic(errWork) }}}, //nolint:forbidigo // the rule is about panics.
		} {
			c.nest(ctx, g, w)
		}
		if _, err := c.db.Do(ctx, g, txName("outer"), txAsked(), c.neverRuns); !errors.Is(err, semel.ErrInFlight) {
			c.Errorf("%s: got %v, want %v", c.broken("nested use of one key must be refused"), err, semel.ErrInFlight)
		}
	})
	c.nest(c.ctx, g, work{name: "inner"}) // a duplicate outside
	c.left(g, map[string]semel.State{
		"outer": semel.StateCompleted, "inner": semel.StateCompleted, "final": semel.StateCompleted, "unknown": semel.StateUnknown,
		"failed": semel.StateAbsent, "panicked": semel.StateAbsent, "middle": semel.StateAbsent, "deep": semel.StateUnknown,
	}, "final")
}

func (c *txCheck) neverRuns(context.Context) (string, error) {
	c.Errorf("%s", c.broken("the work must not run"))
	return "", errWork
}

func nestedRollback(c *txCheck) {
	g := c.guard(semel.Policy{})
	deep := func(ctx context.Context) { c.nest(ctx, g, work{name: "deep", end: semel.MarkUnknown(errWork)}) }
	c.around(g, errWork, func(ctx context.Context) {
		c.nest(ctx, g, work{name: "inner"})
		c.nest(ctx, g, work{name: "unknown", end: semel.MarkUnknown(errWork)})
		c.nest(ctx, g, work{name: "middle", end: errWork, inside: []func(context.Context){deep}})
	})
	c.left(g, map[string]semel.State{
		"outer": semel.StateAbsent, "inner": semel.StateAbsent, "middle": semel.StateAbsent,
		"unknown": semel.StateUnknown, "deep": semel.StateUnknown,
	})
}

func nestedTransactor(c *txCheck) {
	g := c.guard(semel.Policy{})
	for name, end := range map[string]error{"kept": nil, "undone": errWork} {
		c.executes(c.ctx, c.transacts, g, work{name: "outer " + name, end: end, inside: []func(context.Context){func(ctx context.Context) {
			for _, w := range []work{
				{name: "inner " + name},
				{name: "failed " + name, end: errWork},
				{name: "unknown " + name, end: semel.MarkUnknown(errWork)},
			} {
				c.executes(ctx, c.transacts, g, w, c.db.Insert)
			}
			c.left(g, map[string]semel.State{"inner " + name: semel.StateAbsent})
		}}}, c.db.Insert)
	}
	c.left(g, map[string]semel.State{
		"outer kept": semel.StateCompleted, "inner kept": semel.StateCompleted, "failed kept": semel.StateAbsent, "unknown kept": semel.StateUnknown,
		"outer undone": semel.StateAbsent, "inner undone": semel.StateAbsent, "failed undone": semel.StateAbsent, "unknown undone": semel.StateUnknown,
	})
}

func nestedAtOnce(c *txCheck) {
	g := c.guard(semel.Policy{})
	c.around(g, nil, func(ctx context.Context) {
		second := func(context.Context) { // with the context of the outer one
			for _, do := range []doTx{c.db.Do, c.transacts} {
				if _, err := do(ctx, g, txName("second"), txAsked(), c.neverRuns); err == nil || !strings.Contains(err.Error(), "one goroutine at a time") {
					c.Errorf("%s: got %v", c.broken("the second intent at a time must be refused, with the reason"), err)
				}
			}
		}
		c.nest(ctx, g, work{name: "first", inside: []func(context.Context){second}})
		c.nest(ctx, g, work{name: "third"})
	})
	c.left(g, map[string]semel.State{
		"outer": semel.StateCompleted, "first": semel.StateCompleted, "second": semel.StateAbsent, "third": semel.StateCompleted,
	})
}

func nestedCircle(c *txCheck) {
	g := c.guard(semel.Policy{})
	var arrived atomic.Int32
	both := make(chan struct{})
	var errs [2]error
	race(2, func(i int) {
		once := sync.OnceFunc(func() {
			if arrived.Add(1) == 2 {
				close(both)
			}
			select {
			case <-both:
			case <-time.After(time.Second): // the other one's claim waits for this transaction, as those of neighbouring digests may
			}
		})
		names := []string{"a", "b"}
		_, errs[i] = c.do(g, names[i], func(ctx context.Context) (string, error) {
			once()
			return c.db.Do(ctx, g, txName(names[1-i]), txAsked(), func(context.Context) (string, error) { return "answer", nil })
		})
	})
	c.wantErr("both must be done in the end", errors.Join(errs[:]...), nil)
	for _, name := range []string{"a", "b"} {
		rec, err := g.Lookup(c.ctx, txName(name))
		if err != nil || rec.State != semel.StateCompleted {
			c.fail("both must be completed", describe(rec), semel.StateCompleted)
		}
	}
}

// own begins a transaction, which is rolled back when the rule is done.
func (c *txCheck) own() *OwnTx {
	c.Helper()
	tx, err := c.db.Own(c.ctx)
	c.wantErr("the application must be able to begin a transaction", err, nil)
	c.Cleanup(func() { _ = tx.End(false) }) // for a rule that failed
	return tx
}

// joins executes work in the caller's transaction.
func (c *txCheck) joins(tx *OwnTx, g *semel.Guard, w work) {
	c.Helper()
	c.executes(c.ctx, tx.Join, g, w, tx.Insert)
}

func joinEnd(c *txCheck) {
	g := c.guard(semel.Policy{})
	for name, commit := range map[string]bool{"kept": true, "undone": false} {
		tx := c.own()
		c.wantErr("the caller must be able to write", tx.Insert(c.ctx, "caller's "+name), nil)
		c.joins(tx, g, work{name: name})
		c.joins(tx, g, work{name: name}) // its own duplicate
		c.left(g, map[string]semel.State{name: semel.StateAbsent})
		c.wantErr("the caller's transaction must end", tx.End(commit), nil)
	}
	c.left(g, map[string]semel.State{"kept": semel.StateCompleted, "undone": semel.StateAbsent})
	c.rows("the caller's row must be committed", "caller's kept", 1)
	c.doneWith(g, "kept", "too late", "answer of kept")
}

func joinFailed(c *txCheck) {
	g := c.guard(semel.Policy{})
	tx := c.own()
	for _, w := range []work{
		{name: "failed", end: errWork},
		{name: "final", end: semel.MarkFinal(errWork)},
		{name: "unknown", end: semel.MarkUnknown(errWork)},
		{name: "panicked", end: errWork, inside: []func(context.Context){func(context.Context) { panic(errWork) }}}, //nolint:forbidigo // the rule is about panics.
		{name: "joined"},
	} {
		c.joins(tx, g, w)
	}
	c.wantErr("the caller's transaction must commit", tx.End(true), nil)
	c.left(g, map[string]semel.State{
		"failed": semel.StateAbsent, "panicked": semel.StateAbsent, "final": semel.StateCompleted,
		"unknown": semel.StateUnknown, "joined": semel.StateCompleted,
	}, "final")
}

func joinTwin(c *txCheck) {
	g, other := c.guard(semel.Policy{Wait: txWait}), c.guard(semel.Policy{Wait: txWait})
	for name, commit := range map[string]bool{"kept": true, "undone": false} {
		tx := c.own()
		c.joins(tx, g, work{name: name})
		var answer string
		var err error
		done := make(chan struct{})
		go func() {
			defer close(done)
			answer, err = semel.DoTx(c.ctx, other, c.db.Second, txName(name), txAsked(), func(ctx context.Context) (string, error) {
				return "answer of the twin", c.db.Insert(ctx, name)
			})
		}()
		c.Cleanup(func() { <-done })
		c.grace(txGrace, done)
		c.wantErr("the caller's transaction must end", tx.End(commit), nil)
		<-done
		c.wantErr("a twin must get an answer", err, nil)
		if first := answer == "answer of "+name; first != commit {
			c.fail("a twin must replay what was committed, and nothing else", answer, name)
		}
		c.rows("one of both must leave its row", name, 1)
	}
}
