package postgres

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	pg "github.com/sqlc-dev/oliphant"

	"github.com/semel-dev/semel/lint/internal/tree"
)

// scanPLpgSQL collects all statements and expressions of a function, whatever leads to them.
func scanPLpgSQL(r *tree.Routine, definition string) {
	text, err := pg.ParsePlPgSqlToJSON(definition)
	if err != nil {
		r.Hides = "the body of the function: " + err.Error()
		return
	}
	var function any
	if err := json.Unmarshal([]byte(repaired(text)), &function); err != nil {
		r.Hides = "the body of the function has a form that is not known"
		return
	}
	s := &plScan{}
	s.walk(function)
	r.Does, r.Hides = s.all, s.hides
}

// plScan walks the tree of a function.
type plScan struct {
	all   []tree.Statement
	hides string
}

func (s *plScan) walk(v any) {
	switch v := v.(type) {
	case []any:
		for _, one := range v {
			s.walk(one)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			one := v[key]
			switch {
			case strings.HasPrefix(key, "PLpgSQL_stmt_dyn"), key == "dynquery":
				s.hides = "the function runs a text that it builds"
			case key == "PLpgSQL_expr":
				if e, ok := one.(map[string]any); ok {
					s.read(e)
				}
			}
			s.walk(one)
		}
	}
}

// The ways in which PL/pgSQL reads a text.
const (
	plStatement  = 0
	plExpression = 2 // others are assignments
)

// read translates a text of the function.
func (s *plScan) read(e map[string]any) {
	text, _ := e["query"].(string)
	mode, _ := e["parseMode"].(float64)
	if mode == plStatement {
		for _, p := range parseAll(text, inTrigger) {
			s.all = append(s.all, p.Statement)
		}
		return
	}
	sides := []string{text}
	if mode != plExpression {
		sides = assignment(text)
	}
	for _, side := range sides {
		value, err := expression(side, inTrigger)
		if err != nil {
			s.hides = "an expression of the function: " + err.Error()
			continue
		}
		s.all = append(s.all, &tree.Select{Items: []tree.Item{{Expr: value}}})
	}
	if len(sides) == 0 {
		s.hides = "an assignment of the function is not known"
	}
}

// assignment returns both sides of `v[f(1)] := e`.
func assignment(text string) []string {
	for _, t := range scan(text) {
		if t.kind == pg.Token_COLON_EQUALS || t.kind == pg.Token_ASCII_61 {
			return []string{text[:t.start], text[t.end:]}
		}
	}
	return nil
}
