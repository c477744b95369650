package mysqlstore

import (
	"context"
	"time"

	"github.com/semel-dev/semel/internal/waiting"
)

// backoff bounds how often a statement is repeated that the server undid
// because of another one.
var backoff = waiting.Backoff{Tries: 16, First: time.Millisecond, Most: 100 * time.Millisecond} //nolint:gochecknoglobals // it is never changed.

// rounds bounds how often a verb looks again because others changed the row
// between two of its steps. Each time, one of them got ahead.
const rounds = 64

// retry repeats a step that the server undid because of a deadlock, or because
// it waited for a lock too long. Nothing of such a step has happened.
func retry(ctx context.Context, step func() error) error {
	return backoff.Do(ctx, isConflict, step)
}
