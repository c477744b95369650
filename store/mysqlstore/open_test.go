package mysqlstore_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/store/mysqlstore"
)

// refuses opens, and must get an error that says what to do, and no password.
func refuses(t *testing.T, dsn string, o *mysqlstore.Options, want string) {
	t.Helper()
	s, err := mysqlstore.Open(t.Context(), dsn, o)
	if err == nil {
		t.Fatalf("%s was opened: %v", dsn, s.Close())
	}
	wantWords(t, err, want)
}

func TestDSN(t *testing.T) {
	t.Parallel()
	for dsn, want := range map[string]string{
		"":                                                      "names no database",
		"postgres://u:sesame@localhost/db":                      "not one of MySQL",
		"mysql://u:sesame@localhost":                            "names no database",
		"mysql://u:sesame@localhost/":                           "names no database",
		"mysql://u:ses/ame@localhost/db":                        "it is not a URL",
		"mysql://u:sesame@localhost:port/db":                    "it is not a URL",
		"mysql://u:sesame%@localhost/db":                        "it is not a URL",
		"mysql://u:sesame@localhost/db?a=%":                     "it is not a URL",
		"mysql://u:sesame@localhost/db?tls=nowhere":             "nowhere",
		"mysql://u:sesame@localhost/db?clientFoundRows=perhaps": "perhaps",
		"mysql://u:sesame@localhost/db?strict=true":             "the parameter strict",
		"u:sesame@tcp(localhost)/db?loc=x&strict=true":          "the parameter strict",
		"u:sesame@tcp(localhost/db":                             "closing brace",
		"u:sesame@localhost":                                    "missing the slash",
		"u:sesame/x@tcp(localhost)":                             "nor user:password@tcp",
		"u:x/sesame?tls=sesame@tcp(localhost)":                  "nor user:password@tcp",
		"sesame/x":                                              "nor user:password@tcp",
		"u:sesame@tcp(localhost)/db?tls=nowhere":                "nowhere",
		"mysql://u:sesame@127.0.0.1:1/db":                       "is the server running",
		"u:sesame@unix(/nowhere)/db":                            "is the server running",
		"mysql://u:sesame@/db?socket=/nowhere":                  "is the server running",
	} {
		refuses(t, dsn, nil, want)
	}
}

// Both forms of DSN mean the same, and so do both schemes.
func TestFormsOfDSN(t *testing.T) {
	t.Parallel()
	dsn := testserver.MySQLDatabase(t)
	cfg := config(t, dsn)
	rec := wins(t, open(t, dsn, nil), params("k"))
	for _, scheme := range []string{"mysql", "mariadb"} {
		user := cfg.User
		if cfg.Passwd != "" {
			user += ":" + cfg.Passwd
		}
		s := open(t, scheme+"://"+user+"@"+cfg.Addr+"/"+cfg.DBName+"?readTimeout=1m&group_concat_max_len=4096", nil)
		if got, err := s.Lookup(t.Context(), rec.Digest); err != nil || got.Fence != rec.Fence {
			t.Errorf("%s: got fence %d, error %v, want %d", scheme, got.Fence, err, rec.Fence)
		}
	}
	refuses(t, dsn+"?no_such_variable=1", nil, "a parameter of the DSN")
	refuses(t, dsn+"x", nil, "CREATE DATABASE")
}

// A hanging server does not hang Open for longer than its context.
func TestOpenEndsWithItsContext(t *testing.T) {
	t.Parallel()
	dsn, proxy := proxied(t, testserver.MySQLDatabase(t))
	proxy.Stall()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := mysqlstore.Open(ctx, dsn, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want %v", err, context.DeadlineExceeded)
	}
}

// Nor does one that accepts connections and stays silent, when the caller gave no context an end.
func TestOpenOfASilentServer(t *testing.T) {
	t.Parallel()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	noError(t, err)
	defer listener.Close()
	refuses(t, "mysql://u:sesame@"+listener.Addr().String()+"/db?timeout=50ms", nil, "is it one of MySQL")
}

func TestOptions(t *testing.T) {
	t.Parallel()
	dsn := testserver.MySQLDatabase(t)
	refuses(t, dsn, &mysqlstore.Options{MaxConns: -1}, "MaxConns is negative")
	for _, prefix := range []string{"a`b", "a b", "A_", "a.b", "é", strings.Repeat("x", 33)} {
		refuses(t, dsn, &mysqlstore.Options{TablePrefix: prefix}, "TablePrefix")
	}
	a, b := open(t, dsn, &mysqlstore.Options{TablePrefix: strings.Repeat("x", 32)}), open(t, dsn, nil)
	wins(t, a, params("k"))
	wins(t, b, params("k"))
}

