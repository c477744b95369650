package console_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/console"
	"github.com/semel-dev/semel/gateway/adminapi"
	"github.com/semel-dev/semel/inbox"
	"github.com/semel-dev/semel/internal/cli/openstore"
	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/internal/testserver/databases"
	"github.com/semel-dev/semel/outbox"
	"github.com/semel-dev/semel/outcomelog"
	"github.com/semel-dev/semel/outcomelog/archive"
	"github.com/semel-dev/semel/schema/dedupe"
)

// private is a value of a row, which the errors of the database quote.
const private = "ada@private.example"

// exits keeps everything that people read: pages, answers, notes, errors and the log.
type exits struct {
	mu   sync.Mutex // guards the field below
	text bytes.Buffer
}

// Write implements [io.Writer], for the log.
func (e *exits) Write(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.text.Write(p)
}

func (e *exits) add(where string, what any) { _, _ = fmt.Fprintf(e, "%s: %v\n", where, what) }

// check looks for the value.
func (e *exits) check(t *testing.T) {
	t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	for line := range strings.Lines(e.text.String()) {
		where, _, _ := strings.Cut(line, ": ")
		if at := strings.Index(line, private); at >= 0 {
			t.Errorf("%s: a value of a row is read: %s", where, line[max(0, at-200):min(len(line), at+100)])
		}
	}
}

// quiet is everything that speaks of databases, above one whose errors quote a value.
type quiet struct {
	*world
	*databases.Database

	read    exits
	log     *slog.Logger
	records *sql.DB // the store's database
	out     *outbox.Outbox
	written *archive.Archive
	b       *browser
	run     int64
	taken   func(context.Context) error // an error of the driver
}

func openQuiet(t *testing.T, d *databases.Database) *quiet {
	t.Helper()
	q := &quiet{Database: d, records: d.DB}
	q.log = slog.New(slog.NewJSONHandler(&q.read, nil))
	stored := d.DSN
	if d.Dialect == dialect.SQLite {
		file := filepath.Join(t.TempDir(), "store.db")
		q.records, stored = databases.Connect(t, "sqlite", "file:"+file+"?_pragma=busy_timeout(30000)"), "sqlite:"+file
	}
	d.Exec(t, "CREATE TABLE customer (id int PRIMARY KEY, email varchar(90))", "INSERT INTO customer VALUES (1, '"+private+"'), (2, '"+private+"')",
		"CREATE TABLE taken (email varchar(90) PRIMARY KEY)", "INSERT INTO taken VALUES ('"+private+"')")
	switch d.Dialect {
	case dialect.PostgreSQL:
		d.Exec(t, "CREATE FUNCTION breaks() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'the row "+private+" stays'; END $$")
	case dialect.MySQL:
		d.Exec(t, "CREATE FUNCTION breaks() RETURNS int READS SQL DATA BEGIN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = '"+private+"'; RETURN 1; END")
	case dialect.SQLite:
	}
	refused := "INSERT INTO taken VALUES ('" + private + "')"
	switch d.Dialect {
	case dialect.PostgreSQL:
		refused = "SELECT CAST(email AS int) FROM taken"
	case dialect.SQLite:
		d.Exec(t, "CREATE TRIGGER taken BEFORE INSERT ON taken BEGIN SELECT RAISE(ABORT, '"+private+"'); END")
	case dialect.MySQL:
		stored = strings.NewReplacer("mysql:", "mysql://", "tcp(", "", ")", "").Replace(stored)
	}
	q.taken = func(ctx context.Context) error {
		_, err := d.DB.ExecContext(ctx, refused)
		return err
	}
	in := &dedupe.Database{DB: d.DB, Dialect: d.Dialect}
	rule := must.Get(dedupe.KeyRule("customer", []string{"email"}, false))
	plan := must.Get(in.Plan(t.Context(), rule, dedupe.Request{Winner: "oldest", Losers: "delete", Cycles: "refuse"}))
	q.run = must.Get(in.Run(t.Context(), plan, &dedupe.Options{})).Run
	q.out = must.Get(outbox.Open(t.Context(), d.DB, nil))
	q.written = must.Get(archive.Open(t.Context(), d.DB, &archive.Options{Logger: q.log}))

	store := must.Get(openstore.Open(t.Context(), stored, &openstore.Options{Logger: q.log}))
	guard := must.Get(semel.New(store, &semel.Options{SweepEvery: -1}))
	api := must.Get(adminapi.New(guard, &adminapi.Options{Logger: q.log, Tokens: []adminapi.Token{must.Get(adminapi.NewToken("alice", aliceToken, false))}}))
	log := must.Get(archive.Open(t.Context(), d.DB, &archive.Options{ReadOnly: true}))
	mux := http.NewServeMux()
	mux.Handle("/v1/", api)
	mux.Handle(console.Path, must.Get(console.New(guard, console.Options{API: api, Database: in, Logger: q.log, OutcomeLog: log})))
	server := httptest.NewServer(mux)
	q.world = &world{guard: guard, url: server.URL}
	t.Cleanup(func() {
		server.Close()
		q.read.add("close", errors.Join(q.written.Close(), guard.Close(), store.Close()))
		q.read.check(t)
	})
	q.b = q.logIn(t, aliceToken)
	return q
}

