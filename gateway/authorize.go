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
	"github.com/semel-dev/semel/gateway/internal/forms"
	"github.com/semel-dev/semel/gateway/internal/scope"
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

// errClaimed is the reason for withholding a recorded answer.
var errClaimed = errors.New("the caller's name is claimed with credentials for one request, which only the application can check")

// provenOnly returns a BeforeReplay of semelhttp.Options that withholds recorded answers from callers whose name is only
// claimed. A stranger can send the user name of a Digest, and the application, which checks the rest, never sees a
// repetition.
func provenOnly(sources []rules.ScopeSource) func(*http.Request, *semel.Record) error {
	return func(r *http.Request, rec *semel.Record) error {
		if rec == nil || rec.State != semel.StateCompleted || forms.Proven(r) || !scope.Of(r, sources).Claimed {
			return nil
		}
		return &semelhttp.DeniedError{Answer: http.HandlerFunc(refuseClaimed), Err: errClaimed}
	}
}

// refuseClaimed reports that the request was carried out, without its answer.
func refuseClaimed(w http.ResponseWriter, r *http.Request) {
	semelhttp.WriteProblem(w, r, semelhttp.Problem{
		Name: "duplicate", Page: "duplicate", Title: "It was already done", Status: http.StatusConflict,
		Detail: "This request repeats one that was carried out. Its answer is not shown, because the credentials of this scheme are for one request each and cannot be checked here. " +
			"Look the result up; do not send the request again with another key.",
	})
}
