package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/textproto"
	"strings"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/rules"
	"github.com/semel-dev/semel/semelhttp"
)

// authorizeTimeout bounds how long the upstream may take to say whether a
// caller may see a stored answer.
const authorizeTimeout = 10 * time.Second

// authorizer asks the upstream whether a caller may see a stored answer.
type authorizer struct {
	asker

	rule *rules.Authorize
}

// beforeReplay is a BeforeReplay of semelhttp.Options.
func (c *authorizer) beforeReplay(r *http.Request, _ *semel.Record) error {
	a, ok := r.Context().Value(attemptKey{}).(*attempt)
	if !ok {
		return errors.New("authorize: not asked by a request")
	}
	ctx, cancel := context.WithTimeout(r.Context(), authorizeTimeout)
	defer cancel()
	res, err := c.get(ctx, a, c.rule.Get)
	if err != nil {
		return fmt.Errorf("authorize: %w", err)
	}
	defer res.Body.Close() //nolint:errcheck // it was only read.
	switch {
	case res.StatusCode >= 200 && res.StatusCode < 300:
		if _, err := io.CopyN(io.Discard, res.Body, maxAnswerBytes); err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("authorize: read the upstream's answer: %w", err)
		}
		return nil
	case res.StatusCode != http.StatusUnauthorized && res.StatusCode != http.StatusForbidden:
		return fmt.Errorf("authorize: the upstream's answer %d says neither", res.StatusCode)
	}
	body, err := read(res)
	if err != nil {
		return fmt.Errorf("authorize: %w", err)
	}
	return &semelhttp.DeniedError{
		Answer: passOn(res, body),
		Err:    fmt.Errorf("authorize: the upstream answered %d", res.StatusCode),
	}
}

// passOn answers with what the upstream said, which was about another request
// than the caller's, and so is for no cache.
func passOn(res *http.Response, body []byte) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		h := w.Header()
		for name, values := range res.Header {
			if !hopByHop(name, res.Header["Connection"]) {
				h[name] = values
			}
		}
		h.Set("Cache-Control", "no-store")
		w.WriteHeader(res.StatusCode)
		_, _ = w.Write(body) // the caller may have gone
	})
}

// hopByHop reports whether a header of the upstream's answer is about its
// connection, or about the length of its body.
func hopByHop(name string, connection []string) bool {
	switch name {
	case "Connection", "Proxy-Connection", "Keep-Alive", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "Content-Length", "Date":
		return true
	}
	for _, line := range connection {
		for token := range strings.SplitSeq(line, ",") {
			if textproto.CanonicalMIMEHeaderKey(strings.TrimSpace(token)) == name {
				return true
			}
		}
	}
	return false
}
