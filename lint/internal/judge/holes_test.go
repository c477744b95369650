package judge_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/lint/internal/judge"
)

// hole is a statement that changes the database at its second run, though a careless rule calls it safe.
type hole struct {
	name      string
	d         dialect.Dialect
	ddl       string // with the rows
	statement string
}

// No statement that is known to mislead is called safe, and the database changes at its second run.
func TestMisleading(t *testing.T) {
	t.Parallel()
	for _, h := range slices.Concat(holes, ripples, transitionHoles, shrinkHoles, eachRowHoles, exclusionHoles, orderHoles, operatorHoles, copyHoles, stepHoles, nearMisses) {
		t.Run(h.d.String()+"/"+h.name, func(t *testing.T) {
			t.Parallel()
			w := newTwice(t, h.d)
			s := w.define(t, h.ddl)
			s.Clips = strings.HasPrefix(h.ddl, lax)
			_, once, again, errs := w.run(t, h.statement)
			if errs[0] != nil || once == again {
				t.Errorf("the second run changed nothing (%v): %s\n%s", errs, h.statement, again)
			}
			if got := verdict(t, h.d, s, h.statement); got.Verdict == judge.Safe {
				t.Errorf("called safe (%s: %s): %s\n%sthen\n%s", got.Rule, got.Why, h.statement, once, again)
			}
		})
	}
}

// Views that form a cycle change nothing that is known.
func TestCycle(t *testing.T) {
	t.Parallel()
	for _, ddl := range []string{
		"create view a as select * from b; create view b as select * from a;",
		"create view a as select * from a;",
		"create view a as select id, n from b where n=1; create view b as select id, n from c; create view c as select id, n from a;",
	} {
		for _, d := range dialect.All() {
			for _, statement := range []string{"delete from a", "delete from a where id=1", "update a set n=1", "update a set n=2 where n=1", "insert into a(id,n) values (1,1)"} {
				if got := verdict(t, d, learn(d, ddl), statement); got.Verdict < judge.CannotTell {
					t.Errorf("%s: called %s (%s): %s\n%s", d, got.Verdict, got.Why, statement, ddl)
				}
			}
		}
	}
}

const (
	pg   = dialect.PostgreSQL
	my   = dialect.MySQL
	lite = dialect.SQLite
	// base is a table of three rows that all dialects take.
	base = `create table t(id integer primary key, n int, m int, status int, parent int);
insert into t values (1,0,5,0,NULL),(2,0,6,0,1),(3,0,7,0,2);
create table s(id integer primary key, v int); insert into s values (1,1),(2,2),(3,3);
create table log(msg int);
`
)

