package invoices

import (
	"context"
	"fmt"
	"time"

	"github.com/semel-dev/semel/examples/invoices/tallybook"
)

const (
	defaultLatency = 300 * time.Millisecond

	// workTimeout bounds a create, which the client's leaving does not stop.
	workTimeout = 30 * time.Second
)

// tellAccounting simulates a call to a slow accounting service.
func (a *App) tellAccounting(ctx context.Context) error {
	timer := time.NewTimer(a.latency)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-a.closing:
		return tallybook.ErrClosing
	case <-ctx.Done():
		return fmt.Errorf("tell accounting: %w", ctx.Err())
	}
}

// workContext is the context of a create: as in many real applications, the
// work goes on when the client has gone. So a lost answer and a
// second try become two invoices.
func workContext(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), workTimeout)
}
