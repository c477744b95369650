package dedupe_test

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"

	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/internal/testserver/databases"
	"github.com/semel-dev/semel/schema/dedupe"
)

// killable is a database on a server of its own, which a test kills.
type killable struct {
	*bench

	server interface {
		Kill()
		Start()
	}
	// killed and statements count for each verb.
	killed, statements map[string]int
}

// mostStatement bounds a statement of MariaDB in seconds, so that one that would not end fails the test.
const mostStatement = "60"

func newKillable(t *testing.T, d dialect.Dialect) *killable {
	t.Helper()
	k := &killable{killed: map[string]int{}, statements: map[string]int{}}
	db := &databases.Database{Dialect: d}
	open := func(driver, source string) *sql.DB {
		pool := databases.Connect(t, driver, source)
		pool.SetMaxIdleConns(0) // none outlives the server
		return pool
	}
	if d == dialect.MySQL {
		server := testserver.StartMySQL(t, nil)
		k.server = server
		_, err := open("mysql", server.DSN()).ExecContext(t.Context(), "CREATE DATABASE shop")
		noError(t, err)
		db.DSN = "mysql:" + server.DSN() + "shop"
		db.DB = open("mysql", server.DSN()+"shop?max_statement_time="+mostStatement)
	} else {
		server := testserver.StartPostgres(t, nil)
		k.server = server
		_, err := open("pgx", server.DSN()).ExecContext(t.Context(), "CREATE DATABASE shop")
		noError(t, err)
		dsn, err := url.Parse(server.DSN())
		noError(t, err)
		dsn.Path = "/shop"
		db.DSN = dsn.String()
		db.DB = open("pgx", db.DSN)
	}
	k.bench = wrap(t, db)
	return k
}

// blow is the moment at which a server is killed: before a statement that the verb runs, or while it runs.
type blow struct {
	// statement is the beginning of it; with number 2, the second of these is meant. Without a number, no server is killed.
	statement string
	number    int
	meanwhile bool
}

// during runs a verb, and kills the server. It returns the number of statements.
func (k *killable) during(verb string, p *dedupe.Plan, at blow) int {
	k.Helper()
	n, after, gone := 0, 0, make(chan struct{})
	k.in.Before(func(statement string) {
		if n++; after > 0 {
			after++
		}
		if !strings.HasPrefix(statement, at.statement) {
			return
		}
		if at.number--; at.number != 0 {
			return
		}
		after = 1
		if at.meanwhile {
			go func() { defer close(gone); k.server.Kill() }()
			return
		}
		k.server.Kill()
		close(gone)
	})
	err := verbs()[verb](k.T, k.in, p)
	k.in.Before(nil)
	if after == 0 {
		noError(k.T, err)
		return n
	}
	<-gone
	k.killed[verb]++
	if err == nil && !at.meanwhile && after > 1 {
		k.Errorf("%s ended well without a server, from statement %d", verb, n-after+1)
	}
	k.server.Start()
	return n
}

// blows are the moments of each verb, and how many rounds it takes to kill a server in all of them.
func (k *killable) blows() (rounds int, at func(round int, verb string) blow) {
	if !claimtest.Long() {
		named := map[string][]blow{
			"run":    {{"UPDATE semel_dedupe_map SET state = 1", 2, false}, {"COMMIT", 2, true}},
			"finish": {{"UPDATE semel_dedupe_index SET built_at", 1, false}, {k.by("CREATE UNIQUE INDEX", "ALTER TABLE", ""), 1, true}},
			"undo":   {{"UPDATE semel_dedupe_map SET state = 3", 1, false}, {"COMMIT", 2, true}},
		}
		return 2, func(round int, verb string) blow { return named[verb][round%2] }
	}
	random := rand.New(rand.NewPCG(uint64(k.Dialect), 18))
	return claimtest.Times(0, 4, 25), func(round int, verb string) blow {
		if round == 0 || k.statements[verb] == 0 { // statements are counted
			return blow{}
		}
		return blow{"", 1 + random.IntN(k.statements[verb]), random.IntN(2) == 0}
	}
}

