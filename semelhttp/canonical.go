package semelhttp

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/jsonsearch"
)

// The kinds of a body in a fingerprint. They are hashed first, so that a body
// of one kind never equals a body of another.
const (
	canonicalKindRaw       = "raw"
	canonicalKindJSON      = "json"
	canonicalKindMultipart = "multipart"
)

// errNotCanonical says that a body has no canonical form that we trust; its
// raw bytes count then. It never leaves this package.
var errNotCanonical = errors.New("semelhttp: body has no canonical form")

// canonicalRules say which bodies are reduced to what they mean before they
// are hashed. The zero value reduces none.
type canonicalRules struct {
	json      bool  // JSON: order of members and white space do not count
	multipart bool  // a multipart body: its boundary does not count
	maxBytes  int64 // a longer body counts byte by byte
}

// addCanonicalBody appends what the body means to h: its kind, its content
// type, its content coding, and a digest. A body that is not reduced (no rule,
// malformed, over a bound, ambiguous) counts byte by byte, so two bodies that
// could mean different things never become equal. A body with a
// Content-Encoding is never decompressed; it counts byte by byte too.
//
// The only error is one of reading or seeking body, which is read from its
// start in constant memory.
func addCanonicalBody(h *semel.Hasher, header http.Header, body io.ReadSeeker, rules canonicalRules) error {
	kind, contentType := canonicalKind(header, rules)
	sum, err := canonicalSum(kind, header, body, rules.maxBytes)
	if errors.Is(err, errNotCanonical) {
		kind, contentType = canonicalKindRaw, strings.Join(header.Values("Content-Type"), ", ")
		sum, err = canonicalSum(kind, header, body, 0)
	}
	if err != nil {
		return fmt.Errorf("read body for its fingerprint: %w", err)
	}
	addBodySum(h, kind, contentType, strings.Join(header.Values("Content-Encoding"), ", "), sum)
	return nil
}

// addRawBody is addCanonicalBody without rules, for a body whose SHA-256 is
// known already.
func addRawBody(h *semel.Hasher, header http.Header, sum [sha256.Size]byte) {
	addBodySum(h, canonicalKindRaw, strings.Join(header.Values("Content-Type"), ", "),
		strings.Join(header.Values("Content-Encoding"), ", "), sum)
}

func addBodySum(h *semel.Hasher, kind, contentType, coding string, sum [sha256.Size]byte) {
	h.Add(kind)
	h.Add(contentType)
	h.Add(coding)
	h.AddBytes(sum[:])
}

// canonicalKind says how a body with this header is reduced, and the content
// type that counts with it.
func canonicalKind(header http.Header, rules canonicalRules) (kind, contentType string) {
	lines := header.Values("Content-Type")
	raw := strings.Join(lines, ", ")
	if len(lines) != 1 || len(header.Values("Content-Encoding")) > 0 {
		return canonicalKindRaw, raw
	}
	media, params, err := mime.ParseMediaType(raw)
	if err != nil || strings.Contains(raw, "*") { // not every reader knows RFC 2231
		return canonicalKindRaw, raw
	}
	switch {
	case rules.json && (media == "application/json" || strings.HasSuffix(media, "+json")) && jsonsearch.CheckCharset(params["charset"]) == nil:
		kind = canonicalKindJSON
	case rules.multipart && strings.HasPrefix(media, "multipart/") && params["boundary"] != "":
		kind = canonicalKindMultipart
		delete(params, "boundary")
	default:
		return canonicalKindRaw, raw
	}
	contentType = mime.FormatMediaType(media, params)
	if contentType == "" { // parameters that cannot be written again
		return canonicalKindRaw, raw
	}
	return kind, contentType
}

func canonicalSum(kind string, header http.Header, body io.ReadSeeker, maxBytes int64) ([sha256.Size]byte, error) {
	if _, err := body.Seek(0, io.SeekStart); err != nil {
		return [sha256.Size]byte{}, fmt.Errorf("rewind: %w", err)
	}
	switch kind {
	case canonicalKindJSON:
		return canonicalJSON(body, maxBytes)
	case canonicalKindMultipart:
		_, params, err := mime.ParseMediaType(header.Get("Content-Type"))
		if err != nil {
			return [sha256.Size]byte{}, errNotCanonical
		}
		return canonicalMultipart(body, params["boundary"], maxBytes)
	}
	hash := sha256.New()
	var sum [sha256.Size]byte
	if _, err := io.Copy(hash, body); err != nil {
		return sum, err
	}
	hash.Sum(sum[:0])
	return sum, nil
}

// canonicalReader bounds how much is read, and keeps a reading error apart
// from malformed input.
type canonicalReader struct {
	from io.Reader
	left int64
	err  error // a reading error, or errNotCanonical over the bound
}

// Read reads at most what the bound leaves.
func (r *canonicalReader) Read(p []byte) (int, error) {
	if r.err != nil {
		return 0, r.err
	}
	if int64(len(p)) > r.left+1 {
		p = p[:r.left+1]
	}
	n, err := r.from.Read(p)
	if r.left -= int64(n); r.left < 0 {
		r.err = errNotCanonical
		return 0, r.err
	}
	if err != nil && !errors.Is(err, io.EOF) {
		r.err = err
	}
	return n, err
}

// verdict returns why a canonicaliser stopped: a reading error as it is,
// anything else as errNotCanonical.
func (r *canonicalReader) verdict() error {
	if r.err != nil {
		return r.err
	}
	return errNotCanonical
}
