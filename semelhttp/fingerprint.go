package semelhttp

import (
	"crypto/sha256"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/semel-dev/semel"
)

const (
	// fingerprintVersion goes first, so that a later way of counting never
	// equals this one.
	fingerprintVersion = "semelhttp/1"

	// shortBodyBytes of a body count as they are; of a longer one a digest
	// does.
	shortBodyBytes = 256
)

// fingerprint digests what the request asks for. It reads the body at most
// twice, in constant memory.
func (m *Middleware) fingerprint(r *http.Request, body *Body, h *semel.Hasher) (semel.Fingerprint, error) {
	o := &m.set.Fingerprint
	if o.Func != nil {
		fp, err := o.Func(r, body)
		if err != nil {
			return semel.Fingerprint{}, err
		}
		body.spool() // the handler reads it, whether or not it counts
		return fp, body.err
	}
	body.spool()
	if body.err != nil {
		return semel.Fingerprint{}, body.err
	}
	h.Reset()
	h.Add(fingerprintVersion)
	h.Add(r.Method)
	h.Add(strings.ToLower(r.Host))
	h.Add(r.URL.EscapedPath())
	h.Add(r.URL.RawQuery)
	header := asRead(r.Header)
	for _, name := range m.set.headers {
		h.Add(name)
		addLines(h, header[name])
	}
	addSteering(h, header, m.set.headers)
	plain := !o.CanonicalJSON
	for _, contentType := range r.Header["Content-Type"] {
		plain = plain && !multipart(contentType)
	}
	if plain && body.size <= shortBodyBytes && body.file == nil {
		h.Add("short")
		addLines(h, r.Header["Content-Type"])
		addLines(h, r.Header["Content-Encoding"])
		h.AddBytes(body.mem)
		return h.Sum(), nil
	}
	if plain && body.file == nil {
		addRawBody(h, r.Header, sha256.Sum256(body.mem))
		return h.Sum(), nil
	}
	reader, err := body.Open()
	if err != nil {
		return semel.Fingerprint{}, err
	}
	rules := canonicalRules{json: o.CanonicalJSON, multipart: true, maxBytes: o.MaxCanonicalBytes}
	if !plain && !o.CanonicalJSON {
		rules.maxBytes = m.set.MaxBodyBytes // needs no memory, whatever the length
	}
	if err := addCanonicalBody(h, r.Header, reader, rules); err != nil {
		return semel.Fingerprint{}, err
	}
	return h.Sum(), nil
}

// steering returns the request headers that say what is asked for, as method, path
// and body do, in alphabetical order.
func steering() []string {
	return []string{
		"Content-Range", "Destination", "If-Match", "If-None-Match", "If-Unmodified-Since", "Overwrite", "Slug", "Upload-Offset",
		"X-Http-Method", "X-Http-Method-Override", "X-Method-Override", "X-Original-Url", "X-Rewrite-Url",
	}
}

// addSteering appends the steering headers of the request, without those that are
// counted already. A request without any keeps the fingerprint of versions that did not
// count them.
func addSteering(h *semel.Hasher, header http.Header, counted []string) {
	for _, name := range steering() {
		if lines := header[name]; len(lines) > 0 && !slices.Contains(counted, name) {
			h.Add(name)
			addLines(h, lines)
		}
	}
}

// asRead returns a header in which names have dashes for underscores: application servers in the manner of CGI (WSGI, Rack,
// PHP) cannot tell the two.
func asRead(header http.Header) http.Header {
	var names []string
	for name := range header {
		if strings.Contains(name, "_") {
			names = append(names, name)
		}
	}
	if names == nil {
		return header
	}
	slices.Sort(names)
	header = header.Clone()
	for _, name := range names {
		for _, line := range header[name] {
			header.Add(strings.ReplaceAll(name, "_", "-"), line)
		}
	}
	return header
}

// addLines appends the lines of one header: how many there are, and each.
func addLines(h *semel.Hasher, lines []string) {
	h.Add(strconv.Itoa(len(lines)))
	for _, line := range lines {
		h.Add(line)
	}
}

func multipart(contentType string) bool {
	const prefix = "multipart/"
	return len(contentType) >= len(prefix) && strings.EqualFold(contentType[:len(prefix)], prefix)
}
