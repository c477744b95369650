package source

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/semel-dev/semel/check/wire"
)

// maxListed limits the entries, operations or requests that a message lists.
const maxListed = 20

// har is the part of a HAR 1.2 file that is read.
type har struct {
	Log struct {
		Entries []harEntry `json:"entries"`
	} `json:"log"`
}

type harEntry struct {
	Request harRequest `json:"request"`
}

type harRequest struct {
	Method  string       `json:"method"`
	URL     string       `json:"url"`
	Headers []wire.Field `json:"headers"`
	Cookies []wire.Field `json:"cookies"`
	// PostData is null or absent without a body.
	PostData *harPost `json:"postData"`
}

type harPost struct {
	MimeType string     `json:"mimeType"`
	Text     string     `json:"text"`
	Encoding string     `json:"encoding"` // base64, with some recorders
	Encoded  string     `json:"_encoding"`
	File     string     `json:"_file"`
	Params   []harParam `json:"params"`
}

type harParam struct {
	Name        string  `json:"name"`
	Value       string  `json:"value"`
	FileName    *string `json:"fileName"`
	ContentType string  `json:"contentType"`
}

func (e *harEntry) method() string { return strings.ToUpper(e.Request.Method) }

func (e *harEntry) label() string {
	at, _, _ := strings.Cut(e.Request.URL, "?")
	return e.method() + " " + at
}

// HAR reads one entry of a browser's recording (HTTP Archive 1.2). The entry is its number in the recording, from 1; or
// a part of its URL, optionally after its method, such as "POST /invoices", which selects the last match that changes
// something; or empty for the last POST.
//
// Cookies and credentials of the recording stay in the request, and are noted.
func HAR(r io.Reader, entry string) (*Request, error) {
	data, err := readAll(r, "the recording")
	if err != nil {
		return nil, err
	}
	var recording har
	if err := json.Unmarshal(data, &recording); err != nil {
		return nil, fmt.Errorf("the recording is not a HAR file: %w%s: save it again from the browser's network panel", err, lineOfJSON(data, err))
	}
	number, fitting, err := choose(recording.Log.Entries, entry)
	if err != nil {
		return nil, err
	}
	e := &recording.Log.Entries[number-1]
	found, err := e.request()
	if err != nil {
		return nil, fmt.Errorf("entry %d (%s): %w", number, e.label(), err)
	}
	if fitting > 1 {
		found.addNote("%d entries of the recording match; the last is used: %d (%s)", fitting, number, e.label())
	}
	return found, nil
}

// lineOfJSON says where the text stops being valid JSON.
func lineOfJSON(data []byte, err error) string {
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		before := data[:min(max(0, int(syntax.Offset)), len(data))]
		return fmt.Sprintf(" (line %d)", 1+bytes.Count(before, []byte("\n")))
	}
	return ""
}

func choose(entries []harEntry, entry string) (number, fitting int, err error) {
	if len(entries) == 0 {
		return 0, 0, errors.New("the recording has no entries: record the request, then save it")
	}
	if number, err := strconv.Atoi(entry); err == nil {
		if number < 1 || number > len(entries) {
			return 0, 0, fmt.Errorf("unknown entry %d: the recording has 1 to %d", number, len(entries))
		}
		return number, 1, nil
	}
	method, part := "", entry
	if first, rest, ok := strings.Cut(entry, " "); ok && isToken(first) && first == strings.ToUpper(first) {
		method, part = first, strings.TrimSpace(rest)
	}
	best, bestRank := 0, -1
	for i := range entries {
		e := &entries[i]
		rank := rankOf(e.method())
		switch {
		case !strings.HasPrefix(e.Request.URL, "http"), !strings.Contains(e.Request.URL, part):
			continue
		case method != "" && e.method() != method, entry == "" && rank < rankOf(http.MethodPatch):
			continue
		}
		switch {
		case rank > bestRank:
			best, bestRank, fitting = i+1, rank, 1
		case rank == bestRank:
			best, fitting = i+1, fitting+1
		}
	}
	if best == 0 {
		return 0, 0, fmt.Errorf("no entry matches %q: give a number or a part of a URL of %s", entry, listed(entries))
	}
	return best, fitting, nil
}

