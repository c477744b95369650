package dedupe_test

import (
	"errors"
	"testing"
	"time"

	"github.com/semel-dev/semel/schema/dedupe"
)

// SQL of the operator that the database does not take is an error of its own, with the database's words, in a plan and in a run.
func TestWrongSQL(t *testing.T) {
	t.Parallel()
	shops(t, func(b *bench) {
		b.exec("CREATE TABLE file (id int PRIMARY KEY, owner int)")
		for name, change := range map[string]func(*dedupe.Request){
			"winner":     func(q *dedupe.Request) { q.Winner = "order by missing" },
			"syntax":     func(q *dedupe.Request) { q.Winner = "order by (" },
			"policy":     func(q *dedupe.Request) { q.Columns = []string{"phone=sql:max(missing)"} },
			"no set":     func(q *dedupe.Request) { q.Columns = []string{"phone=sql:missing(phone)"} },
			"conditions": func(q *dedupe.Request) { q.References = []string{"file.owner where missing = 1"} },
		} {
			q := request()
			change(&q)
			if _, err := b.tryPlan("customer", "email", q); !errors.Is(err, dedupe.ErrSQL) {
				b.Errorf("%s: got %v", name, err)
			}
		}
		p := b.plan("customer", "email", request())
		before := b.state()
		_, err := b.in.Run(b.Context(), p, &dedupe.Options{By: "test", Pace: dedupe.Pace{MaxLag: time.Second, LagQuery: "SELECT missing"}})
		if !errors.Is(err, dedupe.ErrSQL) || b.state() != before {
			b.Errorf("a query of the lag: got %v", err)
		}
		b.exec("DELETE FROM semel_dedupe_map", "DELETE FROM semel_dedupe_run")
		p.Request.Columns = []string{"phone=sql:max(missing)"} // written by hand, past the look of a plan
		_, err = b.in.Run(b.Context(), p, &dedupe.Options{By: "test"})
		if !errors.Is(err, dedupe.ErrSQL) || b.state() != before {
			b.Errorf("a run: got %v", err)
		}
	})
}

// The end names rows that are the same, whatever their keys are.
func TestFinishNamesTextKeys(t *testing.T) {
	t.Parallel()
	everywhere(t, func(b *bench) {
		b.exec("CREATE TABLE person (id varchar(9) PRIMARY KEY, email varchar(9))", "INSERT INTO person VALUES ('ada', 'a'), ('eve', 'a'), ('bob', 'b')")
		q := request()
		q.Index = "one_email"
		_, err := b.tryFinish(b.plan("person", "email", q))
		b.refused(err, "such as ada and eve (merge them")
	})
}
