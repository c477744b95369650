package main

import "math"

// forever is later than every instant, in milliseconds.
const forever = math.MaxInt64 / 4

// span bounds an instant: it is not before from and not after to, in
// milliseconds of the store's clock.
type span struct{ from, to int64 }

func instant(ms int64) span { return span{ms, ms} }

func (s span) plus(ms int64) span { return span{s.from + ms, min(s.to+ms, forever)} }

func (s span) has(ms int64) bool { return s.from <= ms && ms <= s.to }
