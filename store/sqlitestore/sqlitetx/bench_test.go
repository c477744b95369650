package sqlitetx_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/sqlitestore/sqlitetx"
)

// callers is the number of goroutines per processor.
const callers = 32

// each runs one operation per iteration in all callers.
func each(b *testing.B, fn func(n int64) error) {
	b.Helper()
	var n atomic.Int64
	b.SetParallelism(callers)
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := fn(n.Add(1)); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

func order(ctx context.Context, tx *sql.Tx, n int64) (int64, error) {
	res, err := tx.ExecContext(ctx, "INSERT INTO rows (name) VALUES (?)", fmt.Sprintf("%0300d", n))
	if err != nil {
		return 0, err
	}
	return res.LastInsertId()
}

// BenchmarkBare is the work alone, in transactions of the application: in a
// pool of one connection, where callers wait in the pool, and in a pool of
// more, where they wait in SQLite.
func BenchmarkBare(b *testing.B) {
	for _, connections := range []int{1, 8} {
		b.Run(fmt.Sprintf("connections=%d", connections), func(b *testing.B) {
			db := database(b, filepath.Join(b.TempDir(), "app.db"), "_txlock=immediate&_pragma=busy_timeout(60000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
			db.SetMaxOpenConns(connections)
			each(b, func(n int64) error {
				tx, err := db.BeginTx(b.Context(), nil)
				if err != nil {
					return err
				}
				if _, err := order(b.Context(), tx, n); err != nil {
					_ = tx.Rollback()
					return err
				}
				return tx.Commit()
			})
		})
	}
}

// BenchmarkDo is the same work under a claim, with its outcome recorded.
func BenchmarkDo(b *testing.B) {
	for _, connections := range []int{1, 8} {
		b.Run(fmt.Sprintf("connections=%d", connections), func(b *testing.B) {
			_, g := benched(b, connections)
			each(b, func(n int64) error {
				_, err := sqlitetx.Do(b.Context(), g, key(fmt.Sprint(n)), sameRequest(), func(ctx context.Context, tx *sql.Tx) (int64, error) {
					return order(ctx, tx, n)
				})
				return err
			})
		})
	}
}

// BenchmarkReplay is a duplicate of what was committed.
func BenchmarkReplay(b *testing.B) {
	_, g := benched(b, 8)
	for i := range 1000 {
		if _, err := addRow(b.Context(), g, fmt.Sprint(i)); err != nil {
			b.Fatal(err)
		}
	}
	each(b, func(n int64) error {
		_, err := sqlitetx.Do(b.Context(), g, key(fmt.Sprint(n%1000)), sameRequest(), func(context.Context, *sql.Tx) (string, error) {
			return "", fmt.Errorf("it was executed again")
		})
		return err
	})
}

// BenchmarkTwoPhases is the same work claimed and settled in commits of their
// own.
func BenchmarkTwoPhases(b *testing.B) {
	db, g := benched(b, 8)
	each(b, func(n int64) error {
		_, err := semel.Do(b.Context(), g, key(fmt.Sprint(n)), sameRequest(), func(ctx context.Context) (int64, error) {
			tx, err := db.BeginTx(ctx, nil)
			if err != nil {
				return 0, err
			}
			id, err := order(ctx, tx, n)
			if err != nil {
				_ = tx.Rollback()
				return 0, err
			}
			return id, tx.Commit()
		})
		return err
	})
}

func benched(b *testing.B, connections int) (*sql.DB, *semel.Guard) {
	b.Helper()
	db := database(b, filepath.Join(b.TempDir(), "app.db"), "_pragma=busy_timeout(60000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
	db.SetMaxOpenConns(connections)
	s := mustOpen(b, db, &sqlitetx.Options{BusyTimeout: time.Minute})
	return db, guard(b, s, &semel.Options{StoreTimeout: time.Minute, Policy: semel.Policy{Wait: time.Minute}})
}
