package gateway

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"
)

// preflightTimeout bounds how long the upstream may take to say what it allows a page of another origin.
const preflightTimeout = 5 * time.Second

// askPreflight sends the preflight that the page's browser would send, and returns the header of its answer, or nil.
func (g *Gateway) askPreflight(r *http.Request) http.Header {
	ctx, cancel := context.WithTimeout(r.Context(), preflightTimeout)
	defer cancel()
	req, err := g.question(ctx, http.MethodOptions, r.URL.EscapedPath(), r)
	if err != nil {
		return nil
	}
	req.Header = http.Header{"Origin": r.Header["Origin"], "Access-Control-Request-Method": {r.Method}}
	var names []string
	for _, name := range append([]string{"Authorization", "Content-Type"}, g.keyHeaders...) {
		if len(r.Header[name]) > 0 {
			names = append(names, strings.ToLower(name))
		}
	}
	if slices.Sort(names); len(names) > 0 {
		req.Header["Access-Control-Request-Headers"] = []string{strings.Join(names, ",")}
	}
	addHop(req.Header, r)
	res, err := g.upstream.read(req)
	if err != nil {
		return nil
	}
	_ = res.Body.Close() // the header is the news
	return res.Header
}
