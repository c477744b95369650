// Package jsonsearch finds values in a JSON text that a stranger sent: all of them in one pass, whose cost per byte is bounded, and
// in memory for the values alone.
package jsonsearch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	// maxBytes of a body are searched for values.
	maxBytes = 8 << 20
	// maxDepth bounds how deep a text may be nested.
	maxDepth = 512
	// windowBytes are read at a time. Between two reads the context is looked at.
	windowBytes = 16 << 10
)

// Error says to callers why a text has no clear value at a path: it is not JSON, or readers disagree about it.
type Error struct{ reason string }

// Error implements error.
func (e *Error) Error() string { return e.reason }

// Is reports whether the header declares JSON, or nothing. JSON declared in a charset other than UTF-8 is an [*Error]:
// the application would read something else in it.
func Is(header http.Header) (bool, error) {
	contentType := header.Get("Content-Type")
	if contentType == "" {
		return true, nil
	}
	media, parameters, err := mime.ParseMediaType(contentType)
	if err != nil || media != "application/json" && !strings.HasSuffix(media, "+json") {
		return false, nil //nolint:nilerr // it says something else.
	}
	return true, CheckCharset(parameters["charset"])
}

// CheckCharset refuses a charset other than UTF-8 and its subset ASCII; "" is a missing charset.
func CheckCharset(charset string) error {
	switch strings.ToLower(charset) {
	case "", "utf-8", "utf8", "us-ascii", "ascii":
		return nil
	}
	return &Error{fmt.Sprintf("the body declares the charset %.40q: send it in UTF-8", charset)}
}

// Text returns a value as text, where it is a string or a number; "" and false for none, and for null.
func Text(value json.RawMessage) (string, bool, error) {
	switch {
	case value == nil, string(value) == "null":
		return "", false, nil
	case value[0] == '-' || '0' <= value[0] && value[0] <= '9':
		return string(value), true, nil
	case value[0] != '"':
		return "", true, &Error{"is neither a string nor a number"}
	}
	var text string
	if json.Unmarshal(value, &text) != nil {
		return "", true, &Error{"is not a string"}
	}
	if strings.ContainsRune(text, utf8.RuneError) { // bytes that are not UTF-8 all read like this
		return "", true, &Error{"is not UTF-8"}
	}
	return text, true, nil
}

// Steps returns the steps of a JSON pointer (RFC 6901).
func Steps(pointer string) []string {
	steps := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	for i, step := range steps {
		steps[i] = strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")
	}
	return steps
}

// Body is the body of a request, as package semelhttp gives it to sources of keys.
type Body interface {
	Len() (int64, error)
	Open() (io.ReadSeeker, error)
}

// InBody is [Find] for the body of a request. It returns nil for a body that is not declared as JSON.
func InBody(r *http.Request, body Body, paths ...[]string) ([]json.RawMessage, error) {
	ok, wrong := Is(r.Header)
	if !ok {
		return nil, nil
	}
	length, err := body.Len()
	switch {
	case err != nil:
		return nil, err
	case length == 0:
		return make([]json.RawMessage, len(paths)), nil
	case wrong != nil:
		return nil, wrong
	case length > maxBytes:
		return nil, &Error{fmt.Sprintf("a JSON body of %d bytes is too long to find the key in it", length)}
	}
	text, err := body.Open()
	if err != nil {
		return nil, err
	}
	return Find(r.Context(), text, paths)
}

// Find returns the values at the paths as they are written, nil for none. It reads the whole first value of the text, to
// notice a member on the way that occurs twice, or whose name some applications read as a wanted one ([ReadAs]). Either is
// an [*Error]; any other error is one of reading, or the context's.
func Find(ctx context.Context, text io.Reader, paths [][]string) ([]json.RawMessage, error) {
	s := scanner{ctx: ctx, in: text, window: make([]byte, windowBytes), paths: make([]path, len(paths))}
	for i, steps := range paths {
		for _, text := range steps {
			s.paths[i].steps = append(s.paths[i].steps, pathStep{text, isASCII(text), namePath(text)})
		}
		s.active = append(s.active, i)
	}
	switch ok := s.value(0, 0); {
	case s.err != nil && !errors.Is(s.err, io.EOF):
		return nil, s.err
	case s.refused != nil:
		return nil, s.refused
	case !ok:
		return nil, &Error{"the body, which should hold it, is not JSON"}
	}
	found := make([]json.RawMessage, len(paths))
	for i := range s.paths {
		if p := &s.paths[i]; p.found {
			found[i] = s.raw[p.from:p.to:p.to]
		}
	}
	return found, nil
}

