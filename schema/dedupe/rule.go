package dedupe

import (
	"slices"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/rules/expression"
	"github.com/semel-dev/semel/rules"
)

// Rule is a uniqueness rule as a plan keeps it: what its index needs.
type Rule struct {
	Terms  []Term                 `json:"terms"`
	Nulls  string                 `json:"nulls"`
	Except []expression.Condition `json:"except,omitempty"`
}

// Term is a term of a rule: an expression of the rules file, or SQL of each database.
type Term struct {
	Text    string            `json:"text"`
	Columns []string          `json:"columns,omitempty"`
	SQL     map[string]string `json:"sql,omitempty"`
}

func ruleOf(u *rules.Unique) Rule {
	r := Rule{Nulls: u.Nulls.String(), Except: u.Predicate()}
	for _, t := range u.Terms() {
		kept := Term{Text: t.Text}
		if t.Raw != nil {
			kept.SQL, kept.Columns = map[string]string{}, t.Columns
			for d, text := range t.Raw {
				kept.SQL[d.String()] = text
			}
		}
		r.Terms = append(r.Terms, kept)
	}
	return r
}

// unique returns the rule of a plan.
func (p *Plan) unique() (*rules.Unique, error) {
	u := &rules.Unique{Name: p.Request.Name, Table: p.Request.Table, Index: p.Request.Index}
	words := []rules.Nulls{rules.NullsDistinct, rules.NullsSame, rules.NullsForbidden}
	i := slices.IndexFunc(words, func(n rules.Nulls) bool { return n.String() == p.Rule.Nulls })
	if len(p.Request.Decided) > 0 {
		return nil, refuse("the plan merges rows that a person decided about, and no unique index follows from that: it needs no guard and no end")
	}
	if i < 0 || len(p.Rule.Terms) == 0 {
		return nil, refuse("the plan has no rule that can be read (plan again)")
	}
	u.Nulls = words[i]
	for _, t := range p.Rule.Terms {
		term := rules.Term{Text: t.Text, Columns: t.Columns}
		if t.SQL != nil {
			term.Raw = map[dialect.Dialect]string{}
			for name, text := range t.SQL {
				d, err := dialect.Parse(name)
				if err != nil {
					return nil, refuse("the plan has a rule that cannot be read: %w (plan again)", err)
				}
				term.Raw[d] = text
			}
		} else {
			var err error
			if term.Expr, err = expression.Parse(strings.TrimSpace(t.Text)); err != nil {
				return nil, refuse("the plan has a rule that cannot be read: %w (plan again)", err)
			}
			term.Column, _ = term.Expr.Column()
			term.Columns = term.Expr.Columns()
		}
		u.Fields = append(u.Fields, term)
	}
	for _, c := range p.Rule.Except {
		u.Except = append(u.Except, rules.Exception{Counts: c})
	}
	return u, nil
}
