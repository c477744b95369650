package judge_test

// What a statement sets off elsewhere can put back what it has changed: triggers of other tables, functions, defaults.
const rippled = `create table u(id int primary key, n int not null default 0, s text not null default 'new'); insert into u(id) values (1);`

var ripples = []hole{
	{"function in a trigger puts the guard back", pg, rippled + `create function back(i int) returns void language plpgsql as $$ begin update u set s='new' where id=i; end $$;
		create function tf() returns trigger language plpgsql as $$ begin if new.s='done' then perform back(new.id); end if; return null; end $$;
		create trigger a after update on u for each row execute function tf();`, "update u set n=n-1, s='done' where id=1 and s='new'"},
	{"trigger of a child inserts the parent again", pg, rippled + `create table c(id int primary key, u int references u on delete cascade); insert into c values (1,1);
		create function tf() returns trigger language plpgsql as $$ begin insert into u(id) values (old.u); return null; end $$;
		create trigger a after delete on c for each row execute function tf();`, "delete from u where id=1"},
	{"trigger of a child inserts the parent again", lite, rippled + `create table c(id int primary key, u int references u on delete cascade); insert into c values (1,1);
		create trigger a after delete on c begin insert into u(id) values (old.u); end;`, "delete from u where id=1"},
	{"trigger of a child that loses its parent", pg, rippled + `insert into u values (2,0,'old'); create table c(id int primary key, u int references u on delete set null); insert into c values (1,1);
		create function tf() returns trigger language plpgsql as $$ begin update u set s='new'; return null; end $$;
		create trigger a after update on c for each row execute function tf();`, "delete from u where s='new'"},
	{"default of another table puts the guard back", pg, rippled + `create function back() returns int language plpgsql as $$ begin update u set s='new'; return 1; end $$;
		create table l(k int, v int default back());
		create function tf() returns trigger language plpgsql as $$ begin insert into l(k) values (new.id); return null; end $$;
		create trigger a after update on u for each row when (new.s='done') execute function tf();`, "update u set n=n+1, s='done' where id=1 and s='new'"},
	{"rule of another table puts the guard back", pg, rippled + `create table l(k int); create rule r as on insert to l do also update u set s='new';
		create function tf() returns trigger language plpgsql as $$ begin insert into l(k) values (new.id); return null; end $$;
		create trigger a after update on u for each row when (new.s='done') execute function tf();`, "update u set n=n+1, s='done' where id=1 and s='new'"},
	{"trigger that builds its text puts the guard back", pg, rippled + `create table l(k int);
		create function lf() returns trigger language plpgsql as $$ begin execute 'update u set s=''new'''; return null; end $$;
		create trigger b after insert on l for each row execute function lf();
		create function tf() returns trigger language plpgsql as $$ begin insert into l(k) values (new.id); return null; end $$;
		create trigger a after update on u for each row when (new.s='done') execute function tf();`, "update u set n=n+1, s='done' where id=1 and s='new'"},
	{
		"value of a function that inserts a row", pg, rippled + `create function f() returns int language plpgsql as $$ begin insert into u(id) select max(id)+1 from u; return 1; end $$;`,
		"update u set n=f(), s='done' where s='new'",
	},
	{"value of a row that is left out", pg, rippled + `create function f() returns int language plpgsql as $$ begin update u set n=n+1; return 1; end $$;
		create table l(k int primary key, v int);`, "insert into l values (1,f()) on conflict do nothing"},
	{
		"value of a row that is left out", my, rippled + "create function f() returns int begin update u set n=n+1; return 1; end; create table l(k int primary key, v int);",
		"insert ignore into l values (1,f())",
	},
	{"default of a row that is left out", pg, rippled + `create function f() returns int language plpgsql as $$ begin update u set n=n+1; return 1; end $$;
		create table l(k int primary key, v int, w int default f());`, "insert into l(k,v) values (1,2) on conflict (k) do update set v=excluded.v"},
	{"default of a row that a query finds", pg, rippled + `create function f() returns int language plpgsql as $$ begin update u set n=n+1; return 1; end $$;
		create table l(k int primary key, w int default f());`, "insert into l(k) select id from u on conflict do nothing"},
	{"two statements of a trigger, each of them safe", pg, rippled + `create table x(a int, b int); insert into x values (1,2);
		create function tf() returns trigger language plpgsql as $$ begin update x set a=b; update x set b=5; return null; end $$;
		create trigger a after update on u for each row execute function tf();`, "update u set s='done' where id=1"},
	{"two statements of a trigger, each of them safe", lite, rippled + `create table x(a int, b int); insert into x values (1,2);
		create trigger a after update on u begin update x set a=b; update x set b=5; end;`, "update u set s='done' where id=1"},
	{"two statements of a trigger, each of them safe", my, rippled + `create table x(a int, b int); insert into x values (1,2);
		create trigger a after update on u for each row begin update x set a=b; update x set b=5; end;`, "update u set s='done' where id=1"},
}
