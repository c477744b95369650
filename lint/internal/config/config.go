// Package config reads semel-lint.yaml: what semel lint and semelvet have to know of a project. Its
// paths and patterns are relative to the folder of the file. What it does not say of dialects and tables is taken from
// the configuration of sqlc in its folder, which also counts without it.
package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/goccy/go-yaml/ast"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/rules/yamlfile"
)

// Name is the file that [Find] looks for.
const Name = "semel-lint.yaml"

const (
	version = 1 // of the format
	// maxEntries bounds each list.
	maxEntries = 1000
)

// File is a configuration that was read. The zero File configures nothing.
type File struct {
	// Name is the file, and Folder the absolute path of its folder.
	Name, Folder string
	Settings
	// Overrides are the settings of some files; the first that matches counts.
	Overrides []Override
	// Exclude matches the files that are not judged.
	Exclude []Pattern
	// Guards are the names of Go functions that let a request through once: path.Func or (*path.Type).Method.
	Guards []string
	// Queries are the files and folders with the queries of sqlc.
	Queries []string
	// Models says that AutoMigrate makes the tables of GORM's models that Schema does not define.
	Models bool
	// Baseline is the path of the findings that are known.
	Baseline string
	// FailOn is not-safe or cannot-tell; empty when the file does not say.
	FailOn string
}

// Settings say how statements are read. Empty fields say nothing.
type Settings struct {
	Dialect string
	Schema  []string // files and folders, as paths that can be opened
	Replace []Replacement
}

// Override has the settings of the files that it matches.
type Override struct {
	Match []Pattern
	Settings
}

// Find looks for the configuration, or that of sqlc, in a folder and those above it, up to the root of the repository or
// of the file system. It returns "" when there is none.
func Find(folder string) (string, error) {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return "", fmt.Errorf("config: %w", err)
	}
	for {
		name := filepath.Join(folder, Name)
		_, err := os.Stat(name)
		if err == nil {
			return relative(name), nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("config: %w", err)
		}
		if name, err = SQLC(folder); name != "" || err != nil {
			return relative(name), err
		}
		_, err = os.Stat(filepath.Join(folder, ".git"))
		above := filepath.Dir(folder)
		if err == nil || above == folder {
			return "", nil
		}
		folder = above
	}
}

// relative returns the path as seen from the working directory, where it is below that.
func relative(path string) string {
	here, err := os.Getwd()
	if err != nil {
		return path
	}
	if short, err := filepath.Rel(here, path); err == nil && filepath.IsLocal(short) {
		return short
	}
	return path
}

