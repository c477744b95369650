package judge_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/semel-dev/semel/internal/lint/judge"
	"github.com/semel-dev/semel/internal/lint/schema"
)

// Statements that real programs are full of are called safe, and the database stays as the first run has left it.
func TestSound(t *testing.T) {
	t.Parallel()
	for _, h := range slices.Concat(sound, exclusionSound, orderSound, operatorSound, stepSound) {
		t.Run(h.d.String()+"/"+h.name, func(t *testing.T) {
			t.Parallel()
			w := newTwice(t, h.d)
			s := w.define(t, h.ddl)
			if before, once, again, errs := w.run(t, h.statement); once != again || before == once {
				t.Errorf("(%v) from\n%sto\n%sthen\n%s", errs, before, once, again)
			}
			if got := verdict(t, h.d, s, h.statement); got.Verdict != judge.Safe {
				t.Errorf("called %s (%s: %s): %s", got.Verdict, got.Rule, got.Why, h.statement)
			}
		})
	}
}

const enclosures = `create table e(id bigserial primary key, user_id int not null, entry_id bigint not null, url text not null, size bigint default 0, at int default 0);
create unique index u on e (user_id, entry_id, encode(sha256(url::bytea), 'hex'));`

// parts are tables for statements of several parts, without a column that is the time of a run.
const parts = `create table l(id int primary key, n int not null, name text not null); create table c(id int primary key, l int not null, label text not null default '', n int not null default 0);
create table sub(id serial primary key, mail text not null unique, name text not null, note text); insert into l values (1,5,'a'),(2,1,'b'),(3,5,'c'); insert into c values (1,1,'',1),(2,2,'',1),(3,1,'',1);`

