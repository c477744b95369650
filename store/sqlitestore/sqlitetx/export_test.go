package sqlitetx

import "github.com/semel-dev/semel"

// Queued returns how many callers of this process write, or wait to write, for
// an intent.
func (s *Store) Queued(d semel.Digest) int { return s.seat.count(d, 0) }
