package archive_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/internal/testserver/databases"
	"github.com/semel-dev/semel/outcomelog"
	"github.com/semel-dev/semel/outcomelog/archive"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("database/sql.(*DB).connectionOpener"))
}

func open(tb testing.TB, db *sql.DB, o *archive.Options) *archive.Archive {
	tb.Helper()
	a, err := archive.Open(tb.Context(), db, o)
	claimtest.NoError(tb, err)
	tb.Cleanup(func() { _ = a.Close() })
	return a
}

// reader opens the same table to search it.
func reader(tb testing.TB, db *sql.DB) *archive.Archive {
	tb.Helper()
	return open(tb, db, &archive.Options{ReadOnly: true})
}

func created(number int) outcomelog.Event {
	return outcomelog.Event{
		Door: outcomelog.Gateway, Outcome: outcomelog.Created, Key: fmt.Sprintf("%016x%048x", number, 5), Route: "invoices", Status: 201,
		Made: fmt.Sprintf("/invoices/%d", number),
	}
}

// keep has events written, and returns the archive to search them.
func keep(tb testing.TB, db *sql.DB, events ...outcomelog.Event) *archive.Archive {
	tb.Helper()
	a := open(tb, db, nil)
	for _, e := range events {
		a.Keep(tb.Context(), e)
	}
	claimtest.NoError(tb, a.Close())
	if n := a.Dropped(); n != 0 {
		tb.Errorf("%d events were dropped", n)
	}
	return reader(tb, db)
}

func search(tb testing.TB, a *archive.Archive, q archive.Query) archive.Page {
	tb.Helper()
	page, err := a.Search(tb.Context(), q)
	claimtest.NoError(tb, err)
	return page
}

// made lists what the entries of a page made, "-" for nothing.
func made(page archive.Page) string {
	var all []string
	for i := range page.Entries {
		name := page.Entries[i].Made
		if name == "" {
			name = "-"
		}
		all = append(all, name)
	}
	return strings.Join(all, " ")
}

// TestSearch asks which request made invoice 77, and by each other member.
func TestSearch(t *testing.T) {
	t.Parallel()
	databases.Each(t, func(t *testing.T, d *databases.Database) {
		refused := outcomelog.Event{
			Door: outcomelog.Middleware, Outcome: outcomelog.Rejected, Key: strings.Repeat("abcdef0123456789", 4), Route: "POST /customers", Rule: "customer_email",
			Fields: []string{"tenant", "e,mail"}, Status: 409,
		}
		repeated := created(77)
		repeated.Outcome = outcomelog.Replayed // not kept
		order := created(177)
		order.Made = "/orders/77"
		a := keep(t, d.DB, created(76), created(77), repeated, refused, created(770), order)
		for name, want := range map[string]struct {
			query archive.Query
			made  string
		}{
			"all":         {archive.Query{}, "/orders/77 /invoices/770 - /invoices/77 /invoices/76"},
			"last part":   {archive.Query{Made: "77"}, "/orders/77 /invoices/77"},
			"path":        {archive.Query{Made: "/invoices/77"}, "/invoices/77"},
			"other path":  {archive.Query{Made: "/77"}, ""},
			"key":         {archive.Query{Keys: []string{fmt.Sprintf("%064x", 77), created(77).Key}}, "/invoices/77"},
			"16 digits":   {archive.Query{Keys: []string{created(77).Key[:16]}}, "/invoices/77"},
			"digits":      {archive.Query{Keys: []string{"abcd"}}, "-"},
			"no such key": {archive.Query{Keys: []string{"ffffffffffffffff"}}, ""},
			"rule":        {archive.Query{Rule: "customer_email"}, "-"},
			"field":       {archive.Query{Field: "e,mail"}, "-"},
			"route":       {archive.Query{Route: "invoices", Made: "76"}, "/invoices/76"},
			"outcome":     {archive.Query{Outcome: outcomelog.Rejected}, "-"},
			"both":        {archive.Query{Outcome: outcomelog.Rejected, Rule: "other"}, ""},
		} {
			if got := made(search(t, a, want.query)); got != want.made {
				t.Errorf("%s: got %q, want %q", name, got, want.made)
			}
		}
		got := search(t, a, archive.Query{Rule: "customer_email"}).Entries[0]
		if diff := cmp.Diff(refused, got.Event); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if age := time.Since(got.At); age < -time.Minute || age > time.Minute {
			t.Errorf("an event of now is from %v", got.At)
		}
	})
}