var sound = []hole{
	{"what an update returns", pg, parts, "with x as (update l set name=case when id>0 then 'z' else name end where id=1 returning id, name) update c set label=x.name from x where c.l=x.id"},
	{"what an update returns, as a value", pg, parts, "with x as (update l set name='z' where id=1 returning id as one) update c set label='y', n=7 where l=(select one from x)"},
	{"what an upsert returns", pg, parts, "with x as (insert into sub(mail,name) values ('m','a') on conflict (mail) do update set name='a' returning id, name) insert into c(id,l,label) select 9, x.id, x.name from x on conflict (id) do update set label=excluded.label"},
	{"branch of CASE that was inserted", pg, parts, "insert into sub(mail,name,note) values ('m','a','b') on conflict (mail) do update set name=case when 3>2 then 'a' else sub.name end, note=case when 3<2 then 'b' else sub.note end"},
	{"branch of CASE that was inserted", lite, "create table sub(mail text primary key not null, name text not null);", "insert into sub(mail,name) values ('m','a') on conflict (mail) do update set name=case when 3>2 then 'a' else sub.name end"},
	{"branch of one CASE in both", pg, parts + "create type state as enum ('a','b'); alter table sub add s state;", "insert into sub(mail,name,s) select m, case when 3>2 then 'a' else 'b' end, case when 3>2 then 'a'::state else 'b' end from unnest(array['m','o']) m on conflict (mail) do update set name=case when 3>2 then 'a' else sub.name end, s=case when 3>2 then 'a'::state else sub.s end"},
	{"members of an object", pg, parts, "update l set n=(x.v#>>'{}')::int from (select * from jsonb_each('{\"a\":7,\"b\":8,\"a\":9}'::jsonb)) as x(k,v) where l.name=x.k"},
	{"as long as some are left", pg, parts, "delete from l where n=5 and (select count(*) from l) > 2"},
	{"as long as some are left", lite, "create table l(id integer primary key, n int not null); insert into l values (1,5),(2,1),(3,5);", "delete from l where n=5 and (select count(*) from l) > 2"},
	{"as long as some are left, by a CTE", pg, parts, "with u as (select count(*) as num from l where not (id = any('{1,3}'))) delete from l where id = any('{1,3}') and (select num from u) > 0"},
	{"key over a digest", pg, enclosures, "insert into e (url,size,entry_id,user_id) values ('x',1,2,3) on conflict (user_id, entry_id, encode(sha256(url::bytea), 'hex')) do nothing"},
	{"key over a digest, and an update", pg, enclosures, "insert into e (url,size,entry_id,user_id,at) values ('x',1,2,3,4) on conflict (user_id, entry_id, encode(sha256(url::bytea), 'hex')) do update set size=excluded.size, at=excluded.at"},
	{"key over coalesce", pg, "create table d(a text not null, b text, n int); create unique index u on d (a, coalesce(b,''));", "insert into d (a,n) values ('a',1) on conflict (a, coalesce(b,'')) do update set n=excluded.n"},
	{"key over coalesce", lite, "create table d(a text not null, b text, n int); create unique index u on d (a, coalesce(b,''));", "insert into d (a,n) values ('a',1) on conflict (a, coalesce(b,'')) do update set n=excluded.n"},
	{"key over lower", lite, "create table d(a text not null, n int); create unique index u on d (lower(a));", "insert into d (a,n) values ('A',1) on conflict (lower(a)) do nothing"},
	{"key over joined texts", pg, "create table d(a text not null, b text not null, n int); create unique index u on d ((a||'/'||b));", "insert into d (a,b,n) values ('a','b',1)"},
	{"key over a day", pg, "create table d(at timestamp not null, n int); create unique index u on d (date_trunc('day', at));", "insert into d (at,n) values ('2026-01-01 10:00',1) on conflict do nothing"},
	{"key over a generated column", pg, "create table d(a text not null, b text generated always as (lower(a)) stored unique, n int);", "insert into d (a,n) values ('A',1) on conflict (b) do nothing"},
	{"key over a generated column", lite, "create table d(a text not null, b text generated always as (lower(a)) stored unique, n int);", "insert into d (a,n) values ('A',1) on conflict (b) do nothing"},
	{"key over what may be NULL, where NULLs are the same", pg, "create table d(a text not null, n int); create unique index u on d (nullif(a,'')) nulls not distinct;", "insert into d (a,n) values ('',1) on conflict do nothing"},
	{"partial key of another value", pg, "create table d(a text not null, n int); create unique index u on d (a) where a <> '';", "insert into d (a,n) values ('x',1) on conflict do nothing"},
	{"partial key of what is not NULL", lite, "create table d(a text, n int not null); create unique index u on d (n) where n is not null;", "insert or ignore into d (a,n) values ('x',1)"},
	{"rows of a CTE that are there already", pg, "create table t(id int primary key, h text not null); insert into t values (1,'a'),(2,'b'); create table gone(h text primary key); insert into gone values ('a');", "with d as (delete from t where h<>'c' returning h) insert into gone (h) select h from d where h<>'' on conflict (h) do nothing"},
	{"renamed column of a table with a partial key", pg, "create table d(id int primary key, tap boolean default true, g text); create unique index u on d (g) where g <> ''; alter table d rename tap to nav; alter table d alter nav drop default, alter nav type text, alter nav set default 'x', alter nav set not null; insert into d values (1,'y','');", "update d set nav='z' where id=1"},
	{"identity of a dump", pg, "create table d(id bigint not null, n int); alter table d alter column id add generated by default as identity; alter table only d add constraint d_pkey primary key (id); insert into d (n) values (1);", "update d set n=2 where id=1"},
	{"modified columns", my, "create table d(id int primary key, ref varchar(20) not null unique, n int); alter table d modify n bigint not null default 3, change ref code varchar(40) not null; alter table d alter n set default 4;", "insert into d (id,code) values (1,'a')"},
	{"dropped foreign key", my, "create table p(id int primary key); create table d(id int primary key, p int, n int, constraint f foreign key (p) references p(id)); alter table d drop foreign key f; insert into d values (1,1,1);", "update d set n=2 where id=1"},
	{"condition on what the upsert sets", pg, "create table l(id serial primary key, k text not null unique, own text, n int); insert into l(k,own,n) values ('a','x',1);", "insert into l(k,own,n) values ('a','y',2) on conflict (k) do update set own=excluded.own, n=excluded.n where l.n<2 or l.own='y'"},
	{"condition on what the upsert sets", lite, "create table l(id integer primary key, k text not null unique, own text, n int); insert into l(k,own,n) values ('a','x',1);", "insert into l(k,own,n) values ('a','y',2) on conflict (k) do update set own=excluded.own, n=excluded.n where l.n<2 or l.own='y'"},
	{"the smaller one by CASE", pg, "create table r(k text primary key, lim int not null, v int not null); insert into r values ('a',9,7);", "insert into r(k,lim,v) values ('a',5,5) on conflict (k) do update set lim=excluded.lim, v=case when excluded.lim<r.v then excluded.lim else r.v end"},
	{"greater than itself or a parameter", pg, "create table g(id int primary key, n int); insert into g values (1,3);", "update g set n=greatest(n, coalesce(5, n)) where id=1"},
	{"key over the digest of JSON", pg, "create table f(id serial primary key, p jsonb not null, h text generated always as (md5(p::text)) stored); create unique index fh on f(h);", "insert into f(p) values ('null')"},
	{"all rows that no session holds, by their key", pg, queued, "update q set state='run' where id in (select id from q where state='new' order by id for update skip locked)"},
	{"all rows that no session holds, by another column", pg, queued, "update q set done=1 where at in (select at from q where at<3 for update skip locked)"},
	{"all rows that no session holds, joined", pg, queued, "with mine as (select id, at from q where state='new' order by id for update skip locked) update q set state='run', done=mine.at from mine where q.id=mine.id"},
	{"all rows that no session holds, deleted", pg, queued, "with mine as (select id from q where at < 3 for update skip locked) delete from q where id in (select id from mine)"},
	{"all rows that no session holds, moved", pg, queued, "with mine as (select id from q where at < 3 for update skip locked), gone as (delete from q where id in (select id from mine) returning id) insert into done (id) select id from gone"},
}

