package semelgrpc_test

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	pb "google.golang.org/grpc/interop/grpc_testing"
	_ "modernc.org/sqlite" // opens the database of the handler's rows

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/semelgrpc"
	"github.com/semel-dev/semel/store/sqlitestore/sqlitetx"
	"github.com/semel-dev/semel/store/storetest"
)

// shop is a process that serves orders, whose records and rows are in one database.
type shop struct {
	pb.UnimplementedTestServiceServer

	db   *sql.DB
	rows bool // orders join the transaction of their claim
	at   func(point string)
}

// UnaryCall inserts an order.
func (s *shop) UnaryCall(ctx context.Context, req *pb.SimpleRequest) (*pb.SimpleResponse, error) {
	s.at("before")
	exec := s.db.ExecContext
	if s.rows {
		exec = sqlitetx.TxFrom(ctx).ExecContext
	}
	_, err := exec(context.WithoutCancel(ctx), "INSERT INTO effects VALUES (?)", req.GetPayload().GetBody())
	s.at("after")
	return &pb.SimpleResponse{Username: "ordered"}, err
}

func openShopDB(ctx context.Context, folder string) (*sql.DB, error) {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(folder, "shop.db")+"?_txlock=immediate&_pragma=busy_timeout(30000)&_pragma=journal_mode(wal)")
	if err != nil {
		return nil, err
	}
	_, err = db.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS effects (order_name TEXT)")
	return db, err
}

// serveUntilKilled serves on a free port, which it prints, until it is killed: from outside, or on its own at a point of a handler. args are a
// folder, the point, and "rows" for an effect in the transaction of the claim.
func serveUntilKilled(ctx context.Context, args []string) error {
	db, err := openShopDB(ctx, args[0])
	if err != nil {
		return err
	}
	store, err := sqlitetx.Open(ctx, db, nil)
	if err != nil {
		return err
	}
	guard, err := semel.New(store, &semel.Options{Policy: semel.Policy{Lease: 300 * time.Millisecond, Wait: 20 * time.Second}})
	if err != nil {
		return err
	}
	o := &semelgrpc.Options{}
	if args[2] == "rows" {
		o.Transactor = store.Transactor()
	}
	door, err := semelgrpc.New(guard, semelgrpc.ScopeBy(everyone), o)
	if err != nil {
		return err
	}
	server := grpc.NewServer(grpc.UnaryInterceptor(door.Unary))
	pb.RegisterTestServiceServer(server, &shop{db: db, rows: args[2] == "rows", at: func(point string) {
		if point == args[1] {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {} // until it arrives
		}
	}})
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintln(os.Stdout, listener.Addr())
	return server.Serve(listener)
}

// startShop starts a process that serves, and returns its address.
func startShop(t *testing.T, args ...string) (addr string, wait func() error) {
	t.Helper()
	cmd := storetest.Command(t, "serve", args...)
	out, err := cmd.StdoutPipe()
	noError(t, err)
	noError(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	noError(t, err)
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return strings.TrimSpace(line), cmd.Wait
}

// TestKilledServer: promises 3 and 4: a server that is killed by kill -9 in the middle of a handler, and a client that asks the next one with the
// same key: the effect is there once, or not at all where the outcome is unknown.
func TestKilledServer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		point, kind string
		effects     int
		reason      semelgrpc.Reason
	}{
		{"before", "rows", 1, ""},
		{"after", "rows", 1, ""},
		{"before", "elsewhere", 0, semelgrpc.ReasonOutcomeUnknown},
		{"after", "elsewhere", 1, semelgrpc.ReasonOutcomeUnknown},
	} {
		t.Run(c.point+", "+c.kind, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			addr, wait := startShop(t, folder, c.point, c.kind)
			first := pb.NewTestServiceClient(dial(t, addr))
			ctx := semelgrpc.WithIntent(t.Context(), "k1")
			if resp, err := first.UnaryCall(ctx, invoice("order 1")); err == nil {
				t.Fatalf("the server that was to be killed answered %v", resp)
			}
			if err := wait(); err == nil || !strings.Contains(err.Error(), "killed") {
				t.Fatalf("the first process ended with %v, want killed", err)
			}
			addr, _ = startShop(t, folder, "never", c.kind)
			second := pb.NewTestServiceClient(dial(t, addr))
			resp, err := second.UnaryCall(ctx, invoice("order 1"))
			if semelgrpc.ReasonOf(err) != c.reason || (err == nil) != (resp.GetUsername() == "ordered") {
				t.Errorf("got %v, %v, want %q", resp, err, c.reason)
			}
			db, err := openShopDB(t.Context(), folder)
			noError(t, err)
			claimtest.Closes(t, db)
			claimtest.WantRows(t, db, "SELECT COUNT(*) FROM effects", fmt.Sprint(c.effects))
		})
	}
}
