package console_test

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/internal/testserver/databases"
	"github.com/semel-dev/semel/outbox"
	"github.com/semel-dev/semel/schema/dedupe"
)

// shop is a business database in which customers were merged, and their orders moved.
type shop struct {
	*world
	*databases.Database

	run int64
}

func openShop(t *testing.T) *shop {
	t.Helper()
	d := databases.Open(t, dialect.SQLite)
	d.Exec(t, "CREATE TABLE customer (id INTEGER PRIMARY KEY, email TEXT)", "CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL REFERENCES customer (id))",
		"INSERT INTO customer VALUES (1, 'a'), (2, 'a'), (3, 'a'), (4, 'b'), (5, 'b')", "INSERT INTO orders VALUES (10, 1), (20, 2), (30, 3), (50, 5)")
	in := &dedupe.Database{DB: d.DB, Dialect: d.Dialect}
	rule := must.Get(dedupe.KeyRule("customer", []string{"email"}, false))
	plan := must.Get(in.Plan(t.Context(), rule, dedupe.Request{Winner: "oldest", Losers: "delete", Cycles: "refuse"}))
	report := must.Get(in.Run(t.Context(), plan, &dedupe.Options{By: "<script>x</script>"}))
	return &shop{openWith(t, in), d, report.Run}
}

func (s *shop) customers(t *testing.T) (n int) {
	t.Helper()
	noError(t, s.DB.QueryRowContext(t.Context(), "SELECT count(*) FROM customer").Scan(&n))
	return n
}

// A merge is taken back by the record, by the group and as a whole, with a reason in the audit trail; a refused undo says why.
func TestUndo(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	b := s.logIn(t, aliceToken)
	path := "/console/duplicates/" + strconv.FormatInt(s.run, 10)
	_, page := b.get("/console/duplicates")
	contains(t, page, `href="`+path+`"`, "3 merged", "finished", "!<script>")
	_, page = b.get("/console/duplicates?key=3&table=customer")
	contains(t, page, "Merged into", "[&#34;1&#34;]")
	_, page = b.get("/console/duplicates?key=77")
	contains(t, page, "No row with this key was merged")
	_, page = b.get(path)
	contains(t, page, "3 merged", "!<script>")

	form := url.Values{"form": {hidden(t, page, "form")}, "reason": {"they are two people"}}
	for _, test := range []struct {
		change   url.Values
		status   int
		says     string
		customer int
	}{
		{url.Values{}, 422, "choose the run, a group or a record", 2},
		{url.Values{"what": {"group"}, "number": {"x"}}, 422, "a group has a number", 2},
		{url.Values{"what": {"record"}}, 422, "type the key of the row", 2},
		{url.Values{"what": {"run"}, "reason": {""}}, 422, "say how you know", 2},
		{url.Values{"what": {"record"}, "record": {"77"}}, 409, "did not merge the row 77", 2},
		{url.Values{"what": {"record"}, "record": {"3"}}, 200, "Undone: ", 3},
		{url.Values{"what": {"run"}}, 200, "Undone: ", 5},
		{url.Values{"what": {"run"}}, 409, "was undone already", 5},
	} {
		send := url.Values{"form": form["form"], "reason": form["reason"]}
		maps.Copy(send, test.change)
		status, page := b.post(path, send)
		if status != test.status {
			t.Errorf("%v: got status %d, want %d", test.change, status, test.status)
		}
		contains(t, page, test.says, "!<script>")
		if n := s.customers(t); n != test.customer {
			t.Errorf("%v: there are %d customers, want %d", test.change, n, test.customer)
		}
	}
	_, page = b.get("/console/audit")
	contains(t, page, "alice", "undo", "they are two people", "record &#34;3&#34;")
}

// The pages count few of a large run's rows, and say how many it began with.
func TestLargeRun(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	s.Exec(t, "INSERT INTO semel_dedupe_run (name, tbl, plan, started_by) VALUES ('number', 'main.invoice', '{}', 'bob')",
		"INSERT INTO semel_dedupe_map (run, grp, item, loser, winner, state) VALUES (2, 100001, 100001, '[\"1\"]', '[\"2\"]', 1)")
	b := s.logIn(t, aliceToken)
	_, page := b.get("/console/duplicates")
	contains(t, page, `<data value="100001">100001</data> found; <code>semel dedupe status</code>`, "3 merged, 0 open", "!1 merged")
	_, page = b.get("/console/duplicates?before=2")
	contains(t, page, "!Run 2", "3 merged, 0 open")
	_, page = b.get("/console/duplicates/2")
	contains(t, page, "100001</data> found", "!1 merged")
}

// An undo says which rows it left as they are, because they were changed since.
func TestUndoKeeps(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	s.Exec(t, "UPDATE orders SET customer_id = 4 WHERE id = 20")
	b := s.logIn(t, aliceToken)
	path := "/console/duplicates/" + strconv.FormatInt(s.run, 10)
	_, page := b.get(path)
	_, page = b.post(path, url.Values{"form": {hidden(t, page, "form")}, "what": {"run"}, "reason": {"a wrong rule"}})
	contains(t, page, "Undone: ", "Rows that were left as they are", "customer_id was changed since the merge")
}

