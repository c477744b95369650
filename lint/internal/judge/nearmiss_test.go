package judge_test

const (
	edges = "create table v(id int primary key); create table e(id int primary key, a int references v(id) on delete cascade, b int references v(id) on delete cascade, n int);" +
		"insert into v values (1),(2),(3); insert into e values (1,1,2,5),(2,2,3,1),(3,3,1,1);"
	dedup = "create table seen(k text primary key, n int); create table acc(id int primary key, n int); insert into acc values (1,5);"
)

// nearMisses look like statements that are safe.
var nearMisses = []hole{
	{"what an update counts up and returns", pg, parts, "with x as (update l set n=n+1 where id=1 returning id, n) update c set n=x.n from x where c.l=x.id"},
	{"the row number that an update returns", pg, parts, "with x as (update l set name='z' where id=1 returning id, ctid::text as at) update c set label=x.at from x where c.l=x.id"},
	{"what an upsert has changed and returns", pg, parts, "with x as (insert into sub(mail,name) values ('m','a') on conflict (mail) do update set name='b' returning id, name) update c set label=x.name from x where c.l=1"},
	{"another branch of CASE than was inserted", pg, parts, "insert into sub(mail,name) values ('m','a') on conflict (mail) do update set name=case when 3>2 then 'b' else sub.name end"},
	{"branch of another CASE than was inserted", pg, parts, "insert into sub(mail,name) values ('m',case when 3<2 then 'a' else 'b' end) on conflict (mail) do update set name=case when 3>2 then 'a' else sub.name end"},
	{"a type that another branch of CASE gives", pg, parts, "insert into sub(mail,name) values ('m', case when 3>2 then 'a ' else 'b'::char(3) end) on conflict (mail) do update set name=case when 3>2 then 'a ' else sub.name end"},
	{"as many as a part with names of its own has", pg, parts, "with u(n,k) as (select id,n from l) delete from l where (select count(*) from u where id<n)=1"},
	{"CASE that asks for the row", pg, parts, "insert into sub(mail,name,note) values ('m','a','b') on conflict (mail) do update set note='c', name=case when sub.note='c' then 'z' else 'a' end"},
	{"as long as there is a later one", pg, parts, "delete from l where (select count(*) from l x where x.id>l.id) = 1"},
	{"as long as there is a later one", lite, "create table l(id integer primary key, n int); insert into l values (1,5),(2,1),(3,5);", "delete from l where (select count(*) from l x where x.id>l.id) = 1"},
	{"the first that is left", pg, parts, "delete from l where id=(select min(id) from l)"},
	{"as long as another part has left some", pg, parts, "with x as (update c set n=7 where n=1) delete from l where id=1 and (select count(*) from c where n=7) > 0"},
	{"half a key and LIMIT", my, "create table k(a int not null, b int not null, primary key(a,b)); insert into k values (1,1),(1,2);", "delete from k where a=1 limit 1"},
	{"a number for a text and LIMIT", my, "create table k(a varchar(9) primary key); insert into k values ('x'),('y');", "delete from k where a=0 limit 1"},
	{"a key that moves and LIMIT", my, "create table k(id int primary key, n int); insert into k values (1,1),(2,2);", "update k set id=id+2 where id in (1,2) order by id limit 1"},
	{"some children of one of two references", pg, edges, "delete from v where not exists (select 1 from e where (e.a=v.id or e.b=v.id) and n=1) or not exists (select 1 from e where e.a=v.id and n<5)"},
	{"children of one of two references", lite, edges, "delete from v where not exists (select 1 from e where e.a=v.id and n<5)"},
	{"key that a later part frees", pg, dedup, "with ins as (insert into seen values ('a',1) on conflict do nothing returning n) update acc set n=n+1 where id=(select max(n) from (select n from ins union all select 1) x)"},
	{"trigger that frees the key", pg, dedup + "create function f() returns trigger language plpgsql as $$ begin delete from seen; return null; end $$; create trigger a after update on acc for each row execute function f();", "with ins as (insert into seen values ('a',1) on conflict do nothing returning n) update acc set n=acc.n+1 from ins where acc.id=ins.n"},
	{"cascade that frees the key", pg, "create table acc(id int primary key, n int); create table seen(k text primary key, n int references acc(id) on delete cascade); create table o(id serial primary key, n int); insert into acc values (1,5);", "with d as (delete from acc where id=7), ins as (insert into seen values ('a',1) on conflict do nothing returning n), x as (insert into o(n) values (1)) select 1"},
	{"trigger of another part that frees the key", pg, dedup + "create table o(id serial primary key, n int); create function f() returns trigger language plpgsql as $$ begin delete from seen; return null; end $$; create trigger a after insert on o for each row execute function f();", "with o as (insert into o(n) values (1)) insert into seen values ('a',1)"},
	{"trigger that leaves out the row", pg, dedup + "create table o(id serial primary key, n int); create function f() returns trigger language plpgsql as $$ begin return null; end $$; create trigger a before insert on seen for each row execute function f();", "with o as (insert into o(n) values (1)) insert into seen values ('a',1)"},
	{"trigger that makes up the parent", pg, dedup + "create table o(id serial primary key, n int not null); create function f() returns trigger language plpgsql as $$ begin new.n := coalesce(new.n,7); return new; end $$; create trigger a before insert on o for each row execute function f();", "with ins as (insert into seen values ('a',1) on conflict do nothing returning n) insert into o(n) values ((select n from ins))"},
	{"statement trigger of an update without rows", pg, dedup + "create table o(id serial primary key, n int); create function f() returns trigger language plpgsql as $$ begin insert into o(n) values (1); return null; end $$; create trigger a after update on acc execute function f();", "with ins as (insert into seen values ('a',1) on conflict do nothing returning n) update acc set n=acc.n+1 from ins where acc.id=ins.n"},
	{"one of several rows has no key", pg, "create table seen(k text unique, n int); create table o(id serial primary key, n int); ", "with ins as (insert into seen values ('a',1),(null,2) on conflict do nothing returning n) insert into o(n) select n from ins"},
	{"trigger on change and a clock", pg, "create table c(id int primary key, n int, at timestamptz); create table o(id serial primary key); create function f() returns trigger language plpgsql as $$ begin insert into o default values; return null; end $$; create trigger a after update on c for each row when (old.* is distinct from new.*) execute function f(); insert into c values (1,1,null);", "update c set at=clock_timestamp()"},
	{"trigger on change of another row", pg, "create table c(id int primary key, n int, m int); create table o(id serial primary key); create function f() returns trigger language plpgsql as $$ begin insert into o default values; return null; end $$; create trigger a after update on c for each row when (old.n is distinct from new.m) execute function f(); insert into c values (1,1,2);", "update c set n=5"},
	{"trigger on change or else", pg, "create table c(id int primary key, n int, m int); create table o(id serial primary key); create function f() returns trigger language plpgsql as $$ begin insert into o default values; return null; end $$; create trigger a after update on c for each row when (old.n is distinct from new.n or new.m > 1) execute function f(); insert into c values (1,1,2);", "update c set n=5"},
	{"array of another precision", pg, "create table c(id int primary key, a real[] not null default '{}'); insert into c values (1);", "update c set a=array_append(a,0.1) where not 0.1=any(a)"},
	{"array with bounds of its texts", pg, "create table c(id int primary key, a varchar(3)[] not null default '{}'); insert into c values (1);", "update c set a=array_append(a,'abc '::varchar(3)) where not 'abc '=any(a)"},
	{"suffix that the column pads", pg, "create table c(id int primary key, a char(5) not null); insert into c values (1,'a');", "update c set id=id+1, a=a||'x' where a not like '%xy'"},
	{"step away from a number that moves", lite, "create table d(id integer primary key, a int, b int); insert into d values (1,1,1);", "update d set a=case when a=b then a+1 else a end, b=b+1"},
	{"step away that reaches every number", lite, "create table d(id integer primary key, a int, b int); insert into d values (1,1,3);", "update d set a=case when a<b then a+1 else a end"},
	{"JSONB in the order of the rows", lite, "create table d(id integer primary key, n int, m blob); insert into d values (1,1,null),(2,2,null);", "update d set n=-n, m=(select jsonb_group_array(id) from (select id from d order by n))"},
	{"another salt at each run", pg, "create extension if not exists pgcrypto; create table u(id int primary key, p text); insert into u values (1,'x');", "update u set p=crypt('y',gen_salt('bf'))"},
	{"pattern with a wildcard", pg, "create table c(id int primary key, a text not null); insert into c values (1,'a');", "update c set a=a||'x' where a not like '%x_'"},
}
