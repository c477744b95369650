package contest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/semel-dev/semel/internal/waiting"
)

const (
	// VictimVar names the work of a process that is going to be killed in the middle
	// of it. A program that measures takeovers does that work when it is set.
	VictimVar = "SEMEL_BENCH_VICTIM"

	// Patience is the time after which a takeover is given up.
	Patience = 2 * time.Minute

	inStep = "in a step"
	look   = 20 * time.Millisecond // how often a takeover is looked for
)

// Takeover is work whose process is killed in the middle.
type Takeover struct {
	Name string
	// Victim is the value of [VictimVar], Env more of its environment.
	Victim string
	Env    []string
	// Ready starts what will take over, before the process is killed; may be nil.
	Ready func(context.Context) error
	// Killed starts what will take over, when the process is dead; may be nil.
	Killed func(context.Context) error
	// Done reports whether the work is done.
	Done func(context.Context) (bool, error)
}

// HangInStep is called by a victim in the middle of its work. It does not return.
func HangInStep() {
	fmt.Println(inStep) //nolint:forbidigo // the killer reads it.
	select {}
}

// Measure starts a victim, kills it with SIGKILL in its step, and returns the time
// until the work is done, or false when it is not done within [Patience].
func (t *Takeover) Measure(ctx context.Context) (took time.Duration, ok bool, err error) {
	kill, err := t.startVictim(ctx)
	if err != nil {
		return 0, false, err
	}
	if t.Ready != nil {
		err = t.Ready(ctx)
	}
	kill()
	began := time.Now()
	if err == nil && t.Killed != nil {
		err = t.Killed(ctx)
	}
	for err == nil && time.Since(began) < Patience {
		if ok, err = t.Done(ctx); ok || err != nil {
			break
		}
		waiting.Sleep(ctx, look)
		err = ctx.Err()
	}
	return time.Since(began), ok, err
}

// startVictim returns when the victim is in its step.
func (t *Takeover) startVictim(ctx context.Context) (kill func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self) //nolint:gosec // this program.
	cmd.Env = append(append(os.Environ(), VictimVar+"="+t.Victim), t.Env...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	kill = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if strings.TrimSpace(lines.Text()) == inStep {
			return kill, nil
		}
	}
	kill()
	return nil, errors.New("the victim ended before it was in its step")
}

// Takeovers measures all of them at the same time, because they mostly wait.
func Takeovers(ctx context.Context, title string, all []Takeover) (*Table, error) {
	t := &Table{Title: title, Times: "until done", Rows: make([]Row, len(all))}
	errs := make([]error, len(all))
	done := make(chan struct{})
	for i, one := range all {
		go func() {
			defer func() { done <- struct{}{} }()
			took, ok, err := one.Measure(ctx)
			if errs[i] = err; err != nil {
				errs[i] = fmt.Errorf("%s: %w", one.Name, err)
			}
			t.Rows[i] = Row{Subject: one.Name, Time: fmt.Sprintf("%.1f s", took.Seconds())}
			if !ok {
				t.Rows[i].Time = fmt.Sprintf("not within %.0f s", Patience.Seconds())
			}
		}()
	}
	for range all {
		<-done
	}
	return t, errors.Join(errs...)
}
