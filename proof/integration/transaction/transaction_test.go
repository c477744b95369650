package transaction_test

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	_ "modernc.org/sqlite" // the driver of the application

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/semelhttp"
	"github.com/semel-dev/semel/store/mysqlstore"
	"github.com/semel-dev/semel/store/pgstore"
	"github.com/semel-dev/semel/store/sqlitestore/sqlitetx"
)

// shop is an application whose orders lie in the database of the records.
type shop struct {
	store      semel.Store
	transactor semel.Transactor
	insert     func(ctx context.Context, order string) error
	count      func(ctx context.Context, order string) (int, error)
}

func shops() map[string]func(*testing.T) *shop {
	return map[string]func(*testing.T) *shop{"postgres": postgresShop, "mysql": mysqlShop, "sqlite": sqliteShop}
}

func postgresShop(t *testing.T) *shop {
	t.Helper()
	store, err := pgstore.Open(t.Context(), testserver.PostgresDatabase(t), nil)
	must(t, err)
	if _, err := store.Pool().Exec(t.Context(), "CREATE TABLE orders (name text NOT NULL)"); err != nil {
		t.Fatal(err)
	}
	return &shop{
		store: store, transactor: store.Transactor(nil),
		insert: func(ctx context.Context, order string) error {
			_, err := pgstore.TxFrom(ctx).Exec(ctx, "INSERT INTO orders VALUES ($1)", order)
			return err
		},
		count: func(ctx context.Context, order string) (n int, err error) {
			err = store.Pool().QueryRow(ctx, "SELECT count(*) FROM orders WHERE name = $1", order).Scan(&n)
			return n, err
		},
	}
}

func mysqlShop(t *testing.T) *shop {
	t.Helper()
	store, err := mysqlstore.Open(t.Context(), testserver.MySQLDatabase(t), nil)
	must(t, err)
	return sqlShop(t, store, store.DB(), store.Transactor(nil), mysqlstore.TxFrom)
}

func sqliteShop(t *testing.T) *shop {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "shop.db")+"?_pragma=journal_mode(wal)&_pragma=synchronous(full)&_pragma=busy_timeout(10000)")
	must(t, err)
	t.Cleanup(func() { _ = db.Close() })
	store, err := sqlitetx.Open(t.Context(), db, nil)
	must(t, err)
	return sqlShop(t, store, db, store.Transactor(), sqlitetx.TxFrom)
}

func sqlShop(t *testing.T, store semel.Store, db *sql.DB, transactor semel.Transactor, txFrom func(context.Context) *sql.Tx) *shop {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), "CREATE TABLE orders (name varchar(100) NOT NULL)"); err != nil {
		t.Fatal(err)
	}
	return &shop{
		store: store, transactor: transactor,
		insert: func(ctx context.Context, order string) error {
			_, err := txFrom(ctx).ExecContext(ctx, "INSERT INTO orders VALUES (?)", order)
			return err
		},
		count: func(ctx context.Context, order string) (n int, err error) {
			err = db.QueryRowContext(ctx, "SELECT count(*) FROM orders WHERE name = ?", order).Scan(&n)
			return n, err
		},
	}
}

// serve puts the shop behind two servers with a guard each, as two machines
// would be. The body of a request is the order; what it says about the answer
// is done after the order was written.
func (s *shop) serve(t *testing.T, ran *atomic.Int64) [2]*httptest.Server {
	t.Helper()
	t.Cleanup(func() { _ = s.store.Close() })
	var servers [2]*httptest.Server
	for i := range servers {
		guard, err := semel.New(s.store, &semel.Options{SweepEvery: -1})
		must(t, err)
		t.Cleanup(func() { _ = guard.Close() })
		door, err := semelhttp.New(guard, semelhttp.ScopeBy(func(*http.Request) string { return "shop" }),
			&semelhttp.Options{Transactor: s.transactor, Required: true})
		must(t, err)
		servers[i] = httptest.NewServer(door.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			nth := ran.Add(1)
			order, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			if err := s.insert(r.Context(), string(order)); err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			switch {
			case strings.HasPrefix(string(order), "panic"):
				panic(http.ErrAbortHandler)
			case strings.HasPrefix(string(order), "fail"):
				w.WriteHeader(http.StatusInternalServerError)
			default:
				w.WriteHeader(http.StatusCreated)
			}
			_, _ = fmt.Fprintf(w, "execution %d", nth)
		})))
		t.Cleanup(servers[i].Close)
	}
	return servers
}

func post(t *testing.T, server *httptest.Server, key, order string) (status int, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/orders", strings.NewReader(order))
	must(t, err)
	r.Host = "shop.test"
	r.Header["idempotency-key"] = []string{key} // net/http resends on its own what has the canonical name
	res, err := server.Client().Do(r)
	if err != nil {
		return 0, err.Error()
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Error(err)
	}
	return res.StatusCode, string(text)
}

// TestOneRow: many requests of one intent at two servers leave one row and get
// one answer; what fails leaves none (promises 1, 2 and 4).
func TestOneRow(t *testing.T) {
	t.Parallel()
	for name, open := range shops() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var ran atomic.Int64
			s := open(t)
			servers := s.serve(t, &ran)
			answers := make([]string, 16)
			var wg sync.WaitGroup
			for i := range answers {
				wg.Go(func() {
					status, body := post(t, servers[i%2], "k1", "book")
					answers[i] = fmt.Sprint(status, " ", body)
				})
			}
			wg.Wait()
			for _, got := range answers {
				if got != "201 execution 1" {
					t.Errorf("got %q, want the first answer", got)
				}
			}
			s.wantRows(t, "book", 1)
		})
	}
}

// TestFailuresLeaveNothing: promise 4.
func TestFailuresLeaveNothing(t *testing.T) {
	t.Parallel()
	for name, open := range shops() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var ran atomic.Int64
			s := open(t)
			servers := s.serve(t, &ran)
			for i, order := range []string{"fail", "panic"} {
				for n := range 2 { // the second is not a replay: nothing happened
					post(t, servers[n], "k-"+order, order)
					if got, want := ran.Load(), int64(2*i+n+1); got != want {
						t.Errorf("%s: the handler ran %d times so far, want %d", order, got, want)
					}
				}
				s.wantRows(t, order, 0)
			}
			if status, body := post(t, servers[0], "k-fine", "book"); status != http.StatusCreated {
				t.Errorf("after the failures: %d %s, want 201", status, body)
			}
			s.wantRows(t, "book", 1)
		})
	}
}

func (s *shop) wantRows(t *testing.T, order string, want int) {
	t.Helper()
	got, err := s.count(t.Context(), order)
	must(t, err)
	if got != want {
		t.Errorf("promise 4: %d rows of %q, want %d", got, order, want)
	}
}

var must = claimtest.NoError
