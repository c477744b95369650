package mysqlstore

import "time"

// WithoutBounds makes a store wait for locks as it does on MySQL, which cannot
// be told for how long.
func WithoutBounds(o *Options) *Options {
	full := *o
	full.deny.bounded = true
	return &full
}

// HeldUpAfter says after what time a claim counts as one that has waited.
func HeldUpAfter(o *Options, d time.Duration) *Options {
	full := *o
	full.slow = d
	return &full
}

// Ours reports whether transactions run on connections of the package.
func (s *Store) Ours() bool { return s.txOurs }

// HeldUp limits how long a claim may wait without taking another fence.
const HeldUp = heldUp
