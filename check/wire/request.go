package wire

import (
	"bytes"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Field is one header line, in the spelling that is sent.
type Field struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Request is a request as it is sent. Host, Content-Length or Transfer-Encoding, and Connection are added if Header
// lacks them; nothing else is.
type Request struct {
	Method string
	URL    *url.URL
	Header []Field
	Body   []byte
}

// Clone returns a copy that shares nothing.
func (r *Request) Clone() *Request {
	copied := *r
	at := *r.URL
	copied.URL = &at
	copied.Header = slices.Clone(r.Header)
	copied.Body = bytes.Clone(r.Body)
	return &copied
}

// Value returns the value of the first header line of that name; names are compared without case.
func (r *Request) Value(name string) string {
	for _, f := range r.Header {
		if strings.EqualFold(f.Name, name) {
			return f.Value
		}
	}
	return ""
}

// Has reports whether there is a header line of that name.
func (r *Request) Has(name string) bool {
	return slices.ContainsFunc(r.Header, func(f Field) bool { return strings.EqualFold(f.Name, name) })
}

// Set replaces all lines of that name by one.
func (r *Request) Set(name, value string) {
	at := slices.IndexFunc(r.Header, func(f Field) bool { return strings.EqualFold(f.Name, name) })
	if at < 0 {
		r.Header = append(r.Header, Field{name, value})
		return
	}
	r.Header[at].Value = value
	rest := slices.DeleteFunc(r.Header[at+1:], func(f Field) bool { return strings.EqualFold(f.Name, name) })
	r.Header = r.Header[:at+1+len(rest)]
}

// Add puts one more line at the end.
func (r *Request) Add(name, value string) { r.Header = append(r.Header, Field{name, value}) }

// Del removes all lines of that name.
func (r *Request) Del(name string) {
	r.Header = slices.DeleteFunc(r.Header, func(f Field) bool { return strings.EqualFold(f.Name, name) })
}

// head returns the request line and the header lines, with the empty line.
func (r *Request) head(m *Manner) []byte {
	var b bytes.Buffer
	b.WriteString(r.Method + " " + r.URL.RequestURI() + " HTTP/1.1\r\n")
	line := func(name, value string) { b.WriteString(name + ": " + value + "\r\n") }
	if !r.Has("Host") {
		line("Host", r.URL.Host)
	}
	for _, f := range r.Header {
		if !m.Chunked || !strings.EqualFold(f.Name, "Content-Length") { // never both
			line(f.Name, f.Value)
		}
	}
	switch {
	case r.Has("Transfer-Encoding"):
	case m.Chunked:
		line("Transfer-Encoding", "chunked")
	case r.Has("Content-Length"):
	case len(r.Body) > 0 || (r.Method != http.MethodGet && r.Method != http.MethodHead):
		line("Content-Length", strconv.Itoa(len(r.Body)))
	}
	if m.Expect && !r.Has("Expect") {
		line("Expect", "100-continue")
	}
	if !r.Has("Connection") {
		line("Connection", "close")
	}
	b.WriteString("\r\n")
	return b.Bytes()
}
