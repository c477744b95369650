package testserver

import (
	"fmt"
	"os"
	"testing"

	"github.com/semel-dev/semel/internal/testserver/dbserver"
)

// The environment variables that say what happens when something is not installed.
const (
	EnvAllowMissing  = "SEMEL_TEST_ALLOW_MISSING" // 1: skip what needs it
	EnvRequireStores = "SEMEL_REQUIRE_STORES"     // 1: fail nevertheless
	EnvSkipLog       = "SEMEL_TEST_SKIP_LOG"      // the file to which every skip is appended
)

// Missing ends the test because something is not installed, and says how to get it: it fails, or is skipped where that
// is allowed. Tests use it for what this package does not start.
func Missing(tb testing.TB, what, hint string) {
	tb.Helper()
	skipOrFail(tb, &dbserver.MissingError{What: what, Hint: hint})
}

func skipOrFail(tb testing.TB, missing *dbserver.MissingError) {
	tb.Helper()
	if os.Getenv(EnvAllowMissing) != "1" || os.Getenv(EnvRequireStores) == "1" {
		tb.Fatalf("%v; or set %s=1 to skip what needs it", missing, EnvAllowMissing)
	}
	if file := os.Getenv(EnvSkipLog); file != "" {
		if err := logSkip(file, tb.Name(), missing.What); err != nil {
			tb.Error(err)
		}
	}
	tb.Skipf("SKIPPED: %v", missing)
}

// logSkip adds a line to the log: go test shows no skips of packages that pass.
func logSkip(file, test, what string) error {
	dir, err := os.Getwd() // the package's folder
	if err != nil {
		return fmt.Errorf("log a skip: %w", err)
	}
	return appendLine(file, fmt.Sprintf("%s is missing: %s in %s", what, test, dir))
}
