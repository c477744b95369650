package mysqlstore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/store/mysqlstore"
	"github.com/semel-dev/semel/store/storetest"
)

// ownServer is a server that a test may kill and set as it likes.
type ownServer struct{ *testserver.MySQLServer }

// exec runs a statement as root, on a connection of its own.
func (s ownServer) exec(t *testing.T, statement string) {
	t.Helper()
	db := quietPool(t, s.DSN())
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// database makes one and returns its DSN.
func (s ownServer) database(t *testing.T, name string) string {
	t.Helper()
	s.exec(t, "CREATE DATABASE "+name)
	return s.DSN() + name
}

// TestServer is about what a server does to a store: one server for all,
// because starting it takes longer than the tests.
func TestServer(t *testing.T) { //nolint:tparallel // they set and kill the server.
	t.Parallel()
	s := ownServer{testserver.StartMySQL(t, &testserver.MySQLOptions{Fsync: true, Conf: map[string]string{
		"innodb-file-per-table": "OFF", "innodb-data-file-path": "ibdata1:12M:autoextend:max:128M",
	}})}
	for _, test := range []struct { //nolint:paralleltest // they set and kill the server.
		name string
		run  func(*testing.T, ownServer)
	}{
		{"read-only", testReadOnly},
		{"privileges", testPrivileges},
		{"not durable", testWarnings},
		{"killed", testServerKilled},
		{"fences", testFencesOutliveTheirRows},
		{"full", testFull},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, s) })
	}
}

// A replica is refused, and so is a primary that became one, until it is a
// primary again; what only reads goes on.
func testReadOnly(t *testing.T, server ownServer) {
	t.Helper()
	dsn := server.database(t, "readonly")
	s := open(t, dsn, nil)
	rec := wins(t, s, params("k"))
	server.exec(t, "CREATE USER app IDENTIFIED BY 'secret'") // root may write even so
	server.exec(t, "GRANT ALL ON readonly.* TO app")
	app := "mysql://app:secret@" + server.Addr() + "/readonly"
	before := open(t, app, nil)
	server.exec(t, "SET GLOBAL read_only = 1")
	_, err := mysqlstore.Open(t.Context(), dsn, nil)
	wantWords(t, err, "connect to the primary")
	_, _, err = before.Claim(t.Context(), params("other"))
	if !claimtest.Refused(err) || errors.Is(err, semel.ErrFull) || !strings.Contains(err.Error(), "read-only") {
		t.Errorf("claim: got %v, want it to say that the server is read-only", err)
	}
	replica := open(t, app, &mysqlstore.Options{ReadOnly: true})
	if got, err := replica.Lookup(t.Context(), rec.Digest); err != nil || got.Fence != rec.Fence {
		t.Errorf("lookup: got fence %d, error %v, want %d", got.Fence, err, rec.Fence)
	}
	lists(t, replica, 1)
	if _, _, err := replica.Claim(t.Context(), params("other")); err == nil || !strings.Contains(err.Error(), "opened read-only") {
		t.Errorf("claim: got %v, want it refused", err)
	}
	server.exec(t, "SET GLOBAL read_only = 0")
	wins(t, before, params("other"))
}

// What a user may not do is met when the store is opened, and said.
func testPrivileges(t *testing.T, server ownServer) {
	t.Helper()
	dsn := server.database(t, "privileges")
	server.exec(t, "CREATE USER worker IDENTIFIED BY 'open-sesame'")
	worker := "mysql://worker:open-sesame@" + server.Addr() + "/privileges"
	refuses(t, "mysql://worker:shut-sesame@"+server.Addr()+"/privileges", nil, "check the user name and the password")
	refuses(t, "mysql://nobody:open-sesame@"+server.Addr()+"/privileges", nil, "check the user name and the password")
	refuses(t, worker, nil, "grant the user SELECT, INSERT, UPDATE and DELETE")
	server.exec(t, "GRANT SELECT, INSERT, UPDATE, DELETE ON privileges.* TO worker")
	refuses(t, worker, nil, "and also CREATE, unless")
	open(t, dsn, nil)
	for _, privilege := range []string{"INSERT", "UPDATE", "DELETE", "SELECT"} {
		server.exec(t, "REVOKE "+privilege+" ON privileges.* FROM worker")
		refuses(t, worker, nil, "grant the user SELECT, INSERT, UPDATE and DELETE")
		server.exec(t, "GRANT "+privilege+" ON privileges.* TO worker")
	}
	s := open(t, worker, nil)
	settles(t, s, wins(t, s, params("k")), completed("x"))
	server.exec(t, "REVOKE INSERT, UPDATE, DELETE ON privileges.* FROM worker")
	reader := open(t, worker, &mysqlstore.Options{ReadOnly: true})
	lists(t, reader, 1)
}

