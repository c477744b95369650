package rerun

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/rules/sqltext"
	"github.com/semel-dev/semel/lint/internal/parse"
	"github.com/semel-dev/semel/lint/internal/tree"
)

// admitted is a statement that may be run.
type admitted struct {
	text    string
	tokens  []sqltext.Token
	tree    tree.Statement
	defines bool // it may change more than rows
}

// definitions are the definitions that stay within the copy.
var definitions = []string{ //nolint:gochecknoglobals // constant
	"truncate", "create table", "create temporary table", "create index", "create view", "create trigger", "create sequence", "create type", "create domain",
	"create rule", "create function", "create procedure", "alter table", "alter sequence", "alter type", "alter index", "alter view", "rename table", "comment",
	"drop table", "drop temporary table", "drop index", "drop view", "drop trigger", "drop sequence", "drop type", "drop domain", "drop rule", "drop function", "drop procedure",
}

// begins are the first words of statements that may be run although the linter does not know all of them.
var begins = []string{"select", "insert", "update", "delete", "replace", "merge", "with", "values", "call"} //nolint:gochecknoglobals // constant

//nolint:gochecknoglobals // constants
var (
	// harmless are the functions that change nothing beyond the copy although their server calls them volatile.
	harmless = set(`random random_normal gen_random_uuid uuid_generate_v1 uuid_generate_v1mc uuid_generate_v4 uuidv4 uuidv7 clock_timestamp timeofday nextval setval currval lastval
	gen_random_bytes gen_salt pg_advisory_xact_lock pg_advisory_xact_lock_shared pg_try_advisory_xact_lock pg_try_advisory_xact_lock_shared pg_notify setseed array_shuffle
	array_sample txid_current pg_current_xact_id`)

	// harmful are words that reach beyond the copy, or that only wait.
	harmful = map[dialect.Dialect]map[string]bool{
		dialect.PostgreSQL: set(`copy program dblink dblink_exec dblink_connect`),
		dialect.MySQL: set(`load_file sleep benchmark outfile dumpfile infile sys_exec sys_eval sys_get sys_set master_pos_wait master_gtid_wait get_lock release_lock
		release_all_locks`),
		dialect.SQLite: set(`load_extension readfile writefile edit fts3_tokenizer attach detach vacuum pragma`),
	}
)

func set(words string) map[string]bool {
	all := map[string]bool{}
	for word := range strings.FieldsSeq(words) {
		all[word] = true
	}
	return all
}

// admit says whether a statement may be run on the copy. Its error is the reason why not.
func (l *layout) admit(s Statement) (*admitted, error) {
	if len(s.Dialects) > 0 && !slices.Contains(s.Dialects, l.dialect) {
		return nil, fmt.Errorf("it is written for %s, and the database is %s", s.Dialects[0], l.dialect)
	}
	if len(s.Text) > maxTextBytes {
		return nil, fmt.Errorf("it is longer than %d KiB", maxTextBytes>>10)
	}
	parsed := parse.Statements(l.dialect, s.Text)
	if len(parsed) != 1 {
		return nil, fmt.Errorf("it is %d statements", len(parsed))
	}
	a := &admitted{text: s.Text[parsed[0].Start:parsed[0].End], tree: parsed[0].Statement}
	var err error
	if a.tokens, err = sqltext.Scan(l.dialect, a.text); err != nil {
		return nil, fmt.Errorf("it cannot be read: %w", err)
	}
	if err := l.admitKind(a); err != nil {
		return nil, err
	}
	return a, l.admitWords(a.tokens)
}

// admitKind looks at what the statement is.
func (l *layout) admitKind(a *admitted) error {
	switch st := a.tree.(type) {
	case *tree.Neutral:
		return fmt.Errorf("%s changes no data", st.What)
	case *tree.Define:
		a.defines = true
		if !slices.Contains(definitions, st.Kind) || len(a.tokens) > 1 && a.tokens[1].Is("virtual") {
			return fmt.Errorf("%s may reach beyond the copy", st.Kind)
		}
		if st.Kind == "create function" || st.Kind == "create procedure" {
			return admitLanguage(a.tokens)
		}
	case *tree.Opaque:
		first := ""
		if len(a.tokens) > 0 {
			first = strings.ToLower(a.tokens[0].Text)
		}
		if strings.HasPrefix(st.Why, "syntax error") || !slices.Contains(begins, first) {
			return errors.New(st.Why)
		}
		if a.defines = first == "call"; a.defines && !l.calls(a.tokens) {
			return errors.New("it calls what the copy does not have")
		}
	}
	return nil
}

// calls reports whether a CALL names a routine of the copy.
func (l *layout) calls(tokens []sqltext.Token) bool {
	for i, t := range tokens {
		if i > 0 && t.Is("(") {
			return slices.ContainsFunc(l.objects, func(o object) bool { return strings.EqualFold(o.name, tokens[i-1].Text) && o.table == "" })
		}
	}
	return len(tokens) == 2 && slices.ContainsFunc(l.objects, func(o object) bool { return strings.EqualFold(o.name, tokens[1].Text) })
}

// admitLanguage refuses routines in languages that can do anything.
func admitLanguage(tokens []sqltext.Token) error {
	for i, t := range tokens {
		if t.Is("language") && i+1 < len(tokens) && !slices.Contains([]string{"sql", "plpgsql"}, strings.ToLower(tokens[i+1].Text)) {
			return fmt.Errorf("language %s can reach beyond the copy", tokens[i+1].Text)
		}
		if t.Is("soname") {
			return errors.New("it loads a library")
		}
	}
	return nil
}

// admitWords looks for functions and clauses that reach beyond the copy, in whatever part of the statement.
func (l *layout) admitWords(tokens []sqltext.Token) error {
	for i, t := range tokens {
		word := strings.ToLower(t.Text)
		next := func(symbol string) bool { return i+1 < len(tokens) && tokens[i+1].Is(symbol) }
		switch {
		case t.Is("u") && next("&"):
			return errors.New("it writes a name or a text by the numbers of its characters")
		case t.Kind == sqltext.Word && harmful[l.dialect][word], t.IsName() && next("(") && l.acts(word):
			return fmt.Errorf("%s may reach beyond the copy, or only wait", word)
		case l.dialect == dialect.MySQL && t.Is("engine") && next("=") && i+2 < len(tokens) && !slices.Contains([]string{"innodb", "myisam", "aria", "memory"}, strings.ToLower(tokens[i+2].Text)),
			l.dialect == dialect.MySQL && t.Is("connection") && next("="):
			return errors.New("its table would be kept beyond the copy")
		}
	}
	return nil
}

// acts reports whether a function of the server may do more than compute.
func (l *layout) acts(name string) bool {
	return l.actors[name] && !harmless[name] || harmful[l.dialect][name]
}