// TestSearchBounds walks through pages, each of which examines and returns a bounded number of entries.
func TestSearchBounds(t *testing.T) {
	t.Parallel()
	databases.Each(t, func(t *testing.T, d *databases.Database) {
		var events []outcomelog.Event
		for i := range 600 {
			e := created(i)
			if i%100 == 0 {
				e.Rule = "rare"
			}
			events = append(events, e)
		}
		a := keep(t, d.DB, events...)
		q, all, pages := archive.Query{Rule: "rare", Limit: 2, Examine: 90}, 0, 0
		for ; pages == 0 || q.After != ""; pages++ {
			page := search(t, a, q)
			if len(page.Entries) > 2 || page.Examined > 90 || pages > 10 {
				t.Fatalf("a page returns %d of %d, page %d", len(page.Entries), page.Examined, pages)
			}
			all += len(page.Entries)
			q.After = page.Next
		}
		if all != 6 || pages < 7 {
			t.Errorf("%d of 6 were found on %d pages", all, pages)
		}
		if page := search(t, a, archive.Query{Made: "77"}); page.Examined != 1 {
			t.Errorf("by what was made, %d were looked at", page.Examined)
		}
		for _, after := range []string{"x", "-1", "0", "1;--"} {
			if _, err := a.Search(t.Context(), archive.Query{After: after}); err == nil {
				t.Errorf("%q was taken for the end of a page", after)
			}
		}
	})
}

// TestReadsMatching (promise 8): the database compares, so that of the entries of a window only those that may match are read.
func TestReadsMatching(t *testing.T) {
	t.Parallel()
	databases.Each(t, func(t *testing.T, d *databases.Database) {
		var events []outcomelog.Event
		for i := range 100 {
			events = append(events, created(i))
		}
		events[50].Rule, events[50].Fields, events[51].Route = "rare", []string{"email"}, "orders"
		events[52].Outcome = outcomelog.Rejected
		events[53].Key = strings.Repeat("ab", 32)
		a := keep(t, d.DB, events...)
		for name, q := range map[string]archive.Query{
			"rule": {Rule: "rare"}, "route": {Route: "orders"}, "outcome": {Outcome: outcomelog.Rejected}, "field": {Field: "email"},
			"digits": {Keys: []string{"abab"}}, "one of two": {Keys: []string{"abab", "ffff"}},
		} {
			page, err := archive.Read(t.Context(), a, q)
			claimtest.NoError(t, err)
			if len(page.Entries) != 1 {
				t.Errorf("by %s, %d entries were read", name, len(page.Entries))
			}
			if page := search(t, a, q); len(page.Entries) != 1 || page.Examined != 100 || page.Next != "" {
				t.Errorf("by %s, %d of %d were found, and the rest from %q", name, len(page.Entries), page.Examined, page.Next)
			}
		}
		if page := search(t, a, archive.Query{Route: "invoices", Limit: 10}); len(page.Entries) != 10 || page.Examined != 10 || page.Next == "" {
			t.Errorf("a full page has %d of %d entries, and the rest from %q", len(page.Entries), page.Examined, page.Next)
		}
		if page := search(t, a, archive.Query{Limit: 100}); len(page.Entries) != 100 || page.Next != "" {
			t.Errorf("a page of all has %d entries, and the rest from %q", len(page.Entries), page.Next)
		}
		if page := search(t, a, archive.Query{Rule: "rare\x00\xff"}); len(page.Entries) != 0 || page.Examined != 100 {
			t.Errorf("by odd text, %d of %d were found", len(page.Entries), page.Examined)
		}
	})
}

