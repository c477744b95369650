package inbox_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/inbox"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/store/pgstore"
)

const dsnVar = "SEMEL_INBOX_DSN" // makes the test binary a process that handles one message of PostgreSQL

// effect is the statement of a message.
func effect(id string) pgstore.Query {
	return pgstore.Query{SQL: "INSERT INTO effects (message) VALUES ($1)", Args: []any{id}}
}

func made(ctx context.Context) error {
	_, err := pgstore.RowsFrom(ctx)
	return err
}

// statements is a PostgreSQL on which the statement of a message travels with its claim.
func statements(t *testing.T, o *pgstore.Options) database {
	t.Helper()
	s, err := pgstore.Open(t.Context(), testserver.PostgresDatabase(t), o)
	claimtest.NoError(t, err)
	_, err = s.Pool().Exec(t.Context(), createEffects)
	claimtest.NoError(t, err)
	return database{
		store: s,
		with: func(id string) semel.Transactor {
			return s.Transactor(&pgstore.TxOptions{Queries: []pgstore.Query{effect(id)}})
		},
		insert: func(ctx context.Context, _ string) error { return made(ctx) },
		count: func(ctx context.Context) (n int, err error) {
			err = s.Pool().QueryRow(ctx, countEffects).Scan(&n)
			return n, err
		},
	}
}

// TestSharedCommits: of messages that are handled at the same time, in shared transactions, each takes effect once, however many twins
// arrive with it, and one whose statement fails is counted, and in quarantine after its last attempt, alone (promises 1, 4 and 8).
func TestSharedCommits(t *testing.T) {
	t.Parallel()
	d := statements(t, &pgstore.Options{Together: true})
	t.Cleanup(func() { _ = d.store.Close() })
	in, err := inbox.New(claimtest.Guard(t, d.store, nil), &inbox.Options{Consumer: "billing", MaxAttempts: 2, Pause: time.Millisecond})
	claimtest.NoError(t, err)
	store, _ := semel.StoreAs[*pgstore.Store](d.store)
	poison := pgstore.Query{SQL: "INSERT INTO effects (message) SELECT 1 / (SELECT count(*) FROM effects WHERE message = $1)", Args: []any{"never"}}
	const messages = 12
	reasons := make([][]inbox.Reason, messages)
	var mu sync.Mutex // guards reasons
	deliver := func(i, deliveries int) {
		m := message(fmt.Sprint(i), "a")
		m.Deliveries = deliveries
		transactor := d.with(m.ID)
		if i == 0 {
			transactor = store.Transactor(&pgstore.TxOptions{Queries: []pgstore.Query{poison}})
		}
		v := in.HandleTx(t.Context(), transactor, m, func(ctx context.Context, _ inbox.Message) error { return made(ctx) })
		mu.Lock()
		defer mu.Unlock()
		reasons[i] = append(reasons[i], v.Reason)
	}
	has := func(i int, wanted inbox.Reason) (n int) {
		mu.Lock()
		defer mu.Unlock()
		for _, r := range reasons[i] {
			if r == wanted {
				n++
			}
		}
		return n
	}
	var all sync.WaitGroup
	for i := range messages {
		for range 3 { // twins
			all.Go(func() { deliver(i, 1) })
		}
	}
	all.Wait()
	for i := 1; i < messages; i++ {
		deliver(i, 2)
		if n := has(i, "handled"); n != 1 || has(i, "duplicate") == 0 {
			t.Errorf("message %d: %v, want it handled once, and then a duplicate", i, reasons[i])
		}
	}
	testserver.Eventually(t, "the poison is in quarantine", func() bool { deliver(0, 2); return has(0, "quarantined") > 0 })
	if has(0, "attempts") == 0 || has(0, "handled") > 0 {
		t.Errorf("the poison: %v, want it in quarantine because of its attempts", reasons[0])
	}
	if n, err := d.count(t.Context()); n != messages-1 || err != nil {
		t.Errorf("%d effects, error %v, want %d", n, err, messages-1)
	}
}

// An attempt that is counted before it begins does not make its statements twice.
func TestStatementsOfCountedAttempts(t *testing.T) {
	t.Parallel()
	d := statements(t, nil)
	t.Cleanup(func() { _ = d.store.Close() })
	in, err := inbox.New(claimtest.Guard(t, d.store, nil), &inbox.Options{Consumer: "billing"})
	claimtest.NoError(t, err)
	store, _ := semel.StoreAs[*pgstore.Store](d.store)
	_, err = store.Pool().Exec(t.Context(), "CREATE SEQUENCE made")
	claimtest.NoError(t, err)
	const count = "SELECT nextval('made')"
	o := &pgstore.TxOptions{Queries: []pgstore.Query{{SQL: count}}}
	m := message("1", "a")
	m.Deliveries = 2
	want(t, in.HandleTx(t.Context(), store.Transactor(o), m, func(ctx context.Context, _ inbox.Message) error { return made(ctx) }), inbox.Ack, "handled")
	var n int
	if err := store.Pool().QueryRow(t.Context(), count).Scan(&n); err != nil || n != 2 {
		t.Errorf("the statement was made %d times, error %v, want once", n-1, err)
	}
}

// handleOnce handles the message 1, and dies at a point.
func handleOnce(dsn, point string) error {
	ctx := context.Background()
	store, err := pgstore.Open(ctx, dsn, &pgstore.Options{Together: true})
	if err != nil {
		return err
	}
	guard, err := semel.New(store, nil)
	if err != nil {
		return err
	}
	in, err := inbox.New(guard, &inbox.Options{Consumer: "billing"})
	if err != nil {
		return err
	}
	at := func(here string) {
		if here == point {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {} // until it arrives
		}
	}
	m := message("1", "a")
	m.Deliveries = 1
	v := in.HandleTx(ctx, store.Transactor(&pgstore.TxOptions{Queries: []pgstore.Query{effect("1")}}), m, func(ctx context.Context, _ inbox.Message) error {
		err := made(ctx)
		at("made")
		return err
	})
	at("committed")
	_, err = fmt.Fprintln(os.Stdout, v.Act, v.Reason)
	return errors.Join(v.Err, err)
}

// TestKilledWithStatements: whether a process is killed between a message's statements and their commit, or after it and before its
// acknowledgement, the message takes effect once (promises 3 and 4).
func TestKilledWithStatements(t *testing.T) {
	t.Parallel()
	for point, then := range map[string]string{"made": "ack handled", "committed": "ack duplicate"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			dsn := testserver.PostgresDatabase(t)
			s, err := pgstore.Open(t.Context(), dsn, nil)
			claimtest.NoError(t, err)
			claimtest.Closes(t, s)
			_, err = s.Pool().Exec(t.Context(), createEffects)
			claimtest.NoError(t, err)
			run := func(point string) (string, error) {
				cmd := exec.CommandContext(t.Context(), os.Args[0])
				cmd.Env = append(os.Environ(), dsnVar+"="+dsn, gapVar+"="+point)
				out, err := cmd.CombinedOutput()
				return strings.TrimSpace(string(out)), err
			}
			if out, err := run(point); err == nil || !strings.Contains(err.Error(), "killed") {
				t.Fatalf("it was not killed: %v\n%s", err, out)
			}
			out, err := run("")
			if err != nil || out != then {
				t.Errorf("got %q, error %v, want %q", out, err, then)
			}
			var n int
			if err := s.Pool().QueryRow(t.Context(), countEffects).Scan(&n); err != nil || n != 1 {
				t.Errorf("%d effects, error %v, want 1", n, err)
			}
		})
	}
}
