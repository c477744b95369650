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

// business opens guards on two stores, as two servers have them, and the
// business table.
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

// transaction lets many callers of two servers want the same intents.
func (c *checker) transaction(ctx context.Context, f Finding) Finding {
	return c.inTransaction(ctx, f, "transaction", func(int64) error { return nil })
}

// rollbackWithWaiters does the same while the first to execute each intent
// fails.
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
	var seen []string
	for i := range txIntents {
		key := semel.Key{Scope: c.scope, Name: fmt.Sprint(name, " ", i)}
		var executed atomic.Int64
		answers := make([]string, txCallers)
		errs := make([]error, txCallers)
		var wg sync.WaitGroup
		for n := range txCallers {
			wg.Go(func() {
				answers[n], errs[n] = semel.DoTx(ctx, guards[n%2], rows[n%2], key, semel.FingerprintOf(key.Name),
					func(ctx context.Context) (string, error) {
						nth := executed.Add(1)
						if err := rows[n%2].Insert(ctx, key.Name); err != nil {
							return "", err
						}
						return fmt.Sprintf("answer of execution %d", nth), outcome(nth)
					})
			})
		}
		wg.Wait()
		count, err := rows[0].Count(ctx, key.Name)
		if err != nil {
			return f.failed(err)
		}
		if count != 1 {
			seen = append(seen, fmt.Sprintf("intent %d left %d rows, want 1", i, count))
		}
		seen = append(seen, differ(i, answers, errs)...)
	}
	return f.seen(seen, "Do not use transaction mode on this database as it is.")
}

// differ tells of callers that got neither the one answer nor the failure that
// was made on purpose.
func differ(intent int, answers []string, errs []error) (seen []string) {
	first := ""
	for n, err := range errs {
		switch {
		case errors.Is(err, errOnPurpose):
		case err != nil:
			seen = append(seen, fmt.Sprintf("intent %d: a caller got an error: %v", intent, err))
		case first == "":
			first = answers[n]
		case answers[n] != first:
			seen = append(seen, fmt.Sprintf("intent %d: one caller got %q, another %q", intent, first, answers[n]))
		}
	}
	return seen
}
