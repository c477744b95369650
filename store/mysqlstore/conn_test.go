package mysqlstore_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/store/mysqlstore"
)

// ours are pools over the package's connector, as applications set them.
func ours() map[string]string {
	return map[string]string{"prepared": "", "interpolated": "?interpolateParams=true", "gbk": "?charset=gbk"}
}

// Statements of others cannot become several, however they are sent: what
// a caller smuggles into one is refused by the server.
func TestOneStatementAtATime(t *testing.T) {
	t.Parallel()
	for name, params := range ours() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setUpTx(t, door{params: params, pool: ourPool}, nil)
			db := b.store.DB()
			refusesMany(t.Context(), t, db)
			_, err := b.do(t.Context(), "k", func(ctx context.Context, tx *sql.Tx) (string, error) {
				refusesMany(ctx, t, tx)
				return "", insert(ctx, tx, "k; DELETE FROM business")
			})
			noError(t, err)
			b.wantRows(t, "k; DELETE FROM business")
			conn, err := db.Conn(t.Context())
			noError(t, err)
			defer conn.Close()
			err = conn.Raw(func(c any) error {
				execer, ok := c.(driver.ExecerContext)
				if !ok {
					t.Fatalf("got a %T", c)
				}
				_, err := execer.ExecContext(t.Context(), "DELETE FROM business; DELETE FROM business", nil)
				return err
			})
			if serverErr, ok := errors.AsType[*mysql.MySQLError](err); !ok || serverErr.Number != 1064 {
				t.Errorf("the raw connection: got %v, want a syntax error", err)
			}
			b.wantRows(t, "k; DELETE FROM business")
		})
	}
}

// smuggling are texts and arguments with more than one statement.
const smuggling = "'); DELETE FROM business; -- "

type preparer interface {
	mysqlstore.Execer
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
}

func refusesMany(ctx context.Context, t *testing.T, in preparer) {
	t.Helper()
	refused := func(what string, err error) {
		t.Helper()
		if serverErr, ok := errors.AsType[*mysql.MySQLError](err); !ok || serverErr.Number != 1064 {
			t.Errorf("%s: got %v, want a syntax error", what, err)
		}
	}
	_, err := in.ExecContext(ctx, "DELETE FROM business; DELETE FROM business")
	refused("exec", err)
	_, err = in.ExecContext(ctx, "DELETE FROM business WHERE name = ?; DELETE FROM business", "x")
	refused("exec with an argument", err)
	_, err = in.ExecContext(ctx, "SELECT 1 /*! ; DELETE FROM business */")
	refused("exec with a comment", err)
	refused("query", query(ctx, in, "SELECT 1; DELETE FROM business"))
	_, err = in.PrepareContext(ctx, "SELECT 1; DELETE FROM business") //nolint:sqlclosecheck // it is refused.
	refused("prepare", err)
	for what, arg := range map[string]any{"text": smuggling, "bytes": []byte(smuggling), "JSON": json.RawMessage(`"` + smuggling + `"`)} {
		if _, err := in.ExecContext(ctx, "DELETE FROM business WHERE name = ?", arg); err != nil {
			t.Errorf("an argument with a semicolon, %s: %v", what, err)
		}
	}
	// One statement may hold semicolons, or end with one.
	for _, one := range []string{
		"SELECT 1;", "SELECT 1 ; ;\n", "SELECT ';', 'a;b'", "DELETE FROM business WHERE name = 'a;b';", "SELECT 1 /* ; */", "SELECT 1 -- ;",
		"BEGIN NOT ATOMIC SELECT 1; SELECT 2; END",
	} {
		if _, err := in.ExecContext(ctx, one); err != nil {
			t.Errorf("%s: %v", one, err)
		}
		if err := query(ctx, in, one); err != nil {
			t.Errorf("%s, as a query: %v", one, err)
		}
	}
}

// query reads nothing of what it asks for.
func query(ctx context.Context, in mysqlstore.Execer, text string) error {
	rows, err := in.QueryContext(ctx, text)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		continue
	}
	return rows.Err()
}

// A connection goes back to the pool as it was, whatever the end was.
func TestConnectionsAreGivenBackAsTheyWere(t *testing.T) {
	t.Parallel()
	for name, d := range map[string]door{"connector": {pool: ourPool}, "any pool": {pool: quietPool}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setUpTx(t, d, nil)
			_, second := b.second(t, &semel.Options{Policy: semel.Policy{Wait: semel.NoWait}})
			db := b.store.DB()
			apart := t.Context()
			ends := map[string]func(context.Context, *sql.Tx) (string, error){
				"committed": add("k"),
				"failed": func(ctx context.Context, tx *sql.Tx) (string, error) {
					return "", errors.Join(errBusiness, insert(ctx, tx, "k"))
				},
				"panicked": func(context.Context, *sql.Tx) (string, error) { panic(errBusiness) },
				"ended":    func(_ context.Context, tx *sql.Tx) (string, error) { return "", tx.Commit() },
				"final":    func(context.Context, *sql.Tx) (string, error) { return "", semel.MarkFinal(errBusiness) },
				"held by one": func(ctx context.Context, tx *sql.Tx) (string, error) {
					_, err := mysqlstore.Do(apart, second, key("held by one"), asked(), never(t))
					if !errors.Is(err, semel.ErrInFlight) {
						t.Errorf("the twin got %v, want %v", err, semel.ErrInFlight)
					}
					return "", insert(ctx, tx, "k")
				},
			}
			for name, work := range ends {
				for range 2 { // the second is a duplicate of some
					_, _ = recovered(func() (string, error) { return b.do(t.Context(), name, work) })
				}
				idle(t, db)
			}
			// And serves others as before: each statement commits.
			noError(t, insert(t.Context(), db, "alone"))
			if n := value(t, b.db, "SELECT COUNT(*) FROM business WHERE name = 'alone'"); n != "1" {
				t.Errorf("a statement outside of transactions was not committed")
			}
			tx, err := db.BeginTx(t.Context(), &sql.TxOptions{ReadOnly: true})
			noError(t, err)
			if err := insert(t.Context(), tx, "read-only"); err == nil {
				t.Error("a read-only transaction of the application's own has written")
			}
			noError(t, tx.Rollback())
		})
	}
}

// A configuration that cannot work is refused, and one that does is left alone.
func TestNewConnector(t *testing.T) {
	t.Parallel()
	cfg := config(t, testserver.MySQLDatabase(t))
	if _, err := mysqlstore.NewConnector(cfg); err != nil || cfg.MultiStatements {
		t.Errorf("error %v, several statements %v in the caller's configuration", err, cfg.MultiStatements)
	}
	cfg.Net = "no such network"
	connector, err := mysqlstore.NewConnector(cfg)
	noError(t, err)
	if _, err := connector.Connect(t.Context()); err == nil {
		t.Error("it connected over a network that does not exist")
	}
	cfg.InterpolateParams, cfg.Collation = true, "gbk_chinese_ci"
	if _, err := mysqlstore.NewConnector(cfg); err == nil {
		t.Error("a configuration that the driver refuses was accepted")
	}
}
