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

// Then runs one step after the other, and stops at the first error.
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

// Command runs the line in a shell (sh -c), with this process's environment and working directory, for at most two
// minutes. It ends when the shell ends: a service may continue in the background, and its output goes to a file that is
// not read. The error has the end of the output.
func Command(line string) func(context.Context) error {
	return func(ctx context.Context) (err error) {
		if strings.TrimSpace(line) == "" {
			return errors.New("the command is empty")
		}
		// A pipe would have to stay open for a service that continues to print.
		printed, err := os.CreateTemp("", "semel-check-*")
		if err != nil {
			return fmt.Errorf("create a file for the output of the command: %w", err)
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
			return fmt.Errorf("the command did not end within %s (run the service in the background): %s", commandTimeout, end(printed))
		case err != nil:
			return fmt.Errorf("run the command: %w: %s", err, end(printed))
		}
		return nil
	}
}

// end returns the last part of the output.
func end(printed *os.File) string {
	info, err := printed.Stat()
	if err != nil {
		return "its output is lost"
	}
	from := max(0, info.Size()-maxShownBytes)
	text, err := io.ReadAll(io.NewSectionReader(printed, from, maxShownBytes))
	switch {
	case err != nil:
		return "its output is lost"
	case len(text) == 0:
		return "it printed nothing"
	}
	return strings.TrimSpace(string(text))
}
