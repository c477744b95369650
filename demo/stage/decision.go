package stage

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// maxDecisions limits the decisions on the page.
const maxDecisions = 12

// decision is one line of the gateway's log, in words for the page.
type decision struct {
	At      string `json:"at"`
	Request string `json:"request"`
	Word    string `json:"word"`
	Means   string `json:"means"`
	Tone    string `json:"tone"` // ran, kept or refused

	came time.Time
}

// decisions is the log of the gateway: it keeps the latest decisions and forwards warnings.
type decisions struct {
	next   slog.Handler
	notify func()

	mu   sync.Mutex // guards kept
	kept []decision // in the order of their requests, newest first
}

var _ slog.Handler = (*decisions)(nil)

func newDecisions(next slog.Handler, notify func()) *decisions {
	return &decisions{next: atLeast{next, slog.LevelWarn}, notify: notify}
}

// Enabled implements [slog.Handler].
func (d *decisions) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelInfo }

// Handle implements [slog.Handler].
func (d *decisions) Handle(ctx context.Context, line slog.Record) error {
	if line.Message == "decision" {
		d.keep(line)
	}
	if d.next.Enabled(ctx, line.Level) {
		return d.next.Handle(ctx, line)
	}
	return nil
}

// WithAttrs implements [slog.Handler]; the page shows none of them.
func (d *decisions) WithAttrs([]slog.Attr) slog.Handler { return d }

// WithGroup implements [slog.Handler]; the page shows none of them.
func (d *decisions) WithGroup(string) slog.Handler { return d }

func (d *decisions) keep(line slog.Record) {
	made := decision{came: line.Time}
	line.Attrs(func(a slog.Attr) bool {
		switch a.Key {
		case "route":
			made.Request = a.Value.String()
		case "outcome":
			made.Word = a.Value.String()
		case "took_ms":
			if a.Value.Kind() == slog.KindFloat64 {
				made.came = line.Time.Add(-time.Duration(a.Value.Float64() * float64(time.Millisecond)))
			}
		}
		return true
	})
	made.At = made.came.Format(time.TimeOnly)
	made.Tone, made.Means = meaning(made.Word)
	d.mu.Lock()
	d.kept = append(d.kept, made)
	slices.SortStableFunc(d.kept, func(a, b decision) int { return b.came.Compare(a.came) })
	d.kept = d.kept[:min(len(d.kept), maxDecisions)]
	d.mu.Unlock()
	d.notify()
}

// meaning explains an outcome to a reader who is new to the word.
func meaning(outcome string) (tone, means string) {
	switch outcome {
	case "executed":
		return "ran", "Forwarded to the application; its answer was recorded."
	case "replayed":
		return "kept", "Not forwarded: the caller got the first answer again."
	case "mismatch":
		return "refused", "Not forwarded: the key belongs to another request."
	case "in-flight":
		return "refused", "Not forwarded: the same request is still running."
	case "unknown":
		return "refused", "It is unknown whether it happened, so it is not repeated."
	case "released":
		return "ran", "Forwarded, but without effect; a retry may run."
	}
	return "refused", "Not forwarded."
}

// latest returns the decisions, newest first; never nil.
func (d *decisions) latest() []decision {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]decision{}, d.kept...)
}

func (d *decisions) clear() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.kept = nil
}

// atLeast forwards lines of at least this level.
type atLeast struct {
	slog.Handler

	level slog.Level
}

// Enabled implements [slog.Handler].
func (a atLeast) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= a.level && a.Handler.Enabled(ctx, level)
}
