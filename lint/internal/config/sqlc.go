package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/goccy/go-yaml/ast"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/rules/yamlfile"
)

// sqlcNames are the files in which sqlc keeps its configuration, in the order in which it looks for them.
func sqlcNames() []string { return []string{"sqlc.yaml", "sqlc.yml", "sqlc.json"} }

// isSQLC reports whether a file is the configuration of sqlc.
func isSQLC(name string) bool { return slices.Contains(sqlcNames(), filepath.Base(name)) }

// SQLC looks for the configuration of sqlc in a folder. It returns "" when there is none.
func SQLC(folder string) (string, error) {
	for _, name := range sqlcNames() {
		path := filepath.Join(folder, name)
		if _, err := os.Stat(path); err == nil || !errors.Is(err, fs.ErrNotExist) {
			return path, err //nolint:wrapcheck // it names the file
		}
	}
	return "", nil
}

// sqlc reads a configuration of sqlc, of version 1 or 2: the dialect and the tables of its queries and of the Go files that it
// writes. Other keys are sqlc's own. With one part, that counts for all other files as well.
func (r *reader) sqlc(root ast.Node, f *File) {
	parts := child(root, "sql")
	if parts == nil {
		parts = child(root, "packages")
	}
	list, ok := parts.(*ast.SequenceNode)
	if !ok {
		return
	}
	if len(list.Values) > maxEntries {
		r.Report(yamlfile.At(list), "keep fewer", "sqlc has %d parts", len(list.Values))
		return
	}
	for _, part := range list.Values {
		o := Override{Settings: Settings{Dialect: "postgresql"}} // as version 1 has it without an engine
		if engine := texts(child(part, "engine")); len(engine) == 1 {
			o.Dialect = engine[0]
		}
		if _, err := dialect.Parse(o.Dialect); err != nil {
			continue // of a plugin
		}
		o.Schema = r.expand(texts(child(part, "schema")))
		queries := texts(child(part, "queries"))
		f.Queries = append(f.Queries, r.expand(queries)...)
		for _, text := range slices.Concat(queries, texts(child(part, "path")), texts(child(child(child(part, "gen"), "go"), "out"))) {
			if p, err := newPattern("./" + filepath.ToSlash(filepath.Clean(text))); err == nil { // one outside of the folder matches no file
				o.Match = append(o.Match, p)
			}
		}
		f.Overrides = append(f.Overrides, o)
	}
	if len(f.Overrides) == 1 {
		f.Settings = f.Overrides[0].Settings
	}
}

// expand returns the paths of the file that exist for wildcards.
func (r *reader) expand(paths []string) (all []string) {
	for _, path := range paths {
		path = r.path(path, true)
		if found, err := filepath.Glob(path); err == nil && len(found) > 0 {
			all = append(all, found...)
		} else {
			all = append(all, path)
		}
	}
	return all
}

// child returns the value of a key, nil for none.
func child(n ast.Node, key string) ast.Node {
	var entries []*ast.MappingValueNode
	switch n := plain(n).(type) {
	case *ast.MappingNode:
		entries = n.Values
	case *ast.MappingValueNode:
		entries = []*ast.MappingValueNode{n}
	}
	for _, e := range entries {
		if name, ok := yamlfile.Literal(e.Key); ok && name == key {
			return plain(e.Value)
		}
	}
	return nil
}

// plain returns a node without its anchor.
func plain(n ast.Node) ast.Node {
	if a, ok := n.(*ast.AnchorNode); ok {
		return a.Value
	}
	return n
}

// texts returns a text, or those of a list.
func texts(n ast.Node) (all []string) {
	if list, ok := n.(*ast.SequenceNode); ok {
		for _, one := range list.Values {
			all = append(all, texts(one)...)
		}
		return all
	}
	if text, ok := yamlfile.Literal(n); n != nil && ok && text != "" {
		all = append(all, text)
	}
	return all
}
