package testserver

import (
	"fmt"
	"os"
	"testing"

	"github.com/semel-dev/semel/internal/testserver/dbserver"
)

// used notes that the test asks for a server.
func used(tb testing.TB, env string) {
	tb.Helper()
	if file := os.Getenv(dbserver.EnvUseLog); file != "" {
		if err := appendLine(file, tb.Name()+" "+env); err != nil {
			tb.Error(err)
		}
	}
}

// appendLine adds to a log that several processes share: one write, so that lines do not mix.
func appendLine(file, line string) error {
	log, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600) //nolint:gosec // named by the developer
	if err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	if _, err := fmt.Fprintln(log, line); err != nil {
		_ = log.Close()
		return fmt.Errorf("write %s: %w", file, err)
	}
	return log.Close()
}