// path leads to one wanted value.
type path struct {
	steps    []pathStep
	found    bool
	from, to int // of the value in raw
}

type pathStep struct {
	text  string
	ascii bool
	parts []string
}

// scanner is one run of Find. Its methods report false when the text cannot be read on.
type scanner struct {
	ctx     context.Context //nolint:containedctx // of the one call that it lives for.
	in      io.Reader
	window  []byte
	at, end int   // what is not read yet
	err     error // of reading

	paths   []path
	active  []int // a stack: for each open value, the paths that lead into it
	refused error
	name    []byte // of the last member that mattered, with its quotes

	raw     []byte // the values that were found
	holding int    // how many of those are open
	held    int    // from where on the window belongs to them
}

// fill reads the next window.
func (s *scanner) fill() bool {
	if s.err == nil {
		s.err = s.ctx.Err()
	}
	if s.err != nil {
		return false
	}
	if s.holding > 0 {
		s.raw = append(s.raw, s.window[s.held:s.at]...)
	}
	s.at, s.end, s.held = 0, 0, 0
	for s.end == 0 && s.err == nil {
		s.end, s.err = s.in.Read(s.window)
	}
	return s.end > 0
}

// next returns the next byte.
func (s *scanner) next() (byte, bool) {
	if s.at == s.end && !s.fill() {
		return 0, false
	}
	s.at++
	return s.window[s.at-1], true
}

// peek returns the next byte that is not white space, which stays the next.
func (s *scanner) peek() (byte, bool) {
	for {
		for s.at < s.end {
			switch c := s.window[s.at]; c {
			case ' ', '\t', '\n', '\r':
				s.at++
			default:
				return c, true
			}
		}
		if !s.fill() {
			return 0, false
		}
	}
}

// token reads a byte that must come next, after white space.
func (s *scanner) token(want byte) bool {
	c, ok := s.peek()
	if ok && c == want {
		s.at++
		return true
	}
	return false
}

func (s *scanner) refuse(err *Error) bool {
	s.refused = err
	return false
}

// value reads a value. The paths active[base:] lead to it or into it, with depth steps.
func (s *scanner) value(base, depth int) bool {
	c, ok := s.peek()
	switch {
	case !ok:
		return false
	case depth > maxDepth:
		return s.refuse(&Error{"the JSON body is nested too deep"})
	}
	for _, i := range s.active[base:] {
		p := &s.paths[i]
		switch {
		case len(p.steps) != depth:
			continue
		case p.found:
			return s.refuse(&Error{"the member that holds it occurs twice"})
		case s.holding == 0:
			s.held = s.at
		}
		s.holding++
		p.found, p.from = true, s.offset()
	}
	switch c {
	case '{':
		ok = s.object(base, depth)
	case '[':
		ok = s.array(base, depth)
	case '"':
		s.at++
		ok = s.text(false)
	case 't':
		ok = s.literal("true")
	case 'f':
		ok = s.literal("false")
	case 'n':
		ok = s.literal("null")
	default:
		ok = s.number()
	}
	return ok && s.close(base, depth)
}

// close ends the values that end here.
func (s *scanner) close(base, depth int) bool {
	for _, i := range s.active[base:] {
		if p := &s.paths[i]; len(p.steps) == depth {
			p.to = s.offset()
			if s.holding--; s.holding == 0 {
				s.raw = append(s.raw, s.window[s.held:s.at]...)
			}
		}
	}
	return true
}

// offset is the place in raw of the next byte.
func (s *scanner) offset() int { return len(s.raw) + s.at - s.held }

func (s *scanner) object(base, depth int) bool {
	s.at++
	if s.token('}') {
		return true
	}
	for top := len(s.active); ; s.active = s.active[:top] {
		if !s.token('"') || !s.member(base, depth) || !s.token(':') || !s.value(top, depth+1) {
			return false
		}
		if s.token('}') {
			s.active = s.active[:top]
			return true
		}
		if !s.token(',') {
			return false
		}
	}
}

