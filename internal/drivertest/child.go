package drivertest

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	_ "modernc.org/sqlite" // opens the outbox

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/inbox"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/outbox"
	"github.com/semel-dev/semel/store/sqlitestore"
)

const (
	// childEnv holds an assignment, for a process that a test started.
	childEnv = "SEMEL_DRIVERTEST_CHILD"

	// poisonAttempts bounds the processes that the poison kills.
	poisonAttempts = 2
	poisonID       = "poison"
)

// assignment tells a child what to consume and where to note its effects, a line for each or a row in a database of wishes; or of
// which outbox it is a relay.
type assignment struct {
	Addr, Topic, Store, Effects, Wishes, Outbox string
}

// poison publishes a message that kills its process, among others.
func poison(b *bench) {
	messages := b.messages(20)
	batch := slices.Insert(slices.Clone(messages), 5, b.message(poisonID, ""))
	b.publish(batch)
	a := assignment{Addr: b.direct, Topic: b.topic, Store: b.path, Effects: filepath.Join(b.TempDir(), "effects")}
	b.must(os.WriteFile(a.Effects, nil, 0o600))
	deaths := 0
	for b.copies() == 0 {
		if deaths > poisonAttempts {
			b.Fatalf("the poison is not in quarantine after %d deaths", deaths)
		}
		if b.runChild(a, func() bool { return b.copies() > 0 }) {
			deaths++
		}
	}
	b.runChild(a, func() bool { return len(a.lines(b)) >= len(messages) && b.left() == 0 })
	if deaths != poisonAttempts {
		b.Errorf("the poison killed %d processes, want %d", deaths, poisonAttempts)
	}
	lines := a.lines(b)
	slices.Sort(lines)
	var want []string
	for i := range messages {
		want = append(want, messages[i].ID)
	}
	slices.Sort(want)
	if !slices.Equal(lines, want) {
		b.Errorf("got effects %v, want each of %v once", lines, want)
	}
	b.wantCopies(1)
	b.finish(b.consumeFrom(b.direct, 1, b.handle))
	b.wantEffects(nil)
}

func (a *assignment) lines(b *bench) []string {
	b.Helper()
	text, err := os.ReadFile(a.Effects)
	b.must(err)
	return strings.Fields(string(text))
}

// relayed publishes from an outbox, by relays of which all but the last one are killed in the middle.
func relayed(b *bench) {
	const deaths, perKey = 3, 30
	var batch []outbox.Message
	a := assignment{Addr: b.direct, Outbox: filepath.Join(b.TempDir(), "outbox.db")}
	db, out, err := openOutbox(b.Context(), a.Outbox)
	b.must(err)
	stop := b.consume(1, b.handle)
	for range deaths {
		before := len(batch)
		for range perKey {
			for _, key := range []string{"a", "b", "c", "d"} {
				batch = append(batch, b.message(fmt.Sprint(key, len(batch)), key))
			}
		}
		tx, err := db.BeginTx(b.Context(), nil)
		b.must(err)
		b.must(out.Add(b.Context(), tx, batch[before:]...))
		b.must(tx.Commit())
		child := b.startChild(a)
		b.wantSome(before + 1)
		b.must(child.cmd.Process.Kill())
		<-child.ended //nolint:errcheck // it was killed
	}
	b.runChild(a, func() bool {
		stats, err := out.Stats(b.Context())
		b.must(err)
		return stats.Waiting == 0
	})
	b.must(db.Close())
	b.wantEffects(batch)
	b.wantOrder(batch)
	b.finish(stop)
}

func openOutbox(ctx context.Context, path string) (*sql.DB, *outbox.Outbox, error) {
	db, err := sql.Open("sqlite", "file:"+path+"?_txlock=immediate&_pragma=busy_timeout(30000)&_pragma=journal_mode(wal)")
	if err != nil {
		return nil, nil, err
	}
	out, err := outbox.Open(ctx, db, nil)
	return db, out, err
}

// child is another process.
type child struct {
	cmd   *exec.Cmd
	input io.Closer // the child ends when it is closed
	ended chan error
	log   bytes.Buffer
}

