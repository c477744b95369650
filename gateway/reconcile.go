package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/rules"
	"github.com/semel-dev/semel/semelhttp"
)

const (
	// maxReconcileBytes bounds the answer that is looked at and replayed.
	maxReconcileBytes = 1 << 20
	// sinceMark starts the part of a note that says when the first attempt
	// with an unknown outcome began, by the store's clock.
	sinceMark = " [since "
)

// attempt is what a reconciliation needs to know of the request that asked.
type attempt struct {
	request *http.Request
	name    string
	parts   map[rules.Part]string // the values of placeholders in its body
}

type attemptKey struct{}

// rememberAttempt puts the request where a reconciliation finds it.
func rememberAttempt(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a := &attempt{parts: map[rules.Part]string{}}
		r = r.WithContext(context.WithValue(r.Context(), attemptKey{}, a))
		a.request = r
		next.ServeHTTP(w, r)
	})
}

// attemptSource notes, beside the key, what the placeholders of a
// reconciliation take from the body, which is gone later.
type attemptSource struct {
	semelhttp.KeySource
	parts []rules.Part
}

// Unwrap returns the source that finds the key.
func (s *attemptSource) Unwrap() semelhttp.KeySource { return s.KeySource }

// Key implements semelhttp.KeySource.
func (s *attemptSource) Key(r *http.Request, body *semelhttp.Body) (string, bool, error) {
	name, found, err := s.KeySource.Key(r, body)
	a, ok := r.Context().Value(attemptKey{}).(*attempt)
	if err != nil || !found || !ok {
		return name, found, err
	}
	a.name = name
	for _, part := range s.parts {
		source := semelhttp.FromFormField(part.Value)
		if part.Source == rules.SourceJSON {
			source = semelhttp.FromJSONPointer(part.Value)
		}
		// A value that is missing or no scalar is told when it is needed.
		if value, found, err := source.Key(r, body); err == nil && found {
			a.parts[part] = value
		}
	}
	return name, true, nil
}

// bodyParts lists the placeholders that take their value from the body.
func bodyParts(r *rules.Reconcile) []rules.Part {
	var out []rules.Part
	for _, part := range slices.Concat(r.Get.Parts, r.Replay.Location.Parts) {
		if (part.Source == rules.SourceJSON || part.Source == rules.SourceForm) && !slices.Contains(out, part) {
			out = append(out, part)
		}
	}
	return out
}

// reconciler asks the upstream whether an intent happened.
type reconciler struct {
	rule    *rules.Reconcile
	match   rules.Match
	target  *url.URL
	client  *http.Client
	rewrite bool
	// authorization is sent in the background; empty for none.
	authorization string
}

