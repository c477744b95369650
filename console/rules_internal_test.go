package console

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/schema/verify"
)

// Promise 8: at most one comparison runs, it has an end, and one that fails leaves the last result as it was.
func TestVerification(t *testing.T) {
	t.Parallel()
	var v verification
	report := &verify.Report{Rules: 7}
	err := v.compareRules(t.Context(), func(ctx context.Context) (*verify.Report, error) {
		if end, ok := ctx.Deadline(); !ok || time.Until(end) > verifyTime {
			t.Error("a comparison has no end")
		}
		second := v.compareRules(ctx, func(context.Context) (*verify.Report, error) {
			t.Error("two comparisons run at once")
			return nil, nil
		})
		if !errors.Is(second, errVerifying) {
			t.Errorf("a second comparison: got %v", second)
		}
		return report, nil
	})
	if got, at := v.last(); err != nil || got != report || at.IsZero() {
		t.Errorf("got %v at %v, error %v", got, at, err)
	}
	broken := errors.New("the database is down")
	if err := v.compareRules(t.Context(), func(context.Context) (*verify.Report, error) { return nil, broken }); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	if got, _ := v.last(); got != report {
		t.Errorf("after a failure the last result is %v", got)
	}
}

func TestSpan(t *testing.T) {
	t.Parallel()
	got := map[time.Duration]string{}
	want := map[time.Duration]string{24 * time.Hour: "24h", 90 * time.Minute: "1h30m", time.Minute: "1m", 10 * time.Second: "10s", 3610 * time.Second: "1h0m10s", 300 * time.Millisecond: "300ms"}
	for d := range want {
		got[d] = span(d)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A clock that jumped makes no duration.
func TestAfter(t *testing.T) {
	t.Parallel()
	began := time.Now()
	got := map[string]string{
		"after":   after(&semel.Record{ClaimedAt: began, SettledAt: began.Add(1500 * time.Millisecond)}),
		"before":  after(&semel.Record{ClaimedAt: began, SettledAt: began.Add(-time.Hour)}),
		"nowhere": after(&semel.Record{SettledAt: began}),
	}
	if diff := cmp.Diff(map[string]string{"after": " after 1.5s", "before": "", "nowhere": ""}, got); diff != "" {
		t.Error(diff)
	}
}
