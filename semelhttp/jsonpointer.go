package semelhttp

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/semel-dev/semel"
)

const (
	// maxSearchBytes of a JSON body are searched for a key.
	maxSearchBytes = 8 << 20
	// maxSearchDepth limits how deep a JSON body may be nested.
	maxSearchDepth = 512
)

// FromJSONPointer takes the key from a JSON body, at a JSON pointer (RFC 6901)
// such as "/id" or "/order/0/token". A string or a number is a key; null, and a
// body that is not JSON, has none. A member that occurs twice is refused,
// because readers disagree which one counts; so is a name on the way to it which
// some applications take for the member, in other letter case (encoding/json,
// System.Text.Json) or like "id[]" (PHP). [New] reports a pointer that is none.
func FromJSONPointer(pointer string) KeySource {
	path, err := parsePointer(pointer)
	return &pointerSource{pointer: pointer, path: path, err: err}
}

type pointerSource struct {
	pointer string
	path    []string
	err     error // what is wrong with the pointer
}

func (s *pointerSource) check() error { return s.err }

// Key implements [KeySource].
func (s *pointerSource) Key(r *http.Request, body *Body) (string, bool, error) {
	if s.err != nil {
		return "", false, s.err
	}
	if !isJSON(r) {
		return "", false, nil
	}
	raw, err := searchJSON(body, s.path)
	if err != nil || raw == nil || string(raw) == "null" {
		return "", false, err
	}
	switch c := raw[0]; {
	case c == '"':
		var name string
		if err := json.Unmarshal(raw, &name); err != nil {
			return "", true, fmt.Errorf("%w: the member %s is not a string", semel.ErrKeyInvalid, s.pointer)
		}
		if strings.ContainsRune(name, utf8.RuneError) { // bytes that are not UTF-8 all read like this
			return "", true, fmt.Errorf("%w: the member %s is not UTF-8", semel.ErrKeyInvalid, s.pointer)
		}
		return name, true, nil
	case c == '-' || '0' <= c && c <= '9':
		return string(raw), true, nil
	}
	return "", true, fmt.Errorf("%w: the member %s is neither a string nor a number", semel.ErrKeyInvalid, s.pointer)
}

// String implements [KeySource].
func (s *pointerSource) String() string { return "JSON body, member " + s.pointer }

func parsePointer(pointer string) ([]string, error) {
	if !strings.HasPrefix(pointer, "/") {
		return nil, fmt.Errorf("semelhttp: JSON pointer %q must start with a slash", pointer)
	}
	path := strings.Split(pointer[1:], "/")
	for i, step := range path {
		if strings.HasSuffix(strings.ReplaceAll(strings.ReplaceAll(step, "~0", ""), "~1", ""), "~") {
			return nil, fmt.Errorf("semelhttp: JSON pointer %q: a lone ~ has no meaning (write ~0)", pointer)
		}
		path[i] = strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")
	}
	return path, nil
}

// isJSON reports whether the request says that its body is JSON, or nothing.
func isJSON(r *http.Request) bool {
	contentType := r.Header.Get("Content-Type")
	if contentType == "" {
		return true
	}
	media, _, err := mime.ParseMediaType(contentType)
	return err == nil && (media == "application/json" || strings.HasSuffix(media, "+json"))
}

// searchJSON returns the value at the path as it is written, nil for none.
func searchJSON(body *Body, path []string) (json.RawMessage, error) {
	length, err := body.Len()
	switch {
	case err != nil:
		return nil, err
	case length == 0:
		return nil, nil
	case length > maxSearchBytes:
		return nil, fmt.Errorf("%w: a JSON body of %d bytes is too long to find the key in it", semel.ErrKeyInvalid, length)
	}
	from, err := body.Open()
	if err != nil {
		return nil, err
	}
	in := &errorReader{from: from}
	search := jsonSearch{dec: json.NewDecoder(in)}
	err = search.value(path, 0)
	switch {
	case in.err != nil:
		return nil, in.err
	case errors.Is(err, semel.ErrKeyInvalid):
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("%w: the body, which should hold it, is not JSON", semel.ErrKeyInvalid)
	}
	return search.found, nil
}

// errorReader remembers why reading stopped.
type errorReader struct {
	from io.Reader
	err  error
}

// Read implements io.Reader.
func (r *errorReader) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		r.err = err
	}
	return n, err
}

// jsonSearch walks a JSON text token by token, the whole of it, so that a
// member that occurs twice is noticed.
type jsonSearch struct {
	dec   *json.Decoder
	found json.RawMessage
}

// value reads the next value. path leads to what is wanted within it; nil
// means that nothing in it is.
func (s *jsonSearch) value(path []string, depth int) error {
	if path != nil && len(path) == 0 {
		if s.found != nil {
			return fmt.Errorf("%w: the member that holds it occurs twice", semel.ErrKeyInvalid)
		}
		return s.dec.Decode(&s.found)
	}
	if depth > maxSearchDepth {
		return fmt.Errorf("%w: the JSON body is nested too deep", semel.ErrKeyInvalid)
	}
	token, err := s.dec.Token()
	if err != nil {
		return err
	}
	switch token {
	case json.Delim('{'):
		return s.members(path, depth, func(int) (string, error) { return s.name() })
	case json.Delim('['):
		return s.members(path, depth, func(i int) (string, error) { return strconv.Itoa(i), nil })
	}
	return nil
}

// members reads the rest of an object or array, whose steps next names.
func (s *jsonSearch) members(path []string, depth int, next func(int) (string, error)) error {
	for i := 0; s.dec.More(); i++ {
		step, err := next(i)
		if err != nil {
			return err
		}
		var rest []string
		switch {
		case len(path) == 0:
		case step == path[0]:
			rest = path[1:]
		case readAs(step, path[0]):
			return nameError("member", step, path[0])
		}
		if err := s.value(rest, depth+1); err != nil {
			return err
		}
	}
	_, err := s.dec.Token()
	return err
}

func (s *jsonSearch) name() (string, error) {
	token, err := s.dec.Token()
	name, _ := token.(string) // the decoder accepts nothing else here
	return name, err
}
