package judge_test

import (
	"strings"
	"testing"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/lint/judge"
)

// A key refuses no second row where the schema does not say what its column gets: the database of production may number it.
func TestLeftOut(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		d              dialect.Dialect
		ddl, statement string
		want           judge.Verdict
		why            string
	}{
		{pg, "create table t(id integer primary key, n int);", "insert into t(n) values (1)", judge.CannotTell, "id, which has no default"},
		{pg, "create table t(id integer primary key, n int);", "insert into t(id,n) values (default,1)", judge.CannotTell, "id, which has no default"},
		{pg, "create table t(id integer primary key, n int);", "insert into t(n) select 1", judge.CannotTell, "id, which has no default"},
		{pg, parts, "insert into c(id,l) values (unnest(array(select id from l)), 5) on conflict do nothing", judge.CannotTell, "may insert the row again"},
		{pg, "create table t(id integer primary key, n int);", "insert into t default values", judge.CannotTell, "id, which has no default"},
		{pg, "create table t(id integer primary key, n int not null);", "insert into t(id) values (1) on conflict (id) do nothing", judge.CannotTell, "n, which has no default"},
		{pg, "create table t(id serial primary key, n int);", "insert into t(n) values (1)", judge.NotSafe, "id is numbered"},
		{pg, "create table t(id int generated always as identity primary key, n int);", "insert into t(n) values (1)", judge.NotSafe, "id is numbered"},
		{pg, "create table t(id int primary key default 7, n int);", "insert into t(n) values (1)", judge.Safe, ""},
		{pg, "create table t(id int primary key, n int, m int not null default 0, g int not null generated always as (n+1) stored);", "insert into t(id,n) values (1,1)", judge.Safe, ""},
		{pg, "create table t(id int primary key, n int); create function f() returns trigger language plpgsql as $$ begin new.id := 7; return new; end $$; create trigger b before insert on t for each row execute function f();", "insert into t(n) values (1)", judge.Safe, ""},
		{lite, "create table t(id integer primary key, n int);", "insert into t(n) values (1)", judge.NotSafe, "id is numbered"},
		{lite, "create table t(id text primary key, n int) without rowid;", "insert into t(n) values (1)", judge.CannotTell, "id, which has no default"},
		{lite, "create table t(id text primary key, n int);", "insert into t(n) values (1)", judge.NotSafe, "id is NULL"},
		{my, "create table t(id int primary key, n int);", "insert into t(n) values (1)", judge.CannotTell, "id, which has no default"},
		{my, "create table t(id int primary key, n int not null);", "insert into t(id) values (1)", judge.Safe, ""},
		{my, "create table t(id int auto_increment primary key, n int);", "insert into t(n) values (1)", judge.NotSafe, "id is numbered"},
	} {
		if got := verdict(t, c.d, learn(c.d, c.ddl), c.statement); got.Verdict != c.want || !strings.Contains(got.Why, c.why) {
			t.Errorf("%s: called %s (%s), want %s: %s\n%s", c.d, got.Verdict, got.Why, c.want, c.statement, c.ddl)
		}
	}
}

// A key that a table has from another one refuses a second row, and keys that are not known are neither there nor missing.
func TestCopiedKeys(t *testing.T) {
	t.Parallel()
	const p, m = "create table p(id serial primary key, ref text not null unique, n int not null default 0);", "create table p(id int auto_increment primary key, ref varchar(9) not null unique);"
	for _, c := range []struct {
		d         dialect.Dialect
		ddl       string
		statement string
		want      judge.Verdict
	}{
		{pg, p + "create table c (like p including all);", "insert into c(ref) values ('a')", judge.Safe},
		{pg, p + "create table c (x int, like p including indexes including defaults including identity, y int);", "insert into c(ref,x,y) values ('a',1,2)", judge.Safe},
		{pg, p + "create table c (like p including all);", "insert into c(n) values (1)", judge.CannotTell},
		{pg, p + "create table c (like p);", "insert into c(id,ref,n) values (1,'a',1)", judge.NotSafe},
		{pg, p + "create table c (like p including all); alter table c drop constraint c_ref_key;", "insert into c(ref) values ('a')", judge.NotSafe},
		{pg, p + "create table c (like p including all); alter table c rename ref to code;", "insert into p(ref) values ('a')", judge.Safe},
		{pg, "create table c (like elsewhere including all);", "insert into c(ref) values ('a')", judge.CannotTell},
		{pg, p + "create table c as select * from p;", "insert into c(ref) values ('a')", judge.CannotTell},
		{pg, p + "create table c () inherits (p);", "insert into c(ref) values ('a')", judge.CannotTell},
		{pg, "create table q(id int, ref text unique) partition by list (id); create table c partition of q for values in (1);", "insert into c(id,ref) values (1,'a')", judge.CannotTell},
		{my, m + "create table c like p;", "insert into c(ref) values ('a')", judge.Safe},
		{my, m + "create table c like p; alter table c drop index ref;", "insert into c(ref) values ('a')", judge.NotSafe},
		{my, "create table c like elsewhere;", "insert into c(ref) values ('a')", judge.CannotTell},
		{my, m + "create table c as select * from p;", "insert into c(ref) values ('a')", judge.CannotTell},
		{lite, "create table p(ref text primary key); create table c as select * from p;", "insert into c(ref) values ('a')", judge.CannotTell},
	} {
		if got := verdict(t, c.d, learn(c.d, c.ddl), c.statement); got.Verdict != c.want {
			t.Errorf("%s: called %s (%s: %s), want %s: %s\n%s", c.d, got.Verdict, got.Rule, got.Why, c.want, c.statement, c.ddl)
		}
	}
}

// copyHoles have fewer keys than the table that they are like, or other numbers.
var copyHoles = []hole{
	{"copy without keys", pg, "create table p(id int primary key); create table c(like p);", "insert into c(id) values (1)"},
	{"copy of a numbered key", pg, "create table p(id serial primary key, n int); create table c(like p including all);", "insert into c(n) values (1)"},
	{"copy of an identity", pg, "create table p(id int generated by default as identity primary key, n int); create table c(like p including all);", "insert into c(n) values (1)"},
	{"copy without the key that was dropped", pg, "create table p(id int not null unique); create table c(like p including all); alter table c drop constraint c_id_key;", "insert into c(id) values (1)"},
	{"copy of a numbered key", my, "create table p(id int auto_increment primary key, n int); create table c like p;", "insert into c(n) values (1)"},
	{"copy without the key that was dropped", my, "create table p(id int not null unique); create table c like p; alter table c drop index id;", "insert into c(id) values (1)"},
}
