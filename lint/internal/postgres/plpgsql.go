package postgres

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	pg "github.com/sqlc-dev/oliphant"

	"github.com/semel-dev/semel/lint/internal/tree"
)

// plFunction is the tree of a PL/pgSQL function as the parser prints it.
type plFunction struct {
	Function struct {
		Datums []map[string]plDatum `json:"datums"`
		Action map[string]plNode    `json:"action"`
	} `json:"PLpgSQL_function"`
}

// plDatum is a variable: a record, or a field of the record with the number Parent.
type plDatum struct {
	Name   string `json:"refname"`
	Field  string `json:"fieldname"`
	Parent int    `json:"recparentno"`
}

// plExpr is an expression or a statement in SQL.
type plExpr struct {
	Expr struct {
		Query string `json:"query"`
	} `json:"PLpgSQL_expr"`
}

// plNode is a statement of PL/pgSQL. The fields are those of all the kinds that are read.
type plNode struct {
	Body       []map[string]plNode `json:"body"`
	Exceptions json.RawMessage     `json:"exceptions"`
	Varno      int                 `json:"varno"`
	Expr       *plExpr             `json:"expr"`
	SQL        *plExpr             `json:"sqlstmt"`
	Into       bool                `json:"into"`
	Cond       *plExpr             `json:"cond"`
	Then       []map[string]plNode `json:"then_body"`
	Elsifs     []map[string]plNode `json:"elsif_list"`
	Else       []map[string]plNode `json:"else_body"`
	Statements []map[string]plNode `json:"stmts"`
	Params     []plExpr            `json:"params"`
	Options    []json.RawMessage   `json:"options"`
}

// plReader collects what a trigger function does.
type plReader struct {
	routine *tree.Routine
	datums  []map[string]plDatum
	nested  int             // IFs around the statement
	left    bool            // a RETURN under a condition has been met
	set     map[string]bool // columns that have been assigned
	unknown string
}

// readPLpgSQL reads the body of a trigger function, and returns why it could not be read as a whole. definition is
// the statement CREATE FUNCTION.
func readPLpgSQL(routine *tree.Routine, definition, body string) string {
	text, err := pg.ParsePlPgSqlToJSON(definition)
	if err != nil {
		return "the body of the function: " + err.Error()
	}
	var functions []plFunction
	if err := json.Unmarshal([]byte(repaired(text)), &functions); err != nil || len(functions) != 1 {
		return "the body of the function has a form that is not known"
	}
	f := functions[0].Function
	r := &plReader{routine: routine, datums: f.Datums, set: map[string]bool{}}
	for _, d := range f.Datums {
		for kind, v := range d {
			switch {
			case kind == "PLpgSQL_var" && v.Name != "found", kind == "PLpgSQL_rec" && v.Name != "new" && v.Name != "old":
				r.fail("the function has variables")
			}
		}
	}
	r.statements([]map[string]plNode{f.Action})
	routine.Returns = returns(body)
	return r.unknown
}

// repaired corrects the text of the parser, which writes `{}}` for the variables of triggers.
func repaired(text string) string {
	datums, action, found := strings.Cut(text, `],"action":`)
	if !found {
		return text
	}
	return strings.ReplaceAll(datums, ",{}}", ",{}") + `],"action":` + action
}

// fail records the first reason why the body is not known.
func (r *plReader) fail(why string) {
	if r.unknown == "" {
		r.unknown = why
	}
}

func (r *plReader) statements(list []map[string]plNode) {
	for _, one := range list {
		if len(one) != 1 {
			r.fail("a statement of the function is not known")
		}
		for kind, n := range one {
			r.statement(strings.TrimPrefix(kind, "PLpgSQL_stmt_"), n)
		}
	}
}

func (r *plReader) statement(kind string, n plNode) {
	switch kind {
	case "block":
		if n.Exceptions != nil {
			r.fail("the function handles errors")
		}
		r.statements(n.Body)
	case "assign":
		r.assign(n)
	case "execsql":
		if n.Into || n.SQL == nil {
			r.fail("the function stores the result of a query")
		}
		r.sql(n.SQL)
	case "perform":
		r.sql(n.Expr)
	case "if":
		r.branches(n)
	case "raise":
		for _, p := range n.Params {
			r.evaluate(&p)
		}
		if len(n.Options) > 0 {
			r.fail("the function raises with options")
		}
	case "return":
		if n.Expr != nil && !strings.EqualFold(strings.TrimSpace(n.Expr.Expr.Query), "null") {
			r.fail("the function returns an expression")
		}
		r.left = r.left || r.nested > 0
	default:
		r.fail("the function holds " + strings.ToUpper(strings.TrimPrefix(kind, "PLpgSQL_")))
	}
}

