package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/semel-dev/semel"
)

func doTxRules() []txRule {
	return []txRule{
		{Name: "dotx/duplicates", Promise: 2, Says: "of many callers in one process one executes, and all get its answer", check: doDuplicates},
		{Name: "dotx/two-guards", Promise: 2, Says: "of many callers in two processes one executes, and all get its answer", check: doTwoGuards},
		{Name: "dotx/failures", Promise: 3, Says: "callers go on until one has succeeded, and what failed leaves no row", check: doFailures},
		{Name: "dotx/mismatch", Promise: 6, Says: "another request with the same key is refused and sees nothing", check: doMismatch},
		{Name: "dotx/error", Promise: 4, Says: "an error rolls back, and the next attempt executes", check: doError},
		{Name: "dotx/panic", Promise: 4, Says: "a panic rolls back and goes on, and the next attempt executes", check: doPanic},
		{Name: "dotx/final", Promise: 2, Says: "an error that is marked final rolls back and is every later answer", check: doFinal},
		{Name: "dotx/unknown", Promise: 3, Says: "an error that is marked unknown rolls back and is refused from then on", check: doUnknown},
		{Name: "dotx/retention", Promise: 2, Says: "after the retention the same key executes again", check: doRetention},
		{Name: "dotx/cancelled", Promise: 4, Says: "a caller that goes away rolls back", check: doCancelled},
		{Name: "dotx/left-unknown", Promise: 3, Says: "what a holder left unknown is refused, or executed again, as the policy says", check: doLeftUnknown},
		{Name: "dotx/mixed", Promise: 1, Says: "attempts with a transaction and without exclude each other", check: doMixed},
		{Name: "dotx/without", Promise: 2, Says: "what was done without a transaction is replayed in one, and the other way", check: doWithout},
	}
}

var errWork = errors.New("storetest: the work failed")

const (
	txScope = "storetest transactions"
	txRow   = "row"
)

func txName(name string) semel.Key { return semel.Key{Scope: txScope, Name: name} }

// txAsked is the fingerprint of what every attempt of these rules asks.
func txAsked() semel.Fingerprint { return semel.FingerprintOf("asked") }

// insertRow is the work of these rules.
func (c *txCheck) insertRow(ctx context.Context, answer string) (string, error) {
	return answer, c.db.Insert(ctx, txRow)
}

// do has the work done in a transaction of the first pool.
func (c *txCheck) do(g *semel.Guard, name string, fn func(context.Context) (string, error)) (string, error) {
	return semel.DoTx(c.ctx, g, c.db.Transactor, txName(name), txAsked(), fn)
}

// doneWith must get the answer.
func (c *txCheck) doneWith(g *semel.Guard, name, answer, want string) {
	c.Helper()
	got, err := c.do(g, name, func(ctx context.Context) (string, error) { return c.insertRow(ctx, answer) })
	c.wantErr("DoTx must not fail", err, nil)
	c.equal("the answer must be the first one", got, want)
}

// many lets many callers want the same, each over one of the guards and pools.
func (c *txCheck) many(guards []*semel.Guard, fn func(context.Context) (string, error)) (answers []string, errs []error) {
	answers, errs = make([]string, txRacers), make([]error, txRacers)
	pools := []semel.Transactor{c.db.Transactor, c.db.Second}
	race(txRacers, func(i int) {
		g := guards[i%len(guards)]
		answers[i], errs[i] = semel.DoTx(c.ctx, g, pools[i%len(guards)], txName("a"), txAsked(), fn)
	})
	return answers, errs
}

// once fails unless one has executed and all have its answer.
func (c *txCheck) once(executed int64, answers []string, errs []error) {
	c.Helper()
	c.wantErr("every caller must get the answer", errors.Join(errs...), nil)
	c.equal("exactly one must execute", executed, int64(1))
	for _, got := range answers {
		c.equal("all must get the one answer", got, answers[0])
	}
	c.rows("the row must be there once", txRow, 1)
}

func (c *txCheck) duplicates(guards ...*semel.Guard) {
	c.Helper()
	var executed atomic.Int64
	answers, errs := c.many(guards, func(ctx context.Context) (string, error) {
		c.grace(txHold, nil)
		return c.insertRow(ctx, fmt.Sprint("answer ", executed.Add(1)))
	})
	c.once(executed.Load(), answers, errs)
	c.doneWith(guards[0], "a", "too late", answers[0])
	c.rows("a later duplicate must not execute", txRow, 1)
}

func doDuplicates(c *txCheck) {
	c.duplicates(c.guard(semel.Policy{Wait: time.Minute}))
}

func doTwoGuards(c *txCheck) {
	c.duplicates(c.guard(semel.Policy{Wait: time.Minute}), c.guard(semel.Policy{Wait: time.Minute}))
}

