package gocheck

import (
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/rules/sqltext"
	"github.com/semel-dev/semel/lint"
)

// query is a SELECT of rows of one table, or an UPDATE of one, as far as its text shows.
type query struct {
	table   string
	updates bool
	items   []string     // the columns of a SELECT; "" for what is none, "*" for all
	sets    []comparison // of an UPDATE
	where   []comparison // joined by AND
	at      token.Pos
	params  []ast.Expr // what the program passes for placeholders
}

// comparison is column = value. Without a column, the value is a condition of another kind.
type comparison struct{ column, value string }

var placeholder = regexp.MustCompile(`^(?:\?|\$)(\d+)(?:::\w+)?$`)

// argument returns what the program passes for a placeholder.
func (q *query) argument(value string) ast.Expr {
	found := placeholder.FindStringSubmatch(value)
	if found == nil {
		return nil
	}
	n, err := strconv.Atoi(found[1])
	if err != nil || n < 1 || n > len(q.params) {
		return nil
	}
	return q.params[n-1]
}

// statement are the tokens of one statement.
type statement struct {
	text   string
	tokens []sqltext.Token
}

// parseQuery reads a statement; nil for one of another kind, with joins, or with a lock.
func parseQuery(f *lint.Finding) *query {
	if len(f.Dialects) == 0 {
		return nil
	}
	d, err := dialect.Parse(f.Dialects[0])
	if err != nil {
		return nil
	}
	tokens, err := sqltext.Scan(d, f.SQL)
	if err != nil || len(tokens) == 0 {
		return nil
	}
	if tokens[len(tokens)-1].Is(";") {
		tokens = tokens[:len(tokens)-1]
	}
	s := statement{f.SQL, tokens}
	switch {
	case len(tokens) > 1 && tokens[0].Is("select"):
		return s.selects()
	case len(tokens) > 1 && tokens[0].Is("update"):
		return s.update()
	}
	return nil
}

// clauses cuts the statement at words outside of parentheses. before holds the tokens between its verb and the first of them.
func (s *statement) clauses(words ...string) (before []sqltext.Token, found map[string][]sqltext.Token) {
	found = map[string][]sqltext.Token{}
	word, depth, start := "", 0, 1
	keep := func(end int) {
		if word == "" {
			before = s.tokens[start:end]
		} else {
			found[word] = s.tokens[start:end]
		}
	}
	for i, t := range s.tokens {
		switch {
		case t.Is("("):
			depth++
		case t.Is(")"):
			depth--
		case depth == 0 && i > 0 && t.Kind == sqltext.Word && slices.Contains(words, strings.ToLower(t.Text)):
			keep(i)
			word, start = strings.ToLower(t.Text), i+1
		}
	}
	keep(len(s.tokens))
	return before, found
}

func (s *statement) selects() *query {
	items, clauses := s.clauses("from", "where", "group", "having", "order", "limit", "offset", "for", "lock", "union", "intersect", "except", "window", "fetch")
	for _, other := range []string{"group", "having", "for", "lock", "union", "intersect", "except"} {
		if _, has := clauses[other]; has {
			return nil
		}
	}
	q := &query{table: tableOf(clauses["from"])}
	if q.table == "" || items[0].Is("distinct") {
		return nil
	}
	for _, item := range sqltext.Split(items, ",") {
		q.items = append(q.items, columnOf(item))
	}
	q.where = s.conditions(clauses["where"])
	return q
}

func (s *statement) update() *query {
	table, clauses := s.clauses("set", "from", "where", "order", "limit", "returning")
	if _, joins := clauses["from"]; joins {
		return nil
	}
	q := &query{updates: true, table: tableOf(table)}
	if q.table == "" {
		return nil
	}
	for _, one := range sqltext.Split(clauses["set"], ",") {
		q.sets = append(q.sets, s.comparison(one))
	}
	q.where = s.conditions(clauses["where"])
	return q
}

func (s *statement) conditions(tokens []sqltext.Token) (all []comparison) {
	if len(tokens) == 0 {
		return nil
	}
	for _, one := range sqltext.Split(tokens, "and") {
		all = append(all, s.comparison(one))
	}
	return all
}

// comparison reads column = value, where placeholders have a number.
func (s *statement) comparison(tokens []sqltext.Token) comparison {
	whole := comparison{value: strings.ToLower(sqltext.Source(s.text, tokens))}
	at := slices.IndexFunc(tokens, func(t sqltext.Token) bool { return t.Is("=") })
	if at < 1 || at+1 >= len(tokens) || slices.ContainsFunc(tokens, func(t sqltext.Token) bool { return t.Is("or") }) {
		return whole
	}
	column := columnOf(tokens[:at])
	if column == "" {
		return whole
	}
	value := sqltext.Source(s.text, tokens[at+1:])
	if value == "?" {
		n := 0
		for _, t := range s.tokens {
			if t.Is("?") && t.Start <= tokens[at+1].Start {
				n++
			}
		}
		value += strconv.Itoa(n)
	}
	return comparison{column, value}
}

// tableOf returns the table of accounts, only billing.accounts AS a, `accounts` a; "" for several.
func tableOf(tokens []sqltext.Token) string {
	if len(tokens) > 1 && tokens[0].Is("only") {
		tokens = tokens[1:]
	}
	end := qualified(tokens)
	if end == 0 {
		return ""
	}
	rest := tokens[end:]
	if len(rest) > 1 && rest[0].Is("as") {
		rest = rest[1:]
	}
	if len(rest) > 1 || len(rest) == 1 && !rest[0].IsName() {
		return ""
	}
	return strings.ToLower(tokens[end-1].Text)
}

// qualified returns how many tokens a qualified name has.
func qualified(tokens []sqltext.Token) int {
	if len(tokens) == 0 || !tokens[0].IsName() {
		return 0
	}
	end := 1
	for end+1 < len(tokens) && tokens[end].Is(".") && tokens[end+1].IsName() {
		end += 2
	}
	return end
}

// columnOf returns the column that an item of a SELECT is: balance, a.balance AS b, coalesce(balance, 0).
func columnOf(tokens []sqltext.Token) string {
	if len(tokens) > 2 && tokens[0].Is("coalesce") && tokens[1].Is("(") {
		tokens = tokens[2 : 2+qualified(tokens[2:])]
	}
	end := qualified(tokens)
	if end == 0 || len(tokens) > end && !tokens[end].Is("as") && (len(tokens) > end+1 || !tokens[end].IsName()) {
		return ""
	}
	return folded(tokens[end-1].Text)
}
