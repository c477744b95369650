package source

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// block is one request of a file, as text.
type block struct {
	name string
	line int // of lines[0], from 1
	// lines begin with the request line, after comments and variables.
	lines []string
}

// HTTPFile reads one request of a .http or .rest file, in the format of editors: requests are separated by ###, and
// named by # @name, or after the ###. The name is one of those, or the number of the request, from 1; or empty for the
// only request, or the only POST.
//
// Variables of the file (@name = value) are filled in. {{$guid}} and its like become {{uuid}}, {{$randomInt}} and
// {{$timestamp}} become {{n}}, dates become {{now}}, and variables that the file does not define become {{var:NAME}}.
// Bodies of "< FILE" are read from the folder of r if that is a file, and otherwise from the working directory. Scripts
// are left out.
func HTTPFile(r io.Reader, name string) (*Request, error) {
	data, err := readAll(r, "the file of requests")
	if err != nil {
		return nil, err
	}
	f := &httpFile{dir: folder(r), variables: map[string]string{}, left: maxFilled, room: MaxBytes}
	f.split(string(data))
	b, err := f.choose(name)
	if err != nil {
		return nil, err
	}
	found, err := f.request(b)
	if err != nil {
		return nil, fmt.Errorf("line %d: %w", b.line, err)
	}
	return found, nil
}

type httpFile struct {
	dir       string
	blocks    []block
	variables map[string]string
	notes     []string
	// left limits the variables that may still be filled in, and room their bytes.
	left, room int
}

var (
	named    = regexp.MustCompile(`^\s*(?:#|//)\s*@name[\s=]+(\S+)`)
	assigned = regexp.MustCompile(`^\s*@([A-Za-z_][\w.-]*)\s*=\s*(.*?)\s*$`)
	include  = regexp.MustCompile(`^<(@[\w-]*)?[ \t]+(\S.*?)\s*$`)
	handler  = regexp.MustCompile(`^>\s*\{%|^>\s+\S+\.js\s*$|^>>!?\s+\S|^<>\s*\S`)
	script   = regexp.MustCompile(`^<\s*\{%|^<\s+\S+\.js\s*$`)
)

func (f *httpFile) split(text string) {
	current := block{}
	flush := func(next string) {
		if len(current.lines) > 0 {
			f.blocks = append(f.blocks, current)
		}
		current = block{name: next}
	}
	scripted := false
	number := 0
	for line := range strings.SplitSeq(text, "\n") {
		number++
		line = strings.TrimSuffix(line, "\r")
		inHead := len(current.lines) == 0
		switch match := assigned.FindStringSubmatch(line); {
		case scripted:
			scripted = !strings.Contains(line, "%}")
		case strings.HasPrefix(line, "###"):
			flush(strings.Trim(line, "# \t"))
		case !inHead:
			current.lines = append(current.lines, line)
		case match != nil:
			f.variables[match[1]] = match[2]
		case script.MatchString(line):
			f.addNote("a script before the request was left out")
			scripted = strings.Contains(line, "{%") && !strings.Contains(line, "%}")
		case named.MatchString(line):
			current.name = named.FindStringSubmatch(line)[1]
		case strings.TrimSpace(line) != "" && !isComment(line):
			current.line, current.lines = number, []string{strings.TrimSpace(line)}
		}
	}
	flush("")
}

func (f *httpFile) addNote(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(f.notes, text) {
		f.notes = append(f.notes, text)
	}
}

func isComment(line string) bool {
	line = strings.TrimSpace(line)
	return strings.HasPrefix(line, "#") || strings.HasPrefix(line, "//")
}

func (b *block) label(number int) string {
	text := b.lines[0]
	if len(text) > maxShown {
		text = strings.ToValidUTF8(text[:maxShown], "") + "…"
	}
	if b.name != "" {
		text = b.name
	}
	return fmt.Sprintf("%d (%s)", number, text)
}

func (f *httpFile) choose(name string) (*block, error) {
	var all []string
	var posts, fitting []*block
	for i := range f.blocks {
		b := &f.blocks[i]
		all = append(all, b.label(i+1))
		if strings.HasPrefix(b.lines[0], http.MethodPost+" ") {
			posts = append(posts, b)
		}
		if name != "" && (b.name == name || strconv.Itoa(i+1) == name) {
			fitting = append(fitting, b)
		}
	}
	switch {
	case len(all) == 0:
		return nil, errors.New("the file has no requests: write one such as POST http://localhost:8080/invoices")
	case name == "" && len(f.blocks) == 1:
		return &f.blocks[0], nil
	case name == "" && len(posts) == 1:
		return posts[0], nil
	case len(fitting) == 1:
		return fitting[0], nil
	}
	return nil, fmt.Errorf("%q does not select one request: name one of %s", name, some(all))
}

func (f *httpFile) request(b *block) (*Request, error) {
	if strings.HasPrefix(b.lines[0], "curl ") {
		line, err := f.fill(strings.Join(withoutHandlers(b.lines), "\n"))
		if err != nil {
			return nil, err
		}
		r, err := curl(line, f.dir)
		if err == nil {
			r.Notes = append(r.Notes, f.notes...)
		}
		return r, err
	}
	r := &Request{}
	rest, err := f.requestLine(r, b.lines)
	if err != nil {
		return nil, err
	}
	if rest, err = f.header(r, rest); err != nil {
		return nil, err
	}
	if r.Template.Body, err = f.body(r, rest); err != nil {
		return nil, err
	}
	if err := r.complete(); err != nil {
		return nil, err
	}
	r.Notes = append(r.Notes, f.notes...)
	return r, r.finish()
}

