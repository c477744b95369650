package judge_test

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
)

// generator makes statements over the tables of randomSchema.
type generator struct {
	r *rand.Rand
	d dialect.Dialect
}

func (g *generator) pick(list ...string) string { return list[g.r.IntN(len(list))] }

func (g *generator) some(percent int) bool { return g.r.IntN(100) < percent }

func (g *generator) number() string {
	if g.d == my && g.some(5) {
		return g.pick("32767", "32768", "2147483647") // ends of types
	}
	return g.pick("0", "1", "2", "3", "5", "-1", "2.7", "40")
}

func (g *generator) text() string {
	if g.d == my && g.some(5) {
		return "'abcd'" // longer than a tag
	}
	return g.pick("'abc'", "'ABC'", "' ab'", "'x'", "''", "'a'", "'b'", "'aab '", "'zzz'")
}

// column returns a number column of t.
func (g *generator) column() string { return g.pick("n", "m", "status", "price", "r", "grp") }

func (g *generator) statement() string {
	switch x := g.r.IntN(100); {
	case x < 34:
		return g.update()
	case x < 42:
		return g.remove()
	case x < 49:
		return g.others()
	case x < 55 && g.d == pg:
		return g.writing()
	case x < 63 && g.d != my:
		return g.picking()
	case x < 77:
		return g.document()
	case x < 82:
		return g.partial()
	}
	return g.insert()
}

func (g *generator) update() string {
	table := "t"
	if g.some(10) {
		table = "tv"
	}
	if g.d == lite {
		table = "t"
	}
	names := g.r.Perm(9)
	var sets []string
	for _, n := range names[:1+g.r.IntN(3)] {
		column := []string{"n", "m", "status", "name", "price", "tag", "flag", "r", "grp"}[n]
		if table == "tv" && n > 3 {
			column = "m"
		}
		if len(sets) > 0 && strings.Contains(strings.Join(sets, ","), column+"=") {
			continue
		}
		sets = append(sets, column+"="+g.value(column))
	}
	out := "update " + table + " set " + strings.Join(sets, ", ")
	joins := ""
	if g.some(8) && g.d != my && table == "t" {
		out = "update t set " + g.pick("n=x.v", "m=x.v", "n=t.n+1, status=x.w", "grp=x.w, n=coalesce(x.v,0)") + " from " + g.pick("s x", "(select id, t_id, v, w from s where w<2) x", "(select t_id, max(v) as v, max(w) as w, 1 as id from s group by t_id) x")
		joins = g.pick("x.id=t.id", "x.t_id=t.id", "x.t_id=t.id and x.w=t.status", "x.id=t.n", "x.id=t.grp+1")
	}
	where := g.where(g.r.IntN(4), joins != "")
	if joins != "" {
		where = strings.TrimSuffix(joins+" and "+where, " and ")
	}
	if where != "" {
		out += " where " + where
	}
	if g.d == my && g.some(10) {
		out += g.pick(" order by id limit 2", " limit 1", " order by n limit 2", " order by n, id limit 2")
	}
	return out
}

func (g *generator) value(column string) string {
	switch column {
	case "name", "tag":
		return g.pick(g.text(), "null", "lower("+column+")", "upper("+column+")", "trim("+column+")", "upper(trim("+column+"))", "replace("+column+",'a','b')", "replace("+column+",'a','')",
			"replace("+column+",'aa','a')", "coalesce("+column+",'q')", "nullif("+column+",'abc')", "case when "+column+"='abc' then 'x' else "+column+" end", "tag", "name",
			"(select max(name) from s)", "(select name from s where s.id=t.id)", "substr("+column+",1,2)")
	case "flag":
		return g.pick("true", "false", "null", "not flag", "coalesce(flag,true)", "(n>1)", "(m is null)")
	}
	c, k := column, g.number()
	if g.some(45) {
		return g.number()
	}
	return g.pick(c+"+1", c+"+0", c+"-"+g.pick("1", "2"), c+"*2", c+"*1", "coalesce("+c+","+k+")", "nullif("+c+","+k+")", "abs("+c+")", g.column(), "null", "0", "id", g.column()+"+1",
		g.greatest(c, k), g.greatest(c, g.column()), c+"%"+g.pick("2", "3", "5"), "cast(cast("+c+" as "+g.integer()+") % 2 as "+g.integer()+")",
		"case when "+c+"<"+k+" then "+g.number()+" else "+c+" end", "case "+c+" when 1 then 2 when 2 then "+g.number()+" else "+c+" end",
		"case when "+g.condition()+" then "+g.number()+" else "+c+" end", "case when "+g.condition()+" then "+c+"+1 else "+c+" end", "case when "+g.condition()+" then "+g.number()+" end",
		"(select max(v) from s)", "(select v from s where s.id=t.id)", "(select count(*) from s where s.t_id=t.id)", "(select max(x.m) from t x)", "(select count(*) from t x where x.n>1)",
		"(select x."+g.column()+" from t x where x.id=1)", "-"+c, "round("+c+")")
}