// A server that is not durable causes a warning.
func testWarnings(t *testing.T, server ownServer) {
	t.Helper()
	dsn := server.database(t, "warnings")
	for _, test := range []struct{ set, reset, want string }{
		{"innodb_flush_log_at_trx_commit = 2", "innodb_flush_log_at_trx_commit = 1", "variable=innodb_flush_log_at_trx_commit value=2"},
		{"auto_increment_increment = 2", "auto_increment_increment = 1", "variable=auto_increment_increment value=2"},
		{"sync_binlog = 0", "sync_binlog = 0", ""},
	} {
		server.exec(t, "SET GLOBAL "+test.set)
		var log bytes.Buffer
		open(t, dsn, &mysqlstore.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		others := strings.Count(log.String(), "variable=") - strings.Count(log.String(), "variable=log_bin ") // there is none
		if !strings.Contains(log.String(), test.want) || (others == 0) != (test.want == "") {
			t.Errorf("with %s: the log is %q, want a warning with %q", test.set, log.String(), test.want)
		}
		server.exec(t, "SET GLOBAL "+test.reset)
	}
}

// Promises 1, 2 and 4: a server that is killed at any instant gives no fence
// again, loses nothing that was acknowledged, and leaves no row without its
// record.
func testServerKilled(t *testing.T, server ownServer) {
	t.Helper()
	p, databases := processes(), 0
	p.Place = func(tb testing.TB) string {
		tb.Helper()
		databases++
		dsn := server.database(t, fmt.Sprint("killed", databases))
		execute(tb, quietPool(tb, dsn), business)
		return dsn
	}
	p.Strike = func(testing.TB) {
		server.Kill()
		server.Start()
	}
	storetest.RunProcesses(t, p)
}

// Promise 1: the counter survives both a clean restart and a kill when not a
// single row is left in the table.
func testFencesOutliveTheirRows(t *testing.T, server ownServer) {
	t.Helper()
	dsn := server.database(t, "fences")
	last := semel.Fence(0)
	for round, end := range []func(){server.Kill, server.Stop, server.Kill} {
		s := open(t, dsn, nil)
		for i := range 3 {
			rec := wins(t, s, params(fmt.Sprint(round, i)))
			if rec.Fence <= last {
				t.Fatalf("round %d: got fence %d, want > %d", round, rec.Fence, last)
			}
			last = rec.Fence
		}
		server.exec(t, "DELETE FROM fences.semel_record")
		end()
		server.Start()
	}
	if rec := wins(t, open(t, dsn, nil), params("last")); rec.Fence <= last {
		t.Fatalf("got fence %d, want > %d", rec.Fence, last)
	}
}

// A full disk is ErrFull, leaves every claim as it was, and goes away when
// there is room.
func testFull(t *testing.T, server ownServer) {
	t.Helper()
	s := open(t, server.database(t, "full"), nil)
	outcome := strings.Repeat("x", 1<<20)
	var full semel.Record
	for i := range 200 {
		rec := wins(t, s, params(fmt.Sprint("k", i)))
		err := s.Settle(t.Context(), rec.Digest, rec.Fence, completed(outcome))
		if err == nil {
			continue
		}
		if !errors.Is(err, semel.ErrFull) || !strings.Contains(err.Error(), "free space") {
			t.Fatalf("settlement %d: got %v, want %v with what to do", i, err, semel.ErrFull)
		}
		full = rec
		break
	}
	if full.Fence == 0 {
		t.Fatal("the server never was full")
	}
	if got, err := s.Lookup(context.WithoutCancel(t.Context()), full.Digest); err != nil || got.State != semel.StateClaimed {
		t.Errorf("got %v, error %v, want the claim as it was", got.State, err)
	}
	settles(t, s, full, semel.Settlement{State: semel.StateCompleted, Retention: retention})
}
