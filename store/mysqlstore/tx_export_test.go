package mysqlstore

// WithoutBounds makes a store wait for locks as it does on MySQL, which cannot
// be told for how long.
func WithoutBounds(o *Options) *Options {
	full := *o
	full.deny.bounded = true
	return &full
}

// Ours reports whether transactions run on connections of the package.
func (s *Store) Ours() bool { return s.txOurs }

// HeldUp limits how long a claim may wait without taking another fence.
const HeldUp = heldUp
