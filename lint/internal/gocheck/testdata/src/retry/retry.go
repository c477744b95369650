// Package retry repeats statements.
package retry

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"time"

	avast "github.com/avast/retry-go/v4"
	"github.com/cenkalti/backoff/v4"
	"github.com/hashicorp/go-retryablehttp"
	sethvargo "github.com/sethvargo/go-retry"
)

func debit(ctx context.Context, db *sql.DB, id int64) error {
	_, err := db.ExecContext(ctx, "UPDATE account SET balance = balance - 1 WHERE id = $1", id)
	return err
}

func untilNil(ctx context.Context, db *sql.DB) (err error) {
	for attempt := 0; attempt < 3; attempt++ {
		_, err = db.ExecContext(ctx, "UPDATE account SET balance = balance - 1 WHERE id = $1", 1) // want `retry-loop: the loop at retry/retry.go:\d+ repeats this after any error`
		if err == nil {
			return nil
		}
		time.Sleep(time.Duration(attempt) * time.Second)
	}
	return err
}

func goOn(ctx context.Context, db *sql.DB) error {
	for range 3 {
		if err := debit(ctx, db, 1); err != nil { // want `retry-loop`
			log.Print(err)
			continue
		}
		break
	}
	return nil
}

func inside(ctx context.Context, db *sql.DB) error {
	var last error
	for {
		if last = debit(ctx, db, 1); last == nil { // want `retry-loop`
			break
		}
		if errors.Is(last, context.Canceled) {
			return last
		}
	}
	return last
}

func commits(ctx context.Context, db *sql.DB) error {
	for {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "UPDATE account SET balance = balance - 1 WHERE id = $1", 1); err != nil {
			_ = tx.Rollback()
			return err
		}
		if err := tx.Commit(); err == nil { // want `retry-loop: the loop at retry/retry.go:\d+ begins again after any error of the commit`
			return nil
		}
	}
}

// A transaction that failed before its commit was taken back.
func rolledBack(ctx context.Context, db *sql.DB) error {
	for {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, "UPDATE account SET balance = balance - 1 WHERE id = $1", 1)
		if err == nil {
			return tx.Commit()
		}
		_ = tx.Rollback()
	}
}

type coded interface{ SQLState() string }

// The error says that nothing happened.
func serialization(ctx context.Context, db *sql.DB) error {
	for {
		err := debit(ctx, db, 1)
		if err == nil {
			return nil
		}
		var c coded
		if !errors.As(err, &c) || c.SQLState() != "40001" {
			return err
		}
	}
}

// Each turn is about another row.
func each(ctx context.Context, db *sql.DB, ids []int64) {
	for _, id := range ids {
		if err := debit(ctx, db, id); err != nil {
			log.Print(err)
			continue
		}
	}
	for i := 0; i < len(ids); i++ {
		if err := debit(ctx, db, ids[i]); err != nil {
			log.Print(err)
			continue
		}
		break
	}
}

// Nothing is lost by a second time.
func settled(ctx context.Context, db *sql.DB) (err error) {
	for range 3 {
		if _, err = db.ExecContext(ctx, "UPDATE account SET balance = 0 WHERE id = $1", 1); err == nil {
			return nil
		}
	}
	return err
}

// A worker goes on with the next job, whatever became of this one.
func worker(ctx context.Context, db *sql.DB, jobs <-chan int64) {
	for {
		id := <-jobs
		if err := debit(ctx, db, id); err != nil {
			log.Print(err)
			continue
		}
		log.Print("done")
	}
}

func libraries(ctx context.Context, db *sql.DB) error {
	return errors.Join(
		backoff.Retry(func() error {
			return debit(ctx, db, 1) // want `retry-loop: github.com/cenkalti/backoff at retry/retry.go:\d+ repeats this`
		}, backoff.NewExponentialBackOff()),
		backoff.Retry(func() error {
			if err := debit(ctx, db, 1); err != nil {
				return backoff.Permanent(err)
			}
			return nil
		}, backoff.NewExponentialBackOff()),
		avast.Do(func() error { return debit(ctx, db, 1) }), // want `retry-loop`
		avast.Do(func() error { return debit(ctx, db, 1) }, avast.RetryIf(func(error) bool { return false })),
		sethvargo.Do(ctx, nil, func(ctx context.Context) error {
			if err := debit(ctx, db, 1); err != nil { // want `retry-loop`
				return sethvargo.RetryableError(fmt.Errorf("debit: %w", err))
			}
			return nil
		}),
		sethvargo.Do(ctx, nil, func(ctx context.Context) error { return debit(ctx, db, 1) }),
	)
}

func posts(body []byte) error {
	_, err := retryablehttp.NewClient().Post("http://pay", "application/json", bytes.NewReader(body)) // want `retry-loop: go-retryablehttp sends this POST again`
	return err
}
