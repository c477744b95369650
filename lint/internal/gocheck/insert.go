package gocheck

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/semel-dev/semel/lint"
	"github.com/semel-dev/semel/lint/internal/judge"
)

// lookup is a SELECT on one table, or a call of a function that does only this.
type lookup struct {
	table string
	at    token.Pos
	text  string // empty for a function
}

// inserts follows one function: which variables tell whether a row was found, and on which way it was not.
type inserts struct {
	*collector

	bound  map[types.Object]*lookup
	absent map[*lookup]bool
	seen   map[*ast.CallExpr]bool
}

var locks = regexp.MustCompile(`(?i)\b(pg_advisory|pg_try_advisory|get_lock|lock\s+table)`)

// checkThenInsert looks at every function for a SELECT that decides over an INSERT.
func (c *collector) checkThenInsert() {
	for d, fn := range c.declarations() {
		if f := c.byID[fn.FullName()]; f == nil || f.Guarded || c.locked(d.Body) {
			continue
		}
		i := &inserts{collector: c, bound: map[types.Object]*lookup{}, absent: map[*lookup]bool{}, seen: map[*ast.CallExpr]bool{}}
		i.block(d.Body.List)
	}
}

// locked reports whether a function takes a lock of any kind or asks for serializable transactions: then the two statements
// may be as one.
func (c *collector) locked(body *ast.BlockStmt) bool {
	found := false
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			for _, call := range c.calls[n] {
				found = found || slices.ContainsFunc(call.Findings, func(f lint.Finding) bool { return locks.MatchString(f.Text) })
			}
			name := calledName(n)
			found = found || strings.HasSuffix(name, "Lock") || strings.HasPrefix(name, "Lock") || strings.HasPrefix(name, "Acquire")
		case *ast.Ident:
			found = found || strings.Contains(n.Name, "Serializable")
		}
		return !found
	})
	return found
}

// block follows statements. What is known to be absent at their end holds for what comes behind them.
func (i *inserts) block(list []ast.Stmt) {
	for _, s := range list {
		i.statement(s)
	}
}

// inside follows statements on a way on which more is absent, and forgets it behind them.
func (i *inserts) inside(list []ast.Stmt, absent []*lookup) {
	before := maps.Clone(i.absent)
	i.learn(absent)
	i.block(list)
	i.absent = before
}

func (i *inserts) learn(absent []*lookup) {
	for _, l := range absent {
		i.absent[l] = true
	}
}

func (i *inserts) statement(s ast.Stmt) {
	switch s := s.(type) {
	case *ast.IfStmt:
		i.branch(s)
	case *ast.SwitchStmt:
		i.choice(s)
	case *ast.BlockStmt:
		i.block(s.List)
	case *ast.ForStmt:
		if s.Init != nil {
			i.statement(s.Init)
		}
		i.inside(s.Body.List, nil)
	case *ast.RangeStmt:
		i.expressions(s.X)
		i.inside(s.Body.List, nil)
	case *ast.LabeledStmt:
		i.statement(s.Stmt)
	case *ast.AssignStmt:
		i.assignment(s)
	case *ast.SelectStmt, *ast.TypeSwitchStmt:
	case nil:
	default:
		i.expressions(s)
	}
}

// branch follows an if statement.
func (i *inserts) branch(s *ast.IfStmt) {
	if s.Init != nil {
		i.statement(s.Init)
	}
	i.expressions(s.Cond)
	then, otherwise := i.outcome(s.Cond)
	i.inside(s.Body.List, then)
	switch e := s.Else.(type) {
	case *ast.BlockStmt:
		i.inside(e.List, otherwise)
		if leaves(e) {
			i.learn(then)
		}
	case *ast.IfStmt:
		i.inside([]ast.Stmt{e}, otherwise)
	}
	if leaves(s.Body) {
		i.learn(otherwise)
	}
}

// choice follows a switch without a tag.
func (i *inserts) choice(s *ast.SwitchStmt) {
	if s.Init != nil {
		i.statement(s.Init)
	}
	var before, behind []*lookup // absent where an earlier case does not hold, and where all that hold have left
	for _, clause := range s.Body.List {
		cc, ok := clause.(*ast.CaseClause)
		if !ok {
			continue
		}
		if s.Tag != nil || len(cc.List) != 1 {
			i.inside(cc.Body, before)
			continue
		}
		yes, no := i.outcome(cc.List[0])
		i.inside(cc.Body, append(yes, before...))
		before = append(before, no...)
		if leaves(&ast.BlockStmt{List: cc.Body}) {
			behind = append(behind, no...)
		}
	}
	i.learn(behind)
}

