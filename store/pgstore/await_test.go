package pgstore_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/store/pgstore"
)

// awaiting waits for a record in the background, and returns when the record
// is marked.
func awaiting(t *testing.T, s *pgstore.Store, d semel.Digest) <-chan error {
	t.Helper()
	told := make(chan error, 1)
	go func() { told <- s.Await(t.Context(), d) }()
	p := pool(t, testserver.Postgres(t), 1)
	testserver.Eventually(t, "the record is marked", func() bool {
		var marked bool
		sql := fmt.Sprintf("SELECT awaited FROM %s.record WHERE digest = $1", quoted(s.SchemaName()))
		noError(t, p.QueryRow(t.Context(), sql, d[:]).Scan(&marked))
		return marked
	})
	select {
	case err := <-told:
		t.Fatalf("Await returned at once: %v", err)
	default:
	}
	return told
}

func wantTold(t *testing.T, told <-chan error) {
	t.Helper()
	select {
	case err := <-told:
		if err != nil {
			t.Errorf("Await: %v", err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("Await was not told")
	}
}

// A claim that lapses ends the waiting, one that is renewed does not.
func TestAwaitLapsed(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	p := params("k")
	p.Lease = 2 * time.Second
	rec := wins(t, s, p)
	told := awaiting(t, s, rec.Digest)
	wantTold(t, told)
	if found, err := s.Lookup(t.Context(), rec.Digest); err != nil || !found.Lapsed() {
		t.Errorf("Await returned while the claim was live (%v left, error %v)", found.LeaseLeft(), err)
	}
}

// Without waiters, nothing is notified: notifying makes commits queue.
func TestSettleTellsOnlyWhoWaits(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	p := pool(t, testserver.Postgres(t), 1)
	conn, err := p.Acquire(t.Context())
	noError(t, err)
	defer conn.Release()
	if _, err := conn.Exec(t.Context(), "LISTEN "+quoted("semel_"+s.SchemaName())); err != nil {
		t.Fatal(err)
	}
	settles(t, s, wins(t, s, params("alone")), completed("x"))
	rec := wins(t, s, params("awaited"))
	told := awaiting(t, s, rec.Digest)
	settles(t, s, rec, completed("x"))
	wantTold(t, told)
	heard, err := conn.Conn().WaitForNotification(t.Context())
	if err != nil || heard.Payload != fmt.Sprintf("%x", rec.Digest[:]) {
		t.Errorf("got %+v, error %v, want only the record that was awaited", heard, err)
	}
}

// A connection that breaks ends the waiting with an error; later ones wait
// again.
func TestAwaitConnectionBreaks(t *testing.T) {
	t.Parallel()
	o := &pgstore.Options{Schema: testserver.PostgresSchema(t)}
	patient, s := open(t, o), open(t, pgstore.Deaf(o, 0))
	rec := wins(t, s, params("k"))
	told, other := awaiting(t, s, rec.Digest), awaiting(t, patient, rec.Digest)
	p := pool(t, testserver.Postgres(t), 1)
	ears := fmt.Sprintf("FROM pg_stat_activity WHERE query = 'LISTEN %s'", quoted("semel_"+s.SchemaName()))
	testserver.Eventually(t, "both listen", func() bool { // the record is marked as soon as one does
		var n int
		noError(t, p.QueryRow(t.Context(), "SELECT count(*) "+ears).Scan(&n))
		return n == 2
	})
	execute(t, p, "SELECT pg_terminate_backend(pid) "+ears)
	for _, told := range []<-chan error{told, other} {
		if err := <-told; err == nil || errors.Is(err, semel.ErrClosed) {
			t.Fatalf("got %v, want an error: the store cannot tell", err)
		}
	}
	if err := patient.Await(t.Context(), rec.Digest); err == nil {
		t.Error("it listened again at once, want an error for a while")
	}
	told = awaiting(t, s, rec.Digest)
	settles(t, s, rec, completed("x"))
	wantTold(t, told)
}
