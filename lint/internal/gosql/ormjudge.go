package gosql

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/lint"
	rules "github.com/semel-dev/semel/lint/internal/judge"
)

// checkThenInsert is the rule of FirstOrCreate without a unique key, which package gocheck has for statements.
const checkThenInsert = "check-then-insert"

// ormCall judges what GORM writes for a call, in each dialect that it may have. The worst verdict counts.
func (j *judge) ormCall(s *site) (Call, error) {
	c := Call{Expr: s.call, Pos: s.call.Pos()}
	schema, err := j.settings.tables()
	if err != nil {
		return c, err
	}
	file := j.pass.Fset.Position(s.at()).Filename
	if schema.Excludes(file) {
		return c, nil
	}
	if schema, err = schema.In(j.dialects(s, schema)...); err != nil {
		return c, err
	}
	var worst *lint.Finding
	for _, name := range schema.Dialects(file) {
		d, err := dialect.Parse(name)
		if err != nil {
			return c, err //nolint:wrapcheck // it says which
		}
		one, err := schema.In(name)
		if err != nil {
			return c, err
		}
		f := j.ormStatement(s, one, file, d, &c)
		switch {
		case f == nil:
		case worst == nil || f.Verdict > worst.Verdict:
			if worst != nil {
				f.Dialects = slices.Concat(worst.Dialects, f.Dialects)
			}
			worst = f
		default:
			worst.Dialects = slices.Concat(worst.Dialects, f.Dialects)
		}
	}
	if worst != nil {
		c.Findings = []lint.Finding{*worst}
	}
	return c, nil
}

// ormStatement returns the worst finding on the statements of a call in one dialect, nil for none.
func (j *judge) ormStatement(s *site, schema *lint.Schema, file string, d dialect.Dialect, c *Call) (worst *lint.Finding) {
	st := s.orm.write(d)
	if st.define != "" {
		schema = schema.Modelled(st.plan.table, st.define)
	}
	for _, t := range st.sql.texts {
		r := t.render()
		if r.sql == "" {
			continue
		}
		if r.holes {
			c.Unknown = t.why()
		}
		shown := strings.NewReplacer(r.shown...)
		for _, f := range schema.Statements(file, r.sql) {
			c.Reads, c.Writes = with(c.Reads, f.Reads), with(c.Writes, f.Writes)
			f, ok := j.finding(f, r, t)
			if !ok || s.orm.reads() && f.Rule != "reads-only" {
				continue
			}
			s.orm.amend(&f, st.plan)
			f.Text, f.Why, f.Guard = shown.Replace(f.Text), shown.Replace(f.Why), shown.Replace(f.Guard)
			if worst == nil || f.Verdict > worst.Verdict {
				worst = &f
			}
		}
	}
	if worst == nil {
		return nil
	}
	where := j.pass.Fset.Position(s.call.Pos())
	worst.File, worst.Line, worst.Column = filepath.ToSlash(where.Filename), where.Line, where.Column
	return worst
}

// amend takes into account what the statement alone does not show.
func (c *ormCall) amend(f *lint.Finding, plan *ormPlan) {
	f.Assumes = append(f.Assumes, c.assumes...)
	if c.reads() {
		return
	}
	switch {
	case plan.doubt != "" && (f.Verdict < lint.CannotTell || plan.early):
		f.Verdict, f.Rule, f.Why = lint.CannotTell, string(rules.Opaque), plan.doubt
		f.Guard = "answer with semel:safe and the reason, when that can run twice as well"
	case plan.perhaps != "" && f.Verdict == lint.NotSafe:
		f.Verdict, f.Rule, f.Guard = lint.CannotTell, VariableText, "write the condition out, or answer the finding"
		f.Why = "what the statement does depends on " + plan.perhaps + ", which is not known here"
	case c.verb == "FirstOrCreate" && f.Rule == string(rules.NoUniqueKey):
		f.Rule = checkThenInsert
		f.Why = "FirstOrCreate asks for the row and then inserts it: two callers at once both find nothing and both insert, and no unique key stops the second"
	}
	if f.Rule == "unknown-table" && plan.model != nil {
		f.Guard += ", or models: true in semel-lint.yaml, if AutoMigrate makes it"
	}
}
