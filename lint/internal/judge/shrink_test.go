package judge_test

// DELETE by queries of its own table.
const graph = "create table d(id int primary key, parent int, k varchar(9) not null, n int not null); insert into d values (1,null,'a',1),(2,1,'a',2),(3,2,'b',3),(4,3,'b',4),(5,4,'c',2);"

var shrinkHoles = []hole{
	{"leaves of a tree by an outer join", pg, graph, "delete from d where id in (select a.id from d a left join d b on b.parent=a.id where b.id is null)"},
	{"by a count of the rows", pg, graph, "delete from d where n in (select count(*)-1 from d)"},
	{"first of each kind", pg, graph, "delete from d where id in (select x.id from (select id, row_number() over (partition by k order by id) rn from d) x where rn=1)"},
	{"first of each kind", lite, graph, "delete from d where id in (select min(id) from d group by k)"},
	{"top of a tree by another name", pg, "create table node(id int primary key, parent int references node on delete set null); insert into node values (1,null),(2,1),(3,2);", "delete from node where id in (select x.id from node x where x.parent is null)"},
}
