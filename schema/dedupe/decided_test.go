package dedupe_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/semel-dev/semel/schema/catalog"
	"github.com/semel-dev/semel/schema/dedupe"
	"github.com/semel-dev/semel/schema/dedupe/near"
)

// decisions lists people by the letters of their names, and lets a person merge the second row of the first group into the first.
func (b *bench) decisions() *near.Decisions {
	b.Helper()
	schema, err := catalog.Read(b.Context(), b.DB, b.Dialect)
	noError(b.T, err)
	table, _ := schema.Table("people")
	by, err := near.ParseBy("name:letters")
	noError(b.T, err)
	found, err := near.Find(b.Context(), b.DB, b.Dialect, &near.Search{Table: table, By: []near.By{by}})
	noError(b.T, err)
	var file bytes.Buffer
	noError(b.T, found.Write(&file))
	lines := strings.SplitAfterN(file.String(), "\n", 4)
	text := lines[0] + strings.Replace(lines[1], "1,,", "1,keep,", 1) + strings.Replace(lines[2], "1,,", "1,merge,", 1)
	made, err := near.ReadDecisions(strings.NewReader(text))
	noError(b.T, err)
	return made
}

func (b *bench) people() {
	b.Helper()
	b.exec("CREATE TABLE people (id varchar(40) PRIMARY KEY, name varchar(40))",
		"CREATE TABLE visits (id int PRIMARY KEY, person varchar(40) REFERENCES people (id))",
		`INSERT INTO people VALUES ('a $1 ''x'' "y', 'Åsa'), ('b', 'asa'), ('c', 'Bo')`,
		"INSERT INTO visits VALUES (1, 'b'), (2, 'c')")
}

// TestDecided merges the rows that a person decided about, and no others, and takes it back.
func TestDecided(t *testing.T) {
	t.Parallel()
	everywhere(t, func(b *bench) {
		b.people()
		b.reversible(func() {
			p, err := b.in.PlanDecided(b.Context(), "people", b.decisions(), request())
			noError(b.T, err)
			if p.Groups != 1 || p.Losers != 1 || p.Children[0].Rows != 1 {
				b.Errorf("got the plan %+v, want one loser with one visit", p)
			}
			run := b.merge(p).Run
			b.want("SELECT id FROM people ORDER BY id", `a $1 'x' "y c`)
			b.want("SELECT person FROM visits ORDER BY id", `a $1 'x' "y c`)
			if _, err := b.in.InstallGuard(b.Context(), p, &dedupe.Options{By: "test"}); err == nil {
				b.Error("there is a guard without a rule")
			}
			b.undo(run)
		})
	})
}

// TestDecidedAndChanged: a plan is refused when a row changed after the decision, and a group of a run when one has gone.
func TestDecidedAndChanged(t *testing.T) {
	t.Parallel()
	everywhere(t, func(b *bench) {
		b.people()
		made := b.decisions()
		p, err := b.in.PlanDecided(b.Context(), "people", made, request())
		noError(b.T, err)
		b.exec("UPDATE people SET name = 'Eva' WHERE id = 'b'")
		if _, err := b.in.PlanDecided(b.Context(), "people", made, request()); err == nil || !strings.Contains(err.Error(), `the row ["b"] is not as the list has it`) {
			b.Errorf("got %v, want the row that changed", err)
		}
		b.exec("DELETE FROM visits", "DELETE FROM people WHERE id = 'b'")
		report, err := b.in.Run(b.Context(), p, &dedupe.Options{By: "test"})
		noError(b.T, err)
		if report.Merged != 0 || len(report.Refusals) != 1 {
			b.Errorf("got %+v, want the group refused", report)
		}
	})
}
