package judge_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/lint/judge"
	"github.com/semel-dev/semel/internal/lint/schema"
	"github.com/semel-dev/semel/internal/lint/tree"
)

// A statement whose late run is called harmless changes nothing of what others have written in between, apart from what the
// verdict names. SEMEL_LINT_TIMES=5 tries more rows and more writes.
func TestLate(t *testing.T) {
	t.Parallel()
	start := seed(t)
	times := int(variable(t, "SEMEL_LINT_TIMES", 1))
	for _, d := range dialect.All() {
		t.Run(d.String(), func(t *testing.T) {
			t.Parallel()
			w := newTwice(t, d)
			s := w.define(t, read(t, "schema_"+d.String()+".sql"))
			l := &lateness{twice: w, schema: s, r: rand.New(rand.NewPCG(start, uint64(d))), fills: 2 * times, writes: 4 * times}
			if d == lite {
				l.fills, l.writes = 4*times, 12*times
			}
			for _, statement := range append(lateStatements(t, d), more[d]...) {
				l.try(t, statement)
			}
			t.Logf("%s: %d statements, %d harmless and tried, %d runs, %d of them after a write that counts", d, l.all, l.harmless, l.runs, l.wrote)
			const fewest = 20
			if l.harmless < fewest || l.wrote < 2*l.harmless {
				t.Errorf("%s: %d statements and %d writes are too few", d, l.harmless, l.wrote)
			}
		})
	}
}

// lateStatements are those of the truth that write rows.
func lateStatements(t *testing.T, d dialect.Dialect) (list []string) {
	t.Helper()
	for _, r := range truths(t, d) {
		if !r.defines() {
			list = append(list, strings.ReplaceAll(r.statement, "@now@", "2026-09-21 14:13:20"))
		}
	}
	return list
}

type lateness struct {
	*twice

	schema                     *schema.Schema
	r                          *rand.Rand
	fills, writes              int
	all, harmless, runs, wrote int
}

// try runs a statement, then writes of others, and then the statement again.
func (l *lateness) try(t *testing.T, statement string) {
	t.Helper()
	got := verdict(t, l.d, l.schema, statement)
	l.all++
	if got.Late != judge.LateHarmless {
		return
	}
	l.harmless++
	read, written := tree.Tables(parse(l.d, statement)[0].Statement)
	near := append(written, read...)
	for fill := range l.fills {
		for n := range l.writes {
			l.rowsOfTruth(t, uint64(fill))
			l.clock(t, 1_700_000_000)
			before := l.state(t)
			if err := l.exec(t.Context(), statement); err != nil {
				break // it has not run
			}
			if first := l.state(t); first == before && strings.HasPrefix(got.LateWhy, "once it has changed") {
				break
			}
			l.runs++
			var others []string
			for range 1 + n%3 {
				one := l.write(near, got.LateWhy)
				if l.exec(t.Context(), one) == nil {
					others = append(others, one)
				}
			}
			left := l.state(t)
			if left != before {
				l.wrote++
			}
			if l.clock(t, 1_800_000_000); l.d == lite && timely.MatchString(statement) {
				l.tick(t)
			}
			_ = l.exec(t.Context(), statement) // it may be refused
			if after := l.state(t); after != left {
				t.Errorf("called harmless (%s), and is not:\n%s\nafter %s (-left +after):\n%s", got.LateWhy, statement, strings.Join(others, "; "), cmp.Diff(strings.Split(left, "\n"), strings.Split(after, "\n")))
				return
			}
		}
	}
}

// write is a write of someone else that the verdict does not exclude.
func (l *lateness) write(tables []string, except string) string {
	name := l.tables[l.r.IntN(len(l.tables))]
	if len(tables) > 0 && l.r.IntN(4) > 0 { // mostly of those of the statement
		name = tables[l.r.IntN(len(tables))]
	}
	table := l.schema.Table(tree.Name{Name: name})
	if table == nil || len(table.Columns) == 0 || table.View != nil {
		return "delete from " + name + " where 1=0"
	}
	keys := map[string]bool{}
	for _, k := range table.Keys {
		for _, part := range append(slices.Clone(k.Parts), k.Where) {
			tree.Exprs(part, func(e tree.Expr) bool {
				if c, ok := e.(*tree.Column); ok && (strings.Contains(except, "its key") || k.Primary) {
					keys[strings.ToLower(c.Name)] = true
				}
				return true
			})
		}
	}
	c := table.Columns[l.r.IntN(len(table.Columns))]
	where := []string{"", " where id=1", " where id=2", " where id<4", " where n>1"}[l.r.IntN(5)]
	switch x := l.r.IntN(10); {
	case x < 2 && !strings.Contains(except, "deleted"):
		return "delete from " + name + where
	case x < 4:
		var names, values []string
		for _, one := range table.Columns {
			if one.Generated == nil && (one.Default == nil && !one.Serial || l.r.IntN(2) == 0) {
				names, values = append(names, one.Name), append(values, l.value(one.Type))
			}
		}
		return fmt.Sprintf("insert into %s (%s) values (%s)", name, strings.Join(names, ","), strings.Join(values, ","))
	case keys[strings.ToLower(c.Name)] || c.Generated != nil:
		return "delete from " + name + " where 1=0"
	case strings.Contains(except, c.Name+" only grows"):
		return fmt.Sprintf("update %s set %s=%s+1%s", name, c.Name, c.Name, where)
	}
	return fmt.Sprintf("update %s set %s=%s%s", name, c.Name, l.value(c.Type), where)
}