// Load reads a configuration. The error is a [*yamlfile.Error] when its content is at fault.
func Load(name string) (*File, error) {
	data, err := yamlfile.Load(name)
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	folder, err := filepath.Abs(filepath.Dir(name))
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	nodes, root := yamlfile.Parse(name, data)
	r := &reader{nodes, filepath.Dir(name)}
	file := &File{Name: name, Folder: folder}
	switch {
	case root == nil:
	case isSQLC(name):
		r.sqlc(root, file)
	default:
		r.top(root, file)
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	return file, file.adopt()
}

// adopt takes dialects and tables from the configuration of sqlc in the same folder, if the file says nothing of them.
func (f *File) adopt() error {
	if isSQLC(f.Name) || f.Dialect != "" || len(f.Schema) > 0 || len(f.Overrides) > 0 {
		return nil
	}
	name, err := SQLC(filepath.Dir(f.Name))
	if name == "" || err != nil {
		return err
	}
	other, err := Load(name)
	if err != nil {
		return err
	}
	f.Dialect, f.Schema, f.Overrides, f.Queries = other.Dialect, other.Schema, other.Overrides, other.Queries
	return nil
}

// reader reads the nodes of a configuration.
type reader struct {
	*yamlfile.Reader

	folder string // of the file, as it was named
}

func (r *reader) top(root ast.Node, f *File) {
	fields := []yamlfile.Field{{"version", func(n ast.Node) { r.Version(n, version) }}}
	fields = append(fields, r.settings(&f.Settings)...)
	found := r.Mapping(root, "the file", append(fields, []yamlfile.Field{
		{"paths", func(n ast.Node) { f.Overrides = r.overrides(n) }},
		{"exclude", func(n ast.Node) { f.Exclude = r.patterns(n, "exclude") }},
		{"guards", func(n ast.Node) { f.Guards = r.list(n, "guards") }},
		{"models", func(n ast.Node) { f.Models = r.Boolean(n, "models") }},
		{"baseline", func(n ast.Node) { f.Baseline = r.path(r.Text(n, "baseline")) }},
		{"fail_on", func(n ast.Node) {
			words := []string{"not-safe", "cannot-tell"}
			f.FailOn = words[r.Choice(n, "fail_on", words...)]
		}},
	}...))
	if found != nil && !found.Has("version") {
		r.Report(yamlfile.Position{Line: 1, Column: 1}, "start with: version: 1", "the file does not say its version")
	}
}

// settings are the fields that the file and its overrides share.
func (r *reader) settings(s *Settings) []yamlfile.Field {
	return []yamlfile.Field{
		{"dialect", func(n ast.Node) { s.Dialect = r.dialect(n) }},
		{"schema", func(n ast.Node) {
			for _, path := range r.list(n, "schema") {
				s.Schema = append(s.Schema, r.path(path, true))
			}
		}},
		{"replace", func(n ast.Node) { s.Replace = r.replacements(n) }},
	}
}

func (r *reader) dialect(n ast.Node) string {
	name, ok := r.Text(n, "dialect")
	if !ok {
		return ""
	}
	if _, err := dialect.Parse(name); err != nil {
		r.Report(yamlfile.At(n), "write one of: postgresql, mysql, mariadb, sqlite", "dialect is %q", yamlfile.Cut(name))
	}
	return name
}

// path is a path of the file as it can be opened.
func (r *reader) path(path string, ok bool) string {
	path = filepath.FromSlash(path)
	if !ok || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(r.folder, path)
}

// list reads one text or several, no more than there may be.
func (r *reader) list(n ast.Node, what string) []string {
	all := r.Texts(n, what)
	if len(all) > maxEntries {
		r.Report(yamlfile.At(n), fmt.Sprintf("keep %d at most", maxEntries), "%s has %d elements", what, len(all))
	}
	return all
}

func (r *reader) patterns(n ast.Node, what string) (all []Pattern) {
	for _, text := range r.list(n, what) {
		p, err := newPattern(text)
		if err != nil {
			r.Report(yamlfile.At(n), `write a path or a pattern such as "store/mysql/**" or "*_test.sql"`, "%s %q cannot be used: %v", what, yamlfile.Cut(text), err)
			continue
		}
		all = append(all, p)
	}
	return all
}

func (r *reader) overrides(n ast.Node) (all []Override) {
	nodes := r.Sequence(n, "paths")
	if len(nodes) > maxEntries {
		r.Report(yamlfile.At(n), fmt.Sprintf("keep %d at most", maxEntries), "paths has %d elements", len(nodes))
		return nil
	}
	for _, node := range nodes {
		var o Override
		found := r.Mapping(node, "an element of paths", append(r.settings(&o.Settings), []yamlfile.Field{
			{"match", func(n ast.Node) { o.Match = r.patterns(n, "match") }},
		}...))
		switch {
		case found == nil:
		case !found.Has("match"):
			r.Report(yamlfile.At(node), `add the files that it is about, such as match: "store/mysql/**"`, "an element of paths has no match")
		case len(found) == 1:
			r.Report(found["match"], "add dialect, schema or replace", "an element of paths changes nothing")
		}
		all = append(all, o)
	}
	return all
}
