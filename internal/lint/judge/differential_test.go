package judge_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/lint/judge"
)

// SEMEL_LINT_SEED repeats a run.
func seed(t *testing.T) uint64 {
	t.Helper()
	n := variable(t, "SEMEL_LINT_SEED", 20261123)
	t.Logf("SEMEL_LINT_SEED=%d", n)
	return n
}

// variable returns the number that the environment has under a name.
func variable(t *testing.T, name string, unless uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return unless
	}
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// No random statement is called safe that changes the database at its second run. SEMEL_LINT_TIMES=40 tries
// 20,000 statements on SQLite and 2,000 each on PostgreSQL and MariaDB, which takes ten minutes.
func TestDifferential(t *testing.T) {
	t.Parallel()
	start := seed(t)
	times := int(variable(t, "SEMEL_LINT_TIMES", 1))
	counts := map[dialect.Dialect]int{lite: 500, pg: 50, my: 50}
	for _, d := range dialect.All() {
		t.Run(d.String(), func(t *testing.T) {
			t.Parallel()
			n, fills := times*counts[d], 14
			if d != lite {
				fills = 3
			}
			differential(t, d, start, n, fills)
		})
	}
}

type tally struct{ proven, noEvidence, cannot, alarms, notSafe, time, refused, falseSafe int }

func differential(t *testing.T, d dialect.Dialect, start uint64, n, fills int) {
	t.Helper()
	w := newTwice(t, d)
	s := w.define(t, randomSchema(d))
	var c tally
	for i := range n {
		g := &generator{rand.New(rand.NewPCG(start, uint64(i))), d}
		statement := g.statement()
		got := verdict(t, d, s, statement)
		touched, differs := false, false
		refused := ""
		for fill := range fills {
			w.fill(t, d, start, uint64(i), uint64(fill))
			before, once, again, errs := w.run(t, statement)
			if errs[0] != nil {
				refused = errs[0].Error()
			}
			touched = touched || before != once
			if once == again || errs[0] != nil {
				continue
			}
			differs = true
			if got.Verdict == judge.Safe && len(got.Assumes) == 0 {
				c.falseSafe++
				t.Errorf("seed %d, statement %d, rows %d: called safe (%s: %s):\n%s\nfrom\n%sthen\n%sthen\n%s", start, i, fill, got.Rule, got.Why, statement, before, once, again)
			}
			break
		}
		c.count(got.Verdict, touched, differs, refused)
		if c.falseSafe > 10 {
			break
		}
	}
	t.Logf("%s: %d statements, %d refused: %d proven safe, %d without evidence, %d cannot tell, %d alarms, %d not safe and called so, %d time, %d false safe",
		d, n, c.refused, c.proven, c.noEvidence, c.cannot, c.alarms, c.notSafe, c.time, c.falseSafe)
	if c.proven < n/20 || c.refused > n/2 {
		t.Errorf("%s: the statements say too little: %+v", d, c)
	}
}

func (c *tally) count(v judge.Verdict, touched, differs bool, refused string) {
	switch {
	case !touched && !differs && refused != "":
		c.refused++
	case v == judge.CannotTell:
		c.cannot++
	case v == judge.Time:
		c.time++
	case v == judge.NotSafe && differs:
		c.notSafe++
	case v == judge.NotSafe:
		c.alarms++
	case !touched:
		c.noEvidence++
	case !differs:
		c.proven++
	}
}

// fill puts other rows into the tables.
func (w *twice) fill(t *testing.T, d dialect.Dialect, start, statement, fill uint64) {
	t.Helper()
	g := &generator{rand.New(rand.NewPCG(start^0x5eed, statement*100+fill)), d}
	var b []string
	for _, table := range []string{"chi", "t", "s", "g", "up", "log", "par", "tr"} {
		b = append(b, "delete from "+table)
	}
	if b = append(b, "update node set parent=null", "delete from node"); d == pg {
		b = append(b, "select setval('up_id_seq', 1, false), setval('log_id_seq', 1, false)")
	}
	for i := 1; i <= 5; i++ {
		b = append(b,
			fmt.Sprintf("insert into t(id,n,m,status,name,price,tag,flag,r,grp) values (%d,%s,%s,%s,%s,%s,%s,%s,%s,%d)", i,
				g.pick("0", "1", "2", "3", "5", "40"), g.pick("null", "0", "1", "2", "3", "5"), g.pick("0", "1", "2", "3"),
				g.pick("'abc'", "'ABC'", "' ab'", "'x'", "''", "'aab '"), g.pick("null", "1.25", "0.5", "2.7", "3"), g.pick("null", "'a'", "'b'", "'ABC'"),
				g.pick("true", "false", "null"), g.pick("0.5", "1", "2.25", "null"), g.r.IntN(3)),
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
	text, serial := "text", "serial primary key"
	stored := " stored"
	switch d {
	case my:
		text, serial = "varchar(60)", "int auto_increment primary key"
	case lite:
		serial = "integer primary key"
	case pg:
	}
	out := fmt.Sprintf(`create table t(id int primary key, n int not null default 0, m int, status smallint default 0, name %[1]s, price numeric(6,2), tag varchar(3), flag boolean, r real, grp int);
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
`, text, serial, stored)
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
