package rules

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

const (
	// version is the version of the format that this package reads.
	version = 1
	// maxFileBytes is the largest rules file.
	maxFileBytes = 512 << 10
	maxRoutes    = 1000
	maxUnique    = 1000
	maxDepth     = 64
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
	f, err := os.Open(name) //nolint:gosec // the operator names the file.
	if err != nil {
		return nil, fmt.Errorf("rules: %w", err)
	}
	defer f.Close() //nolint:errcheck // it was only read.
	data, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err != nil {
		return nil, fmt.Errorf("rules: read %s: %w", name, err)
	}
	return Parse(name, data)
}

// Parse reads the text of a rules file; name is for messages. The error is an
// [*Error] with everything that is wrong.
func Parse(name string, data []byte) (*File, error) {
	r := &reader{file: name}
	file := &File{Name: name}
	if root := r.parse(data); root != nil {
		r.top(root, file)
	}
	if len(r.problems) > 0 {
		return nil, &Error{Problems: sorted(r.problems)}
	}
	return file, nil
}

// firstInvalid returns the line of the first byte that is not UTF-8.
func firstInvalid(data []byte) int {
	valid := 0
	for valid < len(data) {
		r, size := utf8.DecodeRune(data[valid:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		valid += size
	}
	return 1 + bytes.Count(data[:valid], []byte("\n"))
}

// parse turns text into nodes.
func (r *reader) parse(data []byte) ast.Node {
	start := Position{Line: 1, Column: 1}
	if len(data) > maxFileBytes {
		r.report(start, "split it, or match with wildcards", "the file is larger than %s", formatSize(maxFileBytes))
		return nil
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if !utf8.Valid(data) {
		r.report(Position{Line: firstInvalid(data), Column: 1},
			"save it as UTF-8, which editors also call UTF-8 without BOM", "the file is not UTF-8 text")
		return nil
	}
	if at, deep := tooDeep(data); deep {
		r.report(at, "nest less", "brackets or dashes are nested deeper than %d", maxDepth)
		return nil
	}
	tree, err := parser.ParseBytes(data, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		at, message := start, err.Error()
		if syntax, ok := errors.AsType[yaml.Error](err); ok {
			message = syntax.GetMessage()
			if token := syntax.GetToken(); token != nil && token.Position != nil {
				at = Position{Line: max(1, token.Position.Line), Column: max(1, token.Position.Column)}
			}
		}
		r.report(at, "fix the YAML", "%s", strings.ReplaceAll(message, "\n", " "))
		return nil
	}
	var root ast.Node
	for _, doc := range tree.Docs {
		switch {
		case doc.Body == nil:
		case root != nil:
			r.report(position(doc.Body), "keep one document per file", "a second document starts here")
			return nil
		default:
			root = doc.Body
		}
	}
	if empty(root) {
		r.report(start, "start with: version: 1", "the file is empty")
		return nil
	}
	return root
}

func (r *reader) top(root ast.Node, file *File) {
	found := r.mapping(root, "the file", []field{
		{"version", r.version},
		{"routes", func(n ast.Node) { file.Routes = r.routes(n) }},
		{"unique", func(n ast.Node) { file.Unique = r.uniques(n) }},
	})
	if found != nil && !found.has("version") {
		r.report(Position{Line: 1, Column: 1}, "start with: version: 1", "the file does not say its version")
	}
}

// version reads the version of the format, of which there is one.
func (r *reader) version(n ast.Node) {
	i, ok := n.(*ast.IntegerNode)
	if !ok || i.Token.Value != strconv.Itoa(version) {
		r.report(position(n), "write version: 1, or run the semel that the file was written for",
			"version is %s, and this semel reads version %d", describe(n), version)
	}
}

// tooDeep finds nesting beyond what a rules file needs, before the parser
// recurses into it: brackets, those inside quotes included, and dashes in a row.
func tooDeep(data []byte) (Position, bool) {
	at, brackets, dashes := Position{Line: 1, Column: 1}, 0, 0
	for _, c := range data {
		switch c {
		case '[', '{':
			brackets++
		case ']', '}':
			brackets = max(0, brackets-1)
		case '-', '?':
			dashes++
		case '\n':
			at, dashes = Position{Line: at.Line + 1}, 0
		case ' ':
		default:
			dashes = -len(data) // the line has other text now
		}
		if brackets > maxDepth || dashes > 2*maxDepth { // a comment may be a line of dashes
			return at, true
		}
		at.Column++
	}
	return at, false
}