// Promise 10: a token that may only look undoes nothing and decides on no message of the outbox.
func TestReaderOfDatabase(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	robin := s.logIn(t, robinToken)
	for _, path := range []string{"/console/duplicates/" + strconv.FormatInt(s.run, 10), "/console/outbox/held?id=1"} {
		_, page := robin.get(path)
		contains(t, page, "Your token may only look", "!<textarea")
		status, page := robin.post(path, url.Values{"form": {hidden(t, page, "form")}, "what": {"run"}, "as": {"skip"}, "reason": {"x"}})
		if status != http.StatusForbidden {
			t.Errorf("%s: got status %d", path, status)
		}
		contains(t, page, "may only look")
	}
	if n := s.customers(t); n != 2 {
		t.Errorf("there are %d customers", n)
	}
}

// Pages of a database that is not named, has no tables or does not answer say so, and keep what was typed.
func TestNoDatabase(t *testing.T) {
	t.Parallel()
	b := open(t).logIn(t, aliceToken)
	for _, path := range []string{"/console/outbox", "/console/duplicates", "/console/outbox/held?id=1"} {
		_, page := b.get(path)
		contains(t, page, "semel console --store … --dsn")
	}
	if status, _ := b.get("/console/duplicates/1"); status != http.StatusNotFound {
		t.Errorf("a run without a database: got status %d", status)
	}

	bare := databases.Open(t, dialect.SQLite)
	b = openWith(t, &dedupe.Database{DB: bare.DB, Dialect: bare.Dialect}).logIn(t, aliceToken)
	_, page := b.get("/console/duplicates")
	contains(t, page, "Nothing was merged in this database")
	_, page = b.get("/console/outbox")
	contains(t, page, "the database has no tables of semel_outbox")

	s := openShop(t)
	b = s.logIn(t, aliceToken)
	path := "/console/duplicates/" + strconv.FormatInt(s.run, 10)
	_, page = b.get(path)
	form := hidden(t, page, "form")
	noError(t, s.DB.Close())
	for _, path := range []string{"/console/duplicates", path} {
		status, page := b.get(path)
		if status != http.StatusServiceUnavailable {
			t.Errorf("%s: got status %d", path, status)
		}
		contains(t, page, "The business database does not answer")
	}
	status, page := b.post(path, url.Values{"form": {form}, "what": {"run"}, "reason": {"a wrong rule"}})
	if status != http.StatusServiceUnavailable {
		t.Errorf("got status %d", status)
	}
	contains(t, page, "a wrong rule", `value="run" checked`)
}

// noQueue is a publisher that can publish nothing, for good.
type noQueue struct{}

// Publish implements [outbox.Publisher].
func (noQueue) Publish(_ context.Context, batch []outbox.Message) []error {
	errs := make([]error, len(batch))
	for i := range batch {
		errs[i] = outbox.Permanent(errors.New("no such queue <script>x</script>"))
	}
	return errs
}

// A message of the outbox that fails is seen with its error, and released or skipped with a reason.
func TestOutbox(t *testing.T) {
	t.Parallel()
	d := databases.Open(t, dialect.SQLite)
	w := openWith(t, &dedupe.Database{DB: d.DB, Dialect: d.Dialect})
	out := must.Get(outbox.Open(t.Context(), d.DB, nil))
	const id = "order 17 & <b>"
	noError(t, out.Add(t.Context(), d.DB, outbox.Message{ID: id, Topic: "orders", Key: "k"}, outbox.Message{ID: "order-18", Topic: "orders", Key: "k"}))
	relay := must.Get(outbox.NewRelay(out, w.guard, noQueue{}, &outbox.RelayOptions{Lease: time.Second}))
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- relay.Run(ctx) }()
	for must.Get(out.Stats(t.Context())).Stopped == 0 {
		if t.Context().Err() != nil {
			t.Fatal("the message was not stopped")
		}
	}
	stop()
	noError(t, <-done)

	b := w.logIn(t, aliceToken)
	_, page := b.get("/console/outbox")
	contains(t, page, "held back until the next attempt</dt><dd>0<", "keys stopped until an operator decides</dt><dd>1<", "1 attempt: <bdi>no such queue &lt;script", "1 behind it", "!<script>")
	path := "/console/outbox/held?id=" + url.QueryEscape(id)
	_, page = b.get(path)
	contains(t, page, "order 17 &amp; &lt;b&gt;", "no such queue", "!<script>")
	form := url.Values{"form": {hidden(t, page, "form")}, "as": {"skip"}, "reason": {""}}
	if status, _ := b.post(path, form); status != http.StatusUnprocessableEntity {
		t.Errorf("without a reason: got status %d", status)
	}
	form.Set("reason", "the queue is gone for good")
	_, page = b.post(path, form)
	contains(t, page, "Messages that fail", "skipped", "!stopped</span>")
	_, page = b.get("/console/audit")
	contains(t, page, "skip", "the queue is gone for good")
	status, page := b.post("/console/outbox/held?id=nothing", form)
	if status != http.StatusConflict || !strings.Contains(page, "not held back any more") {
		t.Errorf("a message that is not there: got status %d", status)
	}
}
