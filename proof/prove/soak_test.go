package main

import (
	"math"
	"strings"
	"testing"
	"time"
)

// A soak fails where something grows or is hardly seen, and where callers get no answer.
func TestSoakVerdict(t *testing.T) {
	t.Parallel()
	verdict := func(pending int, of func(i, column int) float64) string {
		s := &soak{}
		for i := range 100 {
			one := sample{at: time.Duration(i) * time.Second}
			for column := range columns {
				one.values[column] = of(i, column)
			}
			s.series = append(s.series, one)
		}
		r := &result{pending: pending}
		s.judge(r, shortest)
		return strings.Join(r.violations, "\n")
	}
	level := func(int, int) float64 { return 1000 }
	if got := verdict(mostUnanswered, level); got != "" {
		t.Errorf("a flat run: %s", got)
	}
	if got := verdict(mostUnanswered+1, level); !strings.Contains(got, "no answer") {
		t.Errorf("gateways that stop to answer: %q", got)
	}
	for column, title := range titles() {
		for name, then := range map[string]func(i int) float64{
			"grows":         func(i int) float64 { return 1000 + 15*float64(i) },
			"is never seen": func(int) float64 { return math.NaN() },
		} {
			got := verdict(0, func(i, of int) float64 {
				if of == column {
					return then(i)
				}
				return 1000
			})
			if !strings.HasPrefix(got, title) || strings.Contains(got, "\n") {
				t.Errorf("%s %s: %q", title, name, got)
			}
		}
	}
	if got := readMetrics("# TYPE go_goroutines gauge\ngo_goroutines 7\nprocess_open_fds 9\n"); got[goroutines] != 7 || got[descriptors] != 9 || !math.IsNaN(got[memory]) {
		t.Errorf("read %v", got)
	}
}