func (g *Gateway) newReconciler(rule *rules.Route) *reconciler {
	return &reconciler{
		rule: rule.Reconcile, match: rule.Match, target: g.target, rewrite: g.config.RewriteHost,
		client: &http.Client{
			Transport:     g.upstream.base,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// reconcile is a semel.ReconcileFunc.
func (c *reconciler) reconcile(ctx context.Context, rec semel.Record) (semel.Reconciliation, error) {
	since := sinceOf(&rec)
	note := func(text string) string { return sinceNote(text, since) }
	a, ok := ctx.Value(attemptKey{}).(*attempt)
	if !ok {
		return semel.Reconciliation{Note: note("not asked by a request")}, nil
	}
	found, err := c.ask(ctx, a)
	if err != nil {
		return semel.Reconciliation{Note: note("reconcile: " + quietly(err))}, nil // the note keeps it, and since when
	}
	switch {
	case found.fulfils(&c.rule.Happened):
		outcome, err := c.replay(a, found)
		if err != nil {
			return semel.Reconciliation{Note: note("it happened, but its answer cannot be built: " + quietly(err))}, nil // as above
		}
		return semel.Reconciliation{Verdict: semel.Happened, Outcome: outcome, Kept: true}, nil
	case !found.fulfils(&c.rule.NotHappened):
		return semel.Reconciliation{Note: note("reconcile: the upstream's answer " + strconv.Itoa(found.status) + " says neither")}, nil
	case rec.ReadAt.Sub(since) < c.rule.AbsentAfter:
		return semel.Reconciliation{Note: note("not there yet, but it may still arrive")}, nil
	}
	return semel.Reconciliation{Verdict: semel.NotHappened}, nil
}

// finding is what the upstream answered to the GET.
type finding struct {
	status   int
	header   http.Header
	body     []byte
	document any // the body, where it is JSON
}

// ask sends the GET with the caller's own credentials.
func (c *reconciler) ask(ctx context.Context, a *attempt) (*finding, error) {
	path, err := c.rule.Get.Expand(func(p rules.Part) (string, error) { return c.value(a, p, nil) })
	if err != nil {
		return nil, err
	}
	base := *c.target
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base.Scheme+"://"+base.Host+strings.TrimSuffix(base.EscapedPath(), "/")+path, http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("make request: %w", err)
	}
	if !c.rewrite {
		req.Host = a.request.Host
	}
	for _, name := range []string{"Authorization", "Cookie", "Accept", "Accept-Language", "User-Agent"} {
		if values, ok := a.request.Header[name]; ok {
			req.Header[name] = values
		}
	}
	res, err := c.client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("ask the upstream: %w", withoutURL(err))
	}
	defer res.Body.Close() //nolint:errcheck // it was only read.
	body, err := io.ReadAll(io.LimitReader(res.Body, maxReconcileBytes+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the upstream's answer: %w", err)
	case len(body) > maxReconcileBytes:
		return nil, fmt.Errorf("the upstream's answer is longer than %d bytes", maxReconcileBytes)
	}
	return &finding{status: res.StatusCode, header: res.Header, body: body, document: parseJSON(body)}, nil
}

// withoutURL takes the URL out of a client's error: it may hold the key.
func withoutURL(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// replay builds the answer to an intent that happened.
func (c *reconciler) replay(a *attempt, found *finding) ([]byte, error) {
	want := &c.rule.Replay
	out := semelhttp.Response{Status: want.Status, Header: http.Header{}}
	if out.Status == 0 {
		out.Status = found.status
	}
	if !want.Location.IsZero() {
		location, err := want.Location.Expand(func(p rules.Part) (string, error) { return c.value(a, p, found.document) })
		if err != nil {
			return nil, err
		}
		out.Header.Set("Location", location)
	}
	if want.Body && out.Status != http.StatusNoContent {
		out.Body = found.body
		for _, name := range []string{"Content-Type", "Content-Encoding", "Content-Language", "Etag"} {
			if values, ok := found.header[name]; ok {
				out.Header[name] = values
			}
		}
	}
	return out.MarshalBinary()
}

// value returns what a placeholder stands for.
func (c *reconciler) value(a *attempt, p rules.Part, document any) (string, error) {
	switch p.Source {
	case rules.SourceKey:
		return a.name, nil
	case rules.SourceWildcard:
		return wildcardValue(c.match.Path, a.request.URL.EscapedPath(), p.Value), nil
	case rules.SourceJSON, rules.SourceForm:
		return a.parts[p], nil
	case rules.SourceAnswer:
		found, ok := lookUp(document, p.Value)
		if !ok {
			return "", errors.New("the upstream's answer does not have it")
		}
		switch v := found.(type) {
		case string:
			return v, nil
		case json.Number:
			return v.String(), nil
		}
		return "", errors.New("the upstream's answer has no text or number there")
	case rules.SourceLiteral:
	}
	return p.Value, nil
}

// wildcardValue returns what a wildcard of the pattern stands for in the path.
func wildcardValue(pattern, path, name string) string {
	want, have := strings.Split(pattern, "/"), strings.Split(path, "/")
	for i, segment := range want {
		switch {
		case i >= len(have):
			return ""
		case segment == "{"+name+"...}":
			return unescape(strings.Join(have[i:], "/"))
		case segment == "{"+name+"}":
			return unescape(have[i])
		}
	}
	return ""
}

func unescape(segment string) string {
	if text, err := url.PathUnescape(segment); err == nil {
		return text
	}
	return segment
}

// parseJSON returns the document, or nil when it is none.
func parseJSON(body []byte) any {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	var document any
	if decoder.Decode(&document) != nil {
		return nil
	}
	return document
}

// fulfils reports whether the condition holds for the answer.
func (f *finding) fulfils(c *rules.Condition) bool {
	if c.IsZero() || (len(c.Status) > 0 && !slices.Contains(c.Status, f.status)) {
		return false
	}
	if c.Pointer == "" {
		return true
	}
	found, ok := lookUp(f.document, c.Pointer)
	if !ok || found == nil {
		return false
	}
	switch want := c.Equals.(type) {
	case nil:
		return true
	case float64:
		number, ok := found.(json.Number)
		if !ok {
			return false
		}
		have, err := number.Float64()
		return err == nil && have == want
	default:
		return found == want
	}
}

// lookUp follows a JSON pointer.
func lookUp(document any, pointer string) (any, bool) {
	unescaper := strings.NewReplacer("~1", "/", "~0", "~")
	for token := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		switch at := document.(type) {
		case map[string]any:
			value, ok := at[unescaper.Replace(token)]
			if !ok {
				return nil, false
			}
			document = value
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(at) {
				return nil, false
			}
			document = at[i]
		default:
			return nil, false
		}
	}
	return document, true
}

// sinceOf returns when the first attempt with an unknown outcome began. Every
// reconciliation is a claim of its own, so the note carries it on.
func sinceOf(rec *semel.Record) time.Time {
	if i := strings.LastIndex(rec.Note, sinceMark); i >= 0 {
		text := strings.TrimSuffix(rec.Note[i+len(sinceMark):], "]")
		if since, err := time.Parse(time.RFC3339Nano, text); err == nil && since.Before(rec.ClaimedAt) {
			return since
		}
	}
	return rec.ClaimedAt
}

// sinceNote appends the mark to a note that leaves room for it.
func sinceNote(text string, since time.Time) string {
	mark := sinceMark + since.UTC().Format(time.RFC3339Nano) + "]"
	return strings.ToValidUTF8(text[:min(len(text), semel.MaxNoteBytes-len(mark))], "") + mark
}
