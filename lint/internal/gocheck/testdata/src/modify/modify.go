// Package modify holds a SELECT and an UPDATE of one row.
package modify

import (
	"context"
	"database/sql"
	"errors"
	"sync"
)

// ofPgx has methods of pgx.Tx, and rows those of pgx.Rows.
type (
	ofPgx interface {
		Exec(ctx context.Context, sql string, args ...any) (int64, error)
		Query(ctx context.Context, sql string, args ...any) (rows, error)
	}
	rows interface {
		Next() bool
		Close()
		Scan(dest ...any) error
	}
)

// ofSQLX has methods of sqlx.DB.
type ofSQLX interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	GetContext(ctx context.Context, dest any, query string, args ...any) error
	NamedExec(query string, arg any) (sql.Result, error)
}

var errPoor = errors.New("not enough")

func withdraw(ctx context.Context, db *sql.DB, id int64) error {
	var balance int
	if err := db.QueryRowContext(ctx, "SELECT balance FROM account WHERE id = $1", id).Scan(&balance); err != nil {
		return err
	}
	if balance < 100 {
		return errPoor
	}
	_, err := db.ExecContext(ctx, "UPDATE account SET balance = $1 WHERE id = $2", balance-100, id) // want `read-modify-write: balance of account is read at modify/modify.go:\d+`
	return err
}

// A transaction at READ COMMITTED changes nothing about it; other variables and functions do not hide it.
func steps(ctx context.Context, tx *sql.Tx, id int64, fee func(int) int) error {
	row := tx.QueryRowContext(ctx, "SELECT a.email, COALESCE(a.balance, 0) AS left_over FROM account AS a WHERE a.id = $1 LIMIT 1", id)
	var email string
	var balance int
	if err := row.Scan(&email, &balance); err != nil {
		return err
	}
	balance -= 100
	rest := balance - fee(balance)
	_, err := tx.ExecContext(ctx, "UPDATE account SET email = $1, balance = $2 WHERE id = $3", email+".", rest, id) // want `read-modify-write: email of account`
	return err
}

func inClosure(ctx context.Context, inTx func(func(*sql.Tx) error) error, id int64) error {
	return inTx(func(tx *sql.Tx) error {
		var n int
		if err := tx.QueryRow("SELECT balance FROM account WHERE id = $1", id).Scan(&n); err != nil {
			return err
		}
		n++
		_, err := tx.Exec("UPDATE account SET balance = $2::int WHERE id = $1", id, n) // want `read-modify-write`
		return err
	})
}

func eachRow(ctx context.Context, tx ofPgx) error {
	rows, err := tx.Query(ctx, "SELECT id, balance FROM account")
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		var balance int
		if err := rows.Scan(&id, &balance); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "UPDATE account SET balance = $1 WHERE id = $2", balance*2, id); err != nil { // want `read-modify-write`
			return err
		}
	}
	return nil
}

type account struct {
	ID      int64  `db:"id"`
	Email   string `db:"email"`
	Left    int    `db:"balance"`
	Balance int    `db:"-"`
}

func structs(ctx context.Context, db ofSQLX, id int64) error {
	var a account
	if err := db.GetContext(ctx, &a, "SELECT * FROM account WHERE id = $1", id); err != nil {
		return err
	}
	a.Left -= 100
	if _, err := db.NamedExec("UPDATE account SET balance = :balance WHERE id = :id", a); err != nil { // want `read-modify-write`
		return err
	}
	if _, err := db.NamedExec("UPDATE account SET balance = :left WHERE id = :id", map[string]any{"left": a.Left - 1, "id": a.ID}); err != nil { // want `read-modify-write`
		return err
	}
	_, err := db.ExecContext(ctx, "UPDATE account SET balance = $1 WHERE id = $2", a.Left-100, a.ID) // want `read-modify-write`
	return err
}

type row struct {
	ID      int64
	Balance int
}

func fields(db *sql.DB, id int64) error {
	r := &row{}
	if err := db.QueryRow("SELECT id, balance FROM account WHERE id = $1", id).Scan(&r.ID, &r.Balance); err != nil {
		return err
	}
	_, err := db.Exec("UPDATE account SET balance = $1 WHERE id = $2", r.Balance+1, r.ID) // want `read-modify-write`
	return err
}

// The near misses.

func forUpdate(tx *sql.Tx, id int64) error {
	var n int
	if err := tx.QueryRow("SELECT balance FROM account WHERE id = $1 FOR UPDATE", id).Scan(&n); err != nil {
		return err
	}
	_, err := tx.Exec("UPDATE account SET balance = $1 WHERE id = $2", n-100, id)
	return err
}

func forNoKeyUpdate(tx *sql.Tx, id int64) error {
	var n int
	if err := tx.QueryRow("SELECT balance FROM account WHERE id = $1 FOR NO KEY UPDATE", id).Scan(&n); err != nil {
		return err
	}
	_, err := tx.Exec("UPDATE account SET balance = $1 WHERE id = $2", n-100, id)
	return err
}

