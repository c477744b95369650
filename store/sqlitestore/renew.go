package sqlitestore

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/sqlitestore/internal/record"
)

//go:embed sql/renew.sql
var renewSQL string

// Renew implements [semel.Store].
func (s *Store) Renew(ctx context.Context, d semel.Digest, f semel.Fence, lease time.Duration) error {
	if lease < time.Millisecond {
		return fmt.Errorf("sqlitestore: lease %v is shorter than a millisecond", lease)
	}
	return s.do(ctx, "renew", func(ctx context.Context, t *tx) error {
		changed, err := t.renew.changes(ctx, record.Column(f), d[:], t.now, t.now+lease.Milliseconds())
		switch {
		case err != nil:
			return err
		case changed == 0:
			return semel.ErrLost
		}
		t.dirty = true
		t.pages++
		return nil
	})
}