// rankOf ranks methods that create above those that read.
func rankOf(method string) int {
	return 1 + slices.Index([]string{http.MethodGet, http.MethodDelete, http.MethodPatch, http.MethodPut, http.MethodPost}, method)
}

func listed(entries []harEntry) string {
	var all []string
	for i := range entries {
		if rankOf(entries[i].method()) >= rankOf(http.MethodGet) {
			all = append(all, fmt.Sprintf("%d (%s)", i+1, entries[i].label()))
		}
	}
	return some(all)
}

// some returns a list for a message.
func some(all []string) string {
	if len(all) > maxListed {
		return strings.Join(all[:maxListed], ", ") + fmt.Sprintf(" and %d others", len(all)-maxListed)
	}
	return strings.Join(all, ", ")
}

func (e *harEntry) request() (*Request, error) {
	in := &e.Request
	r := &Request{}
	r.Template.Method, r.Template.URL = e.method(), in.URL
	r.Template.Header = in.Headers
	if err := in.PostData.fill(r); err != nil {
		return nil, err
	}
	if line := r.value("Cookie"); line == nil && len(in.Cookies) > 0 {
		for _, cookie := range in.Cookies {
			r.addCookie(cookie.Name + "=" + cookie.Value)
		}
	}
	r.joinCookies()
	if err := r.finish(); err != nil {
		return nil, err
	}
	for _, name := range []string{"Cookie", "Authorization"} {
		if r.has(name) {
			r.addNote("the header %s comes from the recording: it may have expired, and it lets anyone act as its user", name)
		}
	}
	return r, nil
}

// joinCookies joins the cookie lines that HTTP/2 splits (RFC 9113 §8.2.3).
func (r *Request) joinCookies() {
	var all []string
	rest := slices.DeleteFunc(slices.Clone(r.Template.Header), func(f wire.Field) bool {
		cookie := strings.EqualFold(f.Name, "Cookie")
		if cookie {
			all = append(all, f.Value)
		}
		return cookie
	})
	if len(all) > 1 {
		r.Template.Header = rest
		r.add("Cookie", strings.Join(all, "; "))
	}
}

func (p *harPost) fill(r *Request) error {
	if p == nil {
		return nil
	}
	contentType := p.MimeType
	switch {
	case p.File != "":
		return fmt.Errorf("its body is in the file %s next to the recording: embed bodies when recording", p.File)
	case p.Text != "" && (strings.EqualFold(p.Encoding, "base64") || strings.EqualFold(p.Encoded, "base64")):
		body, err := base64.StdEncoding.DecodeString(p.Text)
		if err != nil {
			return fmt.Errorf("its body is not base64, as it says: %w", err)
		}
		r.Template.Body = body
	case p.Text != "":
		r.Template.Body = []byte(p.Text)
	case strings.HasPrefix(contentType, "multipart/"):
		body, written, err := writeParts(p.parts(r))
		if err != nil {
			return err
		}
		r.Template.Body = body
		if line := r.value("Content-Type"); line != nil {
			line.Value = written
		}
		contentType = written
	default:
		var pairs []string
		for _, param := range p.Params {
			pairs = append(pairs, escapeForm(param.Name)+"="+escapeForm(param.Value))
		}
		r.Template.Body = []byte(strings.Join(pairs, "&"))
	}
	if !r.has("Content-Type") && contentType != "" && len(r.Template.Body) > 0 {
		r.add("Content-Type", contentType)
	}
	if strings.HasPrefix(p.MimeType, "multipart/form-data") && bytes.Contains(r.Template.Body, []byte("filename=")) {
		r.addNote("recordings omit or corrupt the content of uploaded files: check that the service accepts the body as it is")
	}
	return nil
}

func (p *harPost) parts(r *Request) []part {
	var parts []part
	for _, param := range p.Params {
		content := param.Value
		if param.FileName != nil && content == "" {
			content = "content"
			r.addNote("the recording does not have the content of the file %s: it was made up", *param.FileName)
		}
		parts = append(parts, part{name: param.Name, content: []byte(content), fileName: param.FileName, contentType: param.ContentType})
	}
	return parts
}