func (g *generator) integer() string {
	if g.d == my {
		return "signed"
	}
	return "int"
}

func (g *generator) greatest(a, b string) string {
	if g.d == lite {
		return g.pick("max(", "min(") + a + "," + b + ")"
	}
	return g.pick("greatest(", "least(") + a + "," + b + ")"
}

func (g *generator) distinct(a, b string) string {
	if g.d == my {
		return "not (" + a + " <=> " + b + ")"
	}
	return a + g.pick(" is distinct from ", " is not distinct from ") + b
}

func (g *generator) where(n int, joined bool) string {
	var all []string
	for range n {
		c := g.condition()
		if joined {
			c = "t.id<" + g.pick("3", "4", "9")
		}
		all = append(all, c)
	}
	return strings.Join(all, g.pick(" and ", " and ", " and ", " and ", " or "))
}

func (g *generator) condition() string {
	c, k := g.column(), g.number()
	x := g.pick("name", "tag")
	return g.pick("id="+g.pick("1", "2", "3"), "id<4", c+"="+k, c+"="+k, c+"="+k, c+"<>"+k, c+"<"+k, c+"<="+k, c+">"+k, c+">="+k, c+" is null", c+" is not null", c+" in ("+g.number()+","+g.number()+")",
		c+" not in ("+g.number()+","+g.number()+")", c+" between "+k+" and "+g.number(), "not ("+c+"="+k+")", "not ("+c+">"+k+")", g.distinct(c, k), g.distinct(c, "null"), x+"="+g.text(), x+"<>"+g.text(), x+" is null",
		x+" in ("+g.text()+","+g.text()+")", x+" like 'a%'", "flag", "not flag", "flag is true", "flag is not true", "flag=true", k+"="+c, c+"="+g.column(), "("+c+"="+k+" or "+g.column()+"=1)",
		g.query(), g.query(), g.query())
}

func (g *generator) query() string {
	if g.d == my {
		return g.pick("id in (select t_id from s where v="+g.number()+")", "exists (select 1 from s where s.t_id=t.id)", "n<(select max(v) from s)", "id in (select s.id from s)")
	}
	return g.pick("id in (select t_id from s where v="+g.number()+")", "exists (select 1 from s where s.t_id=t.id and s.v=1)", "n<(select avg(x.n) from t x)", "id in (select x.id from t x where x."+g.column()+"="+g.number()+")",
		"id=(select x.id from t x where x.n<3 order by x.id limit 1)", "id in (select x.id from t x order by "+g.pick("x.id", "x.n", "x.m, x.id")+" limit 2)", "n=(select min(x.n) from t x)",
		"exists (select 1 from t x where x.id=t.grp and x.status="+g.number()+")", "not exists (select 1 from t x where x.id<t.id and x.n="+g.number()+")", "id in (select b.id from big b)", "id in (select t.id from t x where x.id=t.grp and x.m=1)",
		"id=(select max(x.id) from t x where x.grp=1)", "m>(select count(*) from s)")
}

func (g *generator) remove() string {
	out := "delete from t"
	if g.some(20) {
		return g.pick("delete from node where parent is null", "delete from node where n=1", "delete from node where parent=1", "delete from par where n=0", "delete from chi where code is null", "delete from par where not exists (select 1 from chi where chi.par_id=par.id)",
			"delete from chi where par_id in (select id from par where n=1)", "delete from s where t_id in (select id from t where n=0)", "delete from up where b is null", "delete from g where b=2", "delete from node where parent in (select id from s)")
	}
	if where := g.where(1+g.r.IntN(3), false); where != "" {
		out += " where " + where
	}
	if g.d == my && g.some(20) {
		out += g.pick(" limit 1", " order by id limit 1")
	}
	return out
}

// others changes the tables with generated columns, triggers and foreign keys.
func (g *generator) others() string {
	k := g.pick("0", "1", "2", "3", "4")
	return g.pick("update g set a=a+1 where b="+k, "update g set a="+k+" where b>2", "update g set a="+k+", n=n+1 where a=1", "update g set n=b", "update g set a=3, n=b", "update g set a=3, n=c where id=1", "update g set n=n+1 where b=2", "update g set a=99 where c=3", "update g set a=a+2 where c="+k,
		"update tr set n="+k, "update tr set n=n+1, status=1 where status=0", "update tr set status="+k, "update tr set status=1 where status="+k, "update tr set status=status+1 where status=1", "update tr set n=n+1, status="+k+" where status=1",
		"update par set code='z' where id="+k, "update par set code='z', n=n+1 where code='c1'", "update chi set code=null, n=n+1 where code is not null", "update chi set n=(select n from par where par.id=chi.par_id)",
		"update node set parent=null", "update node set parent=1 where parent is null and id>1", "update node set n="+k+" where parent is null", "update node set n=(select n from s where s.id=1)", "update par set code='q', n=(select count(*) from chi where code='q') where id=1",
		"update node set n=1 where parent in (select id from s)", "update up set b="+k+" where m=2", "update up set m=1 where m="+k, "update up set n=n+1, k='q' where k='k1'")
}

