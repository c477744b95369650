// Package sweep removes expired records in the background, in steps that leave room for other load.
package sweep

import (
	"context"
	"time"

	"github.com/semel-dev/semel/internal/waiting"
)

const (
	// step bounds the records that one step removes.
	step = 500
	// Between the steps of one sweep there is a pause for other load: rest
	// times as long as the step took, and at least pause.
	rest  = 4
	pause = 2 * time.Millisecond
)

// Every sweeps at that interval until ctx ends, and reports each step. sweep removes at most limit records, and fewer
// than limit means that none are left for now.
func Every(ctx context.Context, interval time.Duration, sweep func(ctx context.Context, limit int) (removed int, err error),
	report func(removed int, took time.Duration, err error),
) {
	for waiting.Sleep(ctx, interval) {
		for {
			began := time.Now()
			removed, err := sweep(ctx, step)
			took := time.Since(began)
			report(removed, took, err)
			if err != nil || removed < step || !waiting.Sleep(ctx, max(pause, rest*took)) {
				break
			}
		}
	}
}
