package source

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// command is a curl command, from options or from flags.
type command struct {
	method, user, bearer, agent, referer, upload string

	url, header, cookie, query []string

	data []piece
	form []formField
	get  bool
	head bool
	// globOff takes [1-3] and {a,b} in the URL literally.
	globOff bool
	// stdin reads the input for @- and -; nil if there is none.
	stdin func() ([]byte, error)
	dir   string // the base of relative file names; empty means the working directory
	reach Reach
	notes []string
	// ignored are the options that were left out.
	ignored []string
}

// dataKind is one of curl's options for bodies.
type dataKind string

const (
	dataPlain  dataKind = "-d"
	dataRaw    dataKind = "--data-raw"
	dataBinary dataKind = "--data-binary"
	dataEncode dataKind = "--data-urlencode"
	dataJSON   dataKind = "--json"
)

// piece is one such option.
type piece struct {
	kind dataKind
	text string
}

// request applies curl's rules.
func (c *command) request() (*Request, error) {
	r := &Request{Reach: c.reach}
	at, err := c.target()
	if err != nil {
		return nil, err
	}
	r.Template.URL = at
	if err := c.fillHeader(r); err != nil {
		return nil, err
	}
	contentType, err := c.fillBody(r)
	if err != nil {
		return nil, err
	}
	if contentType != "" {
		c.fillContentType(r, contentType)
	}
	if c.hasJSON() {
		c.defaultHeader(r, "Accept", "application/json")
	}
	c.defaultHeader(r, "Accept", "*/*")
	r.Template.Method = c.methodOf()
	r.dropEmpty(c.header)
	r.Notes = slices.Concat(c.notes, r.Notes)
	if err := r.finish(); err != nil {
		return nil, err
	}
	return r, nil
}

// glob matches URLs that curl would expand to several.
var glob = regexp.MustCompile(`\[[0-9A-Za-z]+-[0-9A-Za-z]+(:[0-9]+)?\]|(^|[^{])\{[^{}]*,[^{}]*\}`)

// target returns the one URL, with its scheme.
func (c *command) target() (string, error) {
	switch {
	case len(c.url) == 0:
		return "", errors.New("the URL is missing: give one such as http://localhost:8080/invoices")
	case len(c.url) > 1:
		return "", fmt.Errorf("there are %d URLs (%s): give one", len(c.url), strings.Join(c.url, ", "))
	case !c.globOff && glob.MatchString(c.url[0]):
		return "", fmt.Errorf("curl expands %s to several URLs: write a single one", c.url[0])
	}
	at := strings.TrimSpace(c.url[0])
	if !strings.Contains(at, "://") && !strings.HasPrefix(at, "{{") {
		at = "http://" + at
	}
	query := make([]string, 0, len(c.query))
	for _, text := range c.query {
		if raw, ok := strings.CutPrefix(text, "+"); ok {
			query = append(query, raw)
			continue
		}
		encoded, err := c.encode(text)
		if err != nil {
			return "", err
		}
		query = append(query, encoded)
	}
	return withQuery(at, strings.Join(query, "&")), nil
}

func withQuery(at, query string) string {
	if query == "" {
		return at
	}
	at, _, _ = strings.Cut(at, "#")
	switch {
	case !strings.Contains(at, "?"):
		return at + "?" + query
	case strings.HasSuffix(at, "?"), strings.HasSuffix(at, "&"):
		return at + query
	}
	return at + "&" + query
}

func (c *command) methodOf() string {
	switch {
	case c.method != "":
		return c.method
	case c.head:
		return http.MethodHead
	case c.upload != "":
		return http.MethodPut
	case len(c.form) > 0, len(c.data) > 0 && !c.get:
		return http.MethodPost
	}
	return http.MethodGet
}

func (c *command) hasJSON() bool {
	return slices.ContainsFunc(c.data, func(p piece) bool { return p.kind == dataJSON })
}

// fillHeader adds the given header lines, and those that options imply.
func (c *command) fillHeader(r *Request) error {
	lines, err := c.headerLines()
	if err != nil {
		return err
	}
	for _, line := range lines {
		name, value, ok := strings.Cut(line, ":")
		switch {
		case ok && strings.TrimSpace(value) != "":
			r.add(strings.TrimSpace(name), strings.TrimSpace(value))
		case ok: // it removes a header
		case strings.HasSuffix(line, ";"):
			r.add(strings.TrimSuffix(line, ";"), "")
		default:
			return errors.New("a header line has no colon: write NAME: VALUE") // the line may be a secret
		}
	}
	if c.bearer != "" {
		c.defaultHeader(r, "Authorization", "Bearer "+c.bearer)
	}
	if c.user != "" {
		if !strings.Contains(c.user, ":") {
			return errors.New("-u names a user without a password: write -u USER:PASSWORD")
		}
		if err := r.authorize(c.user); err != nil {
			return err
		}
	}
	if len(c.cookie) > 0 {
		for _, cookie := range c.cookie {
			if !strings.Contains(cookie, "=") {
				return errors.New("-b without an equals sign means a file of cookies, which is not read: write -b NAME=VALUE") // as above
			}
		}
		r.addCookie(strings.Join(c.cookie, "; "))
	}
	if c.agent != "" {
		c.defaultHeader(r, "User-Agent", c.agent)
	}
	if referer := strings.TrimSuffix(c.referer, ";auto"); referer != "" {
		c.defaultHeader(r, "Referer", referer)
	}
	return nil
}

