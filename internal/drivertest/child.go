package drivertest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/inbox"
	"github.com/semel-dev/semel/internal/testserver"
)

const (
	// childEnv holds an assignment, for a process that a test started.
	childEnv = "SEMEL_DRIVERTEST_CHILD"

	// poisonAttempts bounds the processes that the poison kills.
	poisonAttempts = 2
	poisonID       = "poison"
)

// assignment tells a child what to consume and where to note its effects, a line for each.
type assignment struct {
	Addr, Topic, Store, Effects string
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

// runChild consumes in another process until it has died, or enough is done. It reports whether it died.
func (b *bench) runChild(a assignment, enough func() bool) (died bool) {
	b.Helper()
	self, err := os.Executable()
	b.must(err)
	text, err := json.Marshal(a)
	b.must(err)
	cmd := exec.CommandContext(b.Context(), self) //nolint:gosec // the test starts itself.
	cmd.Env = append(os.Environ(), childEnv+"="+string(text), "GORACE=atexit_sleep_ms=0")
	var log bytes.Buffer
	cmd.Stderr = &log
	pipe, err := cmd.StdinPipe() // the child ends when it is closed
	b.must(err)
	b.must(cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	testserver.Eventually(b, "the child dies or is done", func() bool {
		select {
		case err = <-ended:
			died = true
			return true
		default:
			return enough()
		}
	})
	if !died {
		b.must(pipe.Close())
		err = <-ended
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || !died || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL) { //nolint:errcheck // Unix has it.
		b.Fatalf("a child ended with %v:\n%s", err, log.String())
	}
	return died
}

// Child consumes and exits where a test has started this process for that, and returns at once otherwise. TestMain of a package
// that calls [Run] calls it first.
func Child(d Driver) {
	text := os.Getenv(childEnv)
	if text == "" {
		return
	}
	if err := consumeAs(d, text); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func consumeAs(d Driver, text string) error {
	var a assignment
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		_, _ = os.Stdin.Read(make([]byte, 1)) // it is closed
		cancel()
	}()
	store, guard, in, err := openInbox(context.WithoutCancel(ctx), a.Store, &inbox.Options{MaxAttempts: poisonAttempts, Ask: a.ask})
	if err != nil {
		return err
	}
	err = d.Consume(ctx, a.Addr, a.Topic, 2, func(ctx context.Context, m inbox.Message) inbox.Verdict {
		return in.Handle(ctx, m, a.effect)
	})
	return errors.Join(err, guard.Close(), store.Close())
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
