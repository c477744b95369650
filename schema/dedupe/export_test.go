package dedupe

import "time"

// Before calls f before each statement of runs.
func (d *Database) Before(f func(statement string)) { d.before = f }

// NextSize is nextSize.
func NextSize(size int, took time.Duration) int { return nextSize(size, took) }

// ManyTriggers is manyTriggers.
func ManyTriggers(server string) bool { return manyTriggers(server) }