// branches reads IF. Its conditions are kept when evaluating them may do something.
func (r *plReader) branches(n plNode) {
	r.evaluate(n.Cond)
	r.nested++
	r.statements(n.Then)
	for _, one := range n.Elsifs {
		for _, branch := range one {
			r.evaluate(branch.Cond)
			r.statements(branch.Statements)
		}
	}
	r.statements(n.Else)
	r.nested--
}

// evaluate keeps an expression that is evaluated for its value if it calls a function or a query.
func (r *plReader) evaluate(e *plExpr) {
	if e == nil {
		r.fail("an expression of the function is not known")
		return
	}
	value, err := triggerValue(e.Expr.Query)
	if err != nil {
		r.fail("an expression of the function: " + err.Error())
		return
	}
	calls := false
	tree.Exprs(value, func(e tree.Expr) bool {
		switch e.(type) {
		case *tree.Call, *tree.Query, *tree.Raw:
			calls = true
		}
		return !calls
	})
	if calls {
		r.routine.Body = append(r.routine.Body, &tree.Select{Items: []tree.Item{{Expr: value}}})
	}
}

// sql reads a statement in SQL.
func (r *plReader) sql(e *plExpr) {
	if e == nil {
		return
	}
	r.routine.Reordered = r.routine.Reordered || len(r.set) > 0 // it may see what was assigned
	for _, p := range parseAll(e.Expr.Query, inTrigger) {
		if _, reads := p.Statement.(*tree.Select); !reads && (r.nested > 0 || r.left) {
			r.routine.Reordered = true
			r.fail("the function writes under a condition")
		}
		r.routine.Body = append(r.routine.Body, p.Statement)
	}
}

// assign reads NEW.c := e.
func (r *plReader) assign(n plNode) {
	if n.Expr == nil || n.Varno < 0 || n.Varno >= len(r.datums) {
		r.fail("an assignment of the function is not known")
		return
	}
	field, ok := r.datums[n.Varno]["PLpgSQL_recfield"]
	if !ok || field.Parent < 0 || field.Parent >= len(r.datums) || r.datums[field.Parent]["PLpgSQL_rec"].Name != "new" {
		r.fail("the function assigns to something other than a column of NEW")
		return
	}
	text, ok := rightSide(n.Expr.Expr.Query)
	if !ok {
		r.fail("the function assigns to a part of " + field.Field)
		return
	}
	value, err := triggerValue(text)
	if err != nil {
		r.fail("the value of " + field.Field + ": " + err.Error())
		return
	}
	if r.nested > 0 || r.left || r.set[field.Field] || r.sees(value) {
		r.routine.Reordered = true
	}
	r.set[field.Field] = true
	r.routine.Sets = append(r.routine.Sets, tree.Assign{Column: field.Field, Value: value})
}

// sees reports whether a value depends on a column of NEW that has been assigned.
func (r *plReader) sees(value tree.Expr) bool {
	found := false
	tree.Exprs(value, func(e tree.Expr) bool {
		switch e := e.(type) {
		case *tree.Column:
			found = found || strings.EqualFold(e.Table, "new") && r.set[e.Name]
		case *tree.Star:
			found = found || len(r.set) > 0
		}
		return true
	})
	return found
}

// rightSide returns what follows `new.c :=`; ok is false if a part of the column is assigned.
func rightSide(text string) (value string, ok bool) {
	tokens := scan(text)
	if len(tokens) < 5 || tokens[1].kind != pg.Token_ASCII_46 ||
		tokens[3].kind != pg.Token_COLON_EQUALS && tokens[3].kind != pg.Token_ASCII_61 {
		return "", false
	}
	return text[tokens[3].end:], true
}

// triggerValue translates an expression of a trigger function, in which old and new are rows.
func triggerValue(text string) (tree.Expr, error) {
	e, err := expression(text, inTrigger)
	if err != nil {
		return nil, err
	}
	tree.Exprs(e, func(e tree.Expr) bool {
		c, ok := e.(*tree.Column)
		if !ok || err != nil {
			return err == nil
		}
		if c.Table == "" && strings.HasPrefix(c.Name, "tg_") && c.Name != "tg_op" {
			err = fmt.Errorf("%s is not known", c.Name)
		}
		return true
	})
	return e, err
}

// returns lists what the function returns, from its text: the parser does not tell NEW from OLD.
func returns(body string) []string {
	var all []string
	tokens := scan(body)
	for i, t := range tokens {
		if t.kind != pg.Token_RETURN || i+1 >= len(tokens) {
			continue
		}
		word := strings.ToLower(body[tokens[i+1].start:tokens[i+1].end])
		if word != "new" && word != "old" && word != "null" || i+2 >= len(tokens) || tokens[i+2].kind != pg.Token_ASCII_59 {
			word = "other"
		}
		if !slices.Contains(all, word) {
			all = append(all, word)
		}
	}
	return all
}
