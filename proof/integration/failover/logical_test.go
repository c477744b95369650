package failover_test

import (
	"context"
	"fmt"
	"net"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/store/pgstore"
)

// Promise 1: logical replication carries records and not the sequence of the fences, so the store refuses to open on the subscriber
// that takes over, until the statement that its error names has been run. Promise 2: then outcomes are replayed.
func TestLogicalPromotion(t *testing.T) {
	t.Parallel()
	const each = 20
	publisher := testserver.StartPostgres(t, &testserver.PostgresOptions{Conf: map[string]string{"wal_level": "logical"}})
	subscriber := testserver.StartPostgres(t, nil)
	s := openStore(t, publisher.DSN())
	if err := openStore(t, subscriber.DSN()).Close(); err != nil { // makes the schema
		t.Fatal(err)
	}
	host, port, err := net.SplitHostPort(publisher.Addr())
	if err != nil {
		t.Fatal(err)
	}
	execute(t, publisher.DSN(), "CREATE PUBLICATION records FOR TABLE semel.record")
	execute(t, subscriber.DSN(), fmt.Sprintf("CREATE SUBSCRIPTION records CONNECTION 'host=%s port=%s user=postgres dbname=postgres' PUBLICATION records", host, port))
	fences := acknowledge(t, s, 0, each)
	newest := fences[len(fences)-1]
	eventually(t, "the subscriber has it all", func() bool {
		var settled int
		query(t, subscriber.DSN(), "SELECT count(*) FROM semel.record WHERE state = 'completed'", &settled)
		return settled == each
	})
	publisher.Kill()

	_, err = pgstore.Open(t.Context(), subscriber.DSN(), nil)
	if err == nil || !strings.Contains(err.Error(), "was set back") {
		t.Fatalf("got %v, want the store to refuse the subscriber's sequence", err)
	}
	statement := regexp.MustCompile(`SELECT setval\(.*?, \d+\)`).FindString(err.Error())
	if statement == "" {
		t.Fatalf("the error names no statement: %v", err)
	}
	execute(t, subscriber.DSN(), "ALTER SUBSCRIPTION records DISABLE; "+statement)
	s = openStore(t, subscriber.DSN())
	for i, fence := range fences {
		if rec := lookup(t, s, digest(0, i)); rec.State != semel.StateCompleted || rec.Fence != fence || string(rec.Outcome) != outcome(0, i) {
			t.Errorf("the outcome of %d is not replayed: %v with fence %d", i, rec.State, rec.Fence)
		}
	}
	if next, err := claim(t.Context(), s, digest(1, 0)); err != nil || next <= newest {
		t.Errorf("got fence %d, error %v, want one above %d", next, err, newest)
	}
}

func openStore(t *testing.T, dsn string) *pgstore.Store {
	t.Helper()
	s, err := pgstore.Open(t.Context(), dsn, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func execute(t *testing.T, dsn, sql string) {
	t.Helper()
	connected(t, dsn, func(conn *pgx.Conn) error {
		_, err := conn.Exec(t.Context(), sql)
		return err
	})
}

func query(t *testing.T, dsn, sql string, into any) {
	t.Helper()
	connected(t, dsn, func(conn *pgx.Conn) error { return conn.QueryRow(t.Context(), sql).Scan(into) })
}

func connected(t *testing.T, dsn string, do func(*pgx.Conn) error) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	if err := do(conn); err != nil {
		t.Fatal(err)
	}
}
