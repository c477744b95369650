package failover_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/store/pgstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// pair is a primary and a standby, with a link between them that can be cut.
type pair struct {
	primary, standby *testserver.PostgresServer
	link             *testserver.Proxy
}

func newPair(t *testing.T, sync bool) *pair {
	t.Helper()
	return newPairWith(t, testserver.StandbyOptions{Sync: sync})
}

func newPairWith(t *testing.T, o testserver.StandbyOptions) *pair {
	t.Helper()
	p := &pair{primary: testserver.StartPostgres(t, nil)}
	p.link = testserver.NewProxy(t, p.primary.Addr())
	o.Via = p.link.Addr()
	p.standby = p.primary.Standby(&o)
	return p
}

// dsn leads to whichever of the two takes writes.
func (p *pair) dsn() string {
	return fmt.Sprintf("postgres://postgres@%s,%s/postgres?sslmode=disable&target_session_attrs=read-write",
		p.primary.Addr(), p.standby.Addr())
}

// fail kills the primary and lets the standby take over.
func (p *pair) fail() {
	p.primary.Kill()
	p.standby.Promote()
}

// waitReplayed waits until the standby has what the primary has.
func (p *pair) waitReplayed(t *testing.T) {
	t.Helper()
	db, err := pgx.Connect(t.Context(), p.primary.DSN())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close(context.WithoutCancel(t.Context()))
	eventually(t, "the standby has it all", func() (all bool) {
		const question = "SELECT coalesce(bool_and(replay_lsn = pg_current_wal_lsn()), false) FROM pg_stat_replication"
		if err := db.QueryRow(t.Context(), question).Scan(&all); err != nil {
			t.Fatal(err)
		}
		return all
	})
}

func (p *pair) store(t *testing.T) *pgstore.Store {
	t.Helper()
	return p.storeWith(t, "", io.Discard)
}

// storeWith opens a store with further parameters of the DSN, which logs.
func (p *pair) storeWith(t *testing.T, params string, log io.Writer) *pgstore.Store {
	t.Helper()
	o := &pgstore.Options{MaxConns: 8, Logger: slog.New(slog.NewTextHandler(log, nil))}
	s, err := pgstore.Open(t.Context(), p.dsn()+params, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func digest(writer, i int) semel.Digest {
	return semel.Key{Scope: "failover", Name: fmt.Sprintf("%d/%d", writer, i)}.Digest()
}

func outcome(writer, i int) string { return fmt.Sprintf("answer %d/%d", writer, i) }

func claim(ctx context.Context, s semel.Store, d semel.Digest) (semel.Fence, error) {
	rec, won, err := s.Claim(ctx, semel.ClaimParams{
		Digest: d, Scope: "failover", Name: "key", Owner: semel.Owner(d[:16]), Lease: time.Minute, Retention: time.Hour,
	})
	if err == nil && !won {
		return 0, fmt.Errorf("no other caller claims %v, but it is %v", d, rec.State)
	}
	return rec.Fence, err
}

func settle(ctx context.Context, s semel.Store, d semel.Digest, f semel.Fence, outcome string) error {
	return s.Settle(ctx, d, f, semel.Settlement{
		State: semel.StateCompleted, Outcome: []byte(outcome), Kept: true, Retention: time.Hour,
	})
}

// lookup asks until the store has found the new primary. The record of what is absent is empty.
func lookup(t *testing.T, s semel.Store, d semel.Digest) (rec semel.Record) {
	t.Helper()
	eventually(t, "the store finds the new primary", func() (found bool) {
		var err error
		rec, err = s.Lookup(t.Context(), d)
		return err == nil || errors.Is(err, semel.ErrNotFound)
	})
	return rec
}

// eventually asks until the answer is yes.
func eventually(t *testing.T, what string, ask func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for !ask() {
		if !pause(ctx) {
			t.Fatalf("never: %s", what)
		}
	}
}

// pause waits a moment; it says no once ctx has ended.
func pause(ctx context.Context) bool {
	timer := time.NewTimer(10 * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
