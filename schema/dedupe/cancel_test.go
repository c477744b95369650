package dedupe_test

import (
	"context"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/schema/dedupe"
)

// longEnv lets TestLongStatement run.
const longEnv = "SEMEL_DEDUPE_LONG"

// long is a statement that runs for many minutes; MariaDB ends sleep() itself when its client is gone.
func long(d dialect.Dialect) string {
	if d == dialect.MySQL {
		return "SELECT benchmark(3000000000, md5('semel'))"
	}
	return "SELECT 1 FROM pg_sleep(3600)"
}

// TestLongStatement runs in a process that is killed meanwhile.
func TestLongStatement(t *testing.T) { //nolint:paralleltest // it is a process of its own.
	dsn := os.Getenv(longEnv)
	if dsn == "" {
		t.Skip("TestStatementEndsWithItsTool starts it")
	}
	in := connect(t, dialectOf(dsn), dsn)
	_, err := in.Undo(t.Context(), dedupe.Target{Run: 1}, &dedupe.Options{By: "test", Pace: dedupe.Pace{MaxLag: time.Second, LagQuery: long(in.Dialect)}})
	t.Error(err)
}

// running wants a long statement to run, or none, before the test ends.
func (b *bench) running(want string) {
	b.Helper()
	query := b.by("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE '%pg_sleep(3600)%' AND state = 'active' AND pid <> pg_backend_pid()",
		"SELECT count(*) FROM information_schema.PROCESSLIST WHERE DB = database() AND INFO LIKE 'SELECT benchmark(3000000000%'", "")
	testserver.Eventually(b.T, want+" long statements run", func() bool { return b.text(query) == want })
}

// A statement of an undo that is interrupted ends on the server as well, and so does that of a process that is killed on PostgreSQL:
// neither holds its locks until it is done.
func TestStatementEndsWithItsTool(t *testing.T) {
	t.Parallel()
	shops(t, func(b *bench) {
		if b.Dialect == dialect.SQLite {
			return // it runs within the process
		}
		run := b.merged()
		ctx, cancel := context.WithCancel(b.Context())
		ended := make(chan error, 1)
		go func() {
			_, err := b.in.Undo(ctx, dedupe.Target{Run: run}, &dedupe.Options{By: "test", Pace: dedupe.Pace{MaxLag: time.Second, LagQuery: long(b.Dialect)}})
			ended <- err
		}()
		b.running("1")
		cancel()
		if err := <-ended; err == nil {
			b.Error("an undo that was interrupted ends well")
		}
		b.running("0")
		if b.Dialect == dialect.PostgreSQL {
			child := exec.CommandContext(b.Context(), os.Args[0], "-test.run", "^TestLongStatement$")
			child.Env = append(os.Environ(), longEnv+"="+b.DSN)
			noError(b.T, child.Start())
			b.running("1")
			noError(b.T, child.Process.Kill())
			_ = child.Wait() // it was killed
			b.running("0")
		}
		b.free()
		b.undo(run)
	})
}
