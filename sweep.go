package semel

import (
	"cmp"
	"time"

	"github.com/semel-dev/semel/internal/waiting"
)

const (
	// sweepStep bounds the records that one step of a sweep removes.
	sweepStep = 500
	// Between the steps of one sweep there is a pause for other load: sweepRest times as long as the step took, and at
	// least sweepPause.
	sweepRest  = 4
	sweepPause = 2 * time.Millisecond
)

// startSweeping sweeps expired records in the background, where the store can.
func (c *core) startSweeping(every time.Duration) {
	sweeper, ok := StoreAs[Sweeper](c.store)
	if !ok || every < 0 {
		return
	}
	c.inBackground(func() {
		for waiting.Sleep(c.life, cmp.Or(every, 10*time.Second)) {
			for c.sweepOnce(sweeper) {
			}
		}
	})
}

// sweepOnce takes one step, and pauses. It reports whether more may have expired.
func (c *core) sweepOnce(sweeper Sweeper) bool {
	began := time.Now()
	removed, err := sweeper.Sweep(c.life, sweepStep)
	took := time.Since(began)
	if hook := c.trace.Swept; hook != nil && (removed > 0 || err != nil) && c.life.Err() == nil {
		hook(c.life, SweepInfo{Removed: removed, Took: took, Err: err})
	}
	return err == nil && removed >= sweepStep && waiting.Sleep(c.life, max(sweepPause, sweepRest*took))
}