// A pool on which nothing would be committed, or bytes would be converted, is refused; so is one without a database.
func TestUnfitPool(t *testing.T) {
	t.Parallel()
	dsn := testserver.MySQLDatabase(t)
	cfg := config(t, dsn)
	cfg.DBName = ""
	for dsn, want := range map[string]string{
		dsn + "?autocommit=0":                                              "autocommit is off",
		dsn + "?completion_type=%27CHAIN%27":                               "completion_type is CHAIN",
		dsn + "?sql_select_limit=1":                                        "sql_select_limit of the connections cuts answers short",
		dsn + "?sql_select_limit=63":                                       "sql_select_limit is 63, want at least 64",
		dsn + "?character_set_client=latin1&character_set_connection=utf8": "charset",
		dsn + "?tx_read_only=1":                                            "read-only",
		cfg.FormatDSN():                                                    "name a database",
	} {
		if _, err := mysqlstore.New(t.Context(), quietPool(t, dsn), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want it to say %q", dsn, err, want)
		}
	}
}

// Promise 1: where the server's default chains commits, those of the store do not leave a transaction open, in which the next
// claim would be seen by no other connection.
func TestCommitsAreNotChained(t *testing.T) {
	t.Parallel()
	dsn := testserver.MySQLDatabase(t)
	one := &mysqlstore.Options{MaxConns: 1} // all of them meet on one connection
	s := open(t, dsn+"?completion_type=%27CHAIN%27", one)
	settles(t, s, wins(t, s, params("released")), semel.Settlement{State: semel.StateReleased})
	wins(t, s, params("released")) // in the place of the former row: a transaction
	rec := wins(t, s, params("next"))
	got, err := open(t, dsn, one).Lookup(t.Context(), rec.Digest)
	if err != nil || got.Fence != rec.Fence {
		t.Errorf("another connection sees fence %d, error %v, want %d", got.Fence, err, rec.Fence)
	}
}

// The caller's pool outlives the store, without what the store prepared.
func TestNewLeavesThePoolOpen(t *testing.T) {
	t.Parallel()
	db := pool(t, testserver.MySQLDatabase(t), "")
	db.SetMaxOpenConns(1)
	s := newStore(t, db, nil)
	wins(t, s, params("k"))
	if _, _, err := s.Batch(t.Context(), batchOf("b", 4), nil); err != nil {
		t.Fatal(err)
	}
	const prepared = "SELECT VARIABLE_VALUE FROM information_schema.SESSION_STATUS WHERE VARIABLE_NAME = ?"
	noError(t, s.Close())
	made, closed := value(t, db, prepared, "COM_STMT_PREPARE"), value(t, db, prepared, "COM_STMT_CLOSE")
	if made != closed || made == "1" { // the test prepares one itself
		t.Errorf("%s statements were prepared, %s closed", made, closed)
	}
	if _, _, err := s.Claim(t.Context(), params("k")); !errors.Is(err, semel.ErrClosed) {
		t.Errorf("claim after Close: got %v, want %v", err, semel.ErrClosed)
	}
	noError(t, db.PingContext(t.Context()))
}

// Close waits for the verbs that were begun.
func TestCloseWaits(t *testing.T) {
	t.Parallel()
	dsn := testserver.MySQLDatabase(t)
	s := open(t, dsn, nil)
	db := quietPool(t, dsn)
	tx := held(t, db, params("k").Digest)
	var claimed, closed error
	var wg sync.WaitGroup
	wg.Go(func() { _, _, claimed = s.Claim(t.Context(), params("k")) })
	waiters(t, db, 1)
	closing := make(chan struct{})
	wg.Go(func() {
		close(closing)
		closed = s.Close()
	})
	<-closing
	for {
		if _, err := s.Lookup(t.Context(), params("other").Digest); errors.Is(err, semel.ErrClosed) {
			break
		}
	}
	noError(t, tx.Rollback())
	wg.Wait()
	if claimed != nil || closed != nil {
		t.Errorf("claim: %v, close: %v, want neither to fail", claimed, closed)
	}
}
