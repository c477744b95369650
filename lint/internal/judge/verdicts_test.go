package judge_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/lint/internal/judge"
)

// Tables that verdicts are about.
const (
	likes   = "create table p(id serial primary key, ref text not null unique, n int not null default 0);"
	likesMy = "create table p(id int auto_increment primary key, ref varchar(9) not null unique);"
	timesPG = "create table d(id int primary key, at timestamptz, n int, tag text);"
	times   = "create table d(id integer primary key, at text, n int, tag text);"
	days    = "create table d(id int primary key, r daterange);"
)

// verdicts has statements with their verdict and a part of the reason.
var verdicts = []struct {
	d              dialect.Dialect
	ddl, statement string
	want           judge.Verdict
	why            string
}{
	// A key refuses no second row where the schema does not say what its column gets: the database of production may number it.
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
	// A key that a table has from another one refuses a second row, and keys that are not known are neither there nor missing.
	{pg, likes + "create table c (like p including all);", "insert into c(ref) values ('a')", judge.Safe, ""},
	{pg, likes + "create table c (x int, like p including indexes including defaults including identity, y int);", "insert into c(ref,x,y) values ('a',1,2)", judge.Safe, ""},
	{pg, likes + "create table c (like p including all);", "insert into c(n) values (1)", judge.CannotTell, ""},
	{pg, likes + "create table c (like p);", "insert into c(id,ref,n) values (1,'a',1)", judge.NotSafe, ""},
	{pg, likes + "create table c (like p including all); alter table c drop constraint c_ref_key;", "insert into c(ref) values ('a')", judge.NotSafe, ""},
	{pg, likes + "create table c (like p including all); alter table c rename ref to code;", "insert into p(ref) values ('a')", judge.Safe, ""},
	{pg, "create table c (like elsewhere including all);", "insert into c(ref) values ('a')", judge.CannotTell, ""},
	{pg, likes + "create table c as select * from p;", "insert into c(ref) values ('a')", judge.CannotTell, ""},
	{pg, likes + "create table c () inherits (p);", "insert into c(ref) values ('a')", judge.CannotTell, ""},
	{pg, "create table q(id int, ref text unique) partition by list (id); create table c partition of q for values in (1);", "insert into c(id,ref) values (1,'a')", judge.CannotTell, ""},
	{my, likesMy + "create table c like p;", "insert into c(ref) values ('a')", judge.Safe, ""},
	{my, likesMy + "create table c like p; alter table c drop index ref;", "insert into c(ref) values ('a')", judge.NotSafe, ""},
	{my, "create table c like elsewhere;", "insert into c(ref) values ('a')", judge.CannotTell, ""},
	{my, likesMy + "create table c as select * from p;", "insert into c(ref) values ('a')", judge.CannotTell, ""},
	{lite, "create table p(ref text primary key); create table c as select * from p;", "insert into c(ref) values ('a')", judge.CannotTell, ""},
	// What cannot be a word for the time stays safe; of a column that is converted, Semel does not know whether it is one.
	{pg, timesPG, "update d set n=1 where at::date='2024-01-01'", judge.Safe, ""},
	{pg, timesPG, "update d set n=1 where date_trunc('day', at)::date=$1::date", judge.Safe, ""},
	{pg, timesPG, "update d set at='2024-01-01'::timestamptz where id=1", judge.Safe, ""},
	{pg, timesPG, "update d set at=$1::timestamptz where id=1", judge.Safe, ""},
	{pg, timesPG, "update d set tag=x.tag from (values ('now')) x(tag) where id=1", judge.Safe, ""},
	{lite, times, "update d set at=date('2024-01-01', '+1 day') where id=1", judge.Safe, ""},
	{lite, times, "update d set at=strftime('%Y', date('2024-01-01')) where id=1", judge.Safe, ""},
	// A range of words is another one on another day.
	{pg, days, "update d set r='[today,tomorrow)'::daterange", judge.Time, "the time of the run"},
	{pg, days, "update d set r='[today,tomorrow)'", judge.Time, "the time of the run"},
	{pg, days, "update d set r='[ yesterday , today )'::daterange where id=1", judge.Time, "the time of the run"},
}

// Each statement gets its verdict, and the reason names what is at fault.
func TestVerdicts(t *testing.T) {
	t.Parallel()
	for _, c := range verdicts {
		if got := verdict(t, c.d, learn(c.d, c.ddl), c.statement); got.Verdict != c.want || !strings.Contains(got.Why, c.why) {
			t.Errorf("%s: called %s (%s: %s), want %s: %s\n%s", c.d, got.Verdict, got.Rule, got.Why, c.want, c.statement, c.ddl)
		}
	}
}

// MySQL compares a text with a number by their values, so that one row needs a parameter of the type of the column.
func TestTextForOneRow(t *testing.T) {
	t.Parallel()
	got := verdict(t, my, learn(my, "create table k(a varchar(9) primary key, n int);"), "delete from k where a=? limit 1")
	if got.Verdict != judge.Safe || !slices.Contains(got.Assumes, "parameter 1 is of the type of column a") {
		t.Errorf("%s (%s) under %q", got.Verdict, got.Why, got.Assumes)
	}
}

// A part of WITH that is named like the table it reads, or that returns the row as it was, is not taken for one that stays as it is.
func TestPartsThatMislead(t *testing.T) {
	t.Parallel()
	s := learn(pg, parts)
	for _, statement := range []string{
		"with l as (select id from l where n=5) delete from l where exists (select 1 from l)",
		"with l as (select count(*) from l) delete from l where (select * from l) = 3",
		"with x as (update l set n=9 where id=1 returning old.*) update c set n=(select n from x) where id=1",
	} {
		if got := verdict(t, pg, s, statement); got.Verdict == judge.Safe {
			t.Errorf("%s is called safe: %s", statement, got.Why)
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
