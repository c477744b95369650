package outbox_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/testserver/databases"
	"github.com/semel-dev/semel/outbox"
	"github.com/semel-dev/semel/store/mysqlstore"
	"github.com/semel-dev/semel/store/pgstore"
)

// addByStatement adds by the statement that a caller sends.
func addByStatement(ctx context.Context, out *outbox.Outbox, tx outbox.Execer, messages ...outbox.Message) error {
	query, args, err := out.Statement(ctx, messages...)
	if err == nil {
		_, err = tx.ExecContext(ctx, query, args...)
	}
	return err
}

// A statement adds what Add adds, a message that waits once, and fails where its id belongs to another one.
func TestStatement(t *testing.T) {
	t.Parallel()
	databases.Each(t, func(t *testing.T, d *databases.Database) {
		p := at(t, d, nil)
		adds := func(messages ...outbox.Message) error {
			tx := claimtest.Begin(t, d.DB)
			if err := addByStatement(t.Context(), p.out, tx, messages...); err != nil {
				claimtest.NoError(t, tx.Rollback())
				return err
			}
			return tx.Commit()
		}
		full := outbox.Message{ID: "a'b", Key: "k", Topic: "orders", Body: []byte{0, '1'}, Header: map[string]string{"Type": "ü"}}
		claimtest.NoError(t, adds(outbox.Message{Topic: "first", Key: "k"}, full, outbox.Message{Topic: "last", Key: "k"}))
		claimtest.NoError(t, adds(full, outbox.Message{Topic: "more", Key: "k"}))
		for _, change := range []func(*outbox.Message){
			func(m *outbox.Message) { m.Body = []byte("2") },
			func(m *outbox.Message) { m.Topic = "others" },
			func(m *outbox.Message) { m.Key = "l" },
			func(m *outbox.Message) { m.Header = nil },
		} {
			other := full
			change(&other)
			if err := adds(outbox.Message{Topic: "t"}, other); err == nil {
				t.Errorf("%+v: no error", other)
			}
		}
		want := []string{"first", "orders", "last", "more"}
		claimtest.WantRows(t, d.DB, "SELECT topic FROM semel_outbox ORDER BY seq", slices.Clone(want)...)
		to := &receiver{}
		p.runs(t, to, quick())
		p.empties(t)
		if got := topics(to); !slices.Equal(got, want) || fmt.Sprint(to.got[1]) != fmt.Sprint(full) {
			t.Errorf("published %v, want %v, and %+v as it was", got, want, full)
		}
	})
}

func topics(r *receiver) (all []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range r.got {
		all = append(all, m.Topic)
	}
	return all
}

// What does not fit into a statement is refused, as what Add refuses.
func TestStatementBounds(t *testing.T) {
	t.Parallel()
	out := open(t, databases.Open(t, dialect.SQLite).DB, nil)
	big := outbox.Message{Topic: "t", Body: make([]byte, 950_000)}
	for name, messages := range map[string][]outbox.Message{
		"none": nil, "too many": make([]outbox.Message, 501), "too large": {big, big, big, big, big}, "no topic": {{}},
		"an id twice": {message("k", "a"), message("k", "a")},
	} {
		for i := range messages {
			if name == "too many" {
				messages[i].Topic = "t"
			}
		}
		_, _, err := out.Statement(t.Context(), messages...)
		claimtest.WantErr(t, name+": ", err, outbox.ErrInvalid)
	}
}

// A batch of pgx commits the row and its message together, or neither, in one round trip.
func TestStatementInBatch(t *testing.T) {
	t.Parallel()
	p := at(t, databases.Open(t, dialect.PostgreSQL), nil)
	p.Exec(t, "CREATE TABLE orders (name text PRIMARY KEY)")
	send := func(name string, m outbox.Message) error {
		query, args, err := p.out.Statement(t.Context(), m)
		claimtest.NoError(t, err)
		b := &pgx.Batch{}
		b.Queue("INSERT INTO orders VALUES ($1)", name)
		b.Queue(query, args...)
		return p.Pool.SendBatch(t.Context(), b).Close()
	}
	claimtest.NoError(t, send("a", message("k", "a")))
	other := message("k", "a")
	other.Topic = "other"
	claimtest.Words(t, send("b", other), "the id a belongs to another message")
	if err := send("a", message("k", "c")); err == nil {
		t.Error("an order twice: no error")
	}
	claimtest.WantRows(t, p.DB, "SELECT name FROM orders", "a")
	claimtest.WantRows(t, p.DB, "SELECT id FROM semel_outbox", "a")
}