var holes = []hole{
	{"key over a bound of a range", pg, "create table d(r int4range, n int); create unique index u on d (lower(r));", "insert into d (r,n) values ('(,5)',1) on conflict do nothing"},
	{"key over JSON", pg, "create table d(doc jsonb not null, n int); create unique index u on d ((doc->>'ref'));", "insert into d (doc,n) values ('{}',1) on conflict do nothing"},
	{"key over a CASE", pg, "create table d(ref text not null, live boolean not null); create unique index u on d ((case when live then ref end));", "insert into d (ref,live) values ('a',false) on conflict do nothing"},
	{"key over coalesce of two columns that are null", pg, "create table d(a text, b text, n int); create unique index u on d (coalesce(a,b));", "insert into d (n) values (1) on conflict do nothing"},
	{"key over a join of texts, one of which is null", pg, "create table d(a text not null, b text, n int); create unique index u on d ((a||b));", "insert into d (a,n) values ('a',1) on conflict do nothing"},
	{"key over md5 of a random value", pg, "create table d(a uuid not null default gen_random_uuid(), n int); create unique index u on d (md5(a::text));", "insert into d (n) values (1) on conflict do nothing"},
	{"key over a generated column that is null", pg, "create table d(a text, b text generated always as (lower(a)) stored unique, n int);", "insert into d (n) values (1) on conflict do nothing"},
	{"key over nullif", pg, "create table d(a text not null, n int); create unique index u on d (nullif(a,''));", "insert into d (a,n) values ('',1) on conflict do nothing"},
	{"key over a function of another schema", pg, "create table d(a text not null, n int); do $x$ begin execute format('create schema %I', 'o'||current_database()); end $x$; do $x$ begin execute format('create function %I.lower(text) returns text immutable language sql as $f$ select null::text $f$', 'o'||current_database()); execute format('create unique index u on d (%I.lower(a))', 'o'||current_database()); end $x$;", "insert into d (a,n) values ('a',1) on conflict do nothing"},
	{"key over JSON", lite, "create table d(doc text not null, n int); create unique index u on d (json_extract(doc,'$.ref'));", "insert or ignore into d (doc,n) values ('{}',1)"},
	{"key over nullif", lite, "create table d(a text not null, n int); create unique index u on d (nullif(a,''));", "insert or ignore into d (a,n) values ('',1)"},
	{"key over a difference that is null", lite, "create table d(a real not null, n int); create unique index u on d (a-a);", "insert or ignore into d (a,n) values (9e999,1)"},
	{"key over an invalid date", lite, "create table d(a text not null, n int); create unique index u on d (date(a));", "insert or ignore into d (a,n) values ('x',1)"},
	{"key over a generated column that is null", lite, "create table d(a text, b text generated always as (lower(a)) stored unique, n int);", "insert or ignore into d (n) values (1)"},
	{"generated key of MySQL that is null", my, "create table d(a varchar(20), b varchar(20) generated always as (lower(a)) stored unique, n int);", "insert ignore into d (n) values (1)"},
	{"condition of a partial key that the row is outside of", pg, "create table d(a text not null, n int); create unique index u on d (a) where a <> 'x';", "insert into d (a,n) values ('x',1) on conflict do nothing"},
	{"condition of a partial key about a column that is null", pg, "create table d(a text not null, b text, n int); create unique index u on d (a) where b is not null;", "insert into d (a,n) values ('x',1) on conflict do nothing"},
	{"rows of a CTE in an upsert that counts", pg, base + "create table o(id int primary key, n int default 0); insert into o values (1,0);", "with d as (update t set m=5 where id=1 returning id) insert into o(id,n) select id,1 from d on conflict (id) do update set n=o.n+1"},
	{"statement trigger of an insert from an empty CTE", pg, base + "create table o(id int primary key); create function f() returns trigger language plpgsql as $$ begin insert into log values (1); return null; end $$; create trigger b after insert on o for each statement execute function f();", "with d as (delete from t where id=3 returning id) insert into o select id from d on conflict do nothing"},
	{"key dropped by the old name of its column", my, "create table note(id bigint auto_increment primary key, ref varchar(50) not null unique); alter table note change ref r varchar(50) not null; alter table note drop index ref;", "insert into note (r) values ('a')"},
	{"column made nullable", my, "create table note(id bigint auto_increment primary key, ref varchar(50) not null unique default 'a', n int); alter table note modify ref varchar(50) null;", "insert into note (n) values (1)"},
	{"default dropped", pg, "create table note(id bigserial primary key, ref text unique default 'a', n int); alter table note alter ref drop default;", "insert into note (n) values (1)"},
	{"default changed", my, "create table note(id bigint auto_increment primary key, ref varchar(50) unique default 'a', n int); alter table note alter ref set default null;", "insert into note (n) values (1)"},
	{"identity added", pg, "create table note(id bigint not null default 7 unique, n int); alter table note alter id drop default; alter table note alter id add generated by default as identity;", "insert into note (n) values (1)"},
	{"column renamed behind a trigger of another table", lite, "create table b(id integer primary key, n int); create table a(id integer primary key, n int); insert into a values (1,0); insert into b values (1,0); create trigger g after update on a begin update b set n=n+1; end; alter table b rename column n to m;", "update a set n=(select m from b)"},
	{"column renamed in a partial key", pg, "create table note(ref text not null, live boolean not null, n int); create unique index u on note (ref) where live; alter table note rename live to alive;", "insert into note (ref,alive) values ('a',false)"},
	{"two names exchanged", my, "create table d(a int, b int); insert into d values (1,2);", "alter table d change a b int, change b a int"},
	{"merge that inserts another value", pg, "create table uq(k int primary key, n int); create table s(k int primary key, n int); insert into s values (1,5);", "merge into uq using s on uq.k=s.k when matched then update set n=s.n+1 when not matched then insert (k,n) values (s.k,s.n)"},
	{"merge that counts by its source", pg, "create table d(k int primary key, n int); insert into d values (1,0); create table s(k int primary key, n int); insert into s values (1,1); create view v as select s.k, d.n+1 as n from s join d on d.k=s.k;", "merge into d using v on d.k=v.k when matched then update set n=v.n"},
	{"key over a second column that is null", pg, "create table note(id bigserial primary key, ref text not null, sep text, n int); create unique index u on note (btrim(ref, sep));", "insert into note (ref,n) values ('a',1) on conflict do nothing"},
	{"key over a second column that is null", lite, "create table note(id integer primary key, ref text not null, sep text, n int); create unique index u on note (trim(ref, sep));", "insert or ignore into note (ref,n) values ('a',1)"},
	{"key over a function of its own", pg, "create function lower(text, int) returns text immutable language sql as 'select null::text'; create table note(id bigserial primary key, ref text not null, n int); create unique index u on note (lower(ref, 1));", "insert into note (ref,n) values ('a',1) on conflict do nothing"},
	{"default of a view", pg, "create table note(ref text not null default 'a' unique, n int); create view v as select * from note; alter view v alter column ref set default gen_random_uuid()::text;", "insert into v (n) values (1)"},
	{"default of a view by alter table", pg, "create table note(ref text not null default 'a' unique, n int); create view v as select * from note; alter table v alter column ref set default gen_random_uuid()::text;", "insert into v (n) values (1)"},
	{"heir by alter table", pg, "create table told(id int primary key, n int); create table c(id int primary key, n int, p int); alter table c inherit told; create function bump() returns trigger language plpgsql as $$ begin new.p := coalesce(old.p,0)+1; return new; end $$; create trigger b before update on c for each row execute function bump(); insert into c values (7,1,0);", "update told set n = 5"},
	{"dropped index under a new name", pg, "create table note(id int, n int); create unique index u on note (id); alter index u rename to w; drop index w;", "insert into note (id,n) values (1,1)"},
	{"dropped key without a name", my, "create table note(id bigint auto_increment primary key, ref varchar(50) not null unique); alter table note drop index ref;", "insert into note (ref) values ('a')"},
	{"limit in a CTE", lite, base, "with p as (select id from t where n=0 order by id limit 1) update t set n=1 where id in (select id from p)"},
	{"limit in a view", lite, base + "create view p as select id from t where n=0 order by id limit 1;", "update t set n=1 where id in (select id from p)"},
	{"random in a CTE", pg, base, "with r as (select random()*1000000 as x) update t set n=r.x from r"},
	{"random in a view", lite, base + "create view r as select random() as x;", "update t set n=(select x from r)"},
	{"function in FROM", pg, base + "create sequence sq;", "update t set n=g from nextval('sq') g where t.id=g"},
	{"view under the name of a CTE", lite, base + "create view p as select id from t where n=0 order by id limit 1;", "with t as (select 1 as id) update t set n=1 where id in (select id from p)"},
	{"alias of the view's table", pg, base + "create view tv as select id,n,status from t;", "update tv set status=1, n=tv.n+1 from (select 1 as id, 0 as status) as t where t.status=0 and t.id=tv.id"},
	{"outer key selected", lite, base, "update t set n=1 where id in (select t.id from t x where x.id=t.parent and (x.n=1 or x.id=1))"},
	{"two writes of a table", pg, base, "with a as (update t set status=1 where id=1) update t set m=8 where status=1"},
	{"moved rows come back", pg, base, "with d as (delete from t where n=0 returning id,n) insert into t(id,n) select id+100,n from d"},
	{"source changed by another part", pg, base, "with u as (update s set v=9 where v<9 returning 1) insert into t(id) select id+50 from s where v=9 on conflict do nothing"},
	{"having without groups", pg, base, "with d as (delete from t where n=0 returning id) insert into log(msg) select 1 from d having count(*)>=0"},
	{"rollup", pg, base, "with d as (delete from t where n=0 returning id) insert into log(msg) select count(*) from d group by rollup(id)"},
	{"aggregate in the order", pg, base, "with d as (delete from t where n=0 returning id) insert into log(msg) select 1 from d order by count(*)"},
	{"other aggregates", pg, base, "with d as (delete from t where n=0 returning id) insert into log(msg) select coalesce(stddev(id),0) from d"},
	{"CTE that hides one", pg, base, "with d as (delete from t where n=0 returning id) insert into log(msg) with d as (select 1) select 1 from d"},
	{"check with a limit", pg, base, "insert into t(id) select s.id+100 from s where not exists (select 1 from t where t.id=s.id+100) order by s.id limit 1"},
	{"check within a check", lite, base, "insert or ignore into t(id) select s.id+100 from s where s.id=1 or not exists (select 1 from s x where x.id<s.id and not exists (select 1 from t where t.id=x.id+100))"},
	{"check within a check, alone", lite, base, "insert or ignore into t(id) select s.id+100 from s where not exists (select 1 from s x where x.id=s.id-1 and not exists (select 1 from t where t.id=x.id+100))"},
	{"check with having", pg, base, "insert into t(id) select s.id+100 from s where not exists (select 1 from t having count(*)<s.id+2) on conflict do nothing"},
	{"random rows of a source", lite, base + "with recursive c(x) as (select 100 union all select x+1 from c where x<400) insert into s select x,x from c;", "insert or ignore into t(id) select id+1000 from s where abs(random())%2=0"},
	{"random order of a source", pg, base, "insert into t(id) select x from generate_series(1000,1000000) x order by random() limit 1 on conflict do nothing"},
	{"null from a CTE that hides a table", lite, base + "create table u(k int not null unique); create table w(k int unique);insert into u values(1);", "insert into w(k) with u as (select null as k) select k from u"},
	{"zero is numbered", my, "create table a(id int auto_increment primary key, n int)", "insert into a(id,n) values (0,1)"},
	{"zero is numbered in an upsert", my, "create table a(id int auto_increment primary key, n int)", "insert into a(id,n) values (0,1) on duplicate key update n=values(n)"},
	{"columns of a view", my, "create table a(id int auto_increment primary key, n int); create view av as select n,id from a;", "insert into av values (5,null)"},
	{"other column in an upsert", lite, base, "insert into t(id,n,m) values (9,5,6) on conflict(id) do update set n=excluded.n, m=t.n"},
	{"query inserted in an upsert", lite, base, "insert into t(id,n) values (9,(select count(*) from t)) on conflict(id) do update set n=excluded.n"},
	{"query inserted by REPLACE", lite, base, "replace into t(id,n) values (9,(select count(*) from t))"},
	{"rows of one key", lite, base, "insert into t(id,m,n) values (9,1,0),(9,2,0) on conflict(id) do update set m=excluded.m, n=t.n+1 where t.m<>excluded.m"},
	{"NULL is numbered by REPLACE", lite, "create table a(id integer primary key, k text not null unique);", "replace into a(id,k) values (null,'a')"},
	{"NULL is numbered in an upsert", lite, "create table a(id integer primary key, k text not null unique); insert into a values (1,'a');insert into a values (9,'b')", "insert into a(id,k) values (null,'a') on conflict(k) do update set id=excluded.id"},
	{"trigger of the replaced row", my, base + "create trigger td after delete on t for each row insert into log values (1);", "replace into t(id,n,m,status,parent) values (1,1,1,1,1)"},
	{"old value in a trigger", lite, base + "create trigger tu after update on t begin update s set v=old.n where id=1; end;", "update t set n=7 where id=1"},
	{"old value in a trigger's insert", lite, base + "create table au(id int not null, n int not null, primary key(id,n)); create trigger tu after update on t begin insert or ignore into au values (old.id, old.n); end;", "update t set n=7 where id=1"},
	{"trigger that comes back", lite, base + "create trigger tu after update of n on t begin update s set v=1 where id=new.id; end; create trigger su after update on s begin update t set status=0 where id=new.id; end;", "update t set n=n+1, status=1 where id=1 and status=0"},
	{
		"cascade that comes back", lite, `create table p(id int primary key, code text unique, code2 text references c(code) on update cascade, name text);
create table c(code text unique references p(code) on update cascade); insert into p values (1,'a',null,''); insert into c values ('a'); update p set code2='a';`,
		"update p set name=code2, code='zz' where id=1",
	},
	{
		"cascade of a delete that comes back", lite, `create table b(id integer primary key, a_id int references a(id) on delete cascade);
create table a(id integer primary key, b_id int references b(id) on delete set null); insert into a values (1,null),(2,null); insert into b values (5,1); update a set b_id=5 where id=2;`,
		"delete from a where b_id is null",
	},
	{"system column", pg, base, "update t set m=xmin::text::int where id=1"},
	{"ctid", pg, base + "alter table t add column note text;", "update t set note=ctid::text where id=1"},
	{"order of an aggregate", pg, base + "alter table t add column note text; alter table t add column name text; update t set name='x'||id;", "update t set note=(select string_agg(name,',') from t) where id=1"},
	{"window without an order", pg, base, "update t set n=x.r from (select id, row_number() over () as r from t) x where x.id=t.id and t.id=1"},
	{"columns that differ in case", pg, `create table q(id int primary key, n int, "N" int); insert into q values (1,0,0);`, `update q set n=n+1, "N"=5`},
	{"tables that differ in case", pg, `create table q(id int); create table "Q"(id int primary key);`, `insert into q(id) values (1)`},
	{"order by an alias", pg, base + "update t set m=1;", "update t set n=1 from (select id as x, n as id from t order by id limit 1) q where q.x=t.id"},
	{"remainder that is rounded", pg, base + "insert into t(id,m) values (8,8);", "update t set m=m%2.7"},
	{"remainder that is rounded", my, base + "insert into t(id,m) values (8,8)", "update t set m=m%2.7"},
	{"chain by rounding", pg, base + "update t set n=1;", "update t set n=case n when 1 then 1.6 when 2 then 3 else n end"},
	{"replace in a number", lite, "create table r(id integer primary key, x real); insert into r values (1,15.5);", "update r set x=replace(x,'.','')"},
	{"replace in a number", my, "create table r(id int primary key, x decimal(12,2)); insert into r values (1,15.5);", "update r set x=replace(x,'.','')"},
	{"generated by rounding", pg, "create table g(id int primary key, a int, b int generated always as (a*0.5) stored, k int default 0); insert into g(id,a) values (1,3);", "update g set a=a+1 where b=2"},
	{"zero date is NULL", my, "create table d(id int primary key, at date not null, n int default 0); insert into d(id,at) values (1,'0000-00-00');", "update d set at='0000-00-00', n=n+1 where at is null"},
	{"value through a date", my, "create table d(id int primary key, at date, name varchar(30), n int default 0); insert into d(id,name) values (1,'2024-01-01');", "update d set at='2024-01-01 10:00:00', name=at, n=n+1 where name='2024-01-01'"},
	{"composite of NULLs", pg, "create type c2 as (a int, b int); create table c(id int primary key, c c2 not null, n int default 0); insert into c(id,c) values (1,row(null,null));", "update c set c=row(null,null), n=n+1 where c is null"},
	{"letters of a collation", my, "create table l(id int primary key, name varchar(20) character set utf8mb4 collate utf8mb4_lithuanian_ci, n int default 0); insert into l(id,name) values (1,'y');", "update l set name='i', n=n+1 where name='y'"},
	{"large number and a float", pg, "create table f(id int primary key, n bigint, k int default 0, f float8); insert into f(id,n,f) values (1,10000000000000000,1e16);", "update f set n=n+1, k=k+1 where n=f"},
	{"time in a condition", pg, "create table d(id int primary key, at timestamptz, n int default 0); insert into d(id,at) values (1,now());", "update d set at=now() + interval '1 microsecond', n=n+1 where at<'now'"},
	{"dropped index", pg, "create table i(k int not null, j int not null); create unique index a on i(k); create unique index b on i(k); drop index a, b;", "insert into i values (1,1)"},
	{"dropped index without a name", pg, "create table i(id bigserial, k text not null); create unique index on i(k); drop index i_k_idx;", "insert into i(k) values ('a')"},
	{"dropped index without a name", pg, "create table i(id bigserial, k text not null); create unique index on i(lower(k)); drop index i_lower_idx;", "insert into i(k) values ('a')"},
	{"dropped NOT NULL", pg, "create table i(k int not null unique); alter table i alter column k drop not null;", "insert into i values (null)"},
	{"replaced table", pg, "create table i(k int primary key); drop table public.i; create table if not exists i(k int);", "insert into i values (1)"},
	{"several truncate triggers", pg, base + "create function lg() returns trigger language plpgsql as $$ begin insert into log values (1); return null; end $$; create trigger tt after truncate on t execute function lg();", "truncate t"},
	{"inherited trigger", pg, base + "create function st() returns trigger language plpgsql as $$ begin new.status := 0; return new; end $$; create table t2() inherits (t); insert into t2 values (9,0,0,0,0); create trigger tt before update on t2 for each row execute function st();", "update t set status=1, n=n+1 where status=0"},
	{"replacing constraint", lite, "create table o(id integer primary key, k text not null unique on conflict replace)", "insert into o(k) values ('a')"},
	{"row id under another name", lite, "create table o(id integer primary key, n int); insert into o values (1,0);", "update o set id=105, n=rowid where n=0 or id=105"},
	{"type changed by its value", pg, base, "alter table t alter column m type int using m+1"},
	{"coalesce of chance", lite, base + "with recursive c(x) as (select 100 union all select x+1 from c where x<400) insert into t(id) select x from c;", "update t set n=coalesce(n, case when abs(random())%2=0 then 5 end)"},
	{"trigger that was dropped", pg, base + "create function st() returns trigger language plpgsql as $$ begin new.status := 2; return new; end $$; create trigger tt before update on t for each row execute function st(); drop trigger tt on t;", "update t set n=n+1, status=0 where status=0"},
	{"outer join", my, base, "update t left join s on s.id=t.id and t.status=0 set t.n=t.n+1, t.status=1"},
	{"first row of a scalar query", lite, base + "create index tx on t(parent,n,m); update t set parent=1;", "update t set n=9, status=(select x.m from t x where x.parent=1) where id=1"},
	{"trigger without rows", pg, base + "create function lf() returns trigger language plpgsql as $$ begin insert into log values (1); return null; end $$; create trigger tl after insert on s execute function lf();", "with d as (delete from t where n=0 returning id) insert into s(id) select id+10 from d"},
	{"renamed columns that change places", my, "create table e(id int primary key, a int, b int); insert into e values (1,1,2);", "alter table e rename column a to b, rename column b to a"},
	{"enum compared with a number", my, "create table e(id int primary key, x enum('1','0') not null, n int default 0); insert into e(id,x) values (1,'1');", "update e set x='1', n=n+1 where x=1"},
	{"assignments of a join", my, base, "update t set m=(select max(x.id) from t x), status=8, n=status"},
	{"blanks at the end", my, "create table e(id int primary key, x varchar(5), n int default 0); insert into e(id,x) values (1,'a');", "update e set x='a ', n=n+1 where x='a'"},
	{"char column", pg, "create table e(id int primary key, x char(5), n int default 0); insert into e(id,x) values (1,'a');", "update e set x='a ', n=n+1 where x='a'"},
	{"text and number", lite, "create table e(id integer primary key, x text, n int default 0); insert into e(id,x) values (1,'1');", "update e set x=1, n=n+1 where x='1'"},
	{"domain", pg, "create domain dm as numeric(3,0); create table e(id int primary key, x dm, n int default 0); insert into e(id,x) values (1,1);", "update e set x=1.4, n=n+1 where x=1"},
	{"nondeterministic collation", pg, "create collation ci (provider=icu, locale='und-u-ks-level2', deterministic=false); create table e(id int primary key, x text collate ci, n int default 0); insert into e(id,x) values (1,'a');", "update e set x='A', n=n+1 where x='a'"},
	{"array that grows", pg, "create table e(id int primary key, x int[]); insert into e values (1,'{1}');", "update e set x=x||2"},
	{"element behind the end", pg, "create table e(id int primary key, x jsonb); insert into e values (1,'[1]');", "update e set x=jsonb_set(x,'{9}','2')"},
	{"union", pg, base, "with d as (delete from t where n=0 returning id) insert into log(msg) select id from d union all select 1"},
	{"offset", lite, base, "update t set n=1 where id=(select id from t where n=0 order by id limit 1 offset 1)"},
	{"view of the table that is joined", pg, base + "create view x as select id, n from t;", "update t set n=x.n+1 from x where x.id=t.parent or x.id=t.id"},
	{"rule", pg, base + "create rule rl as on update to t do also insert into log values (1);", "update t set n=1 where id=1"},
	{"INSTEAD OF trigger", lite, base + "create view tv as select id,n from t; create trigger tu instead of update on tv begin update t set m=m+1 where id=new.id; end;", "update tv set n=1 where id=1"},
	{"trigger under a condition", lite, base + "create trigger tu after update on t when new.n>0 begin update t set status=0 where id=new.id; end;", "update t set status=1, n=n+1 where status=0"},
	{"join that is not single", pg, base + "create table b(id int, aid int); insert into b values (1,1),(1,2);create table done(n int);", "with x as (update t set n=s.v+t.n from s join b on s.id=b.aid where b.id=t.id returning 1) insert into done select 1 from x"},
	{"ANSI_QUOTES", my, "set sql_mode='ANSI_QUOTES'; create table e(id int primary key, x varchar(5), a varchar(5), b varchar(5), n int default 0); insert into e(id,x,a,b) values (1,'q','q','q');", `update e set x="a", n=n+1 where x="b"`},
	{"NO_BACKSLASH_ESCAPES", my, "set sql_mode='NO_BACKSLASH_ESCAPES'; create table e(id int primary key, x varchar(50), n int default 0); insert into e(id,x) values (1,'q');", `update e set x='\', n=n+1 where id=1 -- '`},
	{"HIGH_NOT_PRECEDENCE", my, "set sql_mode='HIGH_NOT_PRECEDENCE';" + base, "update t set n=n+1, status=6 where not status <> 5"},
	{"EMPTY_STRING_IS_NULL", my, "set sql_mode='EMPTY_STRING_IS_NULL'; create table e(id int primary key, x varchar(50), n int default 0); insert into e(id,x) values (1,null);", "update e set x='', n=n+1 where x is null"},
	{"SIMULTANEOUS_ASSIGNMENT", my, "set sql_mode='SIMULTANEOUS_ASSIGNMENT';" + base, "update t set n=5, m=n"},
	{"a schema of the search path", pg, "create table t(id int primary key, n int); create schema holes_b; create table holes_b.t(id int, n int); set search_path to holes_b;", "insert into t(id,n) values (1,1)"},
	{"a temporary table", pg, "create table t(id int primary key, n int); create temporary table t(id int, n int);", "insert into t(id,n) values (1,1)"},
	{"a collation of that name", pg, `create collation "x-x-icu" (provider=icu, locale='und-u-ks-level2', deterministic=false); create table e(id int primary key, x text collate "x-x-icu", n int default 0); insert into e(id,x) values (1,'a');`, "update e set x='A', n=n+1 where x='a'"},
	{"default of a domain", pg, "create domain d as float default random(); create table e(id int primary key, x d);", "insert into e(id) values (1) on conflict (id) do update set x=excluded.x"},
	{"default of a domain that is set", pg, "create sequence sq; create domain d as int default nextval('sq'); create table e(id int primary key, x d); insert into e(id,x) values (1,0);", "update e set x=default"},
	{"parent behind its child", my, "create table nd(id int primary key, parent int, foreign key (parent) references nd(id));", "insert ignore into nd values (5,9),(9,null)"},
	{"NULL for the time", my, "set explicit_defaults_for_timestamp=0; create table e(id int primary key, at timestamp, n int); insert into e(id,n) values (1,1);", "update e set at=null"},
	{"NULL for the time in a later column", my, "set explicit_defaults_for_timestamp=0; create table e(id int primary key, x timestamp null, at timestamp default 0, n int); insert into e(id,n) values (1,1);", "update e set at=null"},
	{"standard_conforming_strings", pg, "set standard_conforming_strings=off; create table e(id int primary key, x text, n int default 0); insert into e(id,x) values (1,'abc');", `update e set x='a\' where id=1 --', n=n+1`},
	{"function under a known name", pg, base + "create function lower(int) returns int language sql as 'select $1+1';", "update t set n=lower(n)"},
	{"trigger that does not fire", pg, base + "create function bt() returns trigger language plpgsql as $$ begin new.m := 5; return new; end $$; create trigger tr before update on t for each row execute function bt(); set session_replication_role=replica;", "update t set m=m+1"},
	{"operator of the schema", pg, base + "create function f(int) returns int language sql as 'update t set n=n+1 returning n'; create operator ### (rightarg=int, function=f);", "select ### 1"},
	{"function written as a column", pg, base + "create function f(t) returns int language sql as 'update t set m=m+1 returning m';", "select t.f from t"},
	{"IGNORE passes over a duplicate", my, "create table e(id int primary key, k int unique, m int); insert into e values (1,1,2),(2,2,3);", "update ignore e set k=m"},
	{"OR IGNORE passes over a duplicate", lite, "create table e(id int primary key, k int unique, m int); insert into e values (1,1,2),(2,2,3);", "update or ignore e set k=m"},
	{"IGNORE passes over a parent", my, "create table nd(id int primary key, parent int, foreign key (parent) references nd(id)); insert into nd values (1,null); insert into nd values (2,1); insert into nd values (3,2);", "delete ignore from nd"},
	{"several tables", my, base, "update t join s on s.id=t.id set t.n=s.v, s.v=t.n"},
	{"OVERRIDING USER VALUE", pg, "create table e(id int generated by default as identity primary key, n int);", "insert into e(id,n) overriding user value values (50,1)"},
	{"NULL in a primary key", lite, "create table e(k text primary key, n int);", "insert into e(k,n) values (null,1)"},
	{"primary key that is not the row id", lite, "create table e(k integer primary key desc, n int);", "insert into e(k,n) values (null,1)"},
	{"part of an array", pg, "create table e(id int primary key, a int[]); insert into e values (1,'{1}');", "update e set a[array_length(a,1)+1]=5"},
	{"EXPLAIN ANALYZE", pg, base, "explain analyze update t set n=n+1"},
	{"ANALYZE", my, base, "analyze update t set n=n+1"},
	{"REPLACE with a default", lite, "create table e(k text primary key, n int, m int default (random()));", "replace into e(k,n) values ('a',2)"},
	{"zero in a text", my, "create table e(id int auto_increment primary key, n int);", "insert into e(id,n) values ('0',2)"},
	{"row of NULLs", pg, "create type cp as (x int, y int); create table e(id int primary key, c cp, n int default 0); insert into e values (1,null,0);", "update e set c=row(null,null), n=n+1 where c is null"},
	{"index under a taken name", pg, "create table a(n int); create index ix on a(n); create table e(id serial primary key, k text); create unique index if not exists ix on e(k);", "insert into e(k) values ('a')"},
	{"index under a taken name", lite, "create table e(id integer primary key, k text); create index ix on e(k); create unique index if not exists ix on e(k);", "insert into e(k) values ('a')"},
	{"index under a taken name", my, "create table e(id int auto_increment primary key, k varchar(9)); create index ix on e(k); create unique index if not exists ix on e(k);", "insert into e(k) values ('a')"},
	{"index under the name of a key", pg, "create table e(n int, k text, constraint ek unique (n)); create unique index if not exists ek on e(k);", "insert into e(k) values ('a')"},
	{"index under the name of a table", pg, "create table a(n int); create table e(k text); create unique index if not exists a on e(k);", "insert into e(k) values ('a')"},
	{"index under the name of a key that is not unique", my, "create table e(id int auto_increment primary key, k int, key ix(k)); create unique index if not exists ix on e(k);", "insert into e(k) values (1)"},
	{"index under the name of a key by ALTER TABLE", my, "create table e(id int auto_increment primary key, k int); alter table e add key ix(k); alter table e add unique index if not exists ix(k);", "insert into e(k) values (1)"},
	{"index under a name that a key may have", my, "create table a(id int primary key); insert into a values (1); create table e(id int auto_increment primary key, k int, foreign key (k) references a(id)); create unique index if not exists k on e(k);", "insert into e(k) values (1)"},
	{"index under a name that was free in another table", my, "create table a(k int, key ix(k)); create table e(id int auto_increment primary key, k int, key ix(k)); drop index ix on a; create unique index if not exists ix on e(k);", "insert into e(k) values (1)"},
	{"index under a name of the table's former name", my, "create table a(id int auto_increment primary key, k int, m int); create index ix on a(k,m); rename table a to e; alter table e drop column m; create unique index if not exists ix on e(k);", "insert into e(k) values (1)"},
	{"index under the name of another table's key", pg, "create table a(n int constraint ek unique); create table e(id serial primary key, k text); create unique index if not exists ek on e(k);", "insert into e(k) values ('a')"},
	{"column that was there without its key", pg, "create table e(id serial primary key, k text); alter table e add column if not exists k text unique;", "insert into e(k) values ('a')"},
	{"table of another schema or case", my, "create table e(k int); create table E(k int primary key);", "insert into e values (1)"},
	{"table of another case that is guarded", my, "create table e(k int primary key); create table if not exists E(k int);", "insert into E(k) values (1)"},
	{"table of another case that is guarded", pg, `create table e(k int primary key); create table if not exists "E"(k int);`, `insert into "E"(k) values (1)`},
	{"table of another case that is dropped", my, "create table E(k int); create table e(k int); drop table e; create table if not exists E(k int primary key);", "insert into E(k) values (1)"},
	{"table of another case than a view", my, "create table a(k int primary key); create table E(k int); create view e as select k from a;", "insert into E(k) values (1)"},
	{"table that is replaced", my, "create table e(k int primary key); create or replace table e(k int);", "insert into e values (1)"},
	{"index that is replaced", my, "create table e(k int); create unique index ix on e(k); create or replace index ix on e(k);", "insert into e(k) values (1)"},
	{"citext", pg, "create extension if not exists citext; create table e(id int primary key, x citext, n int default 0); insert into e(id,x) values (1,'ab');", "update e set x='AB', n=n+1 where x='ab'"},
	{"expression of a key that may be NULL", pg, "create table e(id serial primary key, k text, m int); create unique index ek on e(nullif(k,'a'));", "insert into e(k) values ('a')"},
	{"condition on what several rows of an upsert set", lite, "create table l(k text primary key, n int); insert into l values ('a',0);", "insert into l(k,n) values ('a',1),('a',2) on conflict (k) do update set n=excluded.n where excluded.n=1 and l.n=2 or excluded.n=2 and l.n=0"},
	{"the smaller one by CASE of another value", pg, "create table r(k text primary key, lim int not null, v int not null);", "insert into r(k,lim,v) values ('a',5,9) on conflict (k) do update set lim=excluded.lim, v=case when excluded.lim<r.v then excluded.lim else r.v end"},
	{"the smaller one by CASE of a rounded value", pg, "create table r(k text primary key, lim numeric(5,0) not null, v numeric(5,2) not null);", "insert into r(k,lim,v) values ('a',5.4,5.4) on conflict (k) do update set lim=excluded.lim, v=case when excluded.lim<r.v then excluded.lim else r.v end"},
	{"key over the digest of a part of JSON", pg, "create table f(id serial primary key, p jsonb not null); create unique index fh on f(md5((p->'x')::text));", "insert into f(p) values ('{}')"},
	{"rows picked by what is set", pg, base, "with p as (select id, n+1 as v from t) update t set n=p.v from p where p.id=t.id"},
	{"rows picked before they move", pg, base, "with p as (select x.id, s.v from t x join s on s.id=x.n+1) update t set n=p.v from p where p.id=t.id"},
	{"rows picked by a part of the key", pg, "create table e(a int, b int, n int, primary key(a,b)); insert into e values (1,1,0),(1,2,1),(1,3,2);", "with p as (select a, min(n) as n from e group by a) update e set n=p.n+1 from p where p.a=e.a and e.n=p.n"},
	{"neighbours picked by what is set", pg, base, "update t set n=1 where id in (select t.id from t x join s on s.id=x.id where x.id=t.parent and (x.n=1 or x.id=1))"},
	{"neighbours picked from a query", lite, base, "update t set n=1 where id in (select t.id from (select * from t) x where x.id=t.parent and (x.n=1 or x.id=1))"},
	{"another row is joined", pg, base, "update t set n=s.v from s where s.id=t.n+1"},
	{"another row is joined", my, base, "update t join s on s.id=t.n+1 set t.n=s.v"},
	{"another row is read", pg, base, "update t set n=(select v from s where s.id=t.n+1)"},
	{"key that is taken back", pg, "create table r(id int not null, n int); begin; alter table r add primary key (id); rollback;", "insert into r(id,n) values (1,1)"},
	{"table within CREATE SCHEMA", pg, "create table r(id int primary key, n int); create schema holes_a create table r(id int, n int); set search_path to holes_a;", "insert into holes_a.r(id,n) values (1,1)"},
	{"joined text as a time", pg, "create table d(id int primary key, at timestamptz, tag text, n int default 0); insert into d(id,tag) values (1,'now');", "update d set at=('n'||'ow')::timestamptz"},
	{"query as a time", pg, "create table d(id int primary key, at timestamptz, tag text, n int default 0); insert into d(id,tag) values (1,'now');", "update d set at=(select 'now')::timestamptz"},
	{"values under the name of a time", pg, "create table d(id int primary key, at timestamptz, tag text, n int default 0); insert into d(id,tag) values (1,'now');", "update d set n=n+1, at=x.at::timestamptz from (values ('now')) x(at) where d.at is null or d.at<x.at::timestamptz"},
	{"column as a time", pg, "create table d(id int primary key, at timestamptz, tag text, n int default 0); insert into d(id,tag) values (1,'now');", "update d set at=tag::timestamptz"},
	{"column as a time by a function", pg, "create table d(id int primary key, at timestamptz, tag text, n int default 0); insert into d(id,tag) values (1,'now');", "update d set at=cast(lower(tag) as timestamp)"},
	{"guard by a column as a time", pg, "create table d(id int primary key, at timestamptz, tag text, n int default 0); insert into d(id,tag) values (1,'now');update d set at='2000-01-01';", "update d set at=tag::timestamptz, n=n+1 where at<tag::timestamptz"},
	{"domain as a time", pg, "create domain moment as timestamptz;create table d(id int primary key, at timestamptz, tag text, n int default 0); insert into d(id,tag) values (1,'now');", "update d set at=tag::moment"},
	{"case as a time", pg, "create table d(id int primary key, at timestamptz, tag text, n int default 0); insert into d(id,tag) values (1,'now');", "update d set at=(case when n=0 then 'now' else tag end)::timestamptz"},
	{"case with a time", pg, "create table d(id int primary key, at timestamptz, tag text, n int default 0); insert into d(id,tag) values (1,'now');", "update d set at=case when n=0 then 'now' else at end"},
	{"array of times", pg, "create table d(id int primary key, ats timestamptz[], r daterange, at timestamptz); insert into d values (1);", "update d set ats='{now}'::timestamptz[]"},
	{"array of times, without a cast", pg, "create table d(id int primary key, ats timestamptz[], r daterange, at timestamptz); insert into d values (1);", "update d set ats='{now}'"},
	{"comma behind now", pg, "create table d(id int primary key, ats timestamptz[], r daterange, at timestamptz); insert into d values (1);", "update d set at='now,'::timestamptz"},
	{"blanks before now", pg, "create table d(id int primary key, ats timestamptz[], r daterange, at timestamptz); insert into d values (1);", "update d set at='  now'"},
	{"fraction of now", lite, "create table d(id integer primary key, at text, tag text); insert into d(id,tag) values (1,'now');", "update d set at=strftime('%f', tag)"},
	{"column as a date", lite, "create table d(id integer primary key, at text, tag text); insert into d(id,tag) values (1,'now');", "update d set at=julianday(tag)"},
	{"computed date", lite, "create table d(id integer primary key, at text, tag text); insert into d(id,tag) values (1,'now');", "update d set at=julianday(lower('NOW'))"},
	{"date of a condition", lite, "create table d(id integer primary key, at real, tag text, n int default 0); insert into d(id,tag,at) values (1,'now',0);", "update d set at=julianday(tag), n=n+1 where at<julianday(tag)"},
	{"function of another dialect", pg, base + "do $x$ begin execute 'create function total(int) returns int language sql as $f$ update t set n=n+1 returning n $f$'; end $x$;", "select total(1)"},
	{"clock of another dialect", pg, base + "do $x$ begin execute 'create function sysdate() returns int language sql as $f$ update t set n=n+1 returning n $f$'; end $x$;", "select sysdate()"},
	{"random of another dialect", pg, base + "do $x$ begin execute 'create function rand() returns int language sql as $f$ update t set n=n+1 returning n $f$'; end $x$;", "select rand()"},
	{"text next to a time in a union", pg, "create table d(id int primary key, at timestamptz, tag text, n int default 0); insert into d(id,tag) values (1,'now');", "update d set at=x.at from (select null::timestamptz as at where false union all select 'now') x"},
	{"text next to a time in a list", pg, "create table d(id int primary key, at timestamptz, tag text, n int default 0); insert into d(id,tag) values (1,'now');", "update d set at=x.at from (values (null::timestamptz), ('now')) x(at) where x.at is not null"},
	{"text of a trigger as a time", pg, "create table d(id int primary key, at timestamptz, n int default 0); create function st() returns trigger language plpgsql as $$ begin new.at := concat('n','ow'); return new; end $$; create trigger tt before update on d for each row execute function st(); insert into d values (1);", "update d set n=1"},
}
