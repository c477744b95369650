package console_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/semel-dev/semel/console"
	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/internal/testserver/databases"
	"github.com/semel-dev/semel/outcomelog"
	"github.com/semel-dev/semel/outcomelog/archive"
)

// openLogged opens a console with an outcome log that has these events.
func openLogged(t *testing.T, events ...outcomelog.Event) (*world, *databases.Database) {
	t.Helper()
	d := databases.Open(t, dialect.SQLite)
	log := must.Get(archive.Open(t.Context(), d.DB, nil))
	for _, e := range events {
		log.Keep(t.Context(), e)
	}
	noError(t, log.Close())
	read := must.Get(archive.Open(t.Context(), d.DB, &archive.Options{ReadOnly: true}))
	return openSet(t, console.Options{OutcomeLog: read}), d
}

// An operator finds the request that made invoice 77 by what was made, by the caller's scope and key, and by the rule that refused
// another one, and continues to its record.
func TestOutcomeLog(t *testing.T) {
	t.Parallel()
	w := open(t)
	digest := w.answer(t, "alice", "order-77", "ok")
	log, _ := openLogged(t,
		outcomelog.Event{Outcome: outcomelog.Created, Key: digest.String(), Route: "invoices", Status: 201, Made: "/invoices/77"},
		outcomelog.Event{Outcome: outcomelog.Rejected, Key: strings.Repeat("ab", 32), Route: "customers", Rule: "customer_email", Fields: []string{"email"}, Status: 409})
	b := log.logIn(t, aliceToken)
	link := `href="/console/records/` + digest.String() + `"`
	for query, want := range map[string][]string{
		"":                                 {"/invoices/77", "customer_email", "2 entries of the log were looked at: all there are", "remembered for 30 days"},
		"?made=77":                         {"/invoices/77", link, "!data-name=\"Route\" title=\"customers"},
		"?made=78":                         {"The log has no such request", "!looked at", "!/invoices/77"},
		"?rule=none":                       {"No request among those", "2 entries of the log were looked at"},
		"?scope=alice&name=order-77":       {"/invoices/77"},
		"?scope=bob&name=order-77":         {"The log has no such request"},
		"?rule=customer_email&field=email": {"rejected", "no location", "!/invoices/77"},
		"?outcome=rejected":                {"<option selected>rejected", "!/invoices/77"},
		"?key=" + digest.String()[:20]:     {"/invoices/77", "1 entry of the log was looked at"},
		"?scope=alice":                     {"A scope and a key belong together", "!all there are"},
		"?scope=alice&name=x&key=ab":       {"not by both"},
		"?after=x":                         {"does not say where to go on"},
	} {
		status, page := b.get("/console/log" + query)
		if status != http.StatusOK {
			t.Errorf("%s: got %d", query, status)
		}
		contains(t, page, want...)
	}
	b = w.logIn(t, robinToken)
	_, page := b.get("/console/log")
	contains(t, page, "No outcome log is kept")
	_, page = b.get("/console/records/" + digest.String())
	contains(t, page, "!in the outcome log")
}

// A page has fifty entries, and a link to the older ones.
func TestOutcomeLogPages(t *testing.T) {
	t.Parallel()
	var events []outcomelog.Event
	for i := range 120 {
		events = append(events, outcomelog.Event{Outcome: outcomelog.Created, Made: "/n/" + strconv.Itoa(i)})
	}
	w, _ := openLogged(t, events...)
	b := w.logIn(t, robinToken)
	seen, pages := 0, 0
	for path := "/console/log?outcome=created"; path != ""; pages++ {
		_, page := b.get(path)
		seen += strings.Count(page, `data-name="Made"`)
		path = older(page, "/console/log")
	}
	if seen != 120 || pages != 3 {
		t.Errorf("%d entries on %d pages, want 120 on 3", seen, pages)
	}
}

// What an application answered is shown as text, and a database that fails is named.
func TestOutcomeLogHostile(t *testing.T) {
	t.Parallel()
	w, d := openLogged(t, outcomelog.Event{
		Door: `"><i>`, Outcome: outcomelog.Created, Key: `javascript:alert(1)`, Route: "<script>alert(1)</script>", Rule: "\u202e<b>", Fields: []string{"<script>"},
		Made: `/a"><script>alert(1)</script>`,
	})
	b := w.logIn(t, aliceToken)
	_, page := b.get(`/console/log?made="><script>&rule=<script>&key="onfocus=x&field=<b>`)
	contains(t, page, "!<script>", `!"onfocus`, "!<b>")
	_, page = b.get("/console/log")
	contains(t, page, "!<script>alert", "202E›", "!javascript:alert(1)\"")
	d.Exec(t, "DROP TABLE semel_outcome")
	status, page := b.get("/console/log?made=77")
	if status != http.StatusServiceUnavailable {
		t.Errorf("without its table: got %d", status)
	}
	contains(t, page, "The outcome log cannot be read")
}
