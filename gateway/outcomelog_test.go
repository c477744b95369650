package gateway_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/semel-dev/semel/gateway"
	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/testserver/databases"
	"github.com/semel-dev/semel/outcomelog"
	"github.com/semel-dev/semel/outcomelog/archive"
)

// TestOutcomeLog keeps the requests that ran and not their repetitions, with the path of what was made and no more of its address.
func TestOutcomeLog(t *testing.T) {
	t.Parallel()
	d := databases.Open(t, dialect.SQLite)
	log, err := archive.Open(t.Context(), d.DB, nil)
	noError(t, err)
	front := open(t, upstream(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", "https://shop.example/invoices/77?token=s3cr3t#x")
		if r.Header.Get("Refuse") != "" {
			w.WriteHeader(http.StatusConflict)
			return
		}
		w.WriteHeader(http.StatusCreated)
	}), func(c *gateway.Config) { c.OutcomeLog = log })
	for range 2 {
		front.send(t, http.MethodPost, "/invoices?q=s3cr3t", "n=1", "Idempotency-Key", "s3cr3t-1", "Authorization", "Bearer s3cr3t")
	}
	front.send(t, http.MethodPost, "/invoices", "n=1", "Idempotency-Key", "s3cr3t-2", "Refuse", "yes")
	if metrics := front.operate(t, http.MethodGet, "/metrics").body; !strings.Contains(metrics, "\nsemel_outcome_log_dropped_total 0\n") {
		t.Error("the metrics do not say that nothing was dropped")
	}
	noError(t, log.Close())
	log, err = archive.Open(t.Context(), d.DB, &archive.Options{ReadOnly: true})
	noError(t, err)
	page, err := log.Search(t.Context(), archive.Query{})
	noError(t, err)
	if len(page.Entries) != 2 {
		t.Fatalf("%d entries, want 2: %+v", len(page.Entries), page.Entries)
	}
	refused, made := page.Entries[0], page.Entries[1]
	if made.Outcome != outcomelog.Created || made.Made != "/invoices/77" || made.Door != outcomelog.Gateway || made.Status != 201 || len(made.Key) != 64 {
		t.Errorf("got %+v", made)
	}
	if refused.Outcome != outcomelog.Rejected || refused.Made != "" || refused.Status != 409 {
		t.Errorf("got %+v", refused)
	}
	var secrets int
	noError(t, d.DB.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM semel_outcome WHERE door || intent || intent_rest || route || rule || fields || made LIKE '%s3cr3t%'").Scan(&secrets))
	if secrets != 0 {
		t.Error("the log has a secret")
	}
}
