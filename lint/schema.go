package lint

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/lint/internal/config"
	"github.com/semel-dev/semel/lint/internal/parse"
	"github.com/semel-dev/semel/lint/internal/schema"
	"github.com/semel-dev/semel/lint/internal/tree"
)

// Schema holds what is known of the tables, and the dialects in which statements are read. It may
// be used by several goroutines at once.
type Schema struct {
	config *config.File
	common reading   // of files that no override matches
	others []reading // of the overrides of the configuration, in their order
	in     []dialect.Dialect
	models bool // GORM's models define tables
}

// reading says how files are read.
type reading struct {
	dialects []dialect.Dialect
	known    map[dialect.Dialect]knowledge
}

// knowledge holds what the schema's files define, as one dialect reads them.
type knowledge struct {
	schema  *schema.Schema
	refused int // statements that its parser refuses
	replace []replacement
}

// ReadSchema reads the configuration and the definitions of the tables that o names. Nil means all
// defaults: nothing is known of any table.
func ReadSchema(ctx context.Context, o *Options) (*Schema, error) {
	if o == nil {
		o = &Options{}
	}
	s := &Schema{config: &config.File{}}
	var err error
	if o.Config != "" {
		if s.config, err = config.Load(o.Config); err != nil {
			return nil, fmt.Errorf("lint: %w", err)
		}
	}
	s.models = o.Models || s.config.Models
	var live *knownLive
	if o.Database != nil {
		if live, err = ask(ctx, o.Database); err != nil {
			return nil, err
		}
	}
	if s.common, err = o.reading(s.config.Of(-1), live, s.config.Within); err != nil {
		return nil, err
	}
	for i := range s.config.Overrides {
		one, err := o.reading(s.config.Of(i), live, s.config.Within)
		if err != nil {
			return nil, err
		}
		s.others = append(s.others, one)
	}
	return s, nil
}

// reading reads what the options and, where they say nothing, the settings name. A live database
// replaces the files for its dialect.
func (o *Options) reading(s config.Settings, live *knownLive, within func(string) string) (reading, error) {
	r := reading{dialects: dialect.All()}
	if name := cmp.Or(o.Dialect, s.Dialect); name != "" {
		d, err := dialect.Parse(name)
		if err != nil {
			return r, fmt.Errorf("lint: %w", err)
		}
		r.dialects = []dialect.Dialect{d}
	}
	paths := o.Schema
	if len(paths) == 0 {
		paths = s.Schema
	}
	if live != nil && o.Dialect == "" && s.Dialect == "" {
		r.dialects = []dialect.Dialect{live.dialect}
	}
	var err error
	if live == nil || !slices.Equal(r.dialects, []dialect.Dialect{live.dialect}) {
		r.dialects, r.known, err = learn(r.dialects, paths, s.Replace, within)
	}
	if live != nil && slices.Contains(r.dialects, live.dialect) {
		if r.known == nil {
			r.known = map[dialect.Dialect]knowledge{}
		}
		k := live.knowledge
		k.replace = replacementsOf(live.dialect, s.Replace)
		r.known[live.dialect] = k
	}
	return r, err
}

// Statements judges the statements of a text. The configuration, or a word in the path, says which
// dialect it has, as far as the options do not; the findings name it as their file.
func (s *Schema) Statements(path, text string) []Finding {
	return s.judge(&file{path: path, text: text})
}

// In returns the schema for statements in one of the named dialects. Those that the options or the configuration exclude
// do not count; if none is left, or named, nothing changes.
func (s *Schema) In(names ...string) (*Schema, error) {
	narrow := *s
	narrow.in = nil
	for _, name := range names {
		d, err := dialect.Parse(name)
		if err != nil {
			return nil, fmt.Errorf("lint: %w", err)
		}
		narrow.in = append(narrow.in, d)
	}
	return &narrow, nil
}

// Dialect returns the dialect that a word in a path names, empty for none.
func (s *Schema) Dialect(path string) string {
	if d, ok := dialectOf(path); ok {
		return d.String()
	}
	return ""
}

// Dialects returns the dialects in which the statements of a file are judged.
func (s *Schema) Dialects(path string) []string {
	_, dialects := s.of(path)
	names := make([]string, len(dialects))
	for i, d := range dialects {
		names[i] = d.String()
	}
	return names
}