const queued = "create table q(id int primary key, state text, at int, done int); create table done(id int); insert into q values (1,'new',1,0),(2,'new',2,0),(3,'old',3,0);"

// A statement that leaves out the rows of other sessions is safe as long as there are none, and says so; with a limit it
// takes the next rows each time.
func TestSkipLocked(t *testing.T) {
	t.Parallel()
	w := newTwice(t, pg)
	s := w.define(t, queued)
	const under = "no other session holds rows that SKIP LOCKED leaves out: a repeat takes those"
	for _, h := range slices.Concat(sound, exclusionSound) {
		if !strings.Contains(h.statement, "skip locked") {
			continue
		}
		if got := verdict(t, pg, s, h.statement); !slices.Contains(got.Assumes, under) {
			t.Errorf("under %q: %s", got.Assumes, h.statement)
		}
		if plain := strings.ReplaceAll(h.statement, "skip locked", ""); slices.Contains(verdict(t, pg, s, plain).Assumes, under) {
			t.Errorf("under %q: %s", under, plain)
		}
	}
	const limited = "update q set state='run' where id in (select id from q where state='new' order by id limit 1 for update skip locked)"
	if got := verdict(t, pg, s, limited); got.Verdict != judge.NotSafe || got.Rule != judge.MovingSelection {
		t.Errorf("called %s (%s: %s): %s", got.Verdict, got.Rule, got.Why, limited)
	}
	if _, once, again, errs := w.run(t, limited); once == again {
		t.Errorf("the second run changed nothing (%v): %s", errs, again)
	}
	if got := verdict(t, pg, s, "select id from q for update skip locked"); got.Verdict != judge.Safe || len(got.Assumes) > 0 {
		t.Errorf("a query is called %s under %q", got.Verdict, got.Assumes)
	}
}

// The reason names the function that is at fault, whatever others the statement calls.
func TestNamedFunction(t *testing.T) {
	t.Parallel()
	s := &schema.Schema{}
	for _, p := range parse(pg, "create table d(id int primary key, n int, u uuid, at timestamptz);") {
		s.Apply(p.Statement)
	}
	for statement, want := range map[string]string{
		"select nextval('s'), now(), random()":                                        "nextval() changes something at every call",
		"select now(), nextval('s'), stranger()":                                      "nextval() changes something at every call",
		"select stranger(), random(), now()":                                          "stranger() is not known: it may change something",
		"update d set n = length(nextval('s')::text || now()::text)":                  "nextval() changes something at every call",
		"update d set u = coalesce(stranger(now()), gen_random_uuid())":               "u gets another value of gen_random_uuid() at every run",
		"update d set u = coalesce(gen_random_uuid(), stranger(now()))":               "u gets another value of gen_random_uuid() at every run",
		"update d set n = 1 where n > random() and at < now()":                        "random() gives another value at every run",
		"insert into d (id, n) values ((random() * extract(day from now()))::int, 1)": "random()",
		"delete from d where n = nextval('s') and at < now() and id > stranger()":     "nextval() changes something at every call",
	} {
		if got := verdict(t, pg, s, statement); !strings.Contains(got.Why, want) {
			t.Errorf("%q: %s", got.Why, statement)
		}
	}
}