func (b *bench) startChild(a assignment) *child {
	b.Helper()
	self, err := os.Executable()
	b.must(err)
	text, err := json.Marshal(a)
	b.must(err)
	c := &child{cmd: exec.CommandContext(b.Context(), self), ended: make(chan error, 1)} //nolint:gosec // the test starts itself.
	c.cmd.Env = append(os.Environ(), childEnv+"="+string(text), "GORACE=atexit_sleep_ms=0")
	c.cmd.Stderr = &c.log
	c.input, err = c.cmd.StdinPipe()
	b.must(err)
	b.must(c.cmd.Start())
	go func() { c.ended <- c.cmd.Wait() }()
	return c
}

// runChild works in another process until it has died, or enough is done. It reports whether it died.
func (b *bench) runChild(a assignment, enough func() bool) (died bool) {
	b.Helper()
	c := b.startChild(a)
	var err error
	testserver.Eventually(b, "the child dies or is done", func() bool {
		select {
		case err = <-c.ended:
			died = true
			return true
		default:
			return enough()
		}
	})
	if !died {
		b.must(c.input.Close())
		err = <-c.ended
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || !died || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL) { //nolint:errcheck // Unix has it.
		b.Fatalf("a child ended with %v:\n%s", err, c.log.String())
	}
	return died
}

// Child works and exits where a test has started this process for that, and returns at once otherwise. TestMain of a package
// that calls [Run] calls it first.
func Child(d Driver) {
	text := os.Getenv(childEnv)
	if text == "" {
		return
	}
	var a assignment
	err := json.Unmarshal([]byte(text), &a)
	if err == nil {
		err = a.work(d)
	}
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func (a *assignment) work(d Driver) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		_, _ = os.Stdin.Read(make([]byte, 1)) // it is closed
		cancel()
	}()
	if a.Outbox != "" {
		return a.relay(ctx, d)
	}
	if a.Wishes != "" {
		return a.weather(ctx, d)
	}
	return a.consume(ctx, d)
}

// relay publishes a few messages at a time.
func (a *assignment) relay(ctx context.Context, d Driver) error {
	db, out, err := openOutbox(context.WithoutCancel(ctx), a.Outbox)
	if err != nil {
		return err
	}
	store, err := sqlitestore.Open(context.WithoutCancel(ctx), a.Outbox+".leases", nil)
	if err != nil {
		return err
	}
	guard, err := semel.New(store, nil)
	if err != nil {
		return err
	}
	p, end, err := d.Publisher(a.Addr)
	if err != nil {
		return err
	}
	relay, err := outbox.NewRelay(out, guard, p, &outbox.RelayOptions{Lease: time.Second, Batch: 10, MinPause: time.Millisecond, MaxPause: 5 * time.Millisecond})
	if err == nil {
		err = relay.Run(ctx)
	}
	end()
	return errors.Join(err, guard.Close(), store.Close(), db.Close()) //nolint:contextcheck // ctx has ended
}

func (a *assignment) consume(ctx context.Context, d Driver) error {
	store, guard, in, err := openInbox(context.WithoutCancel(ctx), a.Store, &inbox.Options{MaxAttempts: poisonAttempts, Ask: a.ask})
	if err != nil {
		return err
	}
	err = d.Consume(ctx, a.Addr, a.Topic, 2, func(ctx context.Context, m inbox.Message) inbox.Verdict {
		return in.Handle(ctx, m, a.effect)
	})
	return errors.Join(err, guard.Close(), store.Close()) //nolint:contextcheck // ctx has ended
}

// effect appends a line, or kills the process.
func (a *assignment) effect(_ context.Context, m inbox.Message) error {
	if m.ID == poisonID {
		return syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	file, err := os.OpenFile(a.Effects, os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(file, m.ID) // one write
	return errors.Join(err, file.Close())
}

// ask looks for the effect of a message whose process died.
func (a *assignment) ask(_ context.Context, _ semel.Record, m inbox.Message) (semel.Reconciliation, error) {
	text, err := os.ReadFile(a.Effects)
	if err != nil {
		return semel.Reconciliation{}, err
	}
	if slices.Contains(strings.Fields(string(text)), m.ID) {
		return semel.Reconciliation{Verdict: semel.Happened}, nil
	}
	return semel.Reconciliation{Verdict: semel.NotHappened}, nil
}
