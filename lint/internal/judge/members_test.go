package judge_test

import (
	"slices"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
)

// members returns values for doc, arr and tags.
func (g *generator) members(arrays bool) string {
	doc := g.pick("null", `'{}'`, `'{"a":1}'`, `'{"a":2,"b":[1]}'`, `'{"b":null}'`)
	if arrays && g.some(40) {
		doc = g.pick(`'[1,2,1]'`, `'[{"a":1}]'`, "'[]'", "'4'")
	}
	if g.d != pg {
		return doc
	}
	return doc + "," + g.pick("null", "'{}'", "'{1}'", "'{1,2,1,5}'", "'{3,null}'") + "," + g.pick("null", "'{}'", "'{a,b,a}'", "'{x}'")
}

// fillIn puts numbers for K and L, columns for C, and rows of s or t for ROWS into one of some templates.
func (g *generator) fillIn(templates []string) string {
	whole := func() string { return g.pick("0", "1", "2", "3", "5") }
	out := g.pick(templates...)
	for strings.Contains(out, "ROWS") {
		out = strings.Replace(out, "ROWS", g.pick("t x", "t x", "t x where x.n=K", "t x where x.C<=K", "s x", "s x where x.t_id=t.id", "s x where x.w=K"), 1)
		if !strings.Contains(out, " x.m ") && strings.Contains(out, "from s x") {
			out = strings.ReplaceAll(out, "x.m", "x.v")
			out = strings.ReplaceAll(out, "x.n", "x.w")
		}
	}
	return strings.NewReplacer("K", whole(), "L", whole(), "C", g.pick("n", "m", "status", "grp")).Replace(out)
}

// document changes a list or JSON.
func (g *generator) document() string {
	column := "doc"
	if g.d == pg {
		column = g.pick("doc", "arr", "arr", "tags")
	}
	values, conditions := documents[g.d][column], documents[g.d]["where"]
	if column == "tags" {
		values = nil
		for _, one := range documents[pg]["arr"] {
			one = strings.ReplaceAll(one, "arr", "tags")
			if !strings.Contains(one, "n,m") && !strings.Contains(one, "x.") && !strings.Contains(one, "v") {
				values = append(values, strings.NewReplacer("K", "'a'::text", "L", "'b'::text").Replace(one))
			}
		}
		values = append(values, "array(select x.name from t x order by x.id)", "array(select x.name from t x)", "array(select name from s order by id)", "array[name]")
	}
	out := "update t set " + column + "=" + g.fillIn(values)
	if g.some(30) {
		out += ", n=" + g.value("n")
	}
	switch g.r.IntN(3) {
	case 0:
		return out + " where " + g.fillIn(conditions)
	case 1:
		return out + " where " + g.fillIn(conditions) + " and " + g.condition()
	}
	if where := g.where(g.r.IntN(2), false); where != "" {
		out += " where " + where
	}
	return out
}

// partial inserts rows that leave out columns.
func (g *generator) partial() string {
	if g.some(8) {
		if g.d == my {
			return "insert into lo() values ()"
		}
		return "insert into lo default values"
	}
	values := map[string]string{"id": g.pick("9", "9", "1", "null"), "k": g.pick("'z'", "'z'", "'k1'"), "n": g.pick("1", "null"), "m": g.pick("1", "null")}
	names := []string{"id", "k", "n", "m"}
	g.r.Shuffle(len(names), func(i, k int) { names[i], names[k] = names[k], names[i] })
	names = names[:1+g.r.IntN(len(names))]
	if g.some(50) && !slices.Contains(names, "k") {
		names = append(names, "k")
	}
	var row []string
	for _, name := range names {
		if g.d != lite && g.some(10) {
			values[name] = "default"
		}
		row = append(row, values[name])
	}
	source := " values (" + strings.Join(row, ",") + ")"
	if g.some(20) && !slices.Contains(row, "default") {
		source = " select " + strings.Join(row, ",") + g.pick("", " from t where n=1")
	}
	if g.some(20) {
		return g.conflict("log(msg)", " select count(*) from t")
	}
	return g.conflict("lo("+strings.Join(names, ",")+")", source)
}