// picking finds rows by a query of them, and changes them by their key.
func (g *generator) picking() string {
	a, b, k := g.column(), g.column(), g.number()
	if g.some(25) { // a value that spreads from row to row
		value, set := g.pick("0", "1", "2"), g.pick("m", "n", "status", "grp")
		near := g.pick("x.id=t.grp", "x.grp=t.id", "x.id=t.id-1", "x.id<t.id") + " and x." + set + "=" + value
		return "update t set " + set + "=" + value + " where " + g.pick("id in (select t.id from t x where "+near+")", "exists (select 1 from t x where "+near+")", "id in (select t.id from t x join s on s.id=x.id where "+near+")", "(id,id) in (select t.id, x.id from t x where "+near+")",
			"id in (select x.id+1 from t x where x."+set+"="+value+")", "id in (select x.grp from t x where x."+set+"="+value+")", "grp in (select x.id from t x where x."+set+"="+value+")", "id in (select y.id from t x join t y on y.grp=x.id where x."+set+"="+value+")")
	}
	rows := "select x.id, x." + a + " as v, x.n from t x where " + g.pick("x."+b+"="+k, "x."+b+" is null", "x."+b+"<>"+k, "x.status in (1,2)", "x.n<x.m", "not x.flag")
	if g.some(50) {
		rows = "select x.id, " + g.pick("x."+a, "s.v", "s.w+1", "x."+a+"+1", "x.n") + " as v, x.n from t x join s on " + g.pick("s.id=x.id", "s.t_id=x.id", "s.id=x.grp", "s.t_id=x.id and s.v=x.n") + " where " + g.pick("s.w=1", "x."+b+"="+k, "s.v<x."+b, "x."+b+" is null and s.w<3")
	}
	rows += g.pick("", "", "", " order by x.id", " order by x.n limit 2", " group by 1,2,3")
	set := g.column()
	joined := "update t set " + set + "=" + g.pick("p.v", "p.v+1", k, "p.n", "t."+a, "p.v+t.n", "coalesce(t."+set+",p.v)", "v") + g.pick("", ", tag='z'", ", m=7")
	key := g.pick("p.id=t.id", "t.id=p.id", "p.id=t.id and t.status<3", "p.id=t.grp", "p.id=t.id and p.v=t."+set)
	switch g.r.IntN(5) {
	case 0:
		return "with p as (" + rows + ") " + joined + " from p where " + key
	case 1:
		return joined + " from (" + rows + ") p where " + key
	case 2:
		return "with p as (" + rows + ") update t set " + set + "=" + g.pick(k, set+"+1", "null", a) + " where id in (select " + g.pick("id", "id", "id", "v") + " from p)" + g.pick("", " and "+b+"="+k)
	case 3:
		return "with p as (" + rows + ") delete from t where id in (select id from p)"
	}
	return "with p as (" + rows + ") update t set " + set + "=" + g.pick("1", "2") + ", n=n+1 where id in (select p.id from p) and " + set + "=" + g.pick("0", "1", "2")
}

// writing is a statement of several parts.
func (g *generator) writing() string {
	k := g.pick("0", "1", "2")
	return g.pick("with d as (delete from t where n="+k+" returning id, n) insert into log(msg) select id from d", "with d as (delete from t where n="+k+" returning id, n) insert into log(msg) select count(*) from d",
		"with u as (update t set status=1 where status="+k+" returning id) insert into log(msg) select id from u", "with u as (update t set status=1 where status="+k+" returning id) update s set v=9 where id in (select id from u)",
		"with u as (update t set n=5 where id="+k+" returning id) select * from u", "with u as (update t set n=n+1 where status=1 returning id) select * from u", "with p as (select id from t where n=0 order by id limit 1) update t set n="+k+" from p where p.id=t.id",
		"with p as (select id from t where status="+k+") update t set status=1, n=n+1 where id in (select id from p)", "with p as (select id from t where status="+k+") delete from s where t_id in (select id from p)",
		"with i as (insert into up(k,n) values ('q',1) on conflict do nothing returning id) insert into log(msg) select id from i", "with u as (update s set v=v+1 where w=1 returning t_id) update t set n=4 where id in (select t_id from u)",
		"with u as (update s set w=2 where w=1 returning t_id) update t set n=(select count(*) from s where w=2)", "with p as (select max(n) as x from t) update t set n=p.x from p", "with p as (select max(m) as x from t) update t set n=p.x from p where p.x is not null")
}

