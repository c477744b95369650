package check_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/check"
)

// seats returns a booth that lets a test answer for seats that are sold.
func seats(b *booth, sold func(http.ResponseWriter)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := record(b, r)
		if answer.status != http.StatusConflict {
			answer.write(w)
			return
		}
		sold(w)
	})
}

// TestSilentRefusal: a refusal of the same values has to name what is there.
func TestSilentRefusal(t *testing.T) {
	t.Parallel()
	app := &booth{unique: true}
	silent := seats(app, func(w http.ResponseWriter) { w.WriteHeader(http.StatusConflict) })
	report := visit(t, app, newLocker(silent, looksFirst), func(c *check.Config) { c.Only = []string{"uniq"} })
	wantHaving(t, report, check.Fail, []string{"UNIQ-04"})
}

// seatSales counts the sales of the seat of one intent.
type seatSales struct{ *booth }

func (seatSales) PerIntent() bool { return true }
func (s seatSales) Count(_ context.Context, fill func(string) string) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var n int64
	for _, seat := range s.sales {
		if seat == fill("{{n}}") {
			n++
		}
	}
	return n, nil
}

// TestSameValuesAreCountedOnce: two keys with one seat get the same count from such a counter.
func TestSameValuesAreCountedOnce(t *testing.T) {
	t.Parallel()
	for _, app := range []*booth{{}, {unique: true}} {
		report := visit(t, seatSales{app}, guarded(t, app, semel.Policy{}, nil), nil)
		failsOnly(t, report)
		passes(t, report, "UNIQ-02", "UNIQ-03", "RACE-04", "RACE-08", "SCOPE-02")
	}
}
