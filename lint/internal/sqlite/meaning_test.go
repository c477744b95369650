package sqlite_test

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/semel-dev/semel/lint/internal/tree"
)

// TestExpressionMeaning asks SQLite for the values of expressions, as they were written and as their trees say
// with all parentheses.
func TestExpressionMeaning(t *testing.T) {
	t.Parallel()
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = db.Close() })
	if _, err := db.ExecContext(t.Context(), `CREATE TABLE t (a INT, b TEXT, c TEXT COLLATE NOCASE, d);
		INSERT INTO t VALUES (1, '1', 'x', 1), (NULL, 'X', 'X', '2'), (2, NULL, '2', NULL), (0, 'x ', 'a', x'31')`); err != nil {
		t.Fatal(err)
	}
	random, compared := rand.New(rand.NewPCG(3, 4)), 0
	for range 3000 {
		text := strings.Join(randomTokens(random, 3), " ")
		want, err := values(t, db, text)
		if err != nil {
			continue // SQLite refuses a part of what is drawn, such as rows of different lengths
		}
		e, err := expressionOf(text)
		if err != nil && (strings.Contains(err.Error(), "NOT before") || strings.Contains(err.Error(), "IN of nothing")) {
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		got, err := values(t, db, render(e))
		if err != nil || got != want {
			t.Errorf("%s\nas %s\ngot %s, want %s (%v)", text, render(e), got, want, err)
		}
		compared++
	}
	if compared < 1500 {
		t.Errorf("SQLite accepted %d of 3000 expressions", compared)
	}
}

func values(t *testing.T, db *sql.DB, expression string) (string, error) {
	t.Helper()
	var all sql.NullString
	query := "SELECT group_concat(typeof(e) || ' ' || quote(e)) FROM (SELECT (" + expression + "\n) AS e FROM t)"
	err := db.QueryRowContext(t.Context(), query).Scan(&all)
	return all.String, err
}

// randomTokens draws an expression without most of the parentheses that would make it plain.
func randomTokens(random *rand.Rand, depth int) []string {
	draw := func(of ...string) []string { return []string{of[random.IntN(len(of))]} }
	if depth == 0 || random.IntN(6) == 0 {
		return draw("a", "b", "C", "T.d", "1", "2", "0x2", "-1", "1.5", "'x'", "'X'", "'1'", "x'31'", "NULL", "TRUE", "FALSE")
	}
	part := func() []string { return randomTokens(random, depth-1) }
	join := func(parts ...any) []string {
		var all []string
		for _, p := range parts {
			switch p := p.(type) {
			case string:
				all = append(all, p)
			case []string:
				all = append(all, p...)
			}
		}
		return all
	}
	binary := draw("=", "==", "<>", "!=", "<", "<=", ">", ">=", "AND", "OR", "IS", "IS NOT", "IS DISTINCT FROM",
		"IS NOT DISTINCT FROM", "+", "-", "*", "/", "%", "||", "&", "|", "<<", ">>", "LIKE", "NOT LIKE", "GLOB", "NOT GLOB")
	switch random.IntN(13) {
	case 0:
		return join(draw("-", "+", "~", "NOT"), part())
	case 1:
		return join(part(), draw("ISNULL", "NOTNULL", "NOT NULL", "IS NULL", "IS NOT NULL", "IS TRUE", "IS NOT FALSE"))
	case 2:
		return join(part(), draw("BETWEEN", "NOT BETWEEN"), part(), "AND", part())
	case 3:
		return join(part(), draw("IN", "NOT IN"), "(", part(), ",", part(), ")")
	case 4:
		return join(part(), draw("IN ()", "NOT IN ()", "COLLATE NOCASE", "COLLATE RTRIM", "COLLATE BINARY"))
	case 5:
		return join("CASE", part(), "WHEN", part(), "THEN", part(), "ELSE", part(), "END")
	case 6:
		return join("CAST (", part(), "AS", draw("INT", "TEXT", "NUMERIC (10, 2)", "BLOB", ""), ")")
	case 7:
		return join(draw("ifnull", "MAX", "min", "coalesce", "nullif"), "(", part(), ",", part(), ")")
	case 8:
		return join("iif(", part(), ",", part(), ",", part(), ")")
	case 9:
		return join("(", part(), ")")
	default:
		return join(part(), binary, part())
	}
}

func render(e tree.Expr) string {
	switch e := e.(type) {
	case *tree.Literal:
		switch {
		case e.Kind == tree.String:
			return "'" + strings.ReplaceAll(e.Text, "'", "''") + "'"
		case e.Kind == tree.Bytes:
			return fmt.Sprintf("x'%x'", e.Text)
		case e.Kind == tree.Bool && e.Text == "true": // as a word, it would be a test on the right of IS
			return "1"
		case e.Kind == tree.Bool:
			return "0"
		}
	case *tree.Op:
		return renderOp(e)
	case *tree.List:
		return "(" + renderAll(e.Items) + ")"
	case *tree.Call:
		return e.Name + "(" + renderAll(e.Args) + ")"
	case *tree.Cast:
		return "CAST(" + render(e.Value) + " AS " + e.Type + ")"
	case *tree.Case:
		text := "CASE "
		if e.Operand != nil {
			text += render(e.Operand)
		}
		for _, w := range e.Whens {
			text += " WHEN " + render(w.If) + " THEN " + render(w.Then)
		}
		return text + " ELSE " + render(e.Else) + " END"
	}
	return tree.Text(e)
}

func renderOp(e *tree.Op) string {
	switch name := e.Name; {
	case name == "pos":
		return "(+ " + render(e.Args[0]) + ")"
	case name == "neg":
		return "(- " + render(e.Args[0]) + ")"
	case name == "not" || name == "~":
		return "(" + name + " " + render(e.Args[0]) + ")"
	case strings.HasSuffix(name, "between"):
		return "(" + render(e.Args[0]) + " " + name + " " + render(e.Args[1]) + " AND " + render(e.Args[2]) + ")"
	case name == "collate":
		return "(" + render(e.Args[0]) + " COLLATE " + e.Args[1].(*tree.Literal).Text + ")"
	case len(e.Args) == 1:
		return "(" + render(e.Args[0]) + " " + name + ")"
	}
	all := make([]string, len(e.Args))
	for i, arg := range e.Args {
		all[i] = render(arg)
	}
	return "(" + strings.Join(all, " "+e.Name+" ") + ")"
}

func renderAll(list []tree.Expr) string {
	all := make([]string, len(list))
	for i, e := range list {
		all[i] = render(e)
	}
	return strings.Join(all, ", ")
}
