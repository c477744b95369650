package judge_test

const typed = `create table t(id int primary key, doc jsonb, tags text[], name text, r int4range, b bit(4), n int, d date);
insert into t values (1,'[1,2,3]','{a}','x',int4range(1,5),B'1010',5,'2026-01-01'),(2,'{"a":1,"b":[1,2,3]}','{}','','empty',B'0000',6,'2026-01-02');
`

// operatorHoles change the column at each run, though the operator does nothing, or something once, to another type.
var operatorHoles = []hole{
	{"first element of JSON", pg, typed, "update t set doc=doc-0 where id=1"},
	{"last element of JSON", pg, typed, "update t set doc=doc-(-1) where id=1"},
	{"element of JSON by a cast", pg, typed, "update t set doc=doc-'0'::int where id=1"},
	{"element of JSON by a path", pg, typed, "update t set doc=doc #- '{0}' where id=1"},
	{"element within JSON by a path", pg, typed, "update t set doc=doc #- '{b,0}' where id=2"},
	{"element within JSON by a list with blanks", pg, typed, "update t set doc=doc #- array['b',' 0'] where id=2"},
	{"number joined to JSON", pg, typed, "update t set doc=doc || '4'"},
	{"empty object joined to an array of texts", pg, typed, "update t set tags=tags || '{\"\"}'::text[]"},
	{"range without itself", pg, typed, "update t set r=int4range(1,9)-r where id=2"},
	{"bits that are turned", pg, typed, "update t set b=b # B'0011'"},
	{"no day and one", pg, typed, "update t set d=d+1"},
	{"number of a text that is cut", my, "set sql_mode='';create table t(id int primary key, name varchar(3)); insert into t values (1,'1e9');set sql_mode='';", "update t set name=name*1e3 where id=1"},
}

// operatorSound changes the column once.
var operatorSound = []hole{
	{"key of JSON", pg, typed, "update t set doc=doc-'a' where id=2"},
	{"keys of JSON", pg, typed, "update t set doc=doc-array['a','z'] where id=2"},
	{"keys of JSON by a cast", pg, typed, "update t set doc=doc-'{a,b}'::text[] where id=2"},
	{"key of JSON by a path", pg, typed, "update t set doc=doc #- '{b}' where id=2"},
	{"bits that are set", pg, typed, "update t set b=b | B'0101' where id=2"},
	{"no text", pg, typed, "update t set name=name||null where id=1"},
}
