package tree

import (
	"fmt"
	"strconv"
	"strings"
)

// Text writes an expression in one form: two that have the same text mean the same in one
// place of one statement.
func Text(e Expr) string {
	switch e := e.(type) {
	case nil:
		return ""
	case *Column:
		if e.Table == "" {
			return nameText(e.Name)
		}
		return nameText(e.Table) + "." + nameText(e.Name)
	case *Star:
		return e.Table + ".*"
	case *Literal:
		return literalText(e)
	case *Param:
		return ":" + e.Name
	case *Call:
		return callText(e)
	case *Op:
		return "(" + e.Name + " " + texts(e.Args) + ")"
	case *Case:
		return caseText(e)
	case *Query:
		return fmt.Sprintf("%s %s %s (query %p)", Text(e.Left), e.Kind, e.Op, e.Select) // no two are the same
	case *Cast:
		return "cast(" + Text(e.Value) + " as " + e.Type + ")"
	case *List:
		return "(" + texts(e.Items) + ")"
	case *Default:
		return "default"
	}
	return fmt.Sprintf("%T %p", e, e)
}

// nameText quotes a name that could be taken for another expression: "5", "true" and "a.b" may be columns.
func nameText(name string) string {
	switch name {
	case "null", "true", "false", "default":
		return "`" + name + "`"
	}
	for i, r := range name {
		letter := r == '_' || r >= 0x80 || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
		if !letter && (i == 0 || r != '$' && (r < '0' || r > '9')) {
			return "`" + strings.ReplaceAll(name, "`", "``") + "`"
		}
	}
	return name
}

func literalText(l *Literal) string {
	switch l.Kind {
	case Null:
		return "null"
	case String:
		return strconv.Quote(l.Text) + l.Written
	case Bytes:
		return fmt.Sprintf("x'%x'", l.Text)
	case Bool, Number:
	}
	return l.Text
}

func texts(list []Expr) string {
	all := make([]string, len(list))
	for i, e := range list {
		all[i] = Text(e)
	}
	return strings.Join(all, ", ")
}

func callText(c *Call) string {
	var b strings.Builder
	b.WriteString(c.Name + "(")
	if c.Distinct {
		b.WriteString("distinct ")
	}
	if c.Star {
		b.WriteString("*")
	}
	b.WriteString(texts(c.Args) + ")")
	if c.Filter != nil || c.Over || len(c.OrderBy) > 0 {
		fmt.Fprintf(&b, " of %p", c)
	}
	return b.String()
}

func caseText(c *Case) string {
	var b strings.Builder
	b.WriteString("case " + Text(c.Operand))
	for _, w := range c.Whens {
		b.WriteString(" when " + Text(w.If) + " then " + Text(w.Then))
	}
	return b.String() + " else " + Text(c.Else) + " end"
}
