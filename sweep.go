package semel

import (
	"cmp"
	"time"

	"github.com/semel-dev/semel/internal/sweep"
)

// startSweeping sweeps expired records in the background, where the store can.
func (c *core) startSweeping(every time.Duration) {
	sweeper, ok := StoreAs[Sweeper](c.store)
	if !ok || every < 0 {
		return
	}
	c.inBackground(func() {
		sweep.Every(c.life, cmp.Or(every, 10*time.Second), sweeper.Sweep, func(removed int, took time.Duration, err error) {
			if hook := c.trace.Swept; hook != nil && (removed > 0 || err != nil) && c.life.Err() == nil {
				hook(c.life, SweepInfo{Removed: removed, Took: took, Err: err})
			}
		})
	})
}
