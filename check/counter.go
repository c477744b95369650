package check

import (
	"context"
	"slices"
)

// Counter counts effects: rows, messages, calls. Answers can lie; it cannot.
// Implementations are safe for concurrent use.
type Counter interface {
	// Name says what is counted, for reports, without secrets.
	Name() string
	// PerIntent reports whether Count depends on the values of an intent, such as by a {{n}} in a query. Otherwise
	// Count counts everything.
	PerIntent() bool
	// Count returns the number of effects now. fill replaces the places of a template with the values of an intent. An
	// error says what to do about it.
	Count(ctx context.Context, fill func(string) string) (int64, error)
}

// seesAll reports whether one of the counters sees the effects of any intent.
func seesAll(counters []Counter) bool {
	return slices.ContainsFunc(counters, func(o Counter) bool { return !o.PerIntent() })
}