// documents are new values of each column, and conditions.
var documents = map[dialect.Dialect]map[string][]string{
	pg: {
		"arr": {
			"arr||K", "K||arr", "array_append(arr,K)", "array_prepend(K,arr)", "array_remove(arr,K)", "array_append(array_remove(arr,K),K)", "array_append(array_remove(arr,K),L)", "array_replace(arr,K,L)", "array_cat(arr,array[K,L])", "arr||array[K]",
			"arr||'{}'", "arr[2:]", "arr[1:2]", "arr[2:1]", "trim_array(arr,1)", "null", "'{}'", "array[K,L]", "array[n,m]", "coalesce(arr,array[K])", "coalesce(arr,'{}')||K", "array_positions(arr,K)", "array_fill(K,array[2])", "array_fill(K,array[cardinality(arr)+1])",
			"array(select x.id from ROWS)", "array(select x.id from ROWS order by x.id)", "array(select x.m from ROWS order by x.m)", "array(select x.m from ROWS order by x.n)", "array(select distinct x.m from ROWS)", "array(select unnest(arr) order by 1)", "array(select distinct unnest(arr) order by 1)", "array(select distinct unnest(arr))",
			"array(select distinct unnest(arr||K) order by 1)", "array(select unnest(arr) limit 1)", "array(select unnest(arr) offset 1)", "arr||array(select x.id from ROWS order by x.id)", "(select array_agg(x.m order by x.id) from ROWS)", "(select array_agg(x.m) from ROWS)", "(select x.arr from t x where x.id=K)", "array_append((select x.arr from t x where x.id=K),L)",
			"case when K=any(arr) then arr else arr||K end", "case when arr is null then array[K] else arr[2:] end",
		},
		"doc": {
			"doc-0", "doc-1", "doc-(-1)", "doc-'a'", "doc-'0'", "doc-array['a','b']", "doc #- '{0}'", "doc #- '{a}'", "doc #- '{b,0}'", "doc||'4'", "doc||'[4]'", `doc||'{"a":1}'`, `'{"a":1}'::jsonb||doc`, "doc||jsonb_build_object('b',K)", "doc||jsonb_build_object('a',n)",
			"doc||jsonb_build_object('a',(doc->>'a')::int+1)", "jsonb_set(doc,'{a}','9')", "jsonb_set(doc,'{0}','9')", "jsonb_set(doc,'{9}','9')", "jsonb_set(doc,'{a}',to_jsonb(n))", "jsonb_set(doc,'{a}',to_jsonb(coalesce((doc->>'a')::int,0)+1))", "jsonb_set(doc,'{b}',coalesce(doc->'a','0'))", "jsonb_set(doc,'{a}','[1]'||doc)", "jsonb_set(doc,'{b}',doc)",
			"jsonb_set_lax(doc,'{a}',null,true,'delete_key')", "jsonb_set_lax(doc,'{0}',null,true,'delete_key')", "jsonb_insert(doc,'{0}','9')", "jsonb_insert(doc,'{b,0}','9')", "jsonb_strip_nulls(doc)", "doc->0", "doc->'a'", "doc#>'{b}'", "to_jsonb(array(select x.n from ROWS))", "to_jsonb(array(select x.n from ROWS order by x.id))", "jsonb_build_array(doc)", "to_jsonb(doc)",
			"(select jsonb_agg(x.n order by x.id) from ROWS)", "(select jsonb_agg(x.n) from ROWS)", "(select jsonb_object_agg(x.id,x.m) from ROWS)", `coalesce(doc,'{}')||'{"b":2}'`, "coalesce(doc,'[]')||'[2]'", "doc||(select jsonb_agg(x.n) from ROWS)", `'{"c":1}'`, "null", "jsonb_set(doc,'{b}',to_jsonb(array(select x.m from ROWS order by x.id)))", "doc-'a'||'{\"a\":2}'",
		},
		"where": {
			"not K=any(arr)", "K=any(arr)", "K<>all(arr)", "arr@>array[K]", "not arr@>array[K]", "cardinality(arr)<3", "arr is null", "arr='{}'", "arr<>'{}'", "not 'a'=any(tags)", "'x'=any(tags)", "doc?'a'", "not doc?'a'", "doc->>'a'='1'", `doc@>'{"a":1}'`, `not doc@>'{"a":1}'`, "jsonb_typeof(doc)='array'", "jsonb_typeof(doc)='object'",
			"doc is null", "doc->>'a' is distinct from '1'", "doc->'a' is null", `doc<>'{"a":1}'`, `doc='{"a":1}'`, "array(select x.n from ROWS order by x.id)<>arr", "id=any(array(select x.id from t x where x.n=K))", "id=any(array(select x.id from t x where x.C<=K order by x.id limit 1))", "id=(array(select x.id from t x order by x.n, x.id))[1]", "id=(array(select x.id from t x))[K]",
			"cardinality(array(select x.id from t x where x.n=K))>1", "arr[1]=K", "n=any(arr)", "id=any(array(select y.t_id from s y where y.v=K))",
		},
	},
	my: {
		"doc": {
			"json_set(doc,'$.a',K)", "json_set(doc,'$[0]',K)", "json_set(doc,'$[5]',K)", "json_insert(doc,'$.c',K)", "json_insert(doc,'$[5]',K)", "json_replace(doc,'$.a',K)", "json_remove(doc,'$.a')", "json_remove(doc,'$[0]')", "json_remove(doc,'$.b[0]')", "json_array_append(doc,'$',K)", "json_array_append(doc,'$.b',K)", "json_array_insert(doc,'$[0]',K)",
			`json_merge_patch(doc,'{"a":null}')`, `json_merge_patch(doc,'{"a":2}')`, `json_merge_preserve(doc,'{"a":2}')`, "json_extract(doc,'$.a')", "json_extract(doc,'$[0]')", "json_set(doc,'$.a',json_extract(doc,'$.a')+1)", "json_set(doc,'$.a',n)", "json_set(doc,'$.b',json_extract(doc,'$.a'))", "json_array(n,m)", "json_object('a',n)", "json_array(doc)", `'{"a":1}'`, "null",
			"coalesce(doc,'{}')", "json_set(coalesce(doc,'{}'),'$.a',K)", "(select json_arrayagg(x.v) from s x)", "json_compact(doc)", "json_array_append(coalesce(doc,'[]'),'$',K)", "(select json_arrayagg(x.w) from s x where x.t_id=t.id)",
		},
		"where": {
			"json_extract(doc,'$.a')=1", "json_value(doc,'$.a')=K", "json_contains(doc,'1','$.a')", "not json_contains(doc,'1')", "json_length(doc)<3", "doc is null", "json_type(doc)='ARRAY'", "not json_contains_path(doc,'one','$.a')", "json_contains_path(doc,'one','$.a')", `doc='{"a":1}'`, `doc<>'{"a":1}'`, "doc is not null",
			"status=32767", "status=K", "n=2147483647", "tag<>'abcd'", "tag='abc'", "status<>32768", "price=9999.99",
		},
	},
	lite: {
		"doc": {
			"json_set(doc,'$.a',K)", "json_set(doc,'$[0]',K)", "json_set(doc,'$[#]',K)", "json_insert(doc,'$.c',K)", "json_insert(doc,'$[#]',K)", "json_replace(doc,'$.a',K)", "json_remove(doc,'$.a')", "json_remove(doc,'$[0]')", "json_remove(doc,'$.b[0]')", `json_patch(doc,'{"a":null}')`, `json_patch(doc,'{"a":{"b":1}}')`, "json_array(doc)", "json_quote(doc)", "json(doc)",
			"doc->'$.a'", "doc->>'$[0]'", "json_extract(doc,'$.a')", "json_set(doc,'$.a',json_extract(doc,'$.a')+1)", "json_set(doc,'$.a',n)", "json_set(doc,'$.b',json_extract(doc,'$.a'))", "json_array(n,m)", "json_object('a',n)", `'{"a":1}'`, "null", "coalesce(doc,'{}')", "json_set(coalesce(doc,'{}'),'$.a',K)", "json_insert(coalesce(doc,'[]'),'$[#]',K)",
			"(select json_group_array(x.n) from ROWS)", "(select group_concat(x.m) from ROWS)", "(select json_group_object(x.id,x.m) from ROWS)", "(select group_concat(x.id) from ROWS)", "doc||(select group_concat(x.id) from ROWS)",
		},
		"where": {
			"json_extract(doc,'$.a')=1", "doc->>'$.a'=K", "json_array_length(doc)<3", "doc is null", "json_type(doc)='array'", "json_type(doc,'$.a') is null", `doc='{"a":1}'`, `doc<>'{"a":1}'`, "not exists (select 1 from json_each(t.doc) x where x.value=K)", "K in (select x.value from json_each(t.doc) x)", "doc is not null", "doc like '%1%'",
		},
	},
}
