package txn

import (
	"context"
	"log/slog"
	"time"

	"github.com/semel-dev/semel"
)

// Claimed is the claim that a transaction settles.
type Claimed struct {
	Params semel.ClaimParams // of an adopted claim the digest alone
	Fence  semel.Fence
	// Adopted: it was committed before. Otherwise it was won inside of the transaction.
	Adopted bool
}

// Mark is an intent inside of a transaction that became unknown.
type Mark struct {
	Params     semel.ClaimParams
	Settlement semel.Settlement
}

// DB takes the steps that differ between databases. P is an open transaction in
// one.
type DB[P comparable] interface {
	// Enter begins a step, which Leave ends; a closed store refuses it.
	Enter(ctx context.Context, act string) error
	Leave()
	// Check refuses a settlement that cannot be stored, and brings the others
	// into the form that is.
	Check(v *semel.Settlement) error
	// Save sets a savepoint, and Undo goes back to it.
	Save(ctx context.Context, in P, savepoint string) error
	Undo(ctx context.Context, in P, savepoint string)
	// Claim claims in an open transaction, or returns the record in its way.
	Claim(ctx context.Context, in P, p *semel.ClaimParams, wait time.Duration) (rec semel.Record, won bool, err error)
	// Settle settles a claim of the transaction, behind the savepoint that was
	// set for it. [semel.ErrLost]: the claim is gone.
	Settle(ctx context.Context, in P, c *Claimed, v *semel.Settlement, savepoint string) error
	// Keep records a mark on its own, unless there is another record by now.
	Keep(ctx context.Context, m *Mark) error
	// Conflict reports whether the transaction can succeed when it runs again,
	// Undone whether the error ended the transaction as a whole.
	Conflict(err error) bool
	Undone(err error) bool
	// Translate adds the act and a hint to an error of the driver.
	Translate(act string, err error) error
}

// Open is a transaction of the store's own, with a claim in it.
type Open[P comparable] interface {
	Place() P
	Fence() semel.Fence
	// Commit settles the claim and commits. Where an adopted claim is not there any more, it rolls back
	// with [semel.ErrLost].
	Commit(ctx context.Context, c *Claimed, v *semel.Settlement) (End, error)
	// Recover is called after Commit returned Gone for a claim of its own, and after Close: it records
	// what can be said of work whose transaction ended under it.
	Recover(ctx context.Context, c *Claimed, v *semel.Settlement) error
	// Close rolls back, unless it was committed, and gives the connection back.
	Close()
}

// End says how a commit ended.
type End uint8

const (
	// Committed means committed, with or without an error that leaves it unknown.
	Committed End = iota
	// RolledBack means that nothing of it happened.
	RolledBack
	// EndedByWork means that the work called Commit or Rollback of its handle.
	EndedByWork
	// Gone means that the transaction, or the claim in it, no longer exists.
	Gone
)

// Transactions opens the transactions of one store.
type Transactions[P comparable] struct {
	DB      DB[P]
	Store   semel.Store
	Name    string // of the store's package, the first word of errors
	Log     *slog.Logger
	Timeout time.Duration // of what has to be done after the context has ended
}

// Keep records marks after a rollback, each in a transaction of its own.
func (s *Transactions[P]) Keep(ctx context.Context, marks []Mark) {
	if len(marks) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.Timeout)
	defer cancel()
	for _, m := range marks {
		if err := s.DB.Keep(ctx, &m); err != nil {
			s.Log.LogAttrs(ctx, slog.LevelError, "what became unknown in a transaction that was rolled back could not be recorded",
				slog.String("digest", m.Params.Digest.String()), slog.Any("error", err))
		}
	}
}

// Warn logs what the work has done to a transaction.
func (s *Transactions[P]) Warn(ctx context.Context, c *Claimed, text string) {
	s.Log.LogAttrs(ctx, slog.LevelWarn, text, slog.String("digest", c.Params.Digest.String())) //nolint:sloglint // the callers' texts are static.
}
