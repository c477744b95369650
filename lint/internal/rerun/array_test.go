package rerun_test

import (
	"testing"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/testserver/databases"
	"github.com/semel-dev/semel/lint/internal/rerun"
)

// An array gets the values of rows, as one value would, so that a statement about several rows finds some.
func TestArrays(t *testing.T) {
	t.Parallel()
	d := databases.Open(t, dialect.PostgreSQL)
	letCopy(d)
	d.Exec(t, "CREATE TYPE colour AS ENUM ('red', 'green')", "CREATE DOMAIN code AS varchar(9)",
		`CREATE TABLE stock (id uuid PRIMARY KEY, code code NOT NULL, colour colour NOT NULL, tags text[] NOT NULL, seen timestamptz NOT NULL, "group" integer NOT NULL, n integer NOT NULL)`)
	want := []struct {
		statement string
		kind      rerun.Kind
	}{
		{"UPDATE stock SET n = n + 1 WHERE id = ANY ($1::uuid[])", rerun.Differs},
		{"UPDATE stock SET n = 5 WHERE id = ANY (@ids::uuid[])", rerun.Same},
		{"UPDATE stock SET n = n + 1 WHERE code = ANY ($1::code[])", rerun.Differs},
		{"UPDATE stock SET n = n + 1 WHERE colour = ANY (sqlc.arg('colours')::colour[])", rerun.Differs},
		{"UPDATE stock SET n = n + 1 WHERE seen = ANY ($1::timestamptz[])", rerun.Differs},
		{"UPDATE stock SET n = n + 1 WHERE NOT \"group\" = ANY ($1)", rerun.Differs},
		{"UPDATE stock SET tags = $1::text[] WHERE n > 0", rerun.Same},
		{"UPDATE stock SET n = n + 1 WHERE $1 = ANY (tags)", rerun.Differs},
		{"UPDATE stock SET n = n + 1 WHERE tags @> ARRAY[$1::text] OR n > 0", rerun.Differs},
		{"WITH i AS (SELECT unnest(@ids::uuid[]) AS id, unnest(@ns::int[]) AS n) UPDATE stock SET n = stock.n + i.n FROM i WHERE stock.id = i.id", rerun.Differs},
		{"WITH i AS (SELECT unnest(@ids::uuid[]) AS id, unnest(@ns::int[]) AS n) UPDATE stock SET n = i.n FROM i WHERE stock.id = i.id", rerun.Same},
		{"INSERT INTO stock SELECT unnest($1::uuid[]), 'x', unnest(ARRAY['red','green']::colour[]), '{}', now(), 1, 1 ON CONFLICT DO NOTHING", rerun.Same},
	}
	var list []string
	for _, w := range want {
		list = append(list, w.statement)
	}
	outcomes, err := rerun.Run(t.Context(), d.DSN, texts(list...), &rerun.Options{Yes: true})
	if err != nil {
		t.Fatal(err)
	}
	for i, got := range outcomes {
		if got.Kind != want[i].kind {
			t.Errorf("want %s of %s: %s", want[i].kind, want[i].statement, got.String())
		}
	}
}