func lockedBefore(tx *sql.Tx, id int64) error {
	if _, err := tx.Exec("SELECT pg_advisory_xact_lock($1)", id); err != nil {
		return err
	}
	var n int
	if err := tx.QueryRow("SELECT balance FROM account WHERE id = $1", id).Scan(&n); err != nil {
		return err
	}
	_, err := tx.Exec("UPDATE account SET balance = $1 WHERE id = $2", n-100, id)
	return err
}

func serializable(ctx context.Context, db *sql.DB, id int64, level sql.IsolationLevel) error {
	tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
	if err != nil {
		return err
	}
	var n int
	if err := tx.QueryRow("SELECT balance FROM account WHERE id = $1", id).Scan(&n); err != nil {
		return err
	}
	if _, err := tx.Exec("UPDATE account SET balance = $1 WHERE id = $2", n-100, id); err != nil {
		return err
	}
	return tx.Commit()
}

func inProcess(db *sql.DB, mu *sync.Mutex, id int64) error {
	mu.Lock()
	defer mu.Unlock()
	var n int
	if err := db.QueryRow("SELECT balance FROM account WHERE id = $1", id).Scan(&n); err != nil {
		return err
	}
	_, err := db.Exec("UPDATE account SET balance = $1 WHERE id = $2", n-100, id)
	return err
}

func version(db *sql.DB, id int64) error {
	var n, version int
	if err := db.QueryRow("SELECT n, version FROM doc WHERE id = $1", id).Scan(&n, &version); err != nil {
		return err
	}
	_, err := db.Exec("UPDATE doc SET n = $1, version = version + 1 WHERE id = $2 AND version = $3", n+1, id, version)
	return err
}

func versionFromCaller(db *sql.DB, id int64, version int) error {
	var n int
	if err := db.QueryRow("SELECT n FROM doc WHERE id = $1 AND version = $2", id, version).Scan(&n); err != nil {
		return err
	}
	_, err := db.Exec("UPDATE doc SET n = $1, version = version + 1 WHERE id = $2 AND version = $3", n+1, id, version)
	return err
}

func compareAndSet(db *sql.DB, id int64) error {
	var n int
	if err := db.QueryRow("SELECT balance FROM account WHERE id = $1", id).Scan(&n); err != nil {
		return err
	}
	_, err := db.Exec("UPDATE account SET balance = $1 WHERE id = $2 AND balance = $3", n-100, id, n)
	return err
}

func guarded(db *sql.DB, id int64) error {
	var n int
	if err := db.QueryRow("SELECT balance FROM account WHERE id = $1", id).Scan(&n); err != nil {
		return err
	}
	_, err := db.Exec("UPDATE account SET balance = $1 WHERE id = $2 AND balance >= 100", n-100, id)
	return err
}

func relative(db *sql.DB, id int64) error {
	var n int
	if err := db.QueryRow("SELECT balance FROM account WHERE id = $1", id).Scan(&n); err != nil {
		return err
	}
	if n < 100 {
		return errPoor
	}
	_, err := db.Exec("UPDATE account SET balance = balance - $1 WHERE id = $2 AND balance >= $1", n/2, id)
	return err
}

func constant(db *sql.DB, id int64) error {
	var n int
	if err := db.QueryRow("SELECT balance FROM account WHERE id = $1", id).Scan(&n); err != nil {
		return err
	}
	if n > 0 {
		n = 0
	}
	_, err := db.Exec("UPDATE account SET balance = $1 WHERE id = $2", n, id)
	return err
}

func anotherTable(db *sql.DB, id int64) error {
	var n int
	if err := db.QueryRow("SELECT n FROM doc WHERE id = $1", id).Scan(&n); err != nil {
		return err
	}
	_, err := db.Exec("UPDATE account SET balance = $1 WHERE id = $2", n+1, id)
	return err
}

func anotherRow(db *sql.DB, from, to int64) error {
	var n int
	if err := db.QueryRow("SELECT balance FROM account WHERE id = $1", from).Scan(&n); err != nil {
		return err
	}
	_, err := db.Exec("UPDATE account SET balance = $1 WHERE id = $2", n, to)
	return err
}

func anotherColumn(db *sql.DB, id int64) error {
	var email string
	if err := db.QueryRow("SELECT email FROM account WHERE id = $1", id).Scan(&email); err != nil {
		return err
	}
	_, err := db.Exec("UPDATE account SET balance = $1 WHERE id = $2", len(email), id)
	return err
}

func given(ctx context.Context, db ofSQLX, id int64, balance int) error {
	var a account
	if err := db.GetContext(ctx, &a, "SELECT * FROM account WHERE id = $1", id); err != nil {
		return err
	}
	a.Left = balance
	_, err := db.NamedExec("UPDATE account SET balance = :balance WHERE id = :id", a)
	return err
}

func answered(db *sql.DB, id int64) error {
	var n int
	if err := db.QueryRow("SELECT balance FROM account WHERE id = $1", id).Scan(&n); err != nil {
		return err
	}
	//semel:safe one process alone writes this table
	_, err := db.Exec("UPDATE account SET balance = $1 WHERE id = $2", n-100, id)
	return err
}