func doFailures(c *txCheck) {
	var executed, failed, done atomic.Int64
	guards := []*semel.Guard{c.guard(semel.Policy{Wait: time.Minute}), c.guard(semel.Policy{Wait: time.Minute})}
	answers, errs := c.many(guards, func(ctx context.Context) (string, error) {
		answer, err := c.insertRow(ctx, fmt.Sprint("answer ", executed.Add(1)))
		if err == nil && failed.Add(1) <= 5 {
			err = errWork
		}
		if err == nil {
			done.Add(1)
		}
		return answer, err
	})
	var told int64
	var first string
	for i, err := range errs {
		switch {
		case errors.Is(err, errWork):
			told++
			continue
		case err != nil:
			c.wantErr("every other caller must get the answer", err, nil)
		case first == "":
			first = answers[i]
		}
		c.equal("all must get the one answer", answers[i], first)
	}
	if told != 5 || done.Load() != 1 {
		c.fail("exactly those that failed must be told, and one must succeed", fmt.Sprint(told, " failed, ", done.Load(), " done"), "5 failed, 1 done")
	}
	c.rows("what failed must leave no row", txRow, 1)
}

func doMismatch(c *txCheck) {
	g := c.guard(semel.Policy{})
	c.doneWith(g, "a", "secret", "secret")
	got, err := semel.DoTx(c.ctx, g, c.db.Second, txName("a"), semel.FingerprintOf("something else"),
		func(ctx context.Context) (string, error) { return c.insertRow(ctx, "another") })
	c.wantErr("another request must be refused", err, semel.ErrMismatch)
	if e, ok := errors.AsType[*semel.Error](err); !ok || e.Record != nil || got != "" {
		c.fail("another request must see nothing", got, "nothing")
	}
	c.rows("another request must not execute", txRow, 1)
}

// fails has work done that writes its row, and ends with an error.
func (c *txCheck) fails(g *semel.Guard, end error) {
	c.Helper()
	_, err := c.do(g, "a", func(ctx context.Context) (string, error) {
		_, err := c.insertRow(ctx, "")
		return "", errors.Join(err, end)
	})
	c.wantErr("the caller must get the error of the work", err, errWork)
	c.rows("work that failed must leave no row", txRow, 0)
}

func doError(c *txCheck) {
	g := c.guard(semel.Policy{})
	for range 2 {
		c.fails(g, errWork)
	}
	c.doneWith(g, "a", "answer", "answer")
	c.rows("the row must be there once", txRow, 1)
}

func doPanic(c *txCheck) {
	g := c.guard(semel.Policy{})
	var met any
	func() {
		defer func() { met = recover() }()
		_, err := c.do(g, "a", func(ctx context.Context) (string, error) {
			if _, err := c.insertRow(ctx, ""); err != nil {
				return "", err
			}
			panic(errWork) //nolint:forbidigo // the rule is about panics.
		})
		c.fail("the panic must go on", err, errWork)
	}()
	if met != any(errWork) {
		c.fail("the panic must be the work's", met, errWork)
	}
	c.rows("what panicked must leave no row", txRow, 0)
	c.doneWith(g, "a", "answer", "answer")
	c.doneWith(g, "a", "another", "answer")
	c.rows("the row must be there once", txRow, 1)
}

func doFinal(c *txCheck) {
	g := c.guard(semel.Policy{})
	c.fails(g, semel.MarkFinal(errWork))
	for range 2 {
		_, err := c.do(g, "a", func(ctx context.Context) (string, error) { return c.insertRow(ctx, "another") })
		if final, ok := errors.AsType[*semel.FinalError](err); !ok || final.Message != errWork.Error() {
			c.fail("every later caller must get the same error", err, errWork)
		}
	}
	c.rows("what is final must not execute again", txRow, 0)
}

func doUnknown(c *txCheck) {
	g := c.guard(semel.Policy{})
	c.fails(g, semel.MarkUnknown(errWork))
	_, err := c.do(g, "a", func(ctx context.Context) (string, error) { return c.insertRow(ctx, "another") })
	c.wantErr("what is unknown must be refused", err, semel.ErrUnknown)
	c.rows("what is unknown must not execute again", txRow, 0)
	rerun, err := g.With(semel.Policy{OnUnknown: semel.Rerun, Retention: retention})
	c.wantErr("a view of the guard must be made", err, nil)
	c.doneWith(rerun, "a", "answer", "answer")
	c.rows("the row must be there once", txRow, 1)
}

