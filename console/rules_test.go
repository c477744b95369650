package console_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/console"
	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/internal/testserver/databases"
	"github.com/semel-dev/semel/rules"
	"github.com/semel-dev/semel/schema/dedupe"
)

const uniqueRules = `version: 1
unique:
  - name: customer_email
    says: A customer has an e-mail address of its own.
    table: customer
    scope: global
    fields: email
    nulls: forbidden
    on_conflict: reject
  - name: order_number
    says: An order has a number of its own.
    table: orders
    scope: global
    fields: number
    nulls: forbidden
    on_conflict: reject
`

// The rules' page compares with the database when an operator asks, and not before.
func TestRules(t *testing.T) {
	t.Parallel()
	d := databases.Open(t, dialect.SQLite)
	d.Exec(t, "CREATE TABLE customer (id INTEGER PRIMARY KEY, email TEXT NOT NULL)", "CREATE TABLE orders (id INTEGER PRIMARY KEY, number TEXT NOT NULL)",
		"CREATE UNIQUE INDEX order_number ON orders (number)", "INSERT INTO customer VALUES (1, 'a'), (2, 'a')")
	const evil = `"><script>alert(1)</script>`
	w := openSet(t, console.Options{
		Database: &dedupe.Database{DB: d.DB, Dialect: d.Dialect}, Rules: must.Get(rules.Parse("rules.yaml", []byte(uniqueRules))),
		Routes: []console.Route{
			{Name: evil, Requests: []string{"POST /" + evil}, Key: evil, Scope: evil, Asks: evil, More: []string{evil}, Policy: semel.Policy{OnUnknown: semel.Reconcile, Retention: 24 * 3600e9}},
			{Name: "health", Requests: []string{"POST /health"}, Unprotected: true},
		},
		Scripts: func() map[string]console.ScriptCounts {
			return map[string]console.ScriptCounts{evil: {Keyed: 7, Unprotected: map[string]uint64{"beacon": 2, "stream": 1}}}
		},
	})
	robin, alice := w.logIn(t, robinToken), w.logIn(t, aliceToken)
	_, page := robin.get("/console/rules")
	contains(t, page, "not compared", "!>enforced<", "!Compare them with", "&lt;script&gt;", "!<script>", "for 24h;", "the application is asked", "pass without protection",
		"7 requests had a key since this process began. Without one, as their pages report: beacon (2) stream (1)<")
	status, _ := robin.post("/console/rules", url.Values{"form": {hidden(t, page, "form")}})
	if status != http.StatusForbidden {
		t.Errorf("a token that may only look: got status %d", status)
	}
	_, page = alice.get("/console/rules")
	contains(t, page, "They have not been compared")
	_, page = alice.post("/console/rules", url.Values{"form": {hidden(t, page, "form")}})
	contains(t, page, "Compared with the database (sqlite", ">not enforced<", ">enforced<", "customer_email")
	_, page = robin.get("/console/rules")
	contains(t, page, ">not enforced<")

	noError(t, d.DB.Close())
	_, page = alice.get("/console/rules")
	status, page = alice.post("/console/rules", url.Values{"form": {hidden(t, page, "form")}})
	if status != http.StatusServiceUnavailable {
		t.Errorf("without a database: got status %d", status)
	}
	contains(t, page, "could not be compared", ">not enforced<") // the last comparison is still shown, with its time
}

// A console without rules, routes and settings says so.
func TestNoRules(t *testing.T) {
	t.Parallel()
	b := open(t).logIn(t, aliceToken)
	_, page := b.get("/console/rules")
	contains(t, page, "This process has no routes", "This process has none.", "!<button>Compare")
	_, page = b.get("/console/settings")
	contains(t, page, "does not show its configuration")
	w := openSet(t, console.Options{Settings: []console.Setting{{Name: "Form secrets", Value: "2 set"}}})
	_, page = w.logIn(t, robinToken).get("/console/settings")
	contains(t, page, "Form secrets", "2 set")
}
