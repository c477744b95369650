package gosql

import (
	"cmp"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/semel-dev/semel/lint"
)

// VariableText is the rule of a write of which a part is not known that decides what it does.
const VariableText = "variable-text"

// judge makes findings of sites.
type judge struct {
	pass     *analysis.Pass
	settings *settings
	hints    []string // dialects of the package
}

// call judges every text of a site.
func (j *judge) call(s *site) (Call, error) {
	if s.orm != nil {
		return j.ormCall(s)
	}
	c := Call{Expr: s.call, Pos: s.arg.Pos(), Wrapper: s.handed}
	silent := ""
	for _, t := range s.value.texts {
		r := t.render()
		j.fillIn(s, &r)
		if r.holes {
			c.Unknown = t.why()
			c.Wrapper = c.Wrapper || slices.ContainsFunc(t, func(p part) bool { return p.hole == param })
		}
		if strings.TrimSpace(r.sql) == "" || r.holes && !speaks(t) || c.Wrapper && r.holes && !showsWrite(t) {
			if r.holes && !c.Wrapper {
				silent = t.why()
			}
			continue
		}
		found, err := j.statements(s, r)
		if err != nil {
			return c, err
		}
		j.add(&c, s, r, t, found)
	}
	if silent != "" && len(c.Writes) > 0 {
		f := lint.Finding{Text: c.Findings[0].Text, Verdict: lint.CannotTell, Rule: VariableText, Why: "the call may hand on another text: it depends on " + silent}
		f.File, f.Line, f.Column = j.place(s, rendered{}, f)
		c.Findings = append(c.Findings, f)
	}
	return c, nil
}

// fillIn makes a hole of the placeholders that the program fills in, if the configuration does not say with what.
func (j *judge) fillIn(s *site, r *rendered) {
	if r.filled == "" {
		return
	}
	schema, err := j.settings.tables()
	if err != nil || !schema.Replaces(j.pass.Fset.Position(s.at()).Filename, r.sql) {
		r.holes, r.why = true, cmp.Or(r.why, r.filled)
	}
}

// add gives a call the findings on one of its texts, as far as they are new.
func (j *judge) add(c *Call, s *site, r rendered, t text, found []lint.Finding) {
	shown := strings.NewReplacer(r.shown...)
	for _, f := range found {
		c.Reads, c.Writes = with(c.Reads, f.Reads), with(c.Writes, f.Writes)
		if f, ok := j.finding(f, r, t); ok && !slices.ContainsFunc(c.Findings, func(o lint.Finding) bool { return same(&o, &f) }) {
			f.File, f.Line, f.Column = j.place(s, r, f)
			f.Fix = nil // its place is in the text
			f.Text, f.Why, f.Guard = shown.Replace(f.Text), shown.Replace(f.Why), shown.Replace(f.Guard)
			c.Findings = append(c.Findings, f)
		}
	}
}

// same reports whether two findings say the same of one text, or of two with the same hole.
func same(a, b *lint.Finding) bool {
	return (a.Text == b.Text || a.Rule == VariableText) && a.Verdict == b.Verdict && a.Rule == b.Rule && a.Why == b.Why
}

func with(list, more []string) []string {
	for _, one := range more {
		if !slices.Contains(list, one) && !strings.Contains(one, "semel_unknown_") {
			list = append(list, one)
		}
	}
	return list
}

// speaks reports whether the constant parts of a text are more than a few signs.
func speaks(t text) bool {
	for _, p := range t {
		if p.hole == constant && strings.ContainsAny(p.text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") {
			return true
		}
	}
	return false
}

// statements judges the text in its dialect.
func (j *judge) statements(s *site, r rendered) ([]lint.Finding, error) {
	schema, err := j.settings.tables()
	if err != nil {
		return nil, err
	}
	file := j.pass.Fset.Position(s.at()).Filename
	if schema.Excludes(file) {
		return nil, nil
	}
	if schema, err = schema.In(j.dialects(s, schema)...); err != nil {
		return nil, err
	}
	return schema.Statements(file, r.sql), nil
}

// dialects returns those that a site may have: that of the library, of the path of its file, or of the package's drivers.
func (j *judge) dialects(s *site, schema *lint.Schema) []string {
	if s.pgx {
		return []string{"postgresql"}
	}
	if d := schema.Dialect(j.path(s.at())); d != "" {
		return []string{d}
	}
	if len(j.hints) == 0 {
		return []string{"postgresql", "mysql", "sqlite"} // and not what a folder around the module is called
	}
	return j.hints
}

// path names a file within its module, so that the folders around the module say nothing of the dialect.
func (j *judge) path(pos token.Pos) string {
	pkg := j.pass.Pkg.Path()
	if m := j.pass.Module; m != nil {
		pkg = strings.TrimPrefix(pkg, m.Path)
	}
	return pkg + "/" + filepath.Base(j.pass.Fset.Position(pos).Filename)
}

// clause matches a part of a statement, with which none begins.
var clause = regexp.MustCompile(`(?i)^\s*(?:where|and|or|order\s+by|group\s+by|having|limit|offset|(?:left|right|inner|cross|full)(?:\s+outer)?\s+join|join)\b`)

// finding turns the verdict on a text into one on the call. A read with holes has no finding.
func (j *judge) finding(f lint.Finding, r rendered, t text) (lint.Finding, bool) {
	refused := f.Verdict == lint.CannotTell && strings.Contains(f.Why, "syntax error")
	switch {
	case r.zero && refused: // nothing runs before the variable is set
		return f, false
	case refused && clause.MatchString(r.sql): // the callee puts the rest before it
		return f, false
	case !r.holes:
		return f, true
	case len(f.Writes) == 0 && f.Verdict < lint.CannotTell && f.Rule == "reads-only", refused && !showsWrite(t):
		return f, false
	case !showsWrite(t) && len(f.Writes) == 0 && f.Verdict <= lint.CannotTell:
		return f, false
	case r.why != "" || refused:
		why := cmp.Or(r.why, t.why())
		f.Verdict, f.Rule, f.Guard = lint.CannotTell, VariableText, "write the statement out, or answer the finding"
		f.Why = "what the statement does depends on " + why + ", which is not known here"
		return f, true
	}
	return f, true
}

// place returns where a statement is in the source: in the literal that holds it, or else where the call takes its text.
func (j *judge) place(s *site, r rendered, f lint.Finding) (file string, line, column int) {
	pos := s.arg.Pos()
	at := offset(r.sql, f.Line, f.Column)
	for _, p := range r.parts {
		if at >= p.start && at < p.end && p.lit != nil && p.lit.Pos() >= s.arg.Pos() && p.lit.End() <= s.arg.End() {
			pos = p.position(at - p.start)
		}
	}
	where := j.pass.Fset.Position(pos)
	return filepath.ToSlash(where.Filename), where.Line, where.Column
}

// offset returns the byte at a line and column of runes.
func offset(s string, line, column int) int {
	at := 0
	for ; line > 1; line-- {
		next := strings.IndexByte(s[at:], '\n')
		if next < 0 {
			return len(s)
		}
		at += next + 1
	}
	for i := range s[at:] {
		if column--; column == 0 {
			return at + i
		}
	}
	return at
}
