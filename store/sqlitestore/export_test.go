package sqlitestore

// OneCommitEach makes a store commit every step on its own, to measure what
// sharing commits is worth.
func OneCommitEach(o *Options) *Options {
	alone := *o
	alone.batch = 1
	return &alone
}

// Queued returns the number of steps that wait for the writer.
func (s *Store) Queued() int { return len(s.queue) }
