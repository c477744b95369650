package judge_test

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
