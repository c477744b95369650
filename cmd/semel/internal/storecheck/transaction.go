package storecheck

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/semel-dev/semel"
)

const (
	txCallers = 16
	txIntents = 16
)

var errOnPurpose = errors.New("rolled back on purpose")

// business opens guards on two stores, like two servers, and the business table.
func (c *checker) business(ctx context.Context) (guards [2]*semel.Guard, rows [2]Business, err error) {
	for i, store := range []semel.Store{c.store, c.other} {
		if rows[i], err = c.target.Business(ctx, store); err != nil {
			return guards, rows, err
		}
		if guards[i], err = semel.New(store, &semel.Options{Policy: semel.Policy{Wait: time.Minute}, SweepEvery: -1}); err != nil {
			return guards, rows, err
		}
	}
	return guards, rows, nil
}

// transaction runs many callers of two servers on the same intents.
func (c *checker) transaction(ctx context.Context, f Finding) Finding {
	return c.inTransaction(ctx, f, "transaction", func(int64) error { return nil })
}

// rollbackWithWaiters does the same while the first execution of each intent fails.
func (c *checker) rollbackWithWaiters(ctx context.Context, f Finding) Finding {
	return c.inTransaction(ctx, f, "rollback", func(nth int64) error {
		if nth == 1 {
			return errOnPurpose
		}
		return nil
	})
}

func (c *checker) inTransaction(ctx context.Context, f Finding, name string, outcome func(nth int64) error) Finding {
	guards, rows, err := c.business(ctx)
	if err != nil {
		return f.failed(err)
	}
	defer func() { //nolint:contextcheck // closing is not part of the work.
		for _, g := range guards {
			_ = g.Close() // nothing runs any more
		}
	}()
	var seen, refused []string
	for i := range txIntents {
		key := semel.Key{Scope: c.scope, Name: fmt.Sprint(name, " ", i)}
		answers, errs := wantAtOnce(ctx, guards, rows, key, outcome)
		count, err := rows[0].Count(ctx, key.Name)
		if err != nil {
			return f.failed(err)
		}
		answered, differ, failed := compare(i, answers, errs)
		if count > 1 || count == 0 && (answered || len(failed) == 0) { // none is right if every caller was refused
			seen = append(seen, fmt.Sprintf("intent %d left %d rows, want 1", i, count))
		}
		seen, refused = append(seen, differ...), append(refused, failed...)
	}
	if len(seen) == 0 && len(refused) > 0 {
		return f.limited(refused)
	}
	return f.seen(append(seen, refused...), "Do not use transaction mode on this database as it is.")
}

// wantAtOnce runs many callers of one intent, each until it has an answer.
func wantAtOnce(ctx context.Context, guards [2]*semel.Guard, rows [2]Business, key semel.Key, outcome func(nth int64) error) (answers []string, errs []error) {
	answers, errs = make([]string, txCallers), make([]error, txCallers)
	var executed atomic.Int64
	var wg sync.WaitGroup
	for n := range txCallers {
		wg.Go(func() {
			errs[n] = repeat(ctx, func() (err error) {
				answers[n], err = semel.DoTx(ctx, guards[n%2], rows[n%2], key, semel.FingerprintOf(key.Name),
					func(ctx context.Context) (string, error) {
						if err := rows[n%2].Insert(ctx, key.Name); err != nil {
							return "", err
						}
						nth := executed.Add(1)
						return fmt.Sprintf("answer of execution %d", nth), outcome(nth)
					})
				return err
			})
		})
	}
	wg.Wait()
	return answers, errs
}

// compare reports whether a caller got an answer, which callers got another one, and which got an unintended error.
func compare(intent int, answers []string, errs []error) (answered bool, differ, failed []string) {
	first := ""
	for n, err := range errs {
		switch {
		case errors.Is(err, errOnPurpose):
		case err != nil:
			failed = append(failed, fmt.Sprintf("intent %d: a caller got an error: %v", intent, err))
		case first == "":
			first = answers[n]
		case answers[n] != first:
			differ = append(differ, fmt.Sprintf("intent %d: one caller got %q, another %q", intent, first, answers[n]))
		}
	}
	return first != "", differ, failed
}
