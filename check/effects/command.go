package effects

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/semel-dev/semel/check"
)

// The bounds of a command that counts.
const (
	commandTimeout  = 30 * time.Second
	maxOutputBytes  = 64 << 10
	commandGivesWay = time.Second // for its children after its end
)

// Program is a [check.Counter] that runs a command. [Command] makes it; it is safe for concurrent use if the command
// is.
type Program struct {
	args      []string
	perIntent bool
}

var _ check.Counter = (*Program)(nil)

// Command counts with a command that prints one number and exits with status 0 within half a minute. No shell is used;
// its arguments may have places ([check.Template]).
func Command(args ...string) (*Program, error) {
	if len(args) == 0 || args[0] == "" {
		return nil, errors.New("the command that prints the count is missing")
	}
	perIntent, err := ofIntent(args...)
	if err != nil {
		return nil, err
	}
	return &Program{args: slices.Clone(args), perIntent: perIntent}, nil
}

// Name implements [check.Counter]. It names only the program, as arguments may be secret.
func (p *Program) Name() string { return "the output of " + filepath.Base(p.args[0]) }

// PerIntent implements [check.Counter].
func (p *Program) PerIntent() bool { return p.perIntent }

// Count implements [check.Counter].
func (p *Program) Count(ctx context.Context, fill func(string) string) (int64, error) {
	args := make([]string, len(p.args))
	for i, arg := range p.args {
		var err error
		if args[i], err = filled(fill, arg); err != nil {
			return 0, err
		}
	}
	within, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	command := exec.CommandContext(within, args[0], args[1:]...) //nolint:gosec // the user's own command
	var out, complaint bounded
	command.Stdout, command.Stderr, command.WaitDelay = &out, &complaint, commandGivesWay
	switch err := command.Run(); {
	case ctx.Err() != nil:
		return 0, ctx.Err()
	case within.Err() != nil:
		return 0, fmt.Errorf("the command took longer than %s", commandTimeout)
	case err != nil:
		return 0, fmt.Errorf("run the command: %w %s", err, strings.TrimSpace(complaint.String()))
	}
	n, err := number(out.String())
	if err != nil {
		return 0, fmt.Errorf("the command must print one number and nothing else: %w", err)
	}
	return n, nil
}

// bounded keeps the beginning of its input.
type bounded struct{ bytes.Buffer }

// Write implements [io.Writer].
func (b *bounded) Write(p []byte) (int, error) {
	_, _ = b.Buffer.Write(p[:min(len(p), maxOutputBytes-b.Len())]) // never fails
	return len(p), nil
}
