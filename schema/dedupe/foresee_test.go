package dedupe_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/testserver/databases"
	"github.com/semel-dev/semel/schema/dedupe"
)

// PostgreSQL takes the groups of an expression in a table that it never analyzed for one row. A plan that let it nest loops over
// them would read these tables billions of times, and hang.
func TestPlanWithoutStatistics(t *testing.T) {
	t.Parallel()
	b := wrap(t, databases.Open(t, dialect.PostgreSQL))
	b.lateTables()
	const pairs = 600
	b.exec("ALTER TABLE invoice SET (autovacuum_enabled = off); ALTER TABLE line SET (autovacuum_enabled = off)")
	b.fill("invoice (id, number)", 2*pairs, func(i int) string { return fmt.Sprintf("%d, 'n%d'", 100+i, (i+1)/2) })
	b.exec("INSERT INTO line (id, invoice_id, pos) SELECT id, id, id % 2 FROM invoice WHERE id > 100")
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	u, err := dedupe.KeyRule("invoice", []string{"lower(number)"}, true)
	noError(t, err)
	p, err := b.in.Plan(ctx, u, once())
	noError(t, err)
	if p.Groups < pairs {
		t.Errorf("%d groups", p.Groups)
	}
}
