package semelgrpc_test

import (
	"context"
	"errors"
	"testing"

	"google.golang.org/grpc/codes"
	pb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"

	"github.com/semel-dev/semel/internal/memdb"
	"github.com/semel-dev/semel/semelgrpc"
	"github.com/semel-dev/semel/store/memstore"
)

// newDatabase returns a door whose handlers insert a row in the transaction of their claim, and then end as given.
func newDatabase(t *testing.T, fault func(memdb.Point) error, end func() error) (*door, *memdb.DB) {
	t.Helper()
	db := memdb.New(memstore.New(nil), &memdb.Options{Fault: fault})
	t.Cleanup(func() { _ = db.Close() })
	d := newDoor(t, doorOptions{store: db, Options: semelgrpc.Options{Transactor: db}})
	d.unary = func(ctx context.Context, _ *pb.SimpleRequest) (*pb.SimpleResponse, error) {
		if err := db.Insert(ctx, "order"); err != nil {
			return nil, err
		}
		return &pb.SimpleResponse{Username: "invoice 1"}, end()
	}
	return d, db
}

// TestTransaction: promise 4: the rows and the answer commit together or not at all.
func TestTransaction(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err  error
		rows int // after two calls
		ran  int32
		word string // of the second
	}{
		"success":                 {nil, 1, 1, "replayed"},
		"an error that is kept":   {status.Error(codes.NotFound, "no such account"), 0, 1, "replayed"},
		"another error":           {status.Error(codes.Internal, "disk full"), 0, 2, "released"},
		"an error without answer": {context.DeadlineExceeded, 0, 2, "released"},
	} {
		d, db := newDatabase(t, nil, func() error { return c.err })
		first, second := d.ask(t.Context(), invoice("10"), "k1"), d.ask(t.Context(), invoice("10"), "k1")
		if db.Count("order") != c.rows || d.ran.Load() != c.ran || second.word() != c.word || status.Code(first.err) != status.Code(second.err) {
			t.Errorf("%s: got %d rows, %d runs, %q, %v, %v; want %d, %d, %q", name, db.Count("order"), d.ran.Load(), second.word(), first.err, second.err, c.rows, c.ran, c.word)
		}
	}
}

// TestCommitFails: promise 7: an answer that was not recorded is not given.
func TestCommitFails(t *testing.T) {
	t.Parallel()
	lost := errors.New("connection reset")
	for name, c := range map[string]struct {
		at     memdb.Point
		code   codes.Code
		reason semelgrpc.Reason
	}{
		"before the commit": {memdb.Commit, codes.Aborted, semelgrpc.ReasonRolledBack},
		"after it":          {memdb.Committed, codes.OK, ""},
	} {
		failed := false
		d, db := newDatabase(t, func(p memdb.Point) error {
			if p == c.at && !failed {
				failed = true
				return lost
			}
			return nil
		}, func() error { return nil })
		first := d.ask(t.Context(), invoice("10"), "k1")
		if status.Code(first.err) != c.code || semelgrpc.ReasonOf(first.err) != c.reason || first.GetUsername() != "" && c.code != codes.OK {
			t.Errorf("%s: got %q, %v, want %v %q", name, first.GetUsername(), first.err, c.code, c.reason)
		}
		if again := d.ask(t.Context(), invoice("10"), "k1"); again.err != nil || db.Count("order") != 1 {
			t.Errorf("%s, repeated: got %v and %d rows, want one", name, again.err, db.Count("order"))
		}
	}
}