// breaks makes every statement that writes to a table, or that reads it as well, fail with the value.
func (q *quiet) breaks(t *testing.T, db *sql.DB, tables string, reads bool) {
	t.Helper()
	list, write := "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name LIKE '"+tables+"'", "CREATE TRIGGER IF NOT EXISTS x_%[2]s_%[1]s BEFORE %[2]s ON %[1]s BEGIN SELECT RAISE(ABORT, '"+private+"'); END"
	rename, read := "", ""
	switch q.Dialect {
	case dialect.PostgreSQL:
		list, write = "SELECT schemaname || '.' || tablename FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema') AND tablename LIKE '"+tables+"'",
			"CREATE OR REPLACE TRIGGER x_%[2]s BEFORE %[2]s ON %[1]s FOR EACH STATEMENT EXECUTE FUNCTION breaks()"
		rename, read = "ALTER TABLE %s RENAME TO %s", "CREATE VIEW %[1]s AS SELECT * FROM %[1]s_x WHERE '"+private+"'::text::int = 1"
	case dialect.MySQL:
		list, write = "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() AND table_type = 'BASE TABLE' AND table_name LIKE '"+tables+"'",
			"CREATE OR REPLACE TRIGGER x_%[2]s_%[1]s BEFORE %[2]s ON %[1]s FOR EACH ROW SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = '"+private+"'"
		rename, read = "ALTER TABLE %s RENAME TO %s", "CREATE VIEW %[1]s AS SELECT * FROM %[1]s_x WHERE breaks() = 1"
	case dialect.SQLite: // an error of it that is met by reading has no value
	}
	var names []string
	rows := must.Get(db.QueryContext(t.Context(), list))
	defer rows.Close()
	for rows.Next() {
		var name string
		noError(t, rows.Scan(&name))
		names = append(names, name)
	}
	noError(t, rows.Err())
	for _, name := range names {
		var all []string
		if !reads {
			all = []string{fmt.Sprintf(write, name, "INSERT"), fmt.Sprintf(write, name, "UPDATE"), fmt.Sprintf(write, name, "DELETE")}
		} else if read != "" {
			all = []string{fmt.Sprintf(rename, name, name[strings.Index(name, ".")+1:]+"_x"), fmt.Sprintf(read, name)}
		}
		for _, statement := range all {
			if _, err := db.ExecContext(t.Context(), statement); err != nil {
				t.Fatalf("%s: %v", statement, err)
			}
		}
	}
}

// atOnce runs functions, and keeps what each returns.
func (q *quiet) atOnce(functions map[string]func() any) {
	var all sync.WaitGroup
	for name, f := range functions {
		all.Go(func() { q.read.add(name, f()) })
	}
	all.Wait()
}

type publisher func(ctx context.Context) error

// Publish implements [outbox.Publisher].
func (p publisher) Publish(ctx context.Context, batch []outbox.Message) []error {
	errs := make([]error, len(batch))
	for i := range batch {
		errs[i] = p(ctx)
	}
	return errs
}

// relay publishes until a pass of it satisfies done.
func (q *quiet) relay(t *testing.T, publish publisher, done func(outbox.Pass) bool) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	relay := must.Get(outbox.NewRelay(q.out, q.guard, publish, &outbox.RelayOptions{Lease: time.Second, Logger: q.log, Observe: func(p outbox.Pass) {
		q.read.add("pass", p.Err)
		if done(p) {
			stop()
		}
	}}))
	noError(t, relay.Run(ctx))
}

