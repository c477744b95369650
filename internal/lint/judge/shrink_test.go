package judge_test

// DELETE by queries of its own table.
const graph = "create table d(id int primary key, parent int, k varchar(9) not null, n int not null); insert into d values (1,null,'a',1),(2,1,'a',2),(3,2,'b',3),(4,3,'b',4),(5,4,'c',2);"

var shrinkSound = []hole{
	{"the older of two alike", pg, graph, "delete from d a using d b where a.k=b.k and a.id>b.id"},
	{"the older of two alike", my, graph, "delete a from d a join d b on a.k=b.k where a.id>b.id"},
	{"the older of two alike", lite, graph, "delete from d where exists (select 1 from d b where b.k=d.k and b.id<d.id)"},
	{"all alike of those that are locked", pg, graph, "with x as (select k from d where n>3 order by id for update) delete from d where k in (select k from x)"},
	{"those with a parent of a kind", pg, graph, "delete from d where parent in (select p.id from d p join d q on q.id=p.parent where q.k='a')"},
	{"those with a parent of a kind", lite, graph, "delete from d where parent in (select p.id from d p join d q on q.id=p.parent where q.k='a')"},
}

var shrinkHoles = []hole{
	{"leaves of a tree by an outer join", pg, graph, "delete from d where id in (select a.id from d a left join d b on b.parent=a.id where b.id is null)"},
	{"leaves of a tree by an outer join", lite, graph, "delete from d where id in (select a.id from d a left join d b on b.parent=a.id where b.id is null)"},
	{"leaves of a tree", pg, graph, "delete from d where exists (select 1 from d a where a.id=d.id and not exists (select 1 from d b where b.parent=a.id))"},
	{"by a count of the rows", pg, graph, "delete from d where n in (select count(*)-1 from d)"},
	{"by what is not in the rows", pg, graph, "delete from d where id in (select id from d except select parent from d)"},
	{"first of each kind", pg, graph, "delete from d where id in (select x.id from (select id, row_number() over (partition by k order by id) rn from d) x where rn=1)"},
	{"first of each kind", lite, graph, "delete from d where id in (select min(id) from d group by k)"},
	{"top of a tree by another name", pg, "create table node(id int primary key, parent int references node on delete set null); insert into node values (1,null),(2,1),(3,2);", "delete from node where id in (select x.id from node x where x.parent is null)"},
	{"next ones by a query in the results", pg, graph, "delete from d where id in (select (select min(b.id) from d b) from d a)"},
	{"next ones by LATERAL", pg, graph, "delete from d where id in (select x.id from d a cross join lateral (select b.id from d b order by b.id limit 1) x)"},
	{"next ones by a join with a maximum", pg, graph, "delete from d using (select max(id) as id from d) m where d.id=m.id"},
}