// TestOddText keeps what a database would refuse.
func TestOddText(t *testing.T) {
	t.Parallel()
	databases.Each(t, func(t *testing.T, d *databases.Database) {
		odd := outcomelog.Event{
			Door: "middleware", Outcome: outcomelog.Created, Made: "/a\x00b/\xff'" + strings.Repeat("ü", 300), Route: strings.Repeat("x", 5000),
			Rule: "\u202e", Fields: []string{strings.Repeat("f", 3000), "b", strings.Repeat("c", 700)},
		}
		got := search(t, keep(t, d.DB, odd), archive.Query{}).Entries[0]
		if !strings.HasPrefix(got.Made, "/a\uFFFDb/\uFFFD'ü") || len(got.Made) > 255 || len(got.Route) != 255 || got.Rule != "\u202e" || len(got.Fields) != 3 {
			t.Errorf("got %+v", got)
		}
		if page := search(t, reader(t, d.DB), archive.Query{Made: odd.Made}); len(page.Entries) != 1 {
			t.Errorf("it is not found by the path that was cut")
		}
	})
}

// TestBatchOnce repeats a statement whose effect is uncertain.
func TestBatchOnce(t *testing.T) {
	t.Parallel()
	databases.Each(t, func(t *testing.T, d *databases.Database) {
		a := open(t, d.DB, nil)
		claimtest.NoError(t, archive.Insert(t.Context(), a, 7, false, created(1), created(2)))
		claimtest.NoError(t, archive.Insert(t.Context(), a, 7, true, created(1), created(2)))
		if err := archive.Insert(t.Context(), a, 7, false, created(1), created(2)); err == nil {
			t.Error("a batch that arrives late was written twice")
		}
		claimtest.NoError(t, archive.Insert(t.Context(), a, 8, true, created(3)))
		claimtest.WantRows(t, d.DB, "SELECT COUNT(*) FROM semel_outcome", "3")
	})
}

// TestForget removes what is too old, and the oldest of what is too much.
func TestForget(t *testing.T) {
	t.Parallel()
	databases.Each(t, func(t *testing.T, d *databases.Database) {
		var events []outcomelog.Event
		for i := range 2500 {
			events = append(events, created(i))
		}
		keep(t, d.DB, events...)
		d.Exec(t, "UPDATE semel_outcome SET at_ms = at_ms - 3600000 WHERE made_name < '2'") // 0, 1, 10, 100 …
		a := open(t, d.DB, &archive.Options{Retention: 2 * time.Hour})
		archive.Forget(t.Context(), a)
		claimtest.WantRows(t, d.DB, "SELECT COUNT(*) FROM semel_outcome", "2500")
		d.Exec(t, "UPDATE semel_outcome SET at_ms = at_ms - 7200000 WHERE id <= (SELECT m FROM (SELECT MIN(id) + 1299 AS m FROM semel_outcome) AS x)")
		archive.Forget(t.Context(), a)
		claimtest.WantRows(t, d.DB, "SELECT COUNT(*) FROM semel_outcome", "1200")
		archive.Forget(t.Context(), open(t, d.DB, &archive.Options{MaxRows: 100}))
		claimtest.WantRows(t, d.DB, "SELECT COUNT(*) FROM semel_outcome", "100")
		claimtest.WantRows(t, d.DB, "SELECT MAX(made) FROM semel_outcome", "/invoices/2499")
	})
}