// Messages of a key are published in the order of its rows, when they travel with those of other callers in shared
// transactions.
func TestStatementsTogether(t *testing.T) {
	t.Parallel()
	const keys, writers, rounds = 3, 8, 12
	p := at(t, databases.Open(t, dialect.PostgreSQL), nil)
	p.Exec(t, "CREATE TABLE account (name text PRIMARY KEY, n int NOT NULL)", "INSERT INTO account SELECT 'k' || i, 0 FROM generate_series(0, 2) i")
	store, err := pgstore.New(t.Context(), p.Pool, &pgstore.Options{Together: true})
	claimtest.NoError(t, err)
	claimtest.Closes(t, store)
	guard := claimtest.Guard(t, store, nil)
	to := &receiver{}
	p.runs(t, to, quick())
	var mu sync.Mutex // guards ids
	ids := make([][rounds * writers]string, keys)
	last := make([]int, keys)
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for i := range rounds {
				k := (w + i) % keys
				id, account := fmt.Sprintf("%d-%d", w, i), fmt.Sprint("k", k)
				query, args, err := p.out.Statement(t.Context(), message(account, id))
				if err != nil {
					t.Error(err)
					return
				}
				n, err := pgstore.Run(t.Context(), guard, semel.Key{Scope: "accounts", Name: id}, semel.Fingerprint{}, []pgstore.Query{
					{SQL: "UPDATE account SET n = n + 1 WHERE name = $1 RETURNING n", Args: []any{account}},
					{SQL: query, Args: args},
				}, func(rows []pgx.Rows) (int, error) { return pgx.CollectExactlyOneRow(rows[0], pgx.RowTo[int]) })
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				ids[k][n-1], last[k] = id, max(last[k], n)
				mu.Unlock()
			}
		})
	}
	all.Wait()
	for k := range keys {
		to.wants(t, fmt.Sprint("k", k), ids[k][:last[k]]...)
	}
	p.empties(t)
}

// On MariaDB a message shares the transaction of its row, and of other callers, or is not there.
func TestStatementsTogetherOnMySQL(t *testing.T) {
	t.Parallel()
	d := databases.Open(t, dialect.MySQL)
	p := at(t, d, nil)
	p.Exec(t, "CREATE TABLE orders (name VARCHAR(20) PRIMARY KEY)")
	store, err := mysqlstore.Open(t.Context(), strings.TrimPrefix(d.DSN, "mysql:"), &mysqlstore.Options{Together: true})
	claimtest.NoError(t, err)
	claimtest.Closes(t, store)
	guard := claimtest.Guard(t, store, nil)
	order := func(name string, m outbox.Message) error {
		query, args, err := p.out.Statement(t.Context(), m)
		claimtest.NoError(t, err)
		_, err = mysqlstore.Run(t.Context(), guard, semel.Key{Scope: "orders", Name: name}, semel.Fingerprint{}, []mysqlstore.Query{
			{SQL: "INSERT INTO orders VALUES (?)", Args: []any{name}}, {SQL: query, Args: args},
		}, func([]mysqlstore.Result) (int, error) { return 0, nil })
		return err
	}
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			name := fmt.Sprint("o", i)
			m := message(name, name)
			if m.Body = []byte{0, '\'', '\\', 0xff}; i < 4 {
				m.ID = "" // a new one
			}
			for range 2 {
				if err := order(name, m); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	other := message("o7", "o7")
	if err := order("other", other); err == nil {
		t.Error("an id of another message: no error")
	}
	claimtest.WantRows(t, p.DB, "SELECT COUNT(*) FROM orders", "8")
	claimtest.WantRows(t, p.DB, "SELECT COUNT(DISTINCT message_key) FROM semel_outbox WHERE HEX(body) = '00275CFF'", "8")
	claimtest.WantRows(t, p.DB, "SELECT COUNT(*) FROM semel_outbox", "8")
}
