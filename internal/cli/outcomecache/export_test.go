package outcomecache

import "time"

// SetNow makes the cache count by a clock that tests move.
func (o *Options) SetNow(now func() time.Time) { o.now = now }