// TestNeverWaits keeps events while the database is locked: none waits, and what the queue has no room for is dropped and
// counted. What it had room for is there once the lock is gone.
func TestNeverWaits(t *testing.T) {
	t.Parallel()
	d := databases.Open(t, dialect.SQLite)
	other := databases.Connect(t, "sqlite", "file:"+strings.TrimPrefix(d.DSN, "sqlite:")+"?_txlock=immediate&_pragma=busy_timeout(1)")
	a := open(t, other, nil)
	locked := claimtest.Begin(t, d.DB)
	const sent = 3 * archive.QueueEvents
	kept := make(chan struct{})
	go func() {
		defer close(kept)
		for i := range sent {
			a.Keep(context.WithoutCancel(t.Context()), created(i))
		}
	}()
	select {
	case <-kept:
	case <-time.After(20 * time.Second):
		claimtest.NoError(t, locked.Rollback())
		t.Fatal("an event waits for the database")
	}
	dropped := a.Dropped()
	if dropped < archive.QueueEvents || dropped > sent-archive.QueueEvents {
		t.Errorf("%d of %d were dropped, with a queue of %d", dropped, sent, archive.QueueEvents)
	}
	claimtest.NoError(t, locked.Rollback())
	claimtest.NoError(t, a.Close())
	if a.Dropped() != dropped {
		t.Errorf("the queue was dropped at the end: %d, before %d", a.Dropped(), dropped)
	}
	claimtest.WantRows(t, d.DB, "SELECT COUNT(*) FROM semel_outcome", fmt.Sprint(sent-dropped))
	a.Keep(t.Context(), created(1))
	if a.Dropped() != dropped+1 {
		t.Error("an event after the end was not counted")
	}
}

// TestCloseEnds ends although the database does not answer any more.
func TestCloseEnds(t *testing.T) {
	t.Parallel()
	d := databases.Open(t, dialect.SQLite)
	other := databases.Connect(t, "sqlite", "file:"+strings.TrimPrefix(d.DSN, "sqlite:")+"?_txlock=immediate&_pragma=busy_timeout(1)")
	a := open(t, other, nil)
	claimtest.NoError(t, other.Close())
	a.Keep(t.Context(), created(1))
	claimtest.NoError(t, a.Close())
	if a.Dropped() != 1 {
		t.Errorf("%d events were dropped, want 1", a.Dropped())
	}
}

// TestOpen makes the table once, and refuses what it cannot read.
func TestOpen(t *testing.T) {
	t.Parallel()
	databases.Each(t, func(t *testing.T, d *databases.Database) {
		if _, err := archive.Open(t.Context(), d.DB, &archive.Options{ReadOnly: true}); !errors.Is(err, archive.ErrNone) {
			t.Errorf("without a table: got %v", err)
		}
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				a, err := archive.Open(context.WithoutCancel(t.Context()), d.DB, nil)
				if err != nil {
					t.Error(err)
					return
				}
				_ = a.Close()
			})
		}
		all.Wait()
		open(t, d.DB, &archive.Options{Table: "other_log"})
		d.Exec(t, "INSERT INTO semel_outcome_migration (version) VALUES (9)")
		_, err := archive.Open(t.Context(), d.DB, nil)
		claimtest.Words(t, err, "schema 9", "newer program")
		for _, o := range []archive.Options{{Table: "a b"}, {Retention: time.Hour * 24 * 31}, {Retention: time.Second}, {MaxRows: -1}} {
			if _, err := archive.Open(t.Context(), d.DB, &o); err == nil {
				t.Errorf("%+v were taken", o)
			}
		}
	})
}

