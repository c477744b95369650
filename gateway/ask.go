package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/semel-dev/semel/internal/jsonsearch"
	"github.com/semel-dev/semel/internal/rules/template"
	"github.com/semel-dev/semel/rules"
	"github.com/semel-dev/semel/semelhttp"
)

// maxAnswerBytes bounds the answer to a question of the gateway's own.
const maxAnswerBytes = 1 << 20

// attempt holds the parts of a request that a question about it needs.
type attempt struct {
	request *http.Request
	name    string
	parts   map[template.Part]string // the values of placeholders in its body
	// reconcile resolves an unknown outcome of the request; nil where the rule does not.
	reconcile *rules.Reconcile
}

type attemptKey struct{}

// rememberAttempt puts the request where a question to the upstream finds it.
func rememberAttempt(rule *rules.Route, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a := &attempt{parts: map[template.Part]string{}, reconcile: rule.Reconcile}
		r = r.WithContext(context.WithValue(r.Context(), attemptKey{}, a))
		a.request = r
		next.ServeHTTP(w, r)
	})
}

// attemptSource also keeps the values that placeholders take from the body, which
// cannot be read again later.
type attemptSource struct {
	semelhttp.KeySource
	parts []template.Part
}

// Unwrap returns the source itself.
func (s *attemptSource) Unwrap() semelhttp.KeySource { return s.KeySource }

// Key implements semelhttp.KeySource.
func (s *attemptSource) Key(r *http.Request, body *semelhttp.Body) (string, bool, error) {
	name, found, err := s.KeySource.Key(r, body)
	a, ok := r.Context().Value(attemptKey{}).(*attempt)
	if err != nil || !found || !ok {
		return name, found, err
	}
	a.name = name
	// A missing value, or one that is not a scalar, is reported when it is needed.
	for _, part := range s.parts {
		if part.Source == template.JSON {
			continue
		}
		if value, found, err := semelhttp.FromFormField(part.Value).Key(r, body); err == nil && found {
			a.parts[part] = value
		}
	}
	s.members(r, body, a)
	return name, true, nil
}

// members finds the values of all members of the body in one pass.
func (s *attemptSource) members(r *http.Request, body *semelhttp.Body, a *attempt) {
	var parts []template.Part
	var paths [][]string
	for _, part := range s.parts {
		if part.Source == template.JSON {
			parts, paths = append(parts, part), append(paths, jsonsearch.Steps(part.Value))
		}
	}
	if len(parts) == 0 {
		return
	}
	values, _ := jsonsearch.InBody(r, body, paths...)
	for i, value := range values {
		if text, found, err := jsonsearch.Text(value); err == nil && found {
			a.parts[parts[i]] = text
		}
	}
}

// withQuestions returns the source, or one that notes what the route's questions need.
func withQuestions(rule *rules.Route, source semelhttp.KeySource) semelhttp.KeySource {
	if asked := questions(rule); len(asked) > 0 {
		return &attemptSource{KeySource: source, parts: bodyParts(asked)}
	}
	return source
}

// questions returns the templates of the route's questions to the upstream.
func questions(rule *rules.Route) []rules.Template {
	var all []rules.Template
	if rule.Reconcile != nil {
		all = append(all, rule.Reconcile.Get, rule.Reconcile.Replay.Location)
	}
	if rule.Authorize != nil {
		all = append(all, rule.Authorize.Get)
	}
	return all
}

// bodyParts lists the placeholders that take their value from the body.
func bodyParts(templates []rules.Template) []template.Part {
	var out []template.Part
	for _, t := range templates {
		for _, part := range t.Parts {
			if (part.Source == template.JSON || part.Source == template.Form) && !slices.Contains(out, part) {
				out = append(out, part)
			}
		}
	}
	return out
}

// asker asks the upstream about a request, in the caller's place.
type asker struct {
	g           *Gateway
	match       rules.Match
	client      *http.Client
	credentials []string // headers of the request that are sent along
}

func (g *Gateway) newAsker(rule *rules.Route) asker {
	credentials := []string{"Authorization", "Cookie", "Accept", "Accept-Language", "User-Agent"}
	for _, source := range rule.Scope {
		if source.Header != "" && !slices.Contains(credentials, source.Header) {
			credentials = append(credentials, source.Header)
		}
	}
	return asker{
		g: g, match: rule.Match, credentials: credentials,
		client: &http.Client{
			Transport:     reader{g.upstream},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// get sends the GET with the caller's own credentials, as the proxy would.
func (c *asker) get(ctx context.Context, a *attempt, t rules.Template) (*http.Response, error) {
	path, err := t.Expand(func(p template.Part) (string, error) { return c.value(a, p, nil) })
	if err != nil {
		return nil, err
	}
	if leavesPath(path) {
		return nil, errors.New("the question would leave its path, where an escaped slash or a backslash parts segments")
	}
	req, err := c.g.question(ctx, http.MethodGet, path, a.request)
	if err != nil {
		return nil, fmt.Errorf("make request: %w", err)
	}
	for _, name := range c.credentials {
		if values, ok := a.request.Header[name]; ok {
			req.Header[name] = values
		}
	}
	addHop(req.Header, a.request)
	res, err := c.client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("ask the upstream: %w", withoutURL(err))
	}
	return res, nil
}

// question returns a request of the gateway's own to the upstream, without a header, about the caller's.
func (g *Gateway) question(ctx context.Context, method, path string, about *http.Request) (*http.Request, error) {
	address := g.target.Scheme + "://" + g.target.Host + strings.TrimSuffix(g.target.EscapedPath(), "/") + path
	req, err := http.NewRequestWithContext(ctx, method, address, http.NoBody) //nolint:gosec // the address is the upstream's.
	if err == nil && !g.config.RewriteHost {
		req.Host = about.Host
	}
	return req, err
}

// leavesPath reports whether a value brought a segment "." or ".." into the path
// of a question, for applications that read an escaped slash, or a backslash, as
// one that parts segments. Values are the caller's, credentials may be ours.
func leavesPath(target string) bool {
	path, _, _ := strings.Cut(target, "?")
	path = unescape(unescape(path)) // some applications do it twice
	return slices.ContainsFunc(strings.FieldsFunc(path, func(r rune) bool { return r == '/' || r == '\\' }), func(segment string) bool {
		segment, _, _ = strings.Cut(segment, ";") // and leave parameters out
		return segment == "." || segment == ".."
	})
}

// read returns the body of an answer.
func read(res *http.Response) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswerBytes+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the upstream's answer: %w", err)
	case len(body) > maxAnswerBytes:
		return nil, fmt.Errorf("the upstream's answer is longer than %d bytes", maxAnswerBytes)
	}
	return body, nil
}

// withoutURL takes the URL out of a client's error: it may hold the key.
func withoutURL(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// value returns the value of a placeholder.
func (c *asker) value(a *attempt, p template.Part, document any) (string, error) {
	switch p.Source {
	case template.Key:
		return a.name, nil
	case template.Wildcard:
		return wildcardValue(c.match.Path, cleanPath(a.request.URL.EscapedPath()), p.Value), nil
	case template.JSON, template.Form:
		return a.parts[p], nil
	case template.Answer:
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
	case template.Literal:
	}
	return p.Value, nil
}

// wildcardValue returns the part of the path that a wildcard of the pattern matches.
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
