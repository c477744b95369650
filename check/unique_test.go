package check_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/check"
)

func onlyUnique(c *check.Config) { c.Only = []string{"uniq"} }

// seats returns a booth that lets a test answer for seats that are sold.
func seats(b *booth, sold func(w http.ResponseWriter, n int)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		before := b.sold()
		answer := record(b, r)
		if answer.status != http.StatusConflict {
			answer.write(w)
			return
		}
		sold(w, before)
	})
}

func (b *booth) sold() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.sales)
}

// ticketNumber writes the ticket with a number.
func ticketNumber(w http.ResponseWriter, n int) {
	w.Header().Set("Location", fmt.Sprintf("/tickets/%07d", n))
	w.WriteHeader(http.StatusOK)
	_, _ = fmt.Fprintf(w, `{"id":"ticket-%07d"}`, n)
}

func TestSameValuesPassWhateverTheApplicationDoesWithThem(t *testing.T) {
	t.Parallel()
	for name, build := range map[string]struct {
		app    *booth
		around func(b *booth) http.Handler
		passes []string
	}{
		"sold twice": {&booth{}, func(b *booth) http.Handler { return b }, []string{"UNIQ-01", "UNIQ-02", "UNIQ-03"}},
		"refused":    {&booth{unique: true}, func(b *booth) http.Handler { return b }, []string{"UNIQ-01", "UNIQ-02", "UNIQ-03", "UNIQ-04"}},
		"given again": {
			&booth{unique: true}, func(b *booth) http.Handler { return seats(b, ticketNumber) },
			[]string{"UNIQ-01", "UNIQ-02", "UNIQ-03"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			report := visit(t, build.app, newLocker(build.around(build.app), looksFirst), onlyUnique)
			failsOnly(t, report)
			passes(t, report, build.passes...)
		})
	}
	t.Run("behind Semel", func(t *testing.T) {
		t.Parallel()
		app := &booth{unique: true}
		report := visit(t, app, guarded(t, app, semel.Policy{}, nil), onlyUnique)
		failsOnly(t, report)
		passes(t, report, "UNIQ-01", "UNIQ-02", "UNIQ-03", "UNIQ-04")
	})
}

// finder sells a seat unless it finds it sold, which takes a moment.
func finder(b *booth) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n := b.ticketFor(r); n > 0 {
			ticketNumber(w, n)
			return
		}
		<-time.After(20 * time.Millisecond)
		record(b, r).write(w)
	})
}

// ticketFor returns the number of the ticket for the requested seat; zero if it is not sold.
func (b *booth) ticketFor(r *http.Request) int {
	var wanted ticket
	_ = json.Unmarshal(peek(r), &wanted)
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Index(b.sales, string(wanted.Seat)) + 1
}

func TestSameValuesFail(t *testing.T) {
	t.Parallel()
	for name, broken := range map[string]struct {
		app    *booth
		around func(b *booth) http.Handler
		fails  []string
	}{
		"crash": {
			&booth{unique: true},
			func(b *booth) http.Handler {
				return seats(b, func(w http.ResponseWriter, _ int) {
					http.Error(w, "duplicate key value violates unique constraint", http.StatusInternalServerError)
				})
			},
			[]string{"UNIQ-01"},
		},
		"false success": {
			&booth{unique: true},
			func(b *booth) http.Handler {
				return seats(b, func(w http.ResponseWriter, n int) { ticketNumber(w, 9_000_000+n) })
			},
			[]string{"UNIQ-02"},
		},
		"find or create": {&booth{}, finder, []string{"UNIQ-03"}},
		"silent refusal": {
			&booth{unique: true},
			func(b *booth) http.Handler {
				return seats(b, func(w http.ResponseWriter, _ int) { w.WriteHeader(http.StatusConflict) })
			},
			[]string{"UNIQ-04"},
		},
		"wrong refusal": {
			&booth{unique: true},
			func(b *booth) http.Handler {
				return seats(b, func(w http.ResponseWriter, _ int) { http.Error(w, "no", http.StatusForbidden) })
			},
			[]string{"UNIQ-04"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			report := visit(t, broken.app, newLocker(broken.around(broken.app), looksFirst), onlyUnique)
			if diff := slices.Compare(having(report, check.Fail), broken.fails); diff != 0 {
				t.Errorf("failing: %v, want %v", having(report, check.Fail), broken.fails)
			}
		})
	}
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