// Promise 8: the rows are bounded however fast events come, not only by a look every minute.
func TestFloodStaysBounded(t *testing.T) {
	t.Parallel()
	d := databases.Open(t, dialect.SQLite)
	a := open(t, d.DB, &archive.Options{MaxRows: 10})
	for i := range archive.QueueEvents {
		a.Keep(t.Context(), created(i))
	}
	var last, rows int
	testserver.Eventually(t, "all are written", func() bool {
		claimtest.NoError(t, d.DB.QueryRowContext(t.Context(), "SELECT COALESCE(MAX(id), 0), COUNT(*) FROM semel_outcome").Scan(&last, &rows))
		return last == archive.QueueEvents
	})
	claimtest.NoError(t, a.Close())
	claimtest.NoError(t, d.DB.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM semel_outcome").Scan(&rows))
	if rows > archive.QueueEvents/2 {
		t.Errorf("%d rows are left of %d, want few more than 10", rows, last)
	}
}

// repeated meets repetitions of a created key.
func repeated(tb testing.TB, memory *outcomelog.Repeats, number int, outcomes ...outcomelog.Outcome) {
	tb.Helper()
	for _, outcome := range outcomes {
		e := created(number)
		e.Outcome, e.Status = outcome, 201
		memory.Keep(tb.Context(), e)
	}
}

// TestRepeats: what several processes have met of a key is joined, a process that forgets a key and meets it again counts on, and
// nothing is counted twice.
func TestRepeats(t *testing.T) {
	t.Parallel()
	databases.Each(t, func(t *testing.T, d *databases.Database) {
		digest := created(7).Key
		for range 2 { // processes, one after the other
			a, memory := open(t, d.DB, nil), outcomelog.NewRepeats()
			a.KeepRepeats(memory)
			repeated(t, memory, 7, outcomelog.Replayed, outcomelog.Replayed, outcomelog.InFlight)
			archive.WriteRepeats(t.Context(), a)
			repeated(t, memory, 7, outcomelog.Mismatch)
			archive.WriteRepeats(t.Context(), a)
			archive.WriteRepeats(t.Context(), a)
			claimtest.NoError(t, a.Close())
		}
		last, memory := open(t, d.DB, nil), outcomelog.NewRepeats()
		last.KeepRepeats(memory)
		for range 2 {
			repeated(t, memory, 7, slices.Repeat([]outcomelog.Outcome{outcomelog.Unknown}, 15)...)
			archive.WriteRepeats(t.Context(), last)
		}
		repeated(t, memory, 7, outcomelog.Unknown) // in memory alone
		got, err := archive.RepeatsOf(t.Context(), last, digest)
		claimtest.NoError(t, err)
		want := map[outcomelog.Outcome]int{outcomelog.Replayed: 4, outcomelog.InFlight: 2, outcomelog.Mismatch: 2, outcomelog.Unknown: 31}
		if diff := cmp.Diff(want, got.Counts); diff != "" {
			t.Errorf("counts (-want +got):\n%s", diff)
		}
		if len(got.Recent) != 20 || got.Recent[0].Outcome != outcomelog.Unknown || !got.Last.Equal(got.Recent[0].At) || got.First.After(got.Recent[19].At) {
			t.Errorf("got %d of them, the first at %v, the last at %v: %v", len(got.Recent), got.First, got.Last, got.Recent)
		}
		none, err := archive.RepeatsOf(t.Context(), last, created(8).Key)
		if err != nil || len(none.Counts) != 0 || !none.First.IsZero() {
			t.Errorf("of a key that was not repeated: %+v, %v", none, err)
		}
	})
}

// TestForgetRepeats: what is too old goes, and the oldest beyond the bound.
func TestForgetRepeats(t *testing.T) {
	t.Parallel()
	databases.Each(t, func(t *testing.T, d *databases.Database) {
		a, memory := open(t, d.DB, nil), outcomelog.NewRepeats()
		a.KeepRepeats(memory)
		for number := range 5 {
			repeated(t, memory, number, outcomelog.Replayed)
		}
		claimtest.NoError(t, a.Close()) // writes them
		for number := range 5 {
			_, err := d.DB.ExecContext(t.Context(), fmt.Sprintf("UPDATE semel_outcome_repeat SET last_ms = last_ms - %d WHERE intent = '%s'", (10-number)*60_000, created(number).Key))
			claimtest.NoError(t, err)
		}
		_, err := d.DB.ExecContext(t.Context(), fmt.Sprintf("UPDATE semel_outcome_repeat SET last_ms = last_ms - 3600000 WHERE intent = '%s'", created(4).Key))
		claimtest.NoError(t, err)
		archive.ForgetRepeats(t.Context(), open(t, d.DB, &archive.Options{MaxRows: 60, Retention: time.Hour})) // three keys
		var kept []string
		rows, err := d.DB.QueryContext(t.Context(), "SELECT intent FROM semel_outcome_repeat ORDER BY intent")
		claimtest.NoError(t, err)
		defer rows.Close()
		for rows.Next() {
			var one string
			claimtest.NoError(t, rows.Scan(&one))
			kept = append(kept, one)
		}
		claimtest.NoError(t, rows.Err())
		if diff := cmp.Diff([]string{created(1).Key, created(2).Key, created(3).Key}, kept); diff != "" {
			t.Errorf("kept (-want +got):\n%s", diff)
		}
	})
}
