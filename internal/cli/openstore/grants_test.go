package openstore_test

import (
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/cli/openstore"
	"github.com/semel-dev/semel/internal/cli/openstore/openlog"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/outcomelog"
	"github.com/semel-dev/semel/outcomelog/archive"
)

// The rights that docs/storage.md grants are enough for a store with its outcome log; before they are granted, the error
// says what to do.
func TestDocumentedGrants(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/storage.md")
	must(t, err)
	_, section, _ := strings.Cut(string(page), "## PostgreSQL 13")
	grants := regexp.MustCompile("(?s)```sql\n(.*?)```").FindStringSubmatch(section)
	if grants == nil {
		t.Fatal("the page grants nothing")
	}
	owner := testserver.PostgresDatabase(t)
	role := testserver.PostgresSchema(t) // a name that no role has
	conn, err := pgx.Connect(t.Context(), owner)
	must(t, err)
	t.Cleanup(func() {
		_, err := conn.Exec(t.Context(), "DROP OWNED BY "+role+"; DROP ROLE "+role)
		_ = err // the server of a test ends with it
	})
	defer conn.Close(t.Context())
	u, err := url.Parse(owner)
	must(t, err)
	u.User = url.User(role)
	app := u.String()
	store, err := openstore.Open(t.Context(), owner, nil)
	must(t, err)
	must(t, store.Close())
	before, after, _ := strings.Cut(strings.ReplaceAll(grants[1], "shop_app", role), "GRANT SELECT, INSERT, DELETE ON semel.outcome")
	_, err = conn.Exec(t.Context(), before)
	must(t, err)
	_, err = openlog.Open(t.Context(), app, archive.Options{})
	claimtest.Words(t, err, "permission denied", "user that runs migrations", "semel.outcome_migration")

	log, err := openlog.Open(t.Context(), owner, archive.Options{})
	must(t, err)
	must(t, log.Close())
	_, err = conn.Exec(t.Context(), "GRANT SELECT, INSERT, DELETE ON semel.outcome"+after)
	must(t, err)
	store, err = openstore.Open(t.Context(), app, nil)
	must(t, err)
	claimtest.Wins(t, store, claimtest.Params("k"))
	must(t, store.Close())
	log, err = openlog.Open(t.Context(), app, archive.Options{Retention: time.Hour})
	must(t, err)
	log.Keep(t.Context(), outcomelog.Event{Outcome: outcomelog.Executed, Door: "gateway"})
	must(t, log.Close())
	if n := log.Dropped(); n > 0 {
		t.Errorf("%d entries were dropped", n)
	}
}
