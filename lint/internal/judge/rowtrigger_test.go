package judge_test

// Triggers whose functions read the changed rows as a table.
const transitions = `create table u(id int primary key, n int not null default 0, s text not null default 'new', g int); insert into u(id) values (1),(2);
create table log(id serial primary key, u int, n int); create table one(u int primary key, n int);
create function each_new() returns trigger language plpgsql as $$ begin insert into log(u,n) select id,n from rows; return null; end $$;
create function once_new() returns trigger language plpgsql as $$ begin insert into one(u,n) select id,n from rows where n is not null on conflict (u) do nothing; return null; end $$;
create function mirror() returns trigger language plpgsql as $$ begin update one set n=r.n from rows r where r.id=one.u; return null; end $$;
create function looped() returns trigger language plpgsql as $$ declare r record; begin for r in select * from rows order by id loop insert into log(u) values (r.id); end loop; return null; end $$;
`

var transitionHoles = []hole{
	{"log of the rows of each update", pg, transitions + "create trigger a after update on u referencing new table as rows for each statement execute function each_new();", "update u set s='done' where id<3"},
	{"count of the rows, even of none", pg, transitions + `create function f() returns trigger language plpgsql as $$ begin insert into log(n) select count(*) from rows; return null; end $$;
		create trigger a after delete on u referencing old table as rows for each statement execute function f();`, "delete from u where s='new'"},
	{"outer join with the rows", pg, transitions + `create table x(v int); insert into x values (1); create function f() returns trigger language plpgsql as $$ begin insert into log(n) select x.v from x left join rows r on r.id=x.v; return null; end $$;
		create trigger a after delete on u referencing old table as rows for each statement execute function f();`, "delete from u where s='new'"},
}

// Row triggers that fire several times for one statement.
const rowByRow = `create table x(id int not null primary key, a int); insert into x values (1,0),(2,0);
create table u(id int not null primary key, n int not null default 0, g int not null default 1); insert into u(id) values (1),(2);`

var eachRowHoles = []hole{
	{"the last row that was updated", pg, rowByRow + `create table w(id int primary key, n int not null default 0, s text not null); alter table w alter s set storage plain;
		insert into w(id,s) values (1,repeat('a',7000)); insert into w(id,s) values (2,repeat('b',3000));
		create function f() returns trigger language plpgsql as $$ begin update x set a=new.id; return null; end $$;
		create trigger a after update on w for each row execute function f();`, "update w set n=1"},
	{"the last row that was upserted for a group", pg, rowByRow + `create table w(id int primary key, n int not null default 0, g int default 1, s text not null); alter table w alter s set storage plain;
		insert into w(id,s) values (1,repeat('a',7000)); insert into w(id,s) values (2,repeat('b',3000));
		create function f() returns trigger language plpgsql as $$ begin insert into x values (new.g,new.id) on conflict (id) do update set a=excluded.a; return null; end $$;
		create trigger a after update on w for each row execute function f();`, "update w set n=1"},
}
