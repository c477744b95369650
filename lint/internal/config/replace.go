package config

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/rules/yamlfile"
)

// Replacement is a text that the program fills in before it runs a statement, such as {{table}}.
type Replacement struct {
	Text string
	with map[dialect.Dialect]string // 0 for the dialects that are not named
	at   yamlfile.Position
}

// In returns the text that takes its place in a dialect.
func (r *Replacement) In(d dialect.Dialect) (string, bool) {
	with, ok := r.with[d]
	if !ok {
		with, ok = r.with[0]
	}
	return with, ok
}

// merge adds to a list what another one has for other texts.
func merge(list, more []Replacement) []Replacement {
	out := slices.Clip(list)
	for _, one := range more {
		if !slices.ContainsFunc(list, func(r Replacement) bool { return r.Text == one.Text }) {
			out = append(out, one)
		}
	}
	return out
}

// maxFragment bounds a file that is put in the place of a text.
const maxFragment = 1 << 20

// fragment reads a part of statements that is a file of its own, without its lines of comments.
func (r *reader) fragment(n ast.Node) string {
	path, ok := r.Text(n, "file")
	if !ok {
		return ""
	}
	text, err := os.ReadFile(r.path(path, true))
	switch {
	case err != nil:
		r.Report(yamlfile.At(n), "name a file, relative to the folder of the configuration", "file %q cannot be read", yamlfile.Cut(path))
	case len(text) > maxFragment:
		r.Report(yamlfile.At(n), "name a part of a statement", "file %q is larger than %d MiB", yamlfile.Cut(path), maxFragment>>20)
	}
	var b strings.Builder
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(strings.TrimSpace(line), "--") {
			b.WriteString(line)
		}
	}
	return strings.TrimSpace(b.String())
}

// replacements reads a mapping of texts: to one text, to one for each dialect, or to that of a file.
func (r *reader) replacements(n ast.Node) (all []Replacement) {
	entries := r.Entries(n, "replace")
	if len(entries) > maxEntries {
		r.Report(yamlfile.At(n), fmt.Sprintf("keep %d at most", maxEntries), "replace has %d elements", len(entries))
		return nil
	}
	for _, e := range entries {
		one := Replacement{Text: e.Key, with: map[dialect.Dialect]string{}, at: e.At}
		if with, ok := yamlfile.Literal(e.Value); ok {
			one.with[0] = with
			all = append(all, one)
			continue
		}
		for _, by := range r.Entries(e.Value, fmt.Sprintf("replace %q", yamlfile.Cut(e.Key))) {
			d, err := dialect.Parse(by.Key)
			with, ok := yamlfile.Literal(by.Value)
			switch {
			case by.Key == "file":
				one.with[0] = r.fragment(by.Value)
			case err != nil:
				r.Report(by.At, "write one of: postgresql, mysql, mariadb, sqlite, file", "dialect is %q", yamlfile.Cut(by.Key))
			case !ok:
				r.Report(yamlfile.At(by.Value), "put it in double quotes if it is meant as text", "a replacement must be text, not %s", yamlfile.Describe(by.Value))
			default:
				one.with[d] = with
			}
		}
		all = append(all, one)
	}
	return all
}

// Idle describes the replacements whose text is in none of the files that they are about: the .sql and .go files below the
// folder of the configuration, without tests, and the files of their schema.
func (f *File) Idle() (all []string, err error) {
	if len(f.Replace) == 0 && !slices.ContainsFunc(f.Overrides, func(o Override) bool { return len(o.Replace) > 0 }) {
		return nil, nil
	}
	texts, err := f.texts()
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	used := func(list []string, r Replacement) bool {
		return slices.ContainsFunc(list, func(text string) bool { return strings.Contains(text, r.Text) })
	}
	for _, r := range f.Replace {
		if !slices.ContainsFunc(slices.Collect(maps.Values(texts)), func(list []string) bool { return used(list, r) }) {
			all = append(all, r.place(f))
		}
	}
	for i, o := range f.Overrides {
		for _, r := range o.Replace {
			if !used(texts[i], r) {
				all = append(all, r.place(f))
			}
		}
	}
	return all, nil
}

// texts reads the files that replacements are about, by their override; -1 for those that have none.
func (f *File) texts() (map[int][]string, error) {
	texts := map[int][]string{}
	add := func(of int, path string) error {
		text, err := os.ReadFile(path) //nolint:gosec // a file of the project.
		texts[of] = append(texts[of], string(text))
		return err //nolint:wrapcheck // it names the file
	}
	err := each(f.Folder, func(path string) error {
		if of := f.Override(path); len(f.Of(of).Replace) > 0 {
			return add(of, path)
		}
		return nil
	})
	for of := -1; of < len(f.Overrides) && err == nil; of++ {
		s := f.Of(of)
		if len(s.Replace) == 0 {
			continue
		}
		for _, path := range s.Schema {
			if err := each(path, func(path string) error { return add(of, path) }); err != nil {
				return nil, err
			}
		}
	}
	return texts, err
}

// place says where a replacement is, and its text.
func (r *Replacement) place(f *File) string {
	return fmt.Sprintf("%s:%d: %s", f.Name, r.at.Line, yamlfile.Cut(r.Text))
}

// each calls found with a file, or the .sql and .go files of a folder.
func each(root string, found func(path string) error) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		switch {
		case path != root && d.IsDir() && (strings.HasPrefix(name, ".") || name == "node_modules" || name == "vendor" || name == "testdata"):
			return filepath.SkipDir
		case path == root && d.Type().IsRegular(), strings.HasSuffix(name, ".sql") || strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go"):
			return found(path)
		}
		return nil
	})
}
