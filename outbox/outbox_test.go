package outbox_test

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/drivertest"
	"github.com/semel-dev/semel/internal/testserver/databases"
	"github.com/semel-dev/semel/outbox"
)

func open(tb testing.TB, db *sql.DB, o *outbox.Options) *outbox.Outbox {
	tb.Helper()
	out, err := outbox.Open(tb.Context(), db, o)
	claimtest.NoError(tb, err)
	return out
}

// add adds in a transaction of its own.
func add(tb testing.TB, out *outbox.Outbox, db *sql.DB, messages ...outbox.Message) error {
	tb.Helper()
	tx := claimtest.Begin(tb, db)
	if err := out.Add(tb.Context(), tx, messages...); err != nil {
		claimtest.NoError(tb, tx.Rollback())
		return err
	}
	return tx.Commit()
}

// Messages are there when their transaction has committed, and not otherwise.
func TestAdd(t *testing.T) {
	t.Parallel()
	databases.Each(t, func(t *testing.T, d *databases.Database) {
		out := open(t, d.DB, nil)
		open(t, d.DB, nil) // the tables are there
		many := make([]outbox.Message, 1200)
		for i := range many {
			many[i] = outbox.Message{Topic: "t", Key: "k"}
		}
		claimtest.NoError(t, add(t, out, d.DB, many...))
		claimtest.WantRows(t, d.DB, "SELECT COUNT(*) FROM semel_outbox", "1200")
		tx := claimtest.Begin(t, d.DB)
		claimtest.NoError(t, out.Add(t.Context(), tx, outbox.Message{Topic: "t"}))
		claimtest.NoError(t, tx.Rollback())
		claimtest.WantRows(t, d.DB, "SELECT COUNT(*) FROM semel_outbox", "1200")

		same := outbox.Message{ID: "a'b", Topic: "orders", Body: []byte("1"), Header: map[string]string{"Type": "ü"}}
		other := same
		other.Body = []byte("2")
		claimtest.NoError(t, add(t, out, d.DB, same))
		claimtest.NoError(t, add(t, out, d.DB, same, outbox.Message{Topic: "new"}))
		for _, messages := range [][]outbox.Message{{other}, {{Topic: "t"}, other}} {
			claimtest.WantErr(t, "", add(t, out, d.DB, messages...), outbox.ErrConflict)
		}
		claimtest.WantRows(t, d.DB, "SELECT id FROM semel_outbox WHERE topic = 'orders'", "a'b")
		claimtest.WantRows(t, d.DB, "SELECT COUNT(*) FROM semel_outbox", "1202")
	})
}

// A message that another transaction is about to add is the same one, or a conflict, once that has committed.
func TestAddAtTheSameTime(t *testing.T) {
	t.Parallel()
	databases.Each(t, func(t *testing.T, d *databases.Database) {
		out := open(t, d.DB, nil)
		first := claimtest.Begin(t, d.DB)
		claimtest.NoError(t, out.Add(t.Context(), first, message("k", "a")))
		results := make(chan error, 2)
		for _, topic := range []string{"t", "another"} {
			m := message("k", "a")
			m.Topic = topic
			go func() { results <- add(t, out, d.DB, m) }()
		}
		claimtest.NoError(t, first.Commit())
		one, two := <-results, <-results
		if both := errors.Join(one, two); !errors.Is(both, outbox.ErrConflict) || one != nil && two != nil {
			t.Errorf("got %v and %v, want a conflict and none", one, two)
		}
		claimtest.WantRows(t, d.DB, "SELECT topic FROM semel_outbox", "t")
	})
}

// Counting waits for no writer: on SQLite, relays that counting locks out would publish nothing.
func TestStatsBesideWriter(t *testing.T) {
	t.Parallel()
	databases.Each(t, func(t *testing.T, d *databases.Database) {
		out := open(t, d.DB, nil)
		claimtest.NoError(t, add(t, out, d.DB, message("k", "a")))
		writer := claimtest.Begin(t, d.DB)
		claimtest.NoError(t, out.Add(t.Context(), writer, message("k", "b")))
		stats, err := out.Stats(t.Context())
		if err != nil || stats.Waiting != 1 {
			t.Errorf("got %d waiting messages, error %v; want the one that is committed", stats.Waiting, err)
		}
		claimtest.NoError(t, writer.Commit())
	})
}

