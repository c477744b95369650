package semelhttp

import (
	"crypto/sha256"
	"net/http"
	"strings"

	"github.com/semel-dev/semel"
)

const (
	// DefaultMaxCanonicalBytes is the default of
	// FingerprintOptions.MaxCanonicalBytes.
	DefaultMaxCanonicalBytes = 1 << 20

	// fingerprintVersion goes first, so that a later way of counting never
	// equals this one.
	fingerprintVersion = "semelhttp/1"
)

// fingerprint digests what the request asks for. It reads the body at most
// twice, in constant memory.
func (m *Middleware) fingerprint(r *http.Request, body *Body, h *semel.Hasher) (semel.Fingerprint, error) {
	o := &m.set.Fingerprint
	if o.Func != nil {
		return o.Func(r, body)
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
	for _, name := range m.set.headers {
		values := r.Header[name]
		h.Add(name)
		h.Add(strings.Repeat("v", len(values))) // how many follow
		for _, v := range values {
			h.Add(v)
		}
	}
	contentType := r.Header.Get("Content-Type")
	if body.file == nil && !o.CanonicalJSON && !multipart(contentType) {
		addRawBody(h, r.Header, sha256.Sum256(body.mem))
		return h.Sum(), nil
	}
	reader, err := body.Open()
	if err != nil {
		return semel.Fingerprint{}, err
	}
	rules := canonicalRules{json: o.CanonicalJSON, multipart: true, maxBytes: o.MaxCanonicalBytes}
	if multipart(contentType) {
		rules.maxBytes = m.set.MaxBodyBytes // needs no memory, whatever the length
	}
	if err := addCanonicalBody(h, r.Header, reader, rules); err != nil {
		return semel.Fingerprint{}, err
	}
	return h.Sum(), nil
}

func multipart(contentType string) bool {
	const prefix = "multipart/"
	return len(contentType) >= len(prefix) && strings.EqualFold(contentType[:len(prefix)], prefix)
}