// Modelled returns the schema for a statement on the table of a model of GORM. If [Options.Models] is set and the table is
// not known in any file, that has the definition alone, and no other table.
func (s *Schema) Modelled(table, definition string) *Schema {
	schemaName, bare, ok := strings.Cut(table, ".")
	if !ok {
		schemaName, bare = "", table
	}
	all := append([]reading{s.common}, s.others...)
	known := func(k knowledge) bool { return k.schema.Table(tree.Name{Schema: schemaName, Name: bare}) != nil }
	if !s.models || slices.ContainsFunc(all, func(r reading) bool { return slices.ContainsFunc(slices.Collect(maps.Values(r.known)), known) }) {
		return s
	}
	narrow := *s
	narrow.others = nil
	for i, r := range all {
		own := reading{dialects: r.dialects, known: map[dialect.Dialect]knowledge{}}
		for d := range r.known {
			k := knowledge{schema: &schema.Schema{}}
			if slices.Contains(s.in, d) || len(s.in) == 0 {
				k.learn(d, &file{text: definition})
			}
			own.known[d] = k
		}
		if i == 0 {
			narrow.common = own
		} else {
			narrow.others = append(narrow.others, own)
		}
	}
	return &narrow
}

// Excludes reports whether the configuration excludes a file.
func (s *Schema) Excludes(path string) bool { return s.config.Excludes(path) }

// Replaces reports whether the configuration replaces a part of a text in a file.
func (s *Schema) Replaces(path, text string) bool {
	return slices.ContainsFunc(s.config.Of(s.config.Override(path)).Replace, func(r config.Replacement) bool { return strings.Contains(text, r.Text) })
}

// judge judges the statements of a file.
func (s *Schema) judge(f *file) []Finding {
	r, dialects := s.of(f.path)
	return f.judge(dialects, r.known)
}

// of returns how a file is read.
func (s *Schema) of(path string) (*reading, []dialect.Dialect) {
	r := &s.common
	if i := s.config.Override(path); i >= 0 {
		r = &s.others[i]
	}
	named := s.in
	if d, ok := dialectOf(path); ok && len(named) == 0 {
		named = []dialect.Dialect{d}
	}
	dialects := slices.DeleteFunc(slices.Clone(r.dialects), func(d dialect.Dialect) bool { return !slices.Contains(named, d) })
	if len(dialects) == 0 {
		dialects = r.dialects
	}
	return r, dialects
}

// dialectOf looks for the name of a database in a path.
func dialectOf(path string) (dialect.Dialect, bool) {
	for word := range strings.FieldsFuncSeq(strings.ToLower(path), func(r rune) bool { return r < 'a' || r > 'z' }) {
		switch {
		case word == "pg" || strings.HasPrefix(word, "postgres") || word == "pgx" || word == "psql":
			return dialect.PostgreSQL, true
		case word == "mysql" || word == "mariadb":
			return dialect.MySQL, true
		case word == "sqlite":
			return dialect.SQLite, true
		}
	}
	return 0, false
}

var (
	aboutTables = regexp.MustCompile(`(?i)\b(trigger|rule|alter|create)\b`)
	extensions  = regexp.MustCompile(`(?i)\bcreate\s+extension\b`)
)

// learn reads the definitions of the tables, for each dialect: where there are several, and each file names one in its path, those
// that are named. It returns the dialects that are left.
func learn(dialects []dialect.Dialect, paths []string, replace []config.Replacement, within func(string) string) ([]dialect.Dialect, map[dialect.Dialect]knowledge, error) {
	files, err := load(paths)
	if err != nil {
		return nil, nil, err
	}
	dialects, of := divided(dialects, files, within)
	known := map[dialect.Dialect]knowledge{}
	for _, d := range dialects {
		k := knowledge{schema: &schema.Schema{}, replace: replacementsOf(d, replace)}
		for _, f := range of[d] {
			if f.why != "" {
				return nil, nil, fmt.Errorf("lint: %s: %s", f.path, f.why)
			}
			k.learn(d, f)
		}
		known[d] = k
	}
	return dialects, known, nil
}

// divided returns the files that define the tables for each dialect, and the dialects for which there are any; within cuts off
// the folders around the project, which say nothing.
func divided(dialects []dialect.Dialect, files []file, within func(string) string) ([]dialect.Dialect, map[dialect.Dialect][]*file) {
	of, left := map[dialect.Dialect][]*file{}, []dialect.Dialect{}
	for _, d := range dialects {
		for i := range files {
			if named, ok := dialectOf(within(files[i].path)); !ok || named == d || len(dialects) == 1 {
				of[d] = append(of[d], &files[i])
			}
		}
		if len(of[d]) > 0 {
			left = append(left, d)
		}
	}
	if len(left) == 0 {
		left = dialects
	}
	return left, of
}

// learn adds the definitions of a file.
func (k *knowledge) learn(d dialect.Dialect, f *file) {
	v := f.with(k.replace)
	if f.doubt != "" {
		k.schema.Doubt(f.path + ": " + f.doubt)
	}
	statements := parse.Statements(d, v.text)
	k.refused += refused(statements)
	for _, p := range statements {
		k.schema.Apply(p.Statement)
		// What a parser refuses may be a trigger, of any table.
		if o, ok := p.Statement.(*tree.Opaque); ok && aboutTables.MatchString(extensions.ReplaceAllString(v.text[p.Start:p.End], "")) {
			k.schema.Doubt(fmt.Sprintf("%s: %s", f.path, o.Why))
		}
	}
}
