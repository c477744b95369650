package rerun

import (
	"strconv"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/rules/sqltext"
	"github.com/semel-dev/semel/lint/internal/postgres"
)

// bind writes the placeholders of client libraries (:name, @name, sqlc.arg(name)) as the driver takes them, and returns
// their names in the order of its arguments. PostgreSQL numbers them: names holds those that are known.
func bind(d dialect.Dialect, text string, tokens []sqltext.Token) (bound string, names []string) {
	b := &binder{dialect: d, text: text, tokens: tokens}
	for i := 0; i < len(tokens); {
		if n := b.macro(i); n > 0 {
			i += n
		} else if n := b.placeholder(i); n > 0 {
			i += n
		} else {
			i++
		}
	}
	b.out.WriteString(text[b.copied:])
	if d != dialect.PostgreSQL {
		return b.out.String(), b.names
	}
	bound, numbers := postgres.Placeholders(b.out.String())
	for n, name := range numbers {
		for len(names) < n {
			names = append(names, strconv.Itoa(len(names)+1))
		}
		names[n-1] = name
	}
	return bound, names
}

type binder struct {
	dialect dialect.Dialect
	text    string
	tokens  []sqltext.Token
	out     strings.Builder
	copied  int
	names   []string
	marks   int
}

// macro replaces a macro of sqlc, and returns the number of its tokens.
func (b *binder) macro(i int) int {
	const length = 6 // sqlc . arg ( name )
	if i+length > len(b.tokens) || !b.tokens[i].Is("sqlc") || !b.tokens[i+1].Is(".") || !b.tokens[i+3].Is("(") || !b.tokens[i+5].Is(")") {
		return 0
	}
	last, argument := b.tokens[i+5], b.tokens[i+4].Text
	switch strings.ToLower(b.tokens[i+2].Text) {
	case "arg", "narg", "slice":
		b.replace(b.tokens[i].Start, last.End, argument)
	case "embed":
		b.copy(b.tokens[i].Start, last.End, argument+".*")
	default:
		return 0
	}
	return length
}

// placeholder replaces ?, ?5, :name, and in SQLite @name and $name.
func (b *binder) placeholder(i int) int {
	t := b.tokens[i]
	var next sqltext.Token
	if i+1 < len(b.tokens) && b.tokens[i+1].Start == t.End {
		next = b.tokens[i+1]
	}
	lite := b.dialect == dialect.SQLite
	switch {
	case b.dialect == dialect.PostgreSQL:
		return 0 // its own grammar knows better what a mark means
	case t.Is("?") && lite && next.Kind == sqltext.Number && next.End > 0:
		b.replace(t.Start, next.End, next.Text)
		return 2
	case t.Is("?"):
		b.marks++
		b.replace(t.Start, t.End, strconv.Itoa(b.marks))
		return 1
	case (t.Is(":") || t.Is("@") && lite) && next.Kind == sqltext.Word && next.End > 0:
		b.replace(t.Start, next.End, next.Text)
		return 2
	case lite && t.Kind == sqltext.Word && t.Text[0] == '$':
		b.replace(t.Start, t.End, t.Text[1:])
		return 1
	}
	return 0
}

func (b *binder) replace(start, end int, name string) {
	if b.dialect == dialect.PostgreSQL {
		b.copy(start, end, "@"+name)
		return
	}
	b.names = append(b.names, bare(name))
	b.copy(start, end, "?")
}

func (b *binder) copy(start, end int, instead string) {
	b.out.WriteString(b.text[b.copied:start])
	b.out.WriteString(instead)
	b.copied = end
}
