package pgstore_test

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/store/pgstore"
)

const (
	lease, retention = claimtest.Lease, claimtest.Retention
	secret           = "open-sesame"
)

var (
	params, completed, wins, settles     = claimtest.Params, claimtest.Completed, claimtest.Wins, claimtest.Settles
	noError, closes, wantWords, newGuard = claimtest.NoError, claimtest.Closes, claimtest.Words, claimtest.Guard
	begin                                = claimtest.Begin
	lists, sweeps, wantGone              = claimtest.Lists, claimtest.Sweeps, claimtest.WantGone
	wantErr                              = claimtest.WantErr
)

// open opens a store in a schema of its own on the shared server.
func open(t *testing.T, o *pgstore.Options) *pgstore.Store {
	t.Helper()
	if o == nil {
		o = &pgstore.Options{}
	}
	if o.Schema == "" {
		o.Schema = testserver.PostgresSchema(t)
	}
	return openAt(t, testserver.Postgres(t), o)
}

// openAt opens a store for as long as the test runs.
func openAt(t *testing.T, dsn string, o *pgstore.Options) *pgstore.Store {
	t.Helper()
	few := *o
	few.MaxConns = 4
	s, err := pgstore.Open(t.Context(), dsn, &few)
	noError(t, err)
	closes(t, s)
	return s
}

// refuses opens a store, and must not succeed.
func refuses(t *testing.T, dsn string, o *pgstore.Options, words ...string) {
	t.Helper()
	s, err := pgstore.Open(t.Context(), dsn, o)
	if err == nil {
		s.Close()
		t.Fatalf("the store was opened, want an error with %q", words)
	}
	wantWords(t, err, append(words, "pgstore: ")...)
}

// with changes the URL of a server.
func with(t *testing.T, dsn string, change func(u *url.URL, q url.Values)) string {
	t.Helper()
	u, err := url.Parse(dsn)
	noError(t, err)
	q := u.Query()
	change(u, q)
	u.RawQuery = strings.ReplaceAll(q.Encode(), "+", "%20")
	return u.String()
}

func TestOpenRefusesADSN(t *testing.T) {
	t.Parallel()
	for _, dsn := range []string{
		"nonsense " + secret,
		"postgres://u:" + secret + "@host:port/db",
		"postgres://u:" + secret + "@" + secret + "@[::1",
		"postgres://u:pa/" + secret + "@host/db",
		"host=localhost password='" + secret,
		"host=localhost user=u password=" + secret + " port=" + secret,
		"postgres://u:" + secret + "@host/db?pool_max_conns=" + secret,
		"postgres://u:%zz" + secret + "@host/db",
		"postgres:" + secret + "?a=1",
		"postgresql:u:" + secret + "=x@host/db",
	} {
		refuses(t, dsn, nil, "wrong configuration", "the DSN cannot be read")
	}
}

// Errors say what is wrong with the server or its address, and what to change.
func TestOpenRefusesAnAddress(t *testing.T) {
	t.Parallel()
	dsn := testserver.Postgres(t)
	password := func(u *url.URL, _ url.Values) { u.User = url.UserPassword(u.User.Username(), secret) }
	refuses(t, with(t, dsn, func(u *url.URL, q url.Values) {
		password(u, q)
		u.Path = "/no_such_database"
	}), nil, "does not exist", "create the database")
	refuses(t, with(t, dsn, func(u *url.URL, q url.Values) {
		password(u, q)
		u.Host = "127.0.0.1:1"
	}), nil, "connect", "check host, port and sslmode")
	silent, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	noError(t, err)
	defer silent.Close()
	refuses(t, with(t, dsn, func(u *url.URL, q url.Values) {
		password(u, q)
		u.Host = silent.Addr().String()
		q.Set("connect_timeout", "1")
	}), nil, "timeout", "check host, port and sslmode")
}

func TestOpenRefusesOptions(t *testing.T) {
	t.Parallel()
	for word, o := range map[string]pgstore.Options{
		"MaxConns is negative": {MaxConns: -1},
		"at most 48":           {Schema: strings.Repeat("s", 49)},
		"pg_":                  {Schema: "pg_semel"},
		"not text":             {Schema: "a\x00b"},
	} {
		_, err := pgstore.Open(t.Context(), testserver.Postgres(t), &o)
		wantWords(t, err, word)
	}
	_, err := pgstore.New(t.Context(), nil, nil)
	wantWords(t, err, "needs a pool")
}

// A store of a pool that is not its own leaves it open.
func TestNewLeavesThePoolOpen(t *testing.T) {
	t.Parallel()
	p := pool(t, testserver.Postgres(t), 2)
	s := newStore(t, p, &pgstore.Options{Schema: testserver.PostgresSchema(t)})
	wins(t, s, params("k"))
	noError(t, s.Close())
	if _, _, err := s.Claim(t.Context(), params("l")); !errors.Is(err, semel.ErrClosed) {
		t.Errorf("claim after Close: got %v, want %v", err, semel.ErrClosed)
	}
	noError(t, p.Ping(t.Context()))
}

// Any name that PostgreSQL takes will do.
func TestSchemaNames(t *testing.T) {
	t.Parallel()
	for i, odd := range []string{"%s", "%s Ö \"quoted\" 'it''s' \\x", "SELECT %s;--"} {
		odd = fmt.Sprintf(odd, testserver.PostgresSchema(t)[:18])
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			p := pool(t, testserver.Postgres(t), 2)
			t.Cleanup(func() { execute(t, p, "DROP SCHEMA IF EXISTS "+quoted(odd)+" CASCADE") })
			a, b := open(t, &pgstore.Options{Schema: odd}), open(t, &pgstore.Options{Schema: odd})
			rec := wins(t, a, params("k"))
			told := awaiting(t, b, rec.Digest)
			settles(t, a, rec, completed("x"))
			wantTold(t, told)
		})
	}
}

func TestReadOnly(t *testing.T) {
	t.Parallel()
	w := open(t, &pgstore.Options{Schema: testserver.PostgresSchema(t)})
	rec := wins(t, w, params("k"))
	s := open(t, &pgstore.Options{Schema: w.SchemaName(), ReadOnly: true})
	if got, err := s.Lookup(t.Context(), rec.Digest); err != nil || got.Fence != rec.Fence {
		t.Errorf("lookup: got fence %d, error %v, want %d", got.Fence, err, rec.Fence)
	}
	lists(t, s, 1)
	_, _, err := s.Claim(t.Context(), params("new"))
	wantWords(t, err, "claim", "read-only")
	_, err = s.Sweep(t.Context(), 1)
	wantWords(t, err, "sweep", "read-only")
	_, _, err = s.Batch(t.Context(), []semel.ClaimParams{params("new")}, nil)
	wantWords(t, err, "batch", "read-only")
	wantWords(t, s.Settle(t.Context(), rec.Digest, rec.Fence, completed("y")), "settle", "read-only")
	wantWords(t, s.Renew(t.Context(), rec.Digest, rec.Fence, lease), "renew", "read-only")
	wantWords(t, s.Await(t.Context(), rec.Digest), "await", "read-only")
	refuses(t, testserver.Postgres(t), &pgstore.Options{Schema: testserver.PostgresSchema(t), ReadOnly: true},
		"no schema", "start a program that serves once")
}
