package semel_test

import (
	"fmt"
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/operator"
	"github.com/semel-dev/semel/store/memstore"
)

// A search counts each record as looked at once, however many pages it reads.
func TestSearchCountsOnce(t *testing.T) {
	t.Parallel()
	const records = 120
	g := newGuard(t, memstore.New(nil), nil)
	for i := range records {
		claim := mustClaim(t, g, testKey(fmt.Sprint(i)))
		if i%2 == 0 {
			mustSucceed(t, claim.Unknown(""))
		} else {
			mustSucceed(t, claim.Complete([]byte("done"), nil))
		}
	}
	for name, tt := range map[string]struct {
		search          operator.Search
		shown, examined int
		outcome         string
	}{
		"all":          {operator.Search{}, records, records, "done"},
		"bounded":      {operator.Search{Examine: semel.MaxListExamined}, records, records, "done"},
		"bare":         {operator.Search{Examine: semel.MaxListExamined, Bare: true}, records, records, ""},
		"of one state": {operator.Search{States: []semel.State{semel.StateCompleted}}, records / 2, records, "done"},
		"a page":       {operator.Search{Limit: 50}, 50, 50, "done"},
		"every second": {operator.Search{Limit: 50, States: []semel.State{semel.StateCompleted}}, 50, 99, "done"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shown := 0
			p, err := operate(g).List(t.Context(), tt.search, func(rec *semel.Record) error {
				if shown++; rec.State == semel.StateCompleted && string(rec.Outcome) != tt.outcome {
					t.Errorf("the outcome is %q, want %q", rec.Outcome, tt.outcome)
				}
				return nil
			})
			if err != nil || shown != tt.shown || p.Examined != tt.examined {
				t.Errorf("got %d records of %d, %v, want %d of %d", shown, p.Examined, err, tt.shown, tt.examined)
			}
		})
	}
}
