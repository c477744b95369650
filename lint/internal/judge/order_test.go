package judge_test

import (
	"strings"
	"testing"

	"github.com/semel-dev/semel/lint/internal/judge"
	"github.com/semel-dev/semel/lint/internal/tree"
)

// orderHoles depend on the order of rows that a run alters.
var orderHoles = func() (list []hole) {
	const rows = "create table t(id int primary key, n int, name text, tags text[], f real); insert into t select i, i%2, 'n'||i, '{}', 0.1*i from generate_series(1,5) i; create table o(id int primary key, v text); insert into o values (1,'a'),(2,'b'); create view v as select array(select name from t) as names;"
	for name, statement := range map[string]string{
		"array of rows":                            "update t set tags=array(select name from t x) where id=1",
		"text of an array of rows":                 "update t set name=array_to_string(array(select x.name from t x),',') where id=1",
		"array within a query":                     "update t set tags=(select array(select x.id::text from t x)) where id=1",
		"array of a view":                          "update t set tags=(select names from v) where id=1",
		"array of a common table expression":       "with q as (select name from t) update t set tags=array(select name from q) where id=1",
		"array in the order of another id":         "with q as (select n as id, name from t) update t set tags=array(select name from q order by id) where id=1",
		"array of several tables":                  "update t set tags=array(select id::text from t union all select v from o) where id=1",
		"array in an order with ties":              "update t set tags=array(select x.id::text from t x order by x.n) where id=1",
		"array whose first element is taken":       "update t set n=7 where id=(array(select x.id from t x))[1]",
		"rows of a join, in the order of a column": "update t set name=(select string_agg(o.v||x.id,',' order by o.id) from t x, o) where id=1",
	} {
		list = append(list, hole{name, pg, rows, statement})
	}
	const pairs = "create table t(id integer primary key, n int, name text); create index i on t(n); insert into t values (1,1,''),(2,2,''),(3,3,'');"
	for name, statement := range map[string]string{
		"texts in the order of an index":   "update t set n=7, name=(select group_concat(id) from t where n>0) where id=2",
		"array in the order of an index":   "update t set n=7, name=(select json_group_array(id) from t where n>0) where id=2",
		"first row in that of an index":    "update t set n=7, name=(select id from t where n>0) where id=1",
		"first value in that of an index":  "update t set n=7, name=x.v from (select first_value(id) over () as v from t where n>0) x where t.id=1",
		"one row in the order of an index": "update t set n=7, name=(select id from t where n>0 limit 1) where id=1",
	} {
		list = append(list, hole{name, lite, pairs, statement})
	}
	const keyed = "create table t(id int primary key, n int, name varchar(60), key(n)); insert into t values (1,1,''),(2,2,''),(3,3,'');"
	for name, statement := range map[string]string{
		"texts in the order of an index": "update t set n=7, name=(select group_concat(x.id) from (select id, n from t where n<100) x) where id=2",
		"array in the order of an index": "update t set n=7, name=(select json_arrayagg(x.id) from (select id, n from t where n<100) x) where id=2",
	} {
		list = append(list, hole{name, my, keyed, statement})
	}
	return list
}()

// orderSound does not depend on it.
var orderSound = func() (list []hole) {
	const rows = "create table t(id int primary key, n int, name text, tags text[]); insert into t select i, i%2, 'n'||i, '{}' from generate_series(1,5) i; create table o(id int primary key, t_id int, v text); insert into o values (1,1,'a'),(2,1,'b');"
	for name, statement := range map[string]string{
		"array in the order of the key":     "update t set tags=array(select x.name from t x order by x.id) where id=1",
		"array of which any element counts": "update t set n=9 where id=any(array(select x.id from t x where x.name<>'n1'))",
		"array in an order":                 "update t set tags=array(select o.v from o where o.t_id=t.id order by o.id)",
		"array of a parameter's elements":   "update t set tags=array(select unnest(array['b','a'])) where id=1",
	} {
		list = append(list, hole{name, pg, rows, statement})
	}
	return list
}()

// Each kind of query within an expression has a decision on the order of its rows: none is taken for one that does not
// depend on it because it is new.
func TestOrderOfEachKind(t *testing.T) {
	t.Parallel()
	s := learn(pg, "create table t(id int primary key, n int, flag boolean, name text);")
	const kinds = 7
	for kind := tree.Scalar; kind.String() != ""; kind++ {
		rows := &tree.Select{Items: []tree.Item{{Expr: &tree.Column{Name: "id"}}}, From: []tree.Source{&tree.TableRef{Name: tree.Name{Name: "t"}}}}
		q := &tree.Query{Kind: kind, Left: &tree.Column{Name: "n"}, Op: "=", Select: rows}
		got := judge.Statement(pg, s, &tree.Update{Table: tree.Name{Name: "t"}, Set: []tree.Assign{{Column: "flag", Value: q}}})
		if strings.Contains(got.Why, "a query of that kind") {
			t.Errorf("%s: %s", kind, got.Why)
		}
		if kind == tree.Array && got.Verdict == judge.Safe {
			t.Errorf("%s: called %s", kind, got.Verdict)
		}
		if kind >= tree.Scalar+kinds {
			t.Errorf("%s is new: decide in order.go what the order of its rows does, add a hole above, and count it here", kind)
		}
	}
}
