package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"

	"github.com/semel-dev/semel/rules"
	"github.com/semel-dev/semel/semelhttp"
)

// maxAnswerBytes bounds the answer to a question of the gateway's own.
const maxAnswerBytes = 1 << 20

// attempt is what a question to the upstream needs to know of the request
// that gave rise to it.
type attempt struct {
	request *http.Request
	name    string
	parts   map[rules.Part]string // the values of placeholders in its body
}

type attemptKey struct{}

// rememberAttempt puts the request where a question to the upstream finds it.
func rememberAttempt(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a := &attempt{parts: map[rules.Part]string{}}
		r = r.WithContext(context.WithValue(r.Context(), attemptKey{}, a))
		a.request = r
		next.ServeHTTP(w, r)
	})
}

// attemptSource notes, beside the key, what placeholders take from the body,
// which is gone later.
type attemptSource struct {
	semelhttp.KeySource
	parts []rules.Part
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

// questions returns the templates of what the upstream is asked about requests
// of the route.
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
func bodyParts(templates []rules.Template) []rules.Part {
	var out []rules.Part
	for _, t := range templates {
		for _, part := range t.Parts {
			if (part.Source == rules.SourceJSON || part.Source == rules.SourceForm) && !slices.Contains(out, part) {
				out = append(out, part)
			}
		}
	}
	return out
}

// asker asks the upstream about a request, in the caller's place.
type asker struct {
	match       rules.Match
	target      *url.URL
	client      *http.Client
	forward     *forwarding
	credentials []string // headers of the request that are sent along
	rewrite     bool
}

func (g *Gateway) newAsker(rule *rules.Route) asker {
	credentials := []string{"Authorization", "Cookie", "Accept", "Accept-Language", "User-Agent"}
	for _, source := range rule.Scope {
		if source.Header != "" && !slices.Contains(credentials, source.Header) {
			credentials = append(credentials, source.Header)
		}
	}
	return asker{
		match: rule.Match, target: g.target, rewrite: g.config.RewriteHost, credentials: credentials,
		forward: &forwarding{trusted: g.config.TrustedProxies},
		client: &http.Client{
			Transport:     g.upstream.base,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// get sends the GET with the caller's own credentials, as the proxy would.
func (c *asker) get(ctx context.Context, a *attempt, t rules.Template) (*http.Response, error) {
	path, err := t.Expand(func(p rules.Part) (string, error) { return c.value(a, p, nil) })
	if err != nil {
		return nil, err
	}
	if leavesPath(path) {
		return nil, errors.New("the question would leave its path, where an escaped slash or a backslash parts segments")
	}
	base := *c.target
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base.Scheme+"://"+base.Host+strings.TrimSuffix(base.EscapedPath(), "/")+path, http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("make request: %w", err)
	}
	if !c.rewrite {
		req.Host = a.request.Host
	}
	for _, name := range c.credentials {
		if values, ok := a.request.Header[name]; ok {
			req.Header[name] = values
		}
	}
	c.forward.apply(&httputil.ProxyRequest{In: a.request, Out: req})
	res, err := c.client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("ask the upstream: %w", withoutURL(err))
	}
	return res, nil
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

// value returns what a placeholder stands for.
func (c *asker) value(a *attempt, p rules.Part, document any) (string, error) {
	switch p.Source {
	case rules.SourceKey:
		return a.name, nil
	case rules.SourceWildcard:
		return wildcardValue(c.match.Path, cleanPath(a.request.URL.EscapedPath()), p.Value), nil
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
