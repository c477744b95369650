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

// Command counts with a command that prints one number and exits with status 0 within half a minute. No shell is used;
// its arguments may have places ([check.Template]).
func Command(args ...string) (check.Counter, error) {
	if len(args) == 0 || args[0] == "" {
		return nil, errors.New("the command that prints the count is missing")
	}
	perIntent, err := ofIntent(args...)
	if err != nil {
		return nil, err
	}
	args = slices.Clone(args)
	// Its name is the program's alone, as arguments may be secret.
	return &counter{"the output of " + filepath.Base(args[0]), perIntent, func(ctx context.Context, fill func(string) string) (int64, error) {
		filledArgs := make([]string, len(args))
		for i, arg := range args {
			var err error
			if filledArgs[i], err = filled(fill, arg); err != nil {
				return 0, err
			}
		}
		return printed(ctx, filledArgs)
	}}, nil
}

// printed runs the command, and returns the number that it prints.
func printed(ctx context.Context, args []string) (int64, error) {
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