// requestLine reads the method and the URL, which may continue on indented lines.
func (f *httpFile) requestLine(r *Request, lines []string) (rest []string, err error) {
	first, rest := lines[0], lines[1:]
	for len(rest) > 0 && strings.TrimSpace(rest[0]) != "" && strings.TrimLeft(rest[0], " \t") != rest[0] {
		first += strings.TrimSpace(rest[0])
		rest = rest[1:]
	}
	if at := strings.LastIndex(first, " HTTP/"); at > 0 {
		first = first[:at]
	}
	r.Template.Method = http.MethodGet
	if method, at, ok := strings.Cut(first, " "); ok && isToken(method) && strings.ToUpper(method) == method {
		r.Template.Method, first = method, strings.TrimSpace(at)
	}
	switch r.Template.Method {
	case "GRPC", "GRAPHQL", "WEBSOCKET":
		return nil, fmt.Errorf("%s is not an HTTP method: choose a request that has one", r.Template.Method)
	}
	r.Template.URL, err = f.fill(first)
	return rest, err
}

// header reads lines up to the empty one.
func (f *httpFile) header(r *Request, lines []string) (rest []string, err error) {
	for i, line := range lines {
		if strings.TrimSpace(line) == "" {
			return lines[i+1:], nil
		}
		name, value, ok := strings.Cut(line, ":")
		switch {
		case isComment(line):
			continue
		case !ok:
			return nil, errors.New("a header line has no colon: write NAME: VALUE, and an empty line before the body") // the line may be a secret
		}
		if value, err = f.fill(strings.TrimSpace(value)); err != nil {
			return nil, err
		}
		r.add(strings.TrimSpace(name), value)
	}
	return nil, nil
}

func withoutHandlers(lines []string) []string {
	var kept []string
	scripted := false
	for _, line := range lines {
		switch {
		case scripted:
			scripted = !strings.Contains(line, "%}")
		case handler.MatchString(line):
			scripted = strings.Contains(line, "{%") && !strings.Contains(line, "%}")
		default:
			kept = append(kept, line)
		}
	}
	return kept
}

// body joins the lines according to their type: forms may be broken into lines at &, and multipart has its own line
// ends.
func (f *httpFile) body(r *Request, lines []string) ([]byte, error) {
	kept := withoutHandlers(lines)
	if len(kept) < len(lines) {
		f.addNote("the handling of the answer was left out")
	}
	for len(kept) > 0 && strings.TrimSpace(kept[len(kept)-1]) == "" {
		kept = kept[:len(kept)-1]
	}
	contentType := ""
	if line := r.value("Content-Type"); line != nil {
		contentType = strings.ToLower(line.Value)
	}
	form, multipart := strings.HasPrefix(contentType, "application/x-www-form-urlencoded"), strings.HasPrefix(contentType, "multipart/")
	var b bytes.Buffer
	for i, line := range kept {
		piece, err := f.piece(line)
		switch {
		case err != nil:
			return nil, err
		case b.Len()+len(piece) > MaxBytes:
			return nil, fmt.Errorf("the body is larger than %d MiB: use a smaller one", MaxBytes>>20)
		case form:
			piece = bytes.TrimSpace(piece)
		}
		switch {
		case i == 0 || form && (bytes.HasPrefix(piece, []byte("&")) || bytes.HasSuffix(b.Bytes(), []byte("&"))):
		case multipart:
			b.WriteString("\r\n")
		default:
			b.WriteByte('\n')
		}
		b.Write(piece)
	}
	if multipart && b.Len() > 0 {
		b.WriteString("\r\n")
	}
	return b.Bytes(), nil
}

func (f *httpFile) piece(line string) ([]byte, error) {
	match := include.FindStringSubmatch(line)
	if match == nil {
		filled, err := f.fill(line)
		return []byte(filled), err
	}
	name, err := f.fill(match[2])
	if err != nil {
		return nil, err
	}
	data, err := readFile(f.dir, name)
	if err != nil || match[1] == "" {
		return data, err
	}
	filled, err := f.fill(string(data))
	return []byte(filled), err
}

// complete builds a URL from a path and the header Host, and encodes the user of Basic authentication, as editors do.
func (r *Request) complete() error {
	at := &r.Template.URL
	host := r.value("Host")
	switch {
	case strings.HasPrefix(*at, "/") && host == nil:
		return fmt.Errorf("%q names no host: write the whole URL, or a header Host", *at)
	case strings.HasPrefix(*at, "/"):
		*at = "http://" + host.Value + *at
	case !strings.Contains(*at, "://") && !strings.HasPrefix(*at, "{{"):
		*at = "http://" + *at
	}
	line := r.value("Authorization")
	if line == nil {
		return nil
	}
	scheme, rest, _ := strings.Cut(line.Value, " ")
	switch rest = strings.TrimSpace(rest); strings.ToLower(scheme) {
	case "basic":
		user, password, ok := strings.Cut(rest, ":")
		if !ok {
			user, password, ok = strings.Cut(rest, " ")
		}
		if !ok {
			return nil // already encoded
		}
		encoded, err := basic(user + ":" + strings.TrimSpace(password))
		line.Value = encoded
		return err
	case "digest", "aws", "aws-sigv4":
		return fmt.Errorf("the scheme %s needs new credentials for each request: give another Authorization header, or a log-in", scheme)
	}
	return nil
}
