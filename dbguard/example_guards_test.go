package dbguard_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	_ "modernc.org/sqlite"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/dbguard"
)

// memory opens a database for an example.
func memory(statements ...string) (dbguard.Database, func() error) {
	pool, err := sql.Open("sqlite", ":memory:?_txlock=immediate")
	if err != nil {
		panic(err)
	}
	pool.SetMaxOpenConns(1) // each connection has a memory of its own
	db := dbguard.SQLDatabase(dbguard.SQLite, pool)
	for _, statement := range statements {
		if _, err := db.Exec(context.Background(), statement); err != nil {
			panic(err)
		}
	}
	return db, pool.Close
}

// A payment that arrives twice is made once, and both callers get its number.
func ExampleOnce() {
	ctx := context.Background()
	db, end := memory("CREATE TABLE payment (id INTEGER PRIMARY KEY, cents int)")
	defer end()
	dedup := &dbguard.Dedup{}
	_ = dedup.Create(ctx, db)
	key := semel.Key{Scope: "customer-7 pay", Name: "8e03978e"}
	for range 2 {
		err := db.InTx(ctx, func(ctx context.Context, tx dbguard.Session) error {
			paid, first, err := dbguard.Once(ctx, dedup, tx, key, semel.FingerprintOf("1250"), func(ctx context.Context) (string, error) {
				_, err := tx.Exec(ctx, "INSERT INTO payment (cents) VALUES (1250)")
				return "payment 1", err
			})
			fmt.Println(paid, first)
			return err
		})
		if err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// payment 1 true
	// payment 1 false
}

// What is kept may be any bytes, such as a message that was encoded already.
func ExampleDedup_Do() {
	ctx := context.Background()
	db, end := memory()
	defer end()
	dedup := &dbguard.Dedup{Table: "done_order"}
	_ = dedup.Create(ctx, db)
	for _, asked := range []string{"two", "two", "three"} {
		err := db.InTx(ctx, func(ctx context.Context, tx dbguard.Session) error {
			key := semel.Key{Scope: "shop order", Name: "8e03978e"}
			receipt, first, err := dedup.Do(ctx, tx, key, semel.FingerprintOf(asked), func(context.Context) ([]byte, error) {
				return []byte("receipt 1"), nil
			})
			fmt.Printf("%q %v\n", receipt, first)
			return err
		})
		fmt.Println(errors.Is(err, semel.ErrMismatch))
	}
	// Output:
	// "receipt 1" true
	// false
	// "receipt 1" false
	// false
	// "" false
	// true
}

// A message that is delivered twice is handled once.
func ExampleDedup_First() {
	ctx := context.Background()
	db, end := memory("CREATE TABLE mail (address text)")
	defer end()
	dedup := &dbguard.Dedup{}
	_ = dedup.Create(ctx, db)
	for range 2 {
		err := db.InTx(ctx, func(ctx context.Context, tx dbguard.Session) error {
			first, err := dedup.First(ctx, tx, semel.Key{Scope: "queue mail", Name: "message 42"}, semel.Fingerprint{})
			fmt.Println("first:", first)
			if err != nil || !first {
				return err
			}
			_, err = tx.Exec(ctx, "INSERT INTO mail VALUES ('ada@example.com')")
			return err
		})
		if err != nil {
			fmt.Println(err)
		}
	}
	removed, err := dedup.Sweep(ctx, db, 24*time.Hour, 1000)
	fmt.Println("swept:", removed, err)
	// Output:
	// first: true
	// first: false
	// swept: 0 <nil>
}

// A form that was sent twice is a replay; one that was filled in before another person
// else's change is stale.
func ExampleUpdateVersion() {
	ctx := context.Background()
	db, end := memory("CREATE TABLE page (id int PRIMARY KEY, body text, version int, last_key BLOB)", "INSERT INTO page VALUES (1, 'old', 7, NULL)")
	defer end()
	for _, name := range []string{"ada-1", "ada-1", "bob-1"} {
		changed, err := dbguard.UpdateVersion(ctx, db, dbguard.Change{
			Row: dbguard.RowAt("page", "id", 1), Version: 7, Set: []dbguard.Cell{{Column: "body", Value: "by " + name}},
			Key: semel.Key{Scope: "page", Name: name}, KeyColumn: "last_key",
		})
		fmt.Println(changed.Version, changed.Replayed, errors.Is(err, new(dbguard.StaleError)))
	}
	// Output:
	// 8 false false
	// 8 true false
	// 0 false true
}

// Transfers lock both accounts in one order, whichever is named first.
func ExampleLockRows() {
	ctx := context.Background()
	db, end := memory("CREATE TABLE account (id int PRIMARY KEY, balance int)", "INSERT INTO account VALUES (1, 150), (2, 0)")
	defer end()
	err := db.InTx(ctx, func(ctx context.Context, tx dbguard.Session) error {
		rows := []dbguard.Row{dbguard.RowAt("account", "id", 2), dbguard.RowAt("account", "id", 1)}
		if err := dbguard.LockRows(ctx, tx, 0, rows...); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, "UPDATE account SET balance = CASE id WHEN 1 THEN balance - 100 ELSE balance + 100 END")
		return err
	})
	fmt.Println(err)
	// Output: <nil>
}

