package inbox_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/inbox"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/operator"
	"github.com/semel-dev/semel/store/sqlitestore/sqlitetx"
)

const (
	folderVar = "SEMEL_INBOX_FOLDER" // makes the test binary a consumer's process
	orderVar  = "SEMEL_INBOX_ORDER"  // in which order it does things
	gapVar    = "SEMEL_INBOX_GAP"    // at which gap it dies at its first delivery; 0 for none

	settledGap = 3 // of settle

	shortLease = 300 * time.Millisecond
)

func TestMain(m *testing.M) {
	if dsn := os.Getenv(dsnVar); dsn != "" {
		if err := handleOnce(dsn, os.Getenv(gapVar)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if folder := os.Getenv(folderVar); folder != "" {
		gap, _ := strconv.Atoi(os.Getenv(gapVar))
		if err := consume(folder, os.Getenv(orderVar), gap); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// process is a consumer's process. Its broker is a table: a message that is not acknowledged is
// delivered to the next process.
type process struct {
	db         *sql.DB
	inbox      *inbox.Inbox
	guard      *semel.Guard
	transactor semel.Transactor
	gap        int // dies there
}

func newProcess(folder string, gap int) (*process, error) {
	ctx := context.Background()
	db, err := openSQLite(folder)
	if err != nil {
		return nil, err
	}
	for _, create := range []string{
		"CREATE TABLE IF NOT EXISTS effects (message TEXT)", "CREATE TABLE IF NOT EXISTS claims (message TEXT PRIMARY KEY)",
		"CREATE TABLE IF NOT EXISTS queue (message TEXT PRIMARY KEY, deliveries INT NOT NULL)",
	} {
		if _, err := db.ExecContext(ctx, create); err != nil {
			return nil, err
		}
	}
	store, err := sqlitetx.Open(ctx, db, nil)
	if err != nil {
		return nil, err
	}
	p := &process{db: db, transactor: store.Transactor(), gap: gap}
	lease := shortLease
	if gap == settledGap {
		lease = time.Minute // on a slow machine a short one could lapse before it is settled
	}
	if p.guard, err = semel.New(store, &semel.Options{Policy: semel.Policy{Lease: lease}}); err != nil {
		return nil, err
	}
	p.inbox, err = inbox.New(p.guard, &inbox.Options{Consumer: "billing", MaxAttempts: 3, Pause: time.Millisecond})
	return p, err
}

// at dies when it is the gap.
func (p *process) at(gap int) {
	if gap == p.gap {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // until it arrives
	}
}

func (p *process) exec(query string) error {
	_, err := p.db.ExecContext(context.Background(), query)
	return err
}

func (p *process) ack(id string) error {
	return p.exec("DELETE FROM queue WHERE message = '" + id + "'")
}
func (p *process) effect() error { return p.exec("INSERT INTO effects VALUES ('1')") }
func (p *process) claim() error  { return p.exec("INSERT INTO claims VALUES ('1')") }

// consume handles what is in the queue, and returns when it is empty.
func consume(folder, order string, gap int) error {
	p, err := newProcess(folder, gap)
	if err != nil {
		return err
	}
	for {
		if err := p.exec("UPDATE queue SET deliveries = deliveries + 1"); err != nil {
			return err
		}
		messages, err := p.queue()
		if err != nil || len(messages) == 0 {
			return err
		}
		for _, m := range messages {
			p.gap = 0
			if m.Deliveries == 1 || m.ID == "poison" {
				p.gap = gap
			}
			if err := p.orders()[order](m); err != nil {
				return err
			}
		}
	}
}

// queue delivers all messages: a prefetch of ten.
func (p *process) queue() (messages []inbox.Message, err error) {
	rows, err := p.db.QueryContext(context.Background(), "SELECT message, deliveries FROM queue ORDER BY message = 'poison' DESC LIMIT 10")
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		m := inbox.Message{Body: []byte("a")}
		if err := rows.Scan(&m.ID, &m.Deliveries); err != nil {
			return nil, err
		}
		messages = append(messages, m)
	}
	return messages, rows.Err()
}

// orders are the seven ways in which consumers claim, take effect and acknowledge.
func (p *process) orders() map[string]func(inbox.Message) error {
	// steps does them in turn, unless the message was claimed before.
	steps := func(all ...func() error) func(inbox.Message) error {
		return func(m inbox.Message) error {
			var n int
			if err := p.db.QueryRowContext(context.Background(), "SELECT COUNT(*) FROM claims").Scan(&n); err != nil {
				return err
			}
			if n > 0 {
				return p.ack(m.ID)
			}
			for i, step := range all {
				if i > 0 {
					p.at(i)
				}
				if err := step(); err != nil {
					return err
				}
			}
			return nil
		}
	}
	ack := func() error { return p.ack("1") }
	nothing := func() error { return nil }
	var tx *sql.Tx
	claimAndEffect := func() (err error) {
		if tx, err = p.db.BeginTx(context.Background(), nil); err != nil {
			return err
		}
		_, err = tx.ExecContext(context.Background(), "INSERT INTO claims VALUES ('1')")
		_, again := tx.ExecContext(context.Background(), "INSERT INTO effects VALUES ('1')")
		return errors.Join(err, again)
	}
	ackOutside := func() error { return os.WriteFile(os.Getenv(folderVar)+"/acked", nil, 0o600) } // the database is locked
	return map[string]func(inbox.Message) error{
		"ack, effect":                steps(ack, p.effect, nothing),
		"effect, ack":                steps(nothing, p.effect, ack),
		"claim, effect, ack":         steps(p.claim, p.effect, ack),
		"effect, claim, ack":         steps(p.effect, p.claim, ack),
		"{claim, effect}, ack first": steps(claimAndEffect, ackOutside, func() error { return tx.Commit() }, ack),
		"HandleTx": func(m inbox.Message) error {
			return p.settle(m, p.inbox.HandleTx(context.Background(), p.transactor, m, func(ctx context.Context, m inbox.Message) error {
				p.at(1)
				_, err := sqlitetx.TxFrom(ctx).ExecContext(ctx, "INSERT INTO effects VALUES (?)", m.ID)
				p.at(2)
				return err
			}))
		},
		"Handle": func(m inbox.Message) error {
			return p.settle(m, p.inbox.Handle(context.Background(), m, func(context.Context, inbox.Message) error {
				p.at(1)
				err := p.effect() //nolint:contextcheck // as the other orders do it.
				p.at(2)
				return err
			}))
		},
	}
}

// settle does what the verdict says.
func (p *process) settle(m inbox.Message, v inbox.Verdict) error {
	p.at(settledGap)
	if v.Act == inbox.Retry {
		<-time.After(min(v.After, shortLease))
		return nil
	}
	return p.ack(m.ID)
}

// runs starts a process, and reports whether it lived.
func runs(t *testing.T, folder, order string, gap int) bool {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), folderVar+"="+folder, orderVar+"="+order, gapVar+"="+strconv.Itoa(gap))
	out, err := cmd.CombinedOutput()
	killed := err != nil && strings.Contains(err.Error(), "killed")
	if err != nil && !killed {
		t.Fatalf("%v: %s", err, out)
	}
	return !killed
}

// open opens the database of dead processes.
func open(t *testing.T, folder string) *process {
	t.Helper()
	p, err := newProcess(folder, 0)
	claimtest.NoError(t, err)
	t.Cleanup(func() { _, _, _ = p.guard.Close(), p.guard.Store().Close(), p.db.Close() })
	return p
}

// TestOrders: a consumer is killed by kill -9 at every gap of the seven orders. Five of them
// lose the message or take effect twice; HandleTx does neither, and Handle knows when it cannot
// know (promises 3 and 7).
func TestOrders(t *testing.T) {
	t.Parallel()
	for order, outcomes := range map[string][]string{
		"ack, effect":                {"lost", "once"},
		"effect, ack":                {"once", "twice"},
		"claim, effect, ack":         {"lost", "once"},
		"effect, claim, ack":         {"twice", "once"},
		"{claim, effect}, ack first": {"once", "lost"},
		"HandleTx":                   {"once", "once", "once"},
		"Handle":                     {"lost, in quarantine", "once, in quarantine", "once"},
	} {
		for i, want := range outcomes {
			t.Run(fmt.Sprintf("%s/%d", order, i+1), func(t *testing.T) {
				t.Parallel()
				folder := t.TempDir()
				p := open(t, folder)
				claimtest.NoError(t, p.exec("INSERT INTO queue VALUES ('1', 0)"))
				if runs(t, folder, order, i+1) {
					t.Fatal("the process was not killed")
				}
				if _, err := os.Stat(folder + "/acked"); err == nil {
					claimtest.NoError(t, p.ack("1"))
				}
				if !runs(t, folder, order, 0) {
					t.Fatal("the second process was killed")
				}
				if got := p.outcome(t); got != want {
					t.Errorf("killed at gap %d, the message took effect: %s, want %s", i+1, got, want)
				}
			})
		}
	}
}

func (p *process) outcome(t *testing.T) string {
	t.Helper()
	var n int
	claimtest.NoError(t, p.db.QueryRowContext(t.Context(), countEffects).Scan(&n))
	outcome := []string{"lost", "once", "twice"}[n]
	for range p.held(t) {
		outcome += ", in quarantine"
	}
	return outcome
}

func (p *process) held(t *testing.T) (all []*inbox.Held) {
	t.Helper()
	_, err := inbox.List(t.Context(), p.guard, "", operator.Search{}, func(h *inbox.Held) error { all = append(all, h); return nil })
	claimtest.NoError(t, err)
	return all
}

// TestPoison: a message that kills its process is quarantined after at most one attempt more than
// it may have, and messages that were delivered with it, as often, are handled (promise 8).
func TestPoison(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	p := open(t, folder)
	claimtest.NoError(t, p.exec("INSERT INTO queue VALUES ('poison', 0), ('1', 0), ('2', 0)"))
	deaths := 0
	for !runs(t, folder, "HandleTx", 1) {
		if deaths++; deaths > 10 {
			t.Fatal("the poison kills for ever")
		}
	}
	all := p.held(t)
	if deaths != 4 || len(all) != 1 || all[0].Message.ID != "poison" || all[0].Reason != "attempts" {
		t.Errorf("killed %d times, in quarantine: %+v, want 4 times, and the poison alone", deaths, all)
	}
	var n int
	claimtest.NoError(t, p.db.QueryRowContext(t.Context(), countEffects).Scan(&n))
	if n != 2 {
		t.Errorf("%d effects, want those of the two neighbours", n)
	}
}