// member reads a name, after its quote, and makes the paths active that lead into its value.
func (s *scanner) member(base, depth int) bool {
	open := s.active[base:]
	if len(open) == 0 {
		return s.text(false)
	}
	if !s.text(true) {
		return false
	}
	quoted := s.name
	name := quoted[1 : len(quoted)-1]
	ascii := isASCII(name)
	if !ascii || strings.ContainsRune(string(name), '\\') {
		var text string
		if json.Unmarshal(quoted, &text) != nil {
			return false
		}
		name, ascii = []byte(text), isASCII(text)
	}
	var parts []string
	if bytes.ContainsAny(name, special) {
		parts = namePath(string(name))
	}
	for _, i := range open {
		if depth >= len(s.paths[i].steps) {
			continue
		}
		switch step := &s.paths[i].steps[depth]; {
		case string(name) == step.text:
			s.active = append(s.active, i)
		case parts == nil && ascii && step.ascii && len(name) != len(step.text):
		case parts == nil && strings.EqualFold(string(name), step.text), parts != nil && leads(parts, step.parts):
			return s.refuse(NameError("member", string(name), step.text))
		}
	}
	return true
}

func (s *scanner) array(base, depth int) bool {
	s.at++
	if s.token(']') {
		return true
	}
	var digits [20]byte
	open, top := s.active[base:], len(s.active)
	for n := 0; ; n++ {
		if len(open) > 0 {
			index := strconv.AppendInt(digits[:0], int64(n), 10)
			for _, i := range open {
				if steps := s.paths[i].steps; depth < len(steps) && steps[depth].text == string(index) {
					s.active = append(s.active, i)
				}
			}
		}
		if !s.value(top, depth+1) {
			return false
		}
		s.active = s.active[:top]
		if s.token(']') {
			return true
		}
		if !s.token(',') {
			return false
		}
	}
}

// text reads the rest of a string, after its quote; into name, with both quotes, where it is kept.
func (s *scanner) text(keep bool) bool {
	s.name = append(s.name[:0], '"')
	for {
		if s.at == s.end && !s.fill() {
			return false
		}
		from := s.at
		for s.at < s.end && s.window[s.at] != '"' && s.window[s.at] != '\\' && s.window[s.at] >= ' ' {
			s.at++
		}
		if keep {
			s.name = append(s.name, s.window[from:s.at]...)
		}
		if s.at == s.end {
			continue
		}
		c := s.window[s.at]
		s.at++
		switch c {
		case '"':
			s.name = append(s.name, c)
			return true
		case '\\':
			s.name = append(s.name, c)
			if !s.escape() {
				return false
			}
			if !keep {
				s.name = s.name[:1]
			}
		default:
			return false
		}
	}
}

// escape reads what follows a backslash.
func (s *scanner) escape() bool {
	c, ok := s.next()
	s.name = append(s.name, c)
	if !ok || strings.IndexByte(`"\/bfnrtu`, c) < 0 {
		return false
	}
	if c != 'u' {
		return true
	}
	for range 4 {
		c, ok := s.next()
		s.name = append(s.name, c)
		if !ok || strings.IndexByte("0123456789abcdefABCDEF", c) < 0 {
			return false
		}
	}
	return true
}

// literal reads exactly these bytes.
func (s *scanner) literal(want string) bool {
	for i := range len(want) {
		if c, ok := s.next(); !ok || c != want[i] {
			return false
		}
	}
	return true
}

// number reads a number (RFC 8259, section 6).
func (s *scanner) number() bool {
	s.skip('-')
	if !s.skip('0') && !s.digits() {
		return false
	}
	if s.skip('.') && !s.digits() {
		return false
	}
	if s.skip('e') || s.skip('E') {
		if !s.skip('-') {
			s.skip('+')
		}
		return s.digits()
	}
	return true
}

// skip reads the byte if it is the next.
func (s *scanner) skip(want byte) bool {
	if s.at == s.end && !s.fill() || s.window[s.at] != want {
		return false
	}
	s.at++
	return true
}

// digits reads one digit or more.
func (s *scanner) digits() bool {
	some := false
	for s.at < s.end || s.fill() {
		if c := s.window[s.at]; c < '0' || c > '9' {
			break
		}
		s.at++
		some = true
	}
	return some
}

func isASCII[T string | []byte](text T) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