// enough reports whether the server was killed this often during each verb. A verb that needs fewer statements than in the rounds
// before can end before the point that was chosen.
func (k *killable) enough(kills int) bool {
	return min(k.killed["run"], k.killed["finish"], k.killed["undo"]) >= kills
}

// whole wants every group to be merged once, with all that hangs on it.
func (k *killable) whole(groups int) {
	k.Helper()
	k.want("SELECT count(*) FROM semel_dedupe_run WHERE undone_at IS NULL", "1")
	k.want("SELECT count(*) FROM semel_dedupe_audit WHERE step = 2 AND undone_at IS NULL", k.text("SELECT count(DISTINCT concat(tbl, a.key)) FROM semel_dedupe_audit AS a WHERE step = 2 AND undone_at IS NULL"))
	k.want("SELECT count(*) FROM invoice WHERE merged_into IS NOT NULL", fmt.Sprint(groups))
	k.want("SELECT count(*) FROM line AS l LEFT JOIN invoice AS i ON i.id = l.invoice_id WHERE i.id IS NULL OR i.merged_into IS NOT NULL AND l.merged_into IS NULL", "0")
	k.want("SELECT count(*) FROM note AS n LEFT JOIN line AS l ON l.id = n.line_id WHERE l.id IS NULL OR l.merged_into IS NOT NULL", "0")
	k.want("SELECT count(*) FROM payment AS p JOIN invoice AS i ON i.id IN (p.invoice_id, p.other_id) WHERE i.merged_into IS NOT NULL", "0")
}

// A server that is killed during a run, a finish or an undo and started again loses nothing: the same call goes on, does nothing twice,
// and an undo restores every byte.
func TestKilledServer(t *testing.T) {
	t.Parallel()
	for _, d := range []dialect.Dialect{dialect.PostgreSQL, dialect.MySQL} {
		t.Run(d.String(), func(t *testing.T) {
			t.Parallel()
			k := newKillable(t, d)
			k.lateTables()
			const pairs = 300 // two batches
			k.fill("invoice (id, number)", 2*pairs, func(i int) string { return fmt.Sprintf("%d, '%s-%d'", 100+i, []string{"n", "N"}[i%2], (i+1)/2) })
			k.exec("INSERT INTO line (id, invoice_id, pos) SELECT id, id, CASE WHEN id % 4 < 2 THEN id % 2 ELSE 7 END FROM invoice WHERE id > 100", "INSERT INTO note SELECT id + 9000, id FROM line WHERE id > 100", "INSERT INTO payment SELECT id + 9000, id, 5 FROM invoice WHERE id > 100")
			q := once()
			p := k.plan("invoice", "lower(number)", q)
			before := k.state()
			rounds, at := k.blows()
			for round := 0; round < rounds || round < 4*rounds && !k.enough(rounds-1); round++ {
				step := func(verb string) {
					k.statements[verb] = max(k.statements[verb], k.during(verb, p, at(round, verb)))
				}
				k.guard(p)
				step("run")
				k.merge(p)
				k.whole(pairs + 2)
				step("finish")
				k.finish(p)
				k.indexed(true)
				k.refuses("INSERT INTO invoice (id, number) VALUES (9, 'C')")
				step("undo")
				if k.text("SELECT count(*) FROM semel_dedupe_run WHERE undone_at IS NULL") == "1" {
					k.undoWithIndex(k.lastRun())
				}
				k.refuses("INSERT INTO invoice (id, number) VALUES (9, 'C')")
				_, err := k.in.RemoveGuard(t.Context(), "", "")
				noError(t, err)
				if k.state() != before || k.Failed() {
					t.Fatalf("round %d: the undo leaves another state", round)
				}
			}
			if !k.enough(rounds - 1) {
				t.Errorf("the server was killed this often: %v of %v statements", k.killed, k.statements)
			}
			t.Logf("the server was killed this often: %v of %v statements", k.killed, k.statements)
		})
	}
}