// A worker takes jobs that no other worker has.
func ExampleLockFree() {
	ctx := context.Background()
	db, end := memory("CREATE TABLE job (id int PRIMARY KEY, state text)", "INSERT INTO job VALUES (1, 'done'), (2, 'new'), (3, 'new')")
	defer end()
	err := db.InTx(ctx, func(ctx context.Context, tx dbguard.Session) error {
		jobs, err := dbguard.LockFree[int](ctx, tx, dbguard.Free{Table: "job", Column: "id", Where: []dbguard.Cell{{Column: "state", Value: "new"}}})
		fmt.Println(jobs)
		return err
	})
	fmt.Println(err)
	// Output:
	// [2]
	// <nil>
}

// A second "pay" finds the order paid; "cancel" gets the allowed moves.
func ExampleMachine_Transition() {
	ctx := context.Background()
	db, end := memory("CREATE TABLE orders (id int PRIMARY KEY, status text)", "INSERT INTO orders VALUES (1, 'new')")
	defer end()
	order, err := dbguard.NewMachine(dbguard.Declaration[string]{
		Name: "the order", States: []string{"new", "paid", "shipped", "cancelled"},
		Moves: []dbguard.Move[string]{{From: "new", To: "paid"}, {From: "new", To: "cancelled"}, {From: "paid", To: "shipped"}},
		Final: []string{"shipped", "cancelled"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, to := range []string{"paid", "paid", "cancelled"} {
		fmt.Println(order.Transition(ctx, db, dbguard.RowAt("orders", "id", 1), to))
	}
	fmt.Print(order)
	// Output:
	// false <nil>
	// true <nil>
	// false dbguard: illegal transition: the order is paid and cannot become cancelled, only shipped
	// new -> paid or cancelled
	// paid -> shipped
	// shipped (final)
	// cancelled (final)
}

// The drawing of a machine is for its documentation.
func ExampleMachine_Mermaid() {
	order, err := dbguard.NewMachine(dbguard.Declaration[int]{
		Name: "the order", Column: "state", States: []int{10, 20},
		Moves: []dbguard.Move[int]{{From: 10, To: 20}}, Final: []int{20},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(order.Mermaid())
	// Output:
	// stateDiagram-v2
	//     state "10" as s0
	//     state "20" as s1
	//     [*] --> s0
	//     s0 --> s1
	//     s1 --> [*]
}

// Balance 150, transfer 100: the same request again gets the first result, and
// another one is refused.
func ExampleLockCheckUpdate() {
	ctx := context.Background()
	db, end := memory("CREATE TABLE account (id int PRIMARY KEY, balance int)", "INSERT INTO account VALUES (1, 150)")
	defer end()
	dedup := &dbguard.Dedup{}
	_ = dedup.Create(ctx, db)
	for _, name := range []string{"a", "a", "b"} {
		steps := dbguard.Steps[int]{
			Lock: []dbguard.Row{dbguard.RowAt("account", "id", 1)}, Dedup: dedup, Key: semel.Key{Scope: "transfer", Name: name},
			Check: func(ctx context.Context, tx dbguard.Session) error {
				if n, err := balance(ctx, tx, 1); err != nil || n < 100 {
					return errors.Join(errors.New("not enough"), err)
				}
				return nil
			},
			Update: func(ctx context.Context, tx dbguard.Session) (int, error) {
				_, err := tx.Exec(ctx, "UPDATE account SET balance = balance - 100 WHERE id = 1")
				return 50, err
			},
		}
		fmt.Println(dbguard.LockCheckUpdate(ctx, db, steps))
	}
	// Output:
	// 50 true <nil>
	// 50 false <nil>
	// 0 false not enough
}

// Seats are sold from eight rows in the place of one.
func ExampleSegments_Take() {
	ctx := context.Background()
	db, end := memory()
	defer end()
	seats := &dbguard.Segments{Count: 8}
	_ = seats.Create(ctx, db)
	_ = seats.Add(ctx, db, "concert", 100)
	for _, n := range []int64{2, 98, 1} {
		fmt.Println(db.InTx(ctx, func(ctx context.Context, tx dbguard.Session) error { return seats.Take(ctx, tx, "concert", n) }))
	}
	// Output:
	// <nil>
	// <nil>
	// dbguard: there is less left than that: 0, not 1
}

// Schema prints a guard's table for the application's own migrations.
func ExampleSegments_Schema() {
	seats := &dbguard.Segments{Table: "seat", Count: 8}
	fmt.Println(seats.Schema(dbguard.SQLite))
	// Output:
	// -- Amounts that are split into segments, for Segments: what there is of a name is
	// -- the sum over its segments, and none of them is ever below zero.
	// -- A sum that is too great is refused; it would become a number with a fraction.
	// CREATE TABLE IF NOT EXISTS "seat" (
	//     name    TEXT    NOT NULL,
	//     segment INTEGER NOT NULL,
	//     amount  INTEGER NOT NULL CHECK (amount >= 0 AND typeof(amount) = 'integer'),
	//     PRIMARY KEY (name, segment)
	// ) WITHOUT ROWID;
	//  <nil>
}

// Shares that were added at different times count together.
func ExampleSegments_Left() {
	ctx := context.Background()
	db, end := memory()
	defer end()
	seats := &dbguard.Segments{Count: 4}
	fmt.Println(seats.Create(ctx, db), seats.Add(ctx, db, "concert", 10), seats.Add(ctx, db, "concert", 3))
	fmt.Println(seats.Left(ctx, db, "concert"))
	// Output:
	// <nil> <nil> <nil>
	// 13 <nil>
}

// What a transaction that lost against another wants is to be run again.
func ExampleRetryable() {
	deadlock := fmt.Errorf("pay: %w", dbguard.ErrSerialization)
	fmt.Println(dbguard.Retryable(deadlock), dbguard.Retryable(dbguard.ErrHeld))
	// Output: true false
}
