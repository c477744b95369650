package operate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// The bounds of a command.
const (
	commandTimeout = 2 * time.Minute
	maxShownBytes  = 2 << 10
)

// Then does one step after the other, and stops at the first error.
func Then(steps ...func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		for _, step := range steps {
			if err := step(ctx); err != nil {
				return err
			}
		}
		return nil
	}
}

// Command runs the line in a shell (sh -c), with this process's environment and
// folder, for two minutes at most. It is over when the shell ends: a service may
// go on in the background, and what it prints goes to a file that nobody reads.
// The error has the end of what was printed.
func Command(line string) func(context.Context) error {
	return func(ctx context.Context) (err error) {
		if strings.TrimSpace(line) == "" {
			return errors.New("the command is empty")
		}
		// A pipe would have to be kept open for a service that goes on printing.
		printed, err := os.CreateTemp("", "semel-check-*")
		if err != nil {
			return fmt.Errorf("make a file for what the command prints: %w", err)
		}
		defer func() { err = errors.Join(err, printed.Close(), os.Remove(printed.Name())) }()
		within, cancel := context.WithTimeout(ctx, commandTimeout)
		defer cancel()
		command := exec.CommandContext(within, "sh", "-c", line) //nolint:gosec // the user's own command
		command.Stdout, command.Stderr = printed, printed
		switch err := command.Run(); {
		case ctx.Err() != nil:
			return ctx.Err()
		case within.Err() != nil:
			return fmt.Errorf("the command did not end within %s (let the service go on in the background): %s", commandTimeout, end(printed))
		case err != nil:
			return fmt.Errorf("run the command: %w: %s", err, end(printed))
		}
		return nil
	}
}

// end is the last part of what was printed.
func end(printed *os.File) string {
	info, err := printed.Stat()
	if err != nil {
		return "what it printed is lost"
	}
	from := max(0, info.Size()-maxShownBytes)
	text, err := io.ReadAll(io.NewSectionReader(printed, from, maxShownBytes))
	switch {
	case err != nil:
		return "what it printed is lost"
	case len(text) == 0:
		return "it printed nothing"
	}
	return strings.TrimSpace(string(text))
}