// value is one of a type, as the statements have them.
func (l *lateness) value(kind string) string {
	list := []string{"0", "1", "2", "3", "4", "5", "7", "9", "50", "null"}
	switch {
	case strings.Contains(kind, "text") || strings.Contains(kind, "char"):
		list = []string{"'abc'", "'z'", "'a'", "'c1'", "'k1'", "'x'", "null"}
	case strings.Contains(kind, "bool"):
		list = []string{"true", "false"}
	case strings.Contains(kind, "time") || strings.Contains(kind, "date"):
		list = []string{"'2020-01-01'", "'2030-01-01'", "null"}
	case strings.Contains(kind, "json"):
		list = []string{"'{}'", `'{"a":2}'`}
	case strings.HasSuffix(kind, "]"):
		list = []string{"'{}'", "'{1,2}'"}
	}
	return list[l.r.IntN(len(list))]
}

// more are statements that wait for what the truth has none of.
var more = func() map[dialect.Dialect][]string {
	everywhere := []string{
		"update t set n=7, version=version+1 where id=1 and version=1", "update t set n=n+1, version=version+1 where version=1", "update t set n=n+1, version=version+1 where id=2 and status=1 and version=1",
		"update t set n=7, version=version+2 where version=1 and id in (1,2)", "update t set n=5, version=1+version where 1=version and id=3", "update t set m=9, status=3 where id=1 and status<3",
		"update t set m=9, status=3 where status<3", "update t set version=5, n=n+1 where id=2 and version<5", "update t set n=6 where id=1 and n<6", "update t set n=5 where id=1",
		"update t set status=2, n=n+1 where id=1 and status=1", "update t set version=version+1, n=n-1 where id=1 and version=1 and name='abc'", "update t set version=version+1, m=1 where name='abc' and id=2 and version=1",
		"update t set n=7, version=version+1 where id=1 and version=1 and exists (select 1 from s where s.id=t.n)", "update t set n=(select max(v) from s), version=version+1 where id=1 and version=1",
		"insert into uq(k,n) values('w',1)", "insert into uq(k,n) values('w',1),('v',2)", "insert into t(id,n) values(70,1)", "insert into t(id,n,m) values(71,1,(select count(*) from s))",
		"insert into nuq(a,b) values(3,4)", "insert into puq(k,merged_into) values('w',null)", "insert into par values (50,'c50',0)", "insert into chi(id,par_id,code) values (60,1,'c1')",
		"insert into s values (60,1)", "insert into t(id,n) values((select max(id)+90 from s),1)", "update t set n=9, version=version+1 where id=1 and version=m", "update t set id=1, version=version+1 where id=2 and version=1", "delete from t where id=1", "delete from par where id=1", "delete from par where code='c1'", "delete from t where n=1", "select * from t where n=1",
	}
	updated := "insert into uq(k,n) values('k1',9) on conflict (k) do update set n=excluded.n where uq.n<excluded.n"
	nothing := []string{
		"insert into uq(k,n) values('w',1) on conflict do nothing", "insert into uq(k,n) values('k1',1) on conflict (k) do nothing", "insert into t(id,n) values(1,1) on conflict do nothing",
		"insert into puq(k) values('w') on conflict do nothing", updated, "insert into uq(k,n) values('k1',9) on conflict (k) do update set n=excluded.n",
		"insert into uq(id,k,n) values(1,'k1',9) on conflict (k) do update set n=excluded.n where excluded.n>uq.n",
	}
	return map[dialect.Dialect][]string{
		pg:   append(slices.Clone(everywhere), append(nothing, "with x as (update t set n=n+1, version=version+1 where id=1 and version=1 returning id) insert into log(msg) select 'x' from x")...),
		lite: append(slices.Clone(everywhere), append(nothing, "insert or ignore into uq(k,n) values('w',1)", "insert or replace into uq(id,k,n) values(1,'w',1)")...),
		my: append(slices.Clone(everywhere), "insert ignore into uq(k,n) values('w',1)", "insert ignore into t(id,n) values(1,1)", "insert ignore into uq(id,k,n) values(1,'w',1)",
			"insert into uq(k,n) values('k1',9) on duplicate key update n=greatest(n,values(n))", "insert into uq(k,n) values('k1',9) on duplicate key update n=values(n)", "replace into uq(id,k,n) values(1,'w',1)"),
	}
}()