// assignment binds the variables that tell whether a row was found.
func (i *inserts) assignment(s *ast.AssignStmt) {
	i.expressions(s)
	for n, left := range s.Lhs {
		name, ok := ast.Unparen(left).(*ast.Ident)
		if !ok {
			continue
		}
		value := s.Rhs[0]
		if len(s.Rhs) == len(s.Lhs) {
			value = s.Rhs[n]
		}
		if object := i.pass.TypesInfo.ObjectOf(name); object != nil {
			i.bound[object] = i.source(value)
		}
	}
}

// source returns the lookup whose answer an expression is.
func (i *inserts) source(x ast.Expr) (found *lookup) {
	ast.Inspect(x, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if found == nil {
				found = i.lookup(n)
			}
			s, ok := ast.Unparen(n.Fun).(*ast.SelectorExpr)
			if found == nil && ok { // row.Scan(…)
				if name, ok := ast.Unparen(s.X).(*ast.Ident); ok && slices.Contains([]string{"Scan", "StructScan", "Err", "Next"}, s.Sel.Name) {
					found = i.bound[i.pass.TypesInfo.Uses[name]]
				}
			}
		}
		return found == nil
	})
	return found
}

// lookup returns the SELECT on one table that a call is.
func (i *inserts) lookup(call *ast.CallExpr) *lookup {
	if all := i.calls[call]; len(all) > 0 {
		one := all[0]
		if len(all) > 1 || len(one.Reads) != 1 || len(one.Writes) > 0 || one.Unknown != "" || len(one.Findings) != 1 {
			return nil
		}
		return i.once(call, one.Reads[0], one.Findings[0].Text)
	}
	fn, ok := i.callee(call)
	if !ok {
		return nil
	}
	if f := i.byID[fn.Origin().FullName()]; f != nil && f.Reads != "" && len(f.Writes) == 0 {
		return i.once(call, f.Reads, "")
	}
	return nil
}

// once returns the same lookup for the same call.
func (i *inserts) once(call *ast.CallExpr, table, text string) *lookup {
	for _, l := range i.bound {
		if l != nil && l.at == call.Pos() {
			return l
		}
	}
	return &lookup{table: table, at: call.Pos(), text: text}
}

// expressions finds the lookups and the inserts in a statement that is not divided further, and follows its functions.
func (i *inserts) expressions(n ast.Node) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			i.inside(n.Body.List, nil)
			return false
		case *ast.CallExpr:
			if l := i.source(n); l != nil {
				i.pointers(n, l)
			}
			i.insert(n)
		}
		return true
	})
}

// pointers binds the variables whose addresses a call gets: Scan(&id).
func (i *inserts) pointers(call *ast.CallExpr, l *lookup) {
	for _, x := range call.Args {
		if u, ok := ast.Unparen(x).(*ast.UnaryExpr); ok && u.Op == token.AND {
			if name, ok := ast.Unparen(u.X).(*ast.Ident); ok {
				i.bound[i.pass.TypesInfo.ObjectOf(name)] = l
			}
		}
	}
}

// insert reports a call that adds a row which a lookup did not find.
func (i *inserts) insert(call *ast.CallExpr) {
	if i.seen[call] {
		return
	}
	for _, one := range i.calls[call] {
		for n := range one.Findings {
			f := &one.Findings[n]
			if f.Rule == string(judge.NoUniqueKey) && len(one.Writes) == 1 {
				i.decided(call, one.Writes[0], lineOf(i.pass.Fset, call.Pos()), f.Text)
			}
		}
	}
	fn, ok := i.callee(call)
	if !ok {
		return
	}
	if f := i.byID[fn.Origin().FullName()]; f != nil && !f.Guarded {
		for _, w := range f.Writes {
			if w.Table != "" {
				i.decided(call, w.Table, w.At, w.Text)
			}
		}
	}
}

// decided reports an INSERT into a table that a lookup decides over.
func (i *inserts) decided(call *ast.CallExpr, table string, at sourceLine, text string) {
	for l := range i.absent {
		if l.table != table || i.seen[call] {
			continue
		}
		i.seen[call] = true
		here, asked := lineOf(i.pass.Fset, call.Pos()), lineOf(i.pass.Fset, l.at)
		i.findings = append(i.findings, located{pos: call.Pos(), Finding: lint.Finding{
			File: here.File, Line: here.Line, Column: here.Column, Text: short(text), Verdict: lint.NotSafe, Rule: CheckThenInsert,
			Why:   fmt.Sprintf("%s is asked at %s, and the INSERT at %s relies on the answer: two callers at once both find nothing and both insert, and no unique key stops the second", table, asked, at),
			Guard: "a unique key over what the SELECT asks for; then INSERT first, and take its refusal (23505, 1062, 2067) for found",
		}})
	}
}