// addCookie puts cookies into the one line of them.
func (r *Request) addCookie(text string) {
	if line := r.value("Cookie"); line != nil {
		line.Value += "; " + text
		return
	}
	r.add("Cookie", text)
}

func (c *command) headerLines() ([]string, error) {
	var lines []string
	for _, text := range c.header {
		name, ok := strings.CutPrefix(text, "@")
		if !ok {
			lines = append(lines, text)
			continue
		}
		data, err := c.readInput(name)
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(data)) {
			if line = strings.TrimRight(line, "\r\n"); line != "" {
				lines = append(lines, line)
			}
		}
	}
	return lines, nil
}

// removed reports whether a line such as "Accept:" removes the header.
func removed(header []string, name string) bool {
	for _, line := range header {
		given, value, ok := strings.Cut(line, ":")
		if ok && strings.TrimSpace(value) == "" && strings.EqualFold(strings.TrimSpace(given), name) {
			return true
		}
	}
	return false
}

// defaultHeader adds a line unless it exists or was removed.
func (c *command) defaultHeader(r *Request, name, value string) {
	if !r.has(name) && !removed(c.header, name) {
		r.add(name, value)
	}
}

// dropEmpty applies lines such as "User-Agent:" that remove a header.
func (r *Request) dropEmpty(header []string) {
	if removed(header, "User-Agent") && !r.has("User-Agent") {
		r.addNote("the User-Agent is left out, as requested; some services refuse such requests")
	}
}

// fillContentType sets the type of the body; a multipart type gets the boundary.
func (c *command) fillContentType(r *Request, contentType string) {
	given := r.value("Content-Type")
	_, boundary, multipart := strings.Cut(contentType, "; boundary=")
	switch {
	case given == nil:
		c.defaultHeader(r, "Content-Type", contentType)
	case multipart && strings.HasPrefix(strings.ToLower(given.Value), "multipart/"):
		kept := slices.DeleteFunc(strings.Split(given.Value, ";"), func(parameter string) bool {
			return strings.HasPrefix(strings.ToLower(strings.TrimSpace(parameter)), "boundary=")
		})
		given.Value = strings.Join(kept, ";") + "; boundary=" + boundary
	}
}

// fillBody builds body or query, and returns the type of the body.
func (c *command) fillBody(r *Request) (contentType string, err error) {
	switch {
	case c.upload != "" && len(c.data)+len(c.form) > 0, len(c.data) > 0 && len(c.form) > 0:
		return "", errors.New("there is more than one kind of body: give one of -d, -F and -T")
	case c.upload != "":
		name := c.upload
		r.Template.Body, err = c.readInput(name)
		if strings.HasSuffix(r.Template.URL, "/") && name != "-" {
			r.Template.URL += escapePath(name[strings.LastIndexAny(name, `/\`)+1:])
		}
		return "", err
	case len(c.form) > 0:
		r.Template.Body, contentType, err = c.multipart()
		return contentType, err
	case len(c.data) == 0:
		return "", nil
	}
	body, err := c.joined()
	switch {
	case err != nil:
		return "", err
	case c.get:
		r.Template.URL = withQuery(r.Template.URL, string(body))
		return "", nil
	}
	r.Template.Body = body
	if c.hasJSON() {
		return "application/json", nil
	}
	return "application/x-www-form-urlencoded", nil
}

func (c *command) joined() ([]byte, error) {
	var b bytes.Buffer
	for i, p := range c.data {
		data, err := c.pieceOf(p)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.kind, err)
		}
		if i > 0 && p.kind != dataJSON {
			b.WriteByte('&')
		}
		if b.Len()+len(data) > MaxBytes {
			return nil, fmt.Errorf("the body is larger than %d MiB: use a smaller one", MaxBytes>>20)
		}
		b.Write(data)
	}
	return b.Bytes(), nil
}

func (c *command) pieceOf(p piece) ([]byte, error) {
	if p.kind == dataEncode {
		text, err := c.encode(p.text)
		return []byte(text), err
	}
	name, file := strings.CutPrefix(p.text, "@")
	if p.kind == dataRaw || !file {
		return []byte(p.text), nil
	}
	data, err := c.readInput(name)
	if p.kind == dataPlain {
		data = slices.DeleteFunc(data, func(c byte) bool { return c == '\r' || c == '\n' || c == 0 })
	}
	return data, err
}

// encode implements --data-urlencode.
func (c *command) encode(text string) (string, error) {
	at := strings.IndexByte(text, '=')
	if at < 0 {
		at = strings.IndexByte(text, '@')
	}
	if at < 0 {
		return escapeForm(text), nil
	}
	name, content := text[:at], text[at+1:]
	if text[at] == '@' {
		data, err := c.readInput(content)
		if err != nil {
			return "", err
		}
		content = string(data)
	}
	if name == "" {
		return escapeForm(content), nil
	}
	return name + "=" + escapeForm(content), nil
}

// readInput reads a file, or standard input for -.
func (c *command) readInput(name string) ([]byte, error) {
	if name != "-" {
		return readFile(c.dir, name)
	}
	if c.stdin == nil {
		return nil, errors.New("the command reads standard input, but there is none: name a file")
	}
	return c.stdin()
}
