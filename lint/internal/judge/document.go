package judge

import (
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/lint/internal/schema"
	"github.com/semel-dev/semel/lint/internal/tree"
)

// asJSON follows the name of a column of JSONB, whose lengths SQLite writes with more or fewer bytes.
const asJSON = " is read as JSON, which is the same when the bytes of its JSONB differ"

// settledText judges the functions of SQLite on JSON that it keeps as a text or as JSONB, which keep a key that an object holds twice.
func (j *judge) settledText(c *tree.Call, t *target, self func(tree.Expr) bool, stays, moves verdictOf, unknown Judgement) Judgement {
	if j.dialect != dialect.SQLite {
		return unknown
	}
	call := c
	for len(call.Args) == 1 {
		in, ok := call.Args[0].(*tree.Call)
		if !ok || call.Name != "json" && call.Name != "jsonb" {
			return unknown
		}
		call = in
	}
	switch strings.TrimPrefix(call.Name, "jsonb") {
	case "json_insert", "_insert":
		if path := stringOf(call.Args, 1); path != nil && strings.HasSuffix(path.Text, "[#]") && ofDocument(call.Args[0], t, self) {
			return moves(call.Name + " adds an element")
		}
	case "json_patch", "_patch":
		if call == c && len(c.Args) == 2 && self(document(c.Args[0])) && t.stable(c.Args[1]) {
			return settledPatch(c, t.column(document(c.Args[0])), stays, unknown)
		}
	}
	return unknown
}

// settledPatch judges json_patch and jsonb_patch of a column.
func settledPatch(c *tree.Call, column string, stays verdictOf, unknown Judgement) Judgement {
	res, and := stays("the patch finds its keys again"), " and in its patch"
	if c.Name == "jsonb_patch" {
		res.Assumes = []string{column + asJSON}
	}
	if patch, ok := document(c.Args[1]).(*tree.Literal); ok {
		switch removes, twice := patched(patch.Text); {
		case twice:
			return unknown
		case !removes:
			return res
		}
		and = ""
	}
	res.Assumes = append(res.Assumes, "no object of the JSON in "+column+and+" holds a key twice")
	return res
}

// document returns the argument of json() and jsonb().
func document(e tree.Expr) tree.Expr {
	for {
		c, ok := e.(*tree.Call)
		if !ok || c.Name != "json" && c.Name != "jsonb" || len(c.Args) != 1 {
			return e
		}
		e = c.Args[0]
	}
}

// ofDocument reports whether an expression is the column, or something of its own while that is NULL.
func ofDocument(e tree.Expr, t *target, self func(tree.Expr) bool) bool {
	e = document(e)
	if c, ok := e.(*tree.Call); ok && c.Name == "coalesce" && len(c.Args) == 2 && t.stable(c.Args[1]) {
		e = document(c.Args[0])
	}
	return self(e)
}

// patched reports whether a patch removes keys, and whether it has a key twice or is not standard JSON.
func patched(text string) (removes, twice bool) {
	d := json.NewDecoder(strings.NewReader(text))
	var within []map[string]bool // the keys of each open object, nil for an array
	for isKey := false; ; {
		token, err := d.Token()
		if err != nil {
			return removes, twice || !errors.Is(err, io.EOF) || len(within) > 0
		}
		last := len(within) - 1
		if name, ok := token.(string); ok && isKey {
			twice = twice || within[last][name]
			within[last][name], isKey = true, false
			continue
		}
		switch token {
		case nil:
			removes = true
		case json.Delim('{'):
			within = append(within, map[string]bool{})
		case json.Delim('['):
			within = append(within, nil)
		case json.Delim('}'), json.Delim(']'):
			within = within[:last]
		}
		isKey = len(within) > 0 && within[len(within)-1] != nil
	}
}

// stepsAway reports whether CASE WHEN column = v THEN column + 1 ELSE column END has one value that it changes.
func (t *target) stepsAway(c *tree.Case, column string) bool {
	if c.Operand != nil || len(c.Whens) != 1 || t.column(c.Else) != column {
		return false
	}
	if def := schema.Column(t.table, column); def == nil || typeOf(def.Type) != integer {
		return false
	}
	is, ok := c.Whens[0].If.(*tree.Op)
	if !ok || is.Name != "=" || len(is.Args) != 2 || t.column(is.Args[0]) != column && t.column(is.Args[1]) != column {
		return false
	}
	of := is.Args[1]
	if t.column(is.Args[0]) != column {
		of = is.Args[0]
	}
	then, ok := c.Whens[0].Then.(*tree.Op)
	if !ok || then.Name != "+" && then.Name != "-" || len(then.Args) != 2 || t.column(then.Args[0]) != column || !t.stable(of) {
		return false
	}
	by := number(literal(then.Args[1]))
	return by != nil && by.IsInt() && by.Sign() != 0
}

// inJSONB adds to a judgement what it assumes when SQLite's jsonb_set writes the column.
func (j *judge) inJSONB(c *tree.Call, t *target, res Judgement) Judgement {
	if j.dialect == dialect.SQLite && c.Name == "jsonb_set" {
		res.Assumes = []string{t.column(c.Args[0]) + asJSON}
	}
	return res
}
