package lint

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/lint/internal/judge"
	"github.com/semel-dev/semel/lint/internal/parse"
	"github.com/semel-dev/semel/lint/internal/tree"
)

// Options are the settings of [Run]. Nil means all defaults.
type Options struct {
	// Dialect is postgresql, mysql (or mariadb) or sqlite. Empty: the configuration, or else a word in
	// the path of a file says it, and otherwise the worst verdict of all dialects that can read the
	// file counts.
	Dialect string
	// Schema names files and folders with the statements that define the tables, in their order:
	// DDL, or migrations of goose or golang-migrate. Without the definition of its table, no write is
	// called safe. Empty: what the configuration names.
	Schema []string
	// Models says that the tables of GORM's models, as far as Schema does not define them, are as AutoMigrate
	// makes them.
	Models bool
	// Database is a live database whose tables are read in the place of those of Schema, for the
	// statements of its dialect. Nil: none is asked.
	Database *Database
	// Config names a configuration, semel-lint.yaml; empty for none.
	Config string
	// Guards are the functions of a Go program that make what they are given happen once, in addition to Semel's, as
	// "import/path.Func" or "import/path.Type.Method".
	Guards []string
	// Stdin is read in the place of the path "-"; nil for that of the process.
	Stdin io.Reader
	// Progress, when set, is called before each file, with the number of files that are done.
	Progress func(done, all int, file string)
}

// Stdin is the path of the standard input, whose statements are those of the file <stdin>.
const Stdin = "-"

// ErrDatabase means that the live database of [Options] could not be asked.
var ErrDatabase = errors.New("lint: the database could not be read")

// Database is an open database and its dialect. It is only read.
type Database struct {
	DB      *sql.DB
	Dialect string // postgresql, mysql (or mariadb) or sqlite
}

// Run judges the statements of files, and of those of folders whose names end in .sql, but for those
// that the configuration excludes. An error means that something could not be read; a statement that
// no dialect can read is a finding. It returns the findings in the order of the files and statements,
// safe ones included.
func Run(ctx context.Context, paths []string, o *Options) ([]Finding, error) {
	s, err := ReadSchema(ctx, o)
	if err != nil {
		return nil, err
	}
	names, err := list(paths)
	if err != nil {
		return nil, err
	}
	names = slices.DeleteFunc(names, s.config.Excludes)
	if len(names) == 0 {
		return nil, errors.New("lint: no file whose name ends in .sql was found")
	}
	var all []Finding
	for i, name := range names {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("lint: %w", err)
		}
		if o != nil && o.Progress != nil {
			o.Progress(i, len(names), name)
		}
		f, err := read(name, stdinOf(o))
		if err != nil {
			return nil, err
		}
		all = append(all, s.judge(&f)...)
	}
	return all, nil
}

func stdinOf(o *Options) io.Reader {
	if o == nil || o.Stdin == nil {
		return os.Stdin
	}
	return o.Stdin
}

// judge judges the statements of a file in the dialects that read it best.
func (f *file) judge(dialects []dialect.Dialect, known map[dialect.Dialect]knowledge) []Finding {
	if f.why != "" {
		return []Finding{{File: f.path, Line: 1, Column: 1, Verdict: CannotTell, Rule: string(judge.Opaque), Why: f.why, Fingerprint: fingerprint(string(judge.Opaque), f.why)}}
	}
	readings, views := map[dialect.Dialect][]tree.Parsed{}, map[dialect.Dialect]*view{}
	fewest := -1
	for _, d := range dialects {
		views[d] = f.with(known[d].replace)
		views[d].text = bound(views[d].text)
		readings[d] = parse.Statements(d, views[d].text)
		if n := refused(readings[d]) + known[d].refused; fewest < 0 || n < fewest {
			fewest = n
		}
	}
	var all []Finding
	for _, d := range dialects {
		if refused(readings[d])+known[d].refused > fewest {
			continue
		}
		found := make([]Finding, 0, len(readings[d]))
		at := lineCounter{}
		for n, p := range readings[d] {
			before, after := 0, len(views[d].text)
			if n > 0 {
				before = readings[d][n-1].End
			}
			if n+1 < len(readings[d]) {
				after = readings[d][n+1].Start
			}
			j, k := judge.Statement(d, known[d].schema, p.Statement), known[d]
			one := views[d].finding(p, before, after, &at, j)
			one.Fix = views[d].fix(d, &k, p, j)
			one.Why, one.Dialects = triedAs(d, one.Why), []string{d.String()}
			found = append(found, one)
		}
		all = worst(all, found)
	}
	return slices.DeleteFunc(all, func(f Finding) bool { return f.rowless && f.Verdict == Safe })
}

// refused counts the statements that a parser refuses, wholly or in part.
func refused(list []tree.Parsed) (n int) {
	for _, p := range list {
		why := ""
		switch st := p.Statement.(type) {
		case *tree.Opaque:
			why = st.Why
		case *tree.Define:
			why = st.Unreadable
			if st.Table != nil {
				why += st.Table.Unknown
			}
		}
		if isRefused(why) {
			n++
		}
	}
	return n
}

// isRefused reports whether a reason is that of a parser.
func isRefused(why string) bool { return strings.HasPrefix(why, "syntax error") }

// triedAs names the dialect in the reason of a parser: most often the statement is written for another one.
func triedAs(d dialect.Dialect, why string) string {
	if !isRefused(why) {
		return why
	}
	name := map[dialect.Dialect]string{dialect.PostgreSQL: "PostgreSQL", dialect.MySQL: "MySQL or MariaDB", dialect.SQLite: "SQLite"}[d]
	return strings.Replace(why, "syntax error", "syntax error as "+name, 1)
}

// worst returns the worse verdict on each statement. Two dialects that divide a file differently
// are kept side by side.
func worst(a, b []Finding) []Finding {
	if a == nil {
		return b
	}
	same := slices.EqualFunc(a, b, func(x, y Finding) bool { return x.Line == y.Line && x.Column == y.Column })
	if !same {
		return append(a, b...)
	}
	for i := range a {
		dialects := slices.Concat(a[i].Dialects, b[i].Dialects)
		if b[i].Verdict > a[i].Verdict {
			a[i] = b[i]
		}
		a[i].Dialects = dialects
	}
	return a
}
