// Package yamlfile reads YAML files strictly, for the files in which people configure Semel: unknown
// and repeated keys are problems, and each problem has its line, its column and what to do about it.
package yamlfile

import (
	"bytes"
	"errors"
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
	// maxFileBytes is the largest file.
	maxFileBytes = 512 << 10
	maxDepth     = 64
)

// Load reads the bytes of a file, one more at most than [Parse] accepts.
func Load(name string) ([]byte, error) {
	f, err := os.Open(name) //nolint:gosec // the operator names the file.
	if err != nil {
		return nil, err //nolint:wrapcheck // it names the file, and the caller adds its package.
	}
	defer f.Close() //nolint:errcheck // it was only read.
	data, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err != nil {
		return nil, err //nolint:wrapcheck // as above.
	}
	return data, nil
}

// Parse turns a text into nodes. The root is nil when the reader has problems; name is for messages.
func Parse(name string, data []byte) (*Reader, ast.Node) {
	r := &Reader{file: name}
	return r, r.parse(data)
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
func (r *Reader) parse(data []byte) ast.Node {
	start := Position{Line: 1, Column: 1}
	if len(data) > maxFileBytes {
		r.Report(start, "split it, or match with wildcards", "the file is larger than %dKiB", maxFileBytes>>10)
		return nil
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if !utf8.Valid(data) {
		r.Report(Position{Line: firstInvalid(data), Column: 1},
			"save it as UTF-8, which editors also call UTF-8 without BOM", "the file is not UTF-8 text")
		return nil
	}
	if at, deep := tooDeep(data); deep {
		r.Report(at, "nest less", "brackets or dashes are nested deeper than %d", maxDepth)
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
		r.Report(at, "fix the YAML", "%s", strings.ReplaceAll(message, "\n", " "))
		return nil
	}
	var root ast.Node
	for _, doc := range tree.Docs {
		switch {
		case doc.Body == nil:
		case root != nil:
			r.Report(At(doc.Body), "keep one document per file", "a second document starts here")
			return nil
		default:
			root = doc.Body
		}
	}
	if Empty(root) {
		r.Report(start, "start with: version: 1", "the file is empty")
		return nil
	}
	return root
}

// Version reads the version of the format, of which there is one.
func (r *Reader) Version(n ast.Node, known int) {
	i, ok := n.(*ast.IntegerNode)
	if !ok || i.Token.Value != strconv.Itoa(known) {
		r.Report(At(n), "write version: "+strconv.Itoa(known)+", or run the semel that the file was written for",
			"version is %s, and this semel reads version %d", Describe(n), known)
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
