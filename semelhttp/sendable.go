package semelhttp

import (
	"fmt"
	"net/http"
	"net/textproto"
	"strconv"
	"strings"

	"github.com/semel-dev/semel/internal/crossorigin"
)

const contentLength = "Content-Length"

// sendable reports why a recorded answer must not go out again. Capture records
// nothing of the kind, so such a record was damaged, tampered with, or written
// by something else: what it could do is inject a header, or make a reader take
// the rest of the answer for another one.
func (e *envelope) sendable(method string) error {
	switch {
	case e.omitted:
		return fmt.Errorf("%w: it has no body to replay", errEnvelope)
	case e.status < http.StatusOK:
		return fmt.Errorf("%w: %d ends no exchange", errEnvelope, e.status)
	case len(e.body) > 0 && !bodyAllowed(e.status):
		return fmt.Errorf("%w: an answer %d has no body", errEnvelope, e.status)
	}
	err := e.head.each(func(name string, values []string) bool {
		if textproto.CanonicalMIMEHeaderKey(name) == contentLength {
			return name == contentLength && e.declares(method, values)
		}
		return (crossorigin.ForOrigin(name) || storable(name, nil)) && writable(name, values)
	})
	if err == nil && e.trailer != "" {
		err = e.trailer.each(trailable)
	}
	return err
}

// declares reports whether a recorded Content-Length is true. Without a body
// of its own, an answer to HEAD and a 304 declare that of another answer.
func (e *envelope) declares(method string, values []string) bool {
	if len(values) == 0 {
		return true // it was removed
	}
	n, ok := declaredLength(values)
	switch {
	case !ok || e.status == http.StatusNoContent:
		return false
	case method == http.MethodHead, e.status == http.StatusNotModified:
		return len(e.body) == 0
	}
	return n == int64(len(e.body))
}

// declaredLength reads a Content-Length that all readers take alike: one line,
// digits alone.
func declaredLength(values []string) (int64, bool) {
	if len(values) != 1 {
		return 0, false
	}
	n, err := strconv.ParseUint(values[0], 10, 63)
	return int64(n), err == nil
}

// writable reports whether a header can be written so that every reader takes
// it for the same one: its name is a token, and no value holds a control
// character but tab.
func writable(name string, values []string) bool {
	for i := range len(name) {
		c := name[i]
		letter := c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9'
		if !letter && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return false
		}
	}
	for _, v := range values {
		for i := range len(v) {
			if c := v[i]; c < ' ' && c != '\t' || c == 0x7F {
				return false
			}
		}
	}
	return name != ""
}

// trailable is storable and writable for a trailer, which must not say how the
// message is read (RFC 9110, section 6.5.1).
func trailable(name string, values []string) bool {
	switch textproto.CanonicalMIMEHeaderKey(name) {
	case contentLength, "Content-Encoding", "Content-Range", "Content-Type", "Cache-Control", "Expect", "Host",
		"Max-Forwards", "Pragma", "Range", "Realm":
		return false
	}
	return storable(name, nil) && writable(name, values)
}

// recordable returns the values of a header as they may be recorded, and
// whether they may. Line breaks become spaces, as net/http writes them in
// HTTP/1.1.
func (c *capture) recordable(name string, values []string) ([]string, bool) {
	if textproto.CanonicalMIMEHeaderKey(name) == contentLength {
		_, ok := declaredLength(values)
		return values, name == contentLength && c.status != http.StatusNoContent && (ok || len(values) == 0)
	}
	if writable(name, values) {
		return values, true
	}
	breaks := strings.NewReplacer("\r", " ", "\n", " ")
	lines := make([]string, len(values))
	for i, v := range values {
		lines[i] = strings.TrimSpace(breaks.Replace(v))
	}
	return lines, writable(name, lines)
}
