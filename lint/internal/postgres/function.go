package postgres

import (
	"strings"

	pg "github.com/sqlc-dev/oliphant"

	"github.com/semel-dev/semel/lint/internal/tree"
)

// createFunction translates CREATE FUNCTION and CREATE PROCEDURE.
func (t *translator) createFunction(s *pg.CreateFunctionStmt) tree.Statement {
	d := &tree.Define{Kind: "create function", Name: qualified(words(s.GetFuncname())), Guarded: s.GetReplace()}
	if s.GetIsProcedure() {
		d.Kind = "create procedure"
	}
	r := &tree.Routine{Name: d.Name, Volatility: "volatile", Trigger: typeName(s.GetReturnType()) == "trigger"}
	d.Function = r
	language, body := "sql", ""
	for _, n := range s.GetOptions() {
		o := n.GetDefElem()
		switch o.GetDefname() {
		case "language":
			language = strings.ToLower(o.GetArg().GetString_().GetSval())
		case "volatility":
			r.Volatility = o.GetArg().GetString_().GetSval()
		case "as":
			if items := words(o.GetArg().GetList().GetItems()); len(items) == 1 {
				body = items[0]
			}
		}
	}
	switch {
	case s.GetSqlBody() != nil:
		t.atomicBody(r, s.GetSqlBody())
	case language == "sql" && body != "":
		for _, p := range parseAll(body, inFunction) {
			r.Body = append(r.Body, p.Statement)
		}
	case language == "plpgsql" && r.Trigger:
		r.Unknown = readPLpgSQL(r, t.source, body)
	default:
		r.Unknown = "a function in " + language
	}
	switch language {
	case "sql":
		r.Does = r.Body
	case "plpgsql":
		scanPLpgSQL(r, t.source)
	default:
		r.Hides = r.Unknown
	}
	for _, n := range s.GetParameters() {
		r.Arguments = append(r.Arguments, typeName(n.GetFunctionParameter().GetArgType()))
		if n.GetFunctionParameter().GetName() != "" && r.Unknown == "" {
			r.Unknown = "the arguments of the function have names" // which look like columns
		}
	}
	return d
}

// atomicBody translates RETURN e and BEGIN ATOMIC … END.
func (t *translator) atomicBody(r *tree.Routine, body *pg.Node) {
	switch n := body.GetNode().(type) {
	case *pg.Node_ReturnStmt:
		r.Body = append(r.Body, &tree.Select{Items: []tree.Item{{Expr: t.expr(n.ReturnStmt.GetReturnval())}}})
	case *pg.Node_List:
		for _, one := range n.List.GetItems() {
			t.atomicBody(r, one)
		}
	default:
		r.Body = append(r.Body, t.statement(body))
	}
}