// PostgreSQL does not compile the query that counts, although its price is that of a table which must not be read without an index.
func TestStatsAreNotCompiled(t *testing.T) {
	t.Parallel()
	p := at(t, databases.Open(t, dialect.PostgreSQL), nil)
	plan, err := outbox.PlanOfStats(t.Context(), p.out)
	claimtest.NoError(t, err)
	if !strings.Contains(plan, `"Plan"`) || strings.Contains(plan, `"JIT"`) {
		t.Errorf("got the plan %s", plan)
	}
}

func TestInvalid(t *testing.T) {
	t.Parallel()
	d := databases.Open(t, dialect.SQLite)
	out := open(t, d.DB, nil)
	long := strings.Repeat("x", 20<<10)
	for want, m := range map[string]outbox.Message{
		"topic is missing":              {},
		"the id has 20480 bytes":        {Topic: "t", ID: long},
		"the topic has 20480":           {Topic: long},
		"the key has 20480":             {Topic: "t", Key: long},
		"the header has 20481":          {Topic: "t", Header: map[string]string{"a": long}},
		"the body has 5242880":          {Topic: "t", Body: make([]byte, 5<<20)},
		"needs printable ASCII":         {Topic: "t", ID: "ü"},
		"holds a control":               {Topic: "t", Key: "\x00"},
		"or is not UTF-8":               {Topic: "\xff"},
		"header a holds":                {Topic: "t", Header: map[string]string{"a": "\r\nb: c"}},
		`the name of header "a b"`:      {Topic: "t", Header: map[string]string{"a b": "c"}},
		`the name of header ""`:         {Topic: "t", Header: map[string]string{"": "c"}},
		"raise Options.MaxBodyBytes":    {Topic: "t", Body: make([]byte, 960_001)},
		"(message 1 of 2)":              {},
		"topic is missing (message 1 o": {},
	} {
		err := add(t, out, d.DB, m, outbox.Message{Topic: "t"})
		claimtest.WantErr(t, want+": ", err, outbox.ErrInvalid)
		claimtest.Words(t, err, want)
	}
	twice := outbox.Message{Topic: "t", ID: "a"}
	claimtest.WantErr(t, "an id twice: ", add(t, out, d.DB, twice, twice), outbox.ErrInvalid)
	claimtest.WantRows(t, d.DB, "SELECT id FROM semel_outbox")
}

// Add takes a message of which every part is as long as it may be, and none of which one part is longer.
func TestOneByteMoreIsRefused(t *testing.T) {
	t.Parallel()
	databases.Each(t, func(t *testing.T, d *databases.Database) {
		out := open(t, d.DB, nil)
		largest := func() outbox.Message { return drivertest.Largest(strings.Repeat("t", outbox.MaxTopicBytes)) }
		for part, longer := range map[string]func(m *outbox.Message){
			"id":     func(m *outbox.Message) { m.ID += "i" },
			"topic":  func(m *outbox.Message) { m.Topic += "t" },
			"key":    func(m *outbox.Message) { m.Key += "k" },
			"body":   func(m *outbox.Message) { m.Body = append(m.Body, 'x') },
			"header": func(m *outbox.Message) { m.Header["Name-00"] = "v" },
			"name of a header": func(m *outbox.Message) {
				m.Header = map[string]string{strings.Repeat("n", 256): ""}
			},
			"65 headers": func(m *outbox.Message) { m.Header = headers(65) },
		} {
			m := largest()
			longer(&m)
			err := add(t, out, d.DB, m)
			claimtest.WantErr(t, part+": ", err, outbox.ErrInvalid)
			claimtest.Words(t, err, part)
		}
		if err := add(t, out, d.DB, largest()); err != nil {
			t.Error(err)
		}
		claimtest.WantRows(t, d.DB, "SELECT id FROM semel_outbox", strings.Repeat("i", outbox.MaxIDBytes))
	})
}

func headers(n int) map[string]string {
	all := map[string]string{}
	for i := range n {
		all[strconv.Itoa(i)] = ""
	}
	return all
}

func TestPermanent(t *testing.T) {
	t.Parallel()
	if err := outbox.Permanent(context.Canceled); !errors.Is(err, context.Canceled) || outbox.Permanent(nil) != nil {
		t.Errorf("got %v", err)
	}
}