// work leaves what the guard keeps of an error.
func (q *quiet) work(t *testing.T) {
	t.Helper()
	for name, mark := range map[string]func(error) error{"released": semel.MarkReleased, "unknown": semel.MarkUnknown, "final": semel.MarkFinal} {
		key := semel.Key{Scope: "work", Name: name}
		work := func(ctx context.Context) (string, error) { return "", mark(q.taken(ctx)) }
		if _, err := semel.Do(t.Context(), q.guard, key, semel.FingerprintOf("x"), work); err == nil || !strings.Contains(err.Error(), private) {
			t.Errorf("%s: the database quotes no value: %v", name, err)
		}
		rec, _ := q.guard.Lookup(t.Context(), key) // a released one is absent
		q.read.add("the record of "+name, rec.Note+string(rec.Outcome))
	}
	in := must.Get(inbox.New(q.guard, &inbox.Options{Consumer: "panics", Logger: q.log}))
	q.read.add("a panic", in.Handle(t.Context(), inbox.Message{ID: "m-18"}, func(ctx context.Context, _ inbox.Message) error { panic(q.taken(ctx)) }).Err)
}

// No page, answer, log, note or error has a value of a row, whatever the database quotes.
func TestNoValueOfARow(t *testing.T) {
	t.Parallel()
	databases.Each(t, func(t *testing.T, d *databases.Database) {
		q := openQuiet(t, d)
		q.work(t)
		digest, shelved := q.lose(t, "shop", "lost", "a note"), q.shelve(t, inbox.Message{ID: "m-17", Body: []byte("tea")})
		noError(t, q.out.Add(t.Context(), d.DB, outbox.Message{ID: "order-1", Topic: "orders", Key: "k"}))
		q.relay(t, func(ctx context.Context) error { return outbox.Permanent(q.taken(ctx)) }, func(outbox.Pass) bool {
			return must.Get(q.out.Stats(context.WithoutCancel(t.Context()))).Stopped > 0
		})
		noError(t, q.out.Add(t.Context(), d.DB, outbox.Message{ID: "order-0", Topic: "orders", Key: "p"}))
		q.relay(t, func(ctx context.Context) error { panic(q.taken(ctx)) }, func(p outbox.Pass) bool { return p.Failed > 0 })
		noError(t, q.out.Add(t.Context(), d.DB, outbox.Message{ID: "order-2", Topic: "orders", Key: "l"}))
		q.breaks(t, d.DB, "semel_outbox", false)
		q.relay(t, func(context.Context) error { return nil }, func(p outbox.Pass) bool { return p.Err != nil })

		record, release := "/console/records/"+digest.String(), "/console/quarantine/"+shelved.String()
		held, merged := "/console/outbox/held?id=order-1", "/console/duplicates/"+strconv.FormatInt(q.run, 10)
		pages := map[string]func() any{}
		for _, path := range []string{
			"/console/", "/console/records", record, "/console/unknown", "/console/audit", "/console/flows", "/console/quarantine", release,
			"/console/outbox", held, "/console/duplicates", "/console/duplicates?key=2", merged, "/console/log", "/console/log?made=7",
		} {
			pages[path] = func() any {
				_, page := q.b.get(path)
				return page
			}
		}
		q.atOnce(pages)
		_, page := q.b.get(record)
		q.breaks(t, q.records, "%", false)
		q.breaks(t, d.DB, "%", false)
		writes := map[string]func() any{
			"the admin API": func() any {
				r := must.Get(http.NewRequestWithContext(t.Context(), http.MethodDelete, q.url+"/v1/records?scope=shop&name=late&reason=x", nil))
				r.Header.Set("Authorization", "Bearer "+aliceToken)
				status, answer := q.b.do(r)
				return fmt.Sprint(status, " ", answer)
			},
			"a claim": func() any {
				_, err := semel.Do(t.Context(), q.guard, semel.Key{Scope: "s", Name: "new"}, semel.FingerprintOf("x"), func(context.Context) (int, error) { return 1, nil })
				return err
			},
			"a message": func() any {
				return q.out.Add(t.Context(), d.DB, outbox.Message{ID: "order-3", Topic: "orders", Key: "k"})
			},
			"an event": func() any {
				q.written.Keep(t.Context(), outcomelog.Event{Outcome: outcomelog.Created, Made: "/invoices/7"})
				return q.written.Close()
			},
		}
		for path, as := range map[string][2]string{record: {"as", "released"}, release: {"as", "release"}, held: {"as", "release"}, merged: {"what", "run"}} {
			form := url.Values{"form": {hidden(t, page, "form")}, "seen": {hidden(t, page, "seen")}, "reason": {"I saw it"}, as[0]: {as[1]}}
			writes["POST "+path] = func() any {
				status, page := q.b.post(path, form)
				if status != http.StatusServiceUnavailable && status != http.StatusConflict {
					t.Errorf("%s: got status %d of a database that writes nothing: %s", path, status, page)
				}
				return page
			}
		}
		q.atOnce(writes)
		q.atOnce(pages)
		q.breaks(t, q.records, "%", true)
		q.atOnce(pages)
	})
}
