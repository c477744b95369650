package judge_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/lint/internal/judge"
)

// SEMEL_LINT_SEED repeats a run.
func seed(t *testing.T) uint64 {
	t.Helper()
	n := uint64(20261123)
	if text := os.Getenv("SEMEL_LINT_SEED"); text != "" {
		var err error
		if n, err = strconv.ParseUint(text, 10, 32); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("SEMEL_LINT_SEED=%d", n)
	return n
}

// No random statement is called safe that changes the database at its second run. SEMEL_LONG tries 20,000 statements on
// SQLite, and 5,000 each on PostgreSQL and MariaDB.
func TestDifferential(t *testing.T) {
	t.Parallel()
	start := seed(t)
	counts := map[dialect.Dialect]int{lite: 400, pg: 300, my: 200}
	if claimtest.Long() {
		counts = map[dialect.Dialect]int{lite: 20_000, pg: 5_000, my: 5_000}
	}
	for _, d := range dialect.All() {
		t.Run(d.String(), func(t *testing.T) {
			t.Parallel()
			fills := 4
			if d == lite {
				fills = 8
			}
			differential(t, d, start, counts[d], fills)
		})
	}
}

type tally struct{ proven, noEvidence, cannot, alarms, notSafe, differ, time, refused, falseSafe int }

// trial is a random statement, and what its runs did so far.
type trial struct {
	number           int
	statement        string
	got, clipped     judge.Judgement // clipped where the server keeps the end of what a column cannot hold
	touched, differs bool
	refused          string
}

// called returns the verdict that has to hold: none where the rows or the session break its assumption.
func (r *trial) called(broken []string) judge.Verdict {
	for _, assumption := range broken {
		if assumption == strictMode && r.clipped.Verdict == judge.Safe {
			return judge.Safe
		}
		if slices.ContainsFunc(r.got.Assumes, func(one string) bool { return strings.Contains(one, assumption) }) {
			return judge.CannotTell
		}
	}
	return r.got.Verdict
}

const (
	strictMode = "the sql_mode of the server is strict"
	single     = 2 // the fill with one row in each table
)

// broken lets every other rows, or the session that they are for, break assumptions, and returns which those are.
func (w *twice) broken(t *testing.T, fill int) []string {
	t.Helper()
	broken, mode := []string{"come in the same order each time"}, "STRICT_TRANS_TABLES"
	if fill == single { // one row has one order, so nothing excuses a difference
		broken = nil
	}
	if fill%2 == 1 {
		broken = append(broken, "an object and no array")
		if w.d == my {
			broken, mode = append(broken, strictMode), ""
		}
	}
	if w.d == my {
		if err := w.exec(t.Context(), "set sql_mode='"+mode+"'"); err != nil {
			t.Fatal(err)
		}
	}
	return broken
}

func differential(t *testing.T, d dialect.Dialect, start uint64, n, fills int) {
	t.Helper()
	w := newTwice(t, d)
	s := w.define(t, randomSchema(d))
	w.abridge(t)
	clips := learn(d, randomSchema(d))
	clips.Clips = true
	const together = 25 // statements that are tried with the same rows
	var c tally
	for first := 0; first < n && c.falseSafe <= 10; first += together {
		var trials []*trial
		for i := first; i < min(first+together, n); i++ {
			g := &generator{rand.New(rand.NewPCG(start, uint64(i))), d}
			r := &trial{number: i, statement: g.statement()}
			if r.got = verdict(t, d, s, r.statement); d == my {
				r.clipped = verdict(t, d, clips, r.statement)
			}
			trials = append(trials, r)
		}
		for fill := range fills {
			broken := w.broken(t, fill)
			w.fill(t, d, start, uint64(first), uint64(fill))
			before := w.state(t)
			if err := w.exec(t.Context(), "begin;savepoint one"); err != nil {
				t.Fatal(err)
			}
			for _, r := range trials {
				if r.differs {
					continue
				}
				if once, again := w.try(t, r, before); once != again && r.called(broken) == judge.Safe {
					c.falseSafe++
					t.Errorf("seed %d, statement %d, rows %d: called safe (%s: %s) under %q:\n%s\nfrom\n%s\nthen\n%s\nthen\n%s", start, r.number, fill, r.got.Rule, r.got.Why, r.got.Assumes, r.statement, before, once, again)
				}
			}
			if err := w.exec(t.Context(), "rollback"); err != nil {
				t.Fatal(err)
			}
		}
		for _, r := range trials {
			c.count(r)
		}
	}
	t.Logf("%s: %d statements, %d refused: %d proven safe, %d without evidence, %d cannot tell, %d alarms, %d change at the second run (%d of them called not safe, %d time, %d false safe)",
		d, n, c.refused, c.proven, c.noEvidence, c.cannot, c.alarms, c.differ, c.notSafe, c.time, c.falseSafe)
	if c.proven < n/20 || c.refused > n/2 {
		t.Errorf("%s: the statements say too little: %+v", d, c)
	}
}

// abridge lets MySQL and SQLite tell the rows of each table as one text.
func (w *twice) abridge(t *testing.T) {
	t.Helper()
	columns, row := "select column_name from information_schema.columns where table_schema=database() and table_name='%s'", "select concat('%[1]s: ',coalesce(group_concat(x order by x),'')) from (select concat_ws('|',%[2]s) as x from %[1]s) q"
	switch w.d {
	case pg:
		return
	case lite:
		columns, row = "select name from pragma_table_xinfo('%s')", "select '%[1]s: '||coalesce(group_concat(x),'') from (select concat_ws('|',%[2]s) as x from %[1]s order by 1)"
	case my:
	}
	var parts []string
	for _, table := range w.tables {
		var texts []string
		for _, column := range w.rows(t, fmt.Sprintf(columns, table)) {
			texts = append(texts, "quote("+strings.TrimSuffix(column, "|")+")")
		}
		parts = append(parts, fmt.Sprintf(row, table, strings.Join(texts, ",")))
	}
	w.whole = strings.Join(parts, " union all ")
}

// try runs a statement twice, and first takes back what the one before it did.
func (w *twice) try(t *testing.T, r *trial, before string) (once, again string) {
	t.Helper()
	once, err := w.after(t, "rollback to one;"+r.statement)
	if err != nil {
		r.refused = err.Error()
		return "", ""
	}
	if once == before {
		return once, once
	}
	r.touched = true
	if again, err = w.after(t, r.statement); err != nil {
		again = once
	}
	r.differs = r.differs || once != again
	return once, again
}

// after runs statements, and returns the state after them: of MySQL in one round trip.
func (w *twice) after(t *testing.T, statements string) (state string, err error) {
	t.Helper()
	if w.d != my {
		if err := w.exec(t.Context(), statements); err != nil {
			return "", err
		}
		return w.state(t), nil
	}
	rows, err := w.conn.QueryContext(t.Context(), statements+";"+w.whole)
	if err != nil {
		return "", err
	}
	defer func() { _ = rows.Close() }()
	_, lines := scan(t, rows)
	return strings.Join(lines, "\n"), rows.Err()
}

func (c *tally) count(r *trial) {
	v := r.got.Verdict
	if r.differs {
		c.differ++
	}
	switch {
	case !r.touched && r.refused != "":
		c.refused++
	case v == judge.CannotTell:
		c.cannot++
	case v == judge.Time:
		c.time++
	case v == judge.NotSafe && r.differs:
		c.notSafe++
	case v == judge.NotSafe:
		c.alarms++
	case !r.touched:
		c.noEvidence++
	case !r.differs:
		c.proven++
	}
}

// fill puts other rows into the tables: every other time with arrays among the documents, and in MySQL with numbers at the end
// of their type.
func (w *twice) fill(t *testing.T, d dialect.Dialect, start, statement, fill uint64) {
	t.Helper()
	g := &generator{rand.New(rand.NewPCG(start^0x5eed, statement*100+fill)), d}
	n, status := []string{"0", "1", "2", "3", "5", "40"}, []string{"0", "1", "2", "3"}
	if odd := fill%2 == 1; odd && d == my {
		n, status = append(n, "2147483647"), append(status, "32767")
	}
	var b []string
	for _, table := range []string{"lo", "chi", "t", "s", "g", "up", "log", "par", "tr"} {
		b = append(b, "delete from "+table)
	}
	if b = append(b, "update node set parent=null", "delete from node"); d == pg {
		b = append(b, "select setval('up_id_seq', 1, false), setval('log_id_seq', 1, false)")
	}
	members := "doc"
	if d == pg {
		members = "doc,arr,tags"
	}
	for i := 1; i == 1 || i <= 5 && fill != single; i++ {
		b = append(b,
			fmt.Sprintf("insert into t(id,n,m,status,name,price,tag,flag,r,grp,%s) values (%d,%s,%s,%s,%s,%s,%s,%s,%s,%d,%s)", members, i,
				g.pick(n...), g.pick("null", "0", "1", "2", "3", "5"), g.pick(status...),
				g.pick("'abc'", "'ABC'", "' ab'", "'x'", "''", "'aab '"), g.pick("null", "1.25", "0.5", "2.7", "3"), g.pick("null", "'a'", "'b'", "'ABC'"),
				g.pick("true", "false", "null"), g.pick("0.5", "1", "2.25", "null"), g.r.IntN(3), g.members(fill%2 == 1)),
			fmt.Sprintf("insert into lo(id,k,n) values (%d,'k%d',%d)", i, i, g.r.IntN(3)),
			fmt.Sprintf("insert into s(id,t_id,v,w,name) values (%d,%s,%s,%d,%s)", i, g.pick("1", "2", "3", "4", "null"), g.pick("0", "1", "2", "null", "7"), g.r.IntN(4), g.pick("'abc'", "'x'", "'b'")),
			fmt.Sprintf("insert into g(id,a,n) values (%d,%d,%d)", i, g.r.IntN(5), g.r.IntN(3)),
			fmt.Sprintf("insert into up(k,a,b,n,m) values ('k%d',%d,%s,%d,%d)", i, i, g.pick("null", "1", "2"), g.r.IntN(4), g.r.IntN(4)),
			fmt.Sprintf("insert into tr(id,n,status) values (%d,%d,%d)", i, g.r.IntN(3), g.r.IntN(3)),
			fmt.Sprintf("insert into node(id,parent,n) values (%d,%s,%d)", i, []string{"null", "null", "1", "1", "2", "3"}[i*g.r.IntN(2)], g.r.IntN(3)),
			fmt.Sprintf("insert into par(id,code,n) values (%d,'c%d',%d)", i, i, g.r.IntN(3)),
			fmt.Sprintf("insert into chi(id,par_id,code,n) values (%d,%d,'c%d',%d)", i, 1+g.r.IntN(i), 1+g.r.IntN(i), g.r.IntN(3)))
	}
	into := map[dialect.Dialect]string{lite: "insert or ignore into up", my: "insert ignore into up"}
	for i, one := range b { // which has several keys
		rest, up := strings.CutPrefix(one, "insert into up")
		switch {
		case up && d == pg:
			b[i] = one + " on conflict do nothing"
		case up:
			b[i] = into[d] + rest
		}
	}
	w.batch(t, b)
}

func randomSchema(d dialect.Dialect) string {
	text, serial, stored, members := "text", "serial primary key", " stored", "doc jsonb, arr int[], tags text[]"
	switch d {
	case my:
		text, serial, members = "varchar(60)", "int auto_increment primary key", "doc json"
	case lite:
		serial, members = "integer primary key", "doc text"
	case pg:
	}
	out := fmt.Sprintf(`create table t(id int primary key, n int not null default 0, m int, status smallint default 0, name %[1]s, price numeric(6,2), tag varchar(3), flag boolean, r real, grp int, %[4]s);
create table lo(id int primary key, k varchar(20) not null unique, n int not null, m int default 3);
create table s(id int primary key, t_id int, v int, w int, name %[1]s);
create table g(id int primary key, a int, b int generated always as (a*2)%[3]s, c int generated always as (a+1)%[3]s, n int);
create table up(id %[2]s, k varchar(20) not null unique, a int, b int, n int default 4, m int, unique(a,b));
create table log(id %[2]s, msg int);
create table tr(id int primary key, n int, status int);
create table node(id int primary key, parent int references node(id) on delete set null, n int);
create table par(id int primary key, code varchar(20) unique, n int);
create table chi(id int primary key, par_id int references par(id) on delete cascade, code varchar(20) references par(code) on update cascade on delete set null, n int);
create view tv as select id,n,m,status,name,flag from t where status<3;
create view big as select id from t where n>1;
`, text, serial, stored, members)
	switch d {
	case pg:
		return out + `create unique index upp on up(b) where m=1;
create function tf() returns trigger language plpgsql as $$ begin new.status := 2; return new; end $$;
create trigger tt before update of n on tr for each row execute function tf();
create function lf() returns trigger language plpgsql as $$ begin insert into log(msg) values (1); return new; end $$;
create trigger tl after update of status on tr for each row execute function lf();`
	case my:
		return strings.ReplaceAll(out, "references node(id) on delete set null", "") + `create trigger tt before update on tr for each row set new.status = 2;
create trigger tl after insert on tr for each row insert into log(msg) values (1);`
	case lite:
	}
	return out + `create unique index upp on up(b) where m=1;
create trigger tt after update of n on tr begin update log set msg=7; end;
create trigger tl after update of status on tr begin insert into log(msg) values (1); end;`
}