func (g *generator) insert() string {
	names := []string{"k", "a", "b", "n", "m"}
	values := []string{g.pick("'k1'", "'q'", "'k2'"), g.pick("1", "2", "9", "null"), g.pick("1", "2", "8", "null"), g.pick("0", "1", "5", "null"), g.pick("0", "1", "1", "5", "null")}
	columns := []string{"k"}
	row := []string{values[0]}
	for i := 1; i < 5; i++ {
		if g.some(50) {
			columns, row = append(columns, names[i]), append(row, values[i])
		}
	}
	if g.some(10) {
		columns, row = append(columns, "id"), append(row, g.pick("1", "7", "77", "null"))
		if g.d == pg {
			row[len(row)-1] = "77"
		}
	}
	source := " values (" + strings.Join(row, ",") + ")"
	if g.some(10) {
		source += strings.TrimPrefix(source, " values ")
		source = strings.Replace(source, ")(", "),(", 1)
	}
	into := "up(" + strings.Join(columns, ",") + ")"
	if g.some(30) {
		into, source = g.selected()
	}
	return g.conflict(into, source)
}

func (g *generator) selected() (into, source string) {
	k := g.pick("0", "1", "2", "7")
	if g.some(50) {
		return "up(k,a,b,n)", " select name, t_id, v, " + g.pick("w", "1", "v", "id") + " from s where w=" + k
	}
	return g.pick("s(id,v)|select id+10, n from t where status="+k, "s(id,v)|select id+10, v from s where v="+k, "s(id,v)|select 20, 1 where not exists (select 1 from s where v="+k+")", "s(id,v)|select t.id+10, 1 from t where not exists (select 1 from s where s.t_id=t.id)",
		"s(id,v)|select t.id+10, 1 from t where not exists (select 1 from s where s.id=t.id+10) order by t.id limit 1", "s(id,v)|select max(id)+1, 1 from s", "s(id,v)|select max(id)+10, 1 from t", "s(id,v)|select id+10, 1 from t order by n, id limit 2",
		"log(msg)|select id from t where n="+k, "s(id,v)|select distinct grp+10, 1 from t", "s(id,v)|select grp+10, count(*) from t group by grp", "log(id,msg)|select id+10, n from t where n="+k, "s(id,v)|select id+10, 1 from t union select id+20, 2 from s where v=1", "node(id,parent,n)|select id+10, id, 1 from node where parent is null"), ""
}

func (g *generator) conflict(into, source string) string {
	if source == "" {
		into, source, _ = strings.Cut(into, "|")
		source = " " + source
	}
	verb, tail := "insert into ", ""
	sets := func(inserted string) string {
		x := fmt.Sprintf(inserted, "n")
		return g.pick("n="+x, "n=up.n+1", "n=up.n+"+x, "n=5", "n="+g.number(), "n=coalesce(up.n,"+x+")", "n="+g.greatest("up.n", x), "n="+x+", m="+fmt.Sprintf(inserted, "m"), "m=up.n", "n="+x+", m=up.n", "n=nullif(up.n,1)", "b="+fmt.Sprintf(inserted, "b"), "m=n", "k='zz'", "n=(select max(v) from s)", "n=up.n")
	}
	up := strings.HasPrefix(into, "up(")
	if g.d == lite && strings.Contains(source, " from ") && !strings.Contains(source, " where ") && !strings.Contains(source, "group by") && !strings.Contains(source, "order by") {
		source += " where true"
	}
	switch x := g.r.IntN(6); {
	case x == 0 && g.d != pg:
		verb = "replace into "
	case x == 1 && g.d == my:
		verb = "insert ignore into "
	case x == 1:
		tail = " on conflict do nothing"
	case (x == 2 || x == 3) && up && g.d == my:
		tail = " on duplicate key update " + sets("values(%s)")
	case (x == 2 || x == 3) && up:
		tail = " on conflict " + g.pick("(k)", "(k)", "(a,b)") + " do update set " + strings.ReplaceAll(sets("excluded.%s"), "m=n", "m=up.m")
		if g.some(40) {
			tail += " where " + g.pick("up.n<excluded.n", "up.n is distinct from excluded.n", "up.n<>excluded.n", "up.m=1", "up.n is null", "up.n<5", "up.n<>5", "excluded.n>1")
		}
	case x == 4 && g.d == lite:
		verb = "insert or ignore into "
	}
	return verb + into + source + tail
}