func doRetention(c *txCheck) {
	g := c.guard(semel.Policy{})
	c.doneWith(g, "a", "first", "first")
	c.Advance(retention - time.Minute)
	c.doneWith(g, "a", "second", "first")
	c.Advance(time.Minute + c.margin())
	c.doneWith(g, "a", "second", "second")
	c.doneWith(g, "a", "third", "second")
	c.rows("both executions must have left their row", txRow, 2)
}

func doCancelled(c *txCheck) {
	g := c.guard(semel.Policy{})
	ctx, cancel := context.WithCancel(c.ctx)
	_, err := semel.DoTx(ctx, g, c.db.Transactor, txName("a"), txAsked(), func(work context.Context) (string, error) {
		answer, err := c.insertRow(work, "answer")
		cancel()
		<-work.Done() // the end of the caller's context reaches the work
		return answer, err
	})
	if err == nil {
		c.fail("a caller that has gone away must get an error", err, context.Canceled)
	}
	c.rows("what was cancelled must leave no row", txRow, 0)
	c.doneWith(g, "a", "answer", "answer")
	c.rows("the row must be there once", txRow, 1)
}

func doLeftUnknown(c *txCheck) {
	g := c.guard(semel.Policy{})
	rerun, err := g.With(semel.Policy{OnUnknown: semel.Rerun, Retention: retention})
	c.wantErr("a view of the guard must be made", err, nil)
	for i, name := range []string{"unknown", "lapsed"} {
		p := c.params(name)
		p.Digest, p.Fingerprint = g.Digest(txName(name)), txAsked()
		rec := c.wins("an absent intent must be won", p)
		if c.lapse(p.Digest); name == "unknown" {
			c.settle("a lapsed claim must be settled", rec, unknown("it may have happened"), nil)
		}
		_, err := c.do(g, name, c.neverRuns)
		c.wantErr("what was left must be refused: "+name, err, semel.ErrUnknown)
		c.doneWith(rerun, name, "answer", "answer")
		c.doneWith(g, name, "too late", "answer")
		c.rows("the row must be there once", txRow, i+1)
	}
}

func doMixed(c *txCheck) {
	const intents = 8
	guards := []*semel.Guard{c.guard(semel.Policy{Wait: txWait}), c.guard(semel.Policy{Wait: txWait})}
	pools := []semel.Transactor{c.db.Transactor, c.db.Second}
	var executed [intents]atomic.Int64
	var answers [intents][txRacers / 2]string
	var errs [txRacers / 2]error
	race(txRacers/2, func(i int) {
		for n := range intents {
			name, g := fmt.Sprint("intent ", n), guards[i/2%2]
			work := func(ctx context.Context) (string, error) {
				return fmt.Sprint("answer ", executed[n].Add(1)), c.db.Insert(ctx, name)
			}
			var err error
			if i%2 == 0 {
				answers[n][i], err = semel.DoTx(c.ctx, g, pools[i/2%2], txName(name), txAsked(), work)
			} else {
				answers[n][i], err = semel.Do(c.ctx, g, txName(name), txAsked(), work)
			}
			errs[i] = errors.Join(errs[i], err)
		}
	})
	c.wantErr("every caller must get the answer", errors.Join(errs[:]...), nil)
	for n := range intents {
		c.rows("the row must be there once", fmt.Sprint("intent ", n), 1)
		for _, got := range answers[n] {
			c.equal("all callers must get the one answer", got, answers[n][0])
		}
	}
}

func doWithout(c *txCheck) {
	g := c.guard(semel.Policy{Wait: time.Minute})
	c.doneWith(g, "in a transaction", "answer", "answer")
	got, err := semel.Do(c.ctx, g, txName("in a transaction"), txAsked(),
		func(context.Context) (string, error) { return "another", nil })
	if err != nil || got != "answer" {
		c.fail("what was done in a transaction must be replayed without one", fmt.Sprint(got, err), "answer")
	}
	// The other way, while the first one still works.
	started, finish := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		_, err = semel.Do(c.ctx, g, txName("without"), txAsked(), func(ctx context.Context) (string, error) {
			close(started)
			select {
			case <-finish:
			case <-ctx.Done():
			}
			return "answer", ctx.Err()
		})
	})
	select {
	case <-started:
	case <-c.ctx.Done():
		close(finish)
		wg.Wait()
		c.fail("the work must start", err, nil)
	}
	wg.Go(func() {
		c.grace(txGrace, nil)
		close(finish)
	})
	got, doErr := c.do(g, "without", func(ctx context.Context) (string, error) { return c.insertRow(ctx, "another") })
	wg.Wait()
	c.wantErr("the work without a transaction must not fail", err, nil)
	if doErr != nil || got != "answer" {
		c.fail("what was done without a transaction must be replayed in one", fmt.Sprint(got, doErr), "answer")
	}
	c.rows("only the work in a transaction must have left its row", txRow, 1)
}
