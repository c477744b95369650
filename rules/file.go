package rules

import (
	"fmt"

	"github.com/goccy/go-yaml/ast"

	"github.com/semel-dev/semel/internal/rules/yamlfile"
)

const (
	// version is the version of the format that this package reads.
	version   = 1
	maxRoutes = 1000
	maxUnique = 1000
)

// File is a rules file that was read and found to be sound.
type File struct {
	// Name is the file's name, for messages.
	Name string
	// Routes are the endpoint rules, in the order of the file.
	Routes []Route
	// Unique are the uniqueness rules, in the order of the file.
	Unique []Unique
}

// Load reads a rules file. The error is an [*Error] when the content is at
// fault.
func Load(name string) (*File, error) {
	data, err := yamlfile.Load(name)
	if err != nil {
		return nil, fmt.Errorf("rules: %w", err)
	}
	return Parse(name, data)
}

// Parse reads the text of a rules file; name is for messages. The error is an
// [*Error] with everything that is wrong.
func Parse(name string, data []byte) (*File, error) {
	nodes, root := yamlfile.Parse(name, data)
	r := &reader{nodes}
	file := &File{Name: name}
	if root != nil {
		r.top(root, file)
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	return file, nil
}

// reader reads the nodes of a rules file.
type reader struct{ *yamlfile.Reader }

func (r *reader) top(root ast.Node, file *File) {
	found := r.Mapping(root, "the file", []yamlfile.Field{
		{"version", func(n ast.Node) { r.Version(n, version) }},
		{"routes", func(n ast.Node) { file.Routes = r.routes(n) }},
		{"unique", func(n ast.Node) { file.Unique = r.uniques(n) }},
	})
	if found != nil && !found.Has("version") {
		r.Report(Position{Line: 1, Column: 1}, "start with: version: 1", "the file does not say its version")
	}
}
