package judge_test

import (
	"testing"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/lint/judge"
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
	for _, h := range holes {
		t.Run(h.d.String()+"/"+h.name, func(t *testing.T) {
			t.Parallel()
			w := newTwice(t, h.d)
			s := w.define(t, h.ddl)
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
	{"limit in a CTE", pg, base, "with p as (select id from t where n=0 order by id limit 1) update t set n=1 where id in (select id from p)"},
	{"limit in a CTE", lite, base, "with p as (select id from t where n=0 order by id limit 1) update t set n=1 where id in (select id from p)"},
	{"limit in a view", lite, base + "create view p as select id from t where n=0 order by id limit 1;", "update t set n=1 where id in (select id from p)"},
	{"random in a CTE", pg, base, "with r as (select random()*1000000 as x) update t set n=r.x from r"},
	{"random in a CTE", lite, base, "with r as (select random() as x) update t set n=(select x from r)"},
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
	{"check with a limit", lite, base, "insert into t(id) select s.id+100 from s where not exists (select 1 from t where t.id=s.id+100) order by s.id limit 1"},
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
	{"old value in a trigger", my, base + "create trigger tu after update on t for each row update s set v=old.n where id=1;", "update t set n=7 where id=1"},
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
	{"dropped index", my, "create table i(k int not null, j int not null); create unique index a on i(k); alter table i drop index a;", "insert into i values (1,1)"},
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
}
