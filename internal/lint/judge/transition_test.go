package judge_test

// Triggers whose functions read the changed rows as a table.
const transitions = `create table u(id int primary key, n int not null default 0, s text not null default 'new', g int); insert into u(id) values (1),(2);
create table log(id serial primary key, u int, n int); create table one(u int primary key, n int);
create function each_new() returns trigger language plpgsql as $$ begin insert into log(u,n) select id,n from rows; return null; end $$;
create function once_new() returns trigger language plpgsql as $$ begin insert into one(u,n) select id,n from rows where n is not null on conflict (u) do nothing; return null; end $$;
create function mirror() returns trigger language plpgsql as $$ begin update one set n=r.n from rows r where r.id=one.u; return null; end $$;
create function looped() returns trigger language plpgsql as $$ declare r record; begin for r in select * from rows order by id loop insert into log(u) values (r.id); end loop; return null; end $$;
`

var transitionSound = []hole{
	{"rows of a log by a guarded update", pg, transitions + "create trigger a after update on u referencing new table as rows for each statement execute function each_new();", "update u set n=n+1, s='done' where s='new'"},
	{"rows of a log by a delete", pg, transitions + "create trigger a after delete on u referencing old table as rows for each statement execute function each_new();", "delete from u where s='new'"},
	{"rows of a log by a loop", pg, transitions + "create trigger a after delete on u referencing old table as rows for each statement execute function looped();", "delete from u where s='new'"},
	{"rows of a log by an insert", pg, transitions + "create trigger a after insert on u referencing new table as rows for each statement execute function each_new();", "insert into u(id) values (2),(3) on conflict do nothing"},
	{"rows of a log by an upsert", pg, transitions + "create trigger a after insert on u referencing new table as rows for each statement execute function each_new();", "insert into u(id,n) values (2,7),(3,8) on conflict (id) do update set n=excluded.n"},
	{"rows that are logged once", pg, transitions + "create trigger a after update on u referencing new table as rows for each statement execute function once_new();", "update u set s='done' where id<3"},
	{"rows that are mirrored", pg, transitions + "insert into one values (1,0),(2,0); create trigger a after update on u referencing new table as rows for each statement execute function mirror();", "update u set n=5 where id<3"},
	{"rows of a log that has such a trigger", pg, transitions + "create trigger b after insert on log referencing new table as rows for each statement execute function once_new(); create trigger a after delete on u referencing old table as rows for each statement execute function each_new();", "delete from u where s='new'"},
	{"log of rows that the update leaves out", pg, transitions + `create function f() returns trigger language plpgsql as $$ begin insert into log(u) select r.id from rows r where r.s = 'new'; return null; end $$;
		create trigger a after update on u referencing new table as rows for each statement execute function f();`, "update u set s='done' where id<3"},
}

var transitionHoles = []hole{
	{"log of the rows of each update", pg, transitions + "create trigger a after update on u referencing new table as rows for each statement execute function each_new();", "update u set s='done' where id<3"},
	{"count of the rows, even of none", pg, transitions + `create function f() returns trigger language plpgsql as $$ begin insert into log(n) select count(*) from rows; return null; end $$;
		create trigger a after delete on u referencing old table as rows for each statement execute function f();`, "delete from u where s='new'"},
	{"log next to the rows", pg, transitions + `create function f() returns trigger language plpgsql as $$ begin insert into one(u) select id from rows; insert into log(n) values (1); return null; end $$;
		create trigger a after delete on u referencing old table as rows for each statement execute function f();`, "delete from u where s='new'"},
	{"outer join with the rows", pg, transitions + `create table x(v int); insert into x values (1); create function f() returns trigger language plpgsql as $$ begin insert into log(n) select x.v from x left join rows r on r.id=x.v; return null; end $$;
		create trigger a after delete on u referencing old table as rows for each statement execute function f();`, "delete from u where s='new'"},
	{"rows that are not there", pg, transitions + `create table x(v int); insert into x values (1); create function f() returns trigger language plpgsql as $$ begin insert into log(n) select x.v from x where x.v not in (select n from rows); return null; end $$;
		create trigger a after delete on u referencing old table as rows for each statement execute function f();`, "delete from u where s='new'"},
	{"statement trigger of the log", pg, transitions + `create function f() returns trigger language plpgsql as $$ begin insert into one(u) select coalesce(max(u),0)+1 from one; return null; end $$;
		create trigger b after insert on log for each statement execute function f(); create trigger a after delete on u referencing old table as rows for each statement execute function each_new();`, "delete from u where s='new'"},
	{"function next to the rows", pg, transitions + `create function g() returns int language plpgsql as $$ begin insert into log(n) values (1); return 1; end $$; create function f() returns trigger language plpgsql as $$ begin perform 1 from (select g() as v offset 0) x join rows on true; return null; end $$;
		create trigger a after delete on u referencing old table as rows for each statement execute function f();`, "delete from u where s='new'"},
	{"trigger that inserts new rows of its table", pg, transitions + `create function f() returns trigger language plpgsql as $$ begin insert into u(id) select id+10 from rows; return null; end $$;
		create trigger a after update on u referencing new table as rows for each statement execute function f();`, "update u set n=n+1, s='done' where s='new'"},
	{"mirror of rows that are not one by one", pg, transitions + `create function f() returns trigger language plpgsql as $$ begin update one set n=one.n+r.n from rows r where r.id=one.u; return null; end $$;
		insert into one values (1,1),(2,2); create trigger a after update on u referencing new table as rows for each statement execute function f();`, "update u set n=5 where id<3"},
	{"log of rows that the update lets in", pg, transitions + `create function f() returns trigger language plpgsql as $$ begin insert into log(u) select r.id from rows r where r.s = 'done' and r.n = 0; return null; end $$;
		create trigger a after update on u referencing new table as rows for each statement execute function f();`, "update u set s='done' where id<3"},
	{"log of old rows that are not as the new ones", pg, transitions + `create function f() returns trigger language plpgsql as $$ begin insert into log(u) select o.id from olds o, rows r where o.s = 'done'; return null; end $$;
		create trigger a after update on u referencing new table as rows old table as olds for each statement execute function f();`, "update u set s='done' where id<3"},
	{"sum of fewer rows", pg, transitions + `create function f() returns trigger language plpgsql as $$ begin update one set n=(select count(*) from rows); return null; end $$;
		insert into one values (1,1); create trigger a after update on u referencing new table as rows for each statement execute function f();`, "update u set s='done', n=1 where s='new' or id=1"},
}
