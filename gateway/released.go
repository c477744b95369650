package gateway

import (
	"context"
	"net/http"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/rules"
	"github.com/semel-dev/semel/semelhttp"
)

// releasing holds the conditions under which an answer means that nothing happened.
type releasing struct {
	when *rules.ReleasedWhen
	path string // of the request as the caller sent it
}

type releasingKey struct{}

// rememberReleasing lets [release] judge the upstream's answers by the rule.
func rememberReleasing(when *rules.ReleasedWhen, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := context.WithValue(r.Context(), releasingKey{}, releasing{when, r.URL.Path})
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// release says with semelhttp.Dispose how a claim ends whose rule has
// released_when.
func release(res *http.Response) {
	ctx := res.Request.Context()
	rule, ok := ctx.Value(releasingKey{}).(releasing)
	if !ok {
		return
	}
	switch location := res.Header.Get("Location"); {
	case rule.when.Holds(rule.path, res.StatusCode, location):
		semelhttp.Dispose(ctx, semel.StateReleased, "released_when of the rule holds for "+res.Status)
	case rule.when.None && location != "" && res.StatusCode >= 300 && res.StatusCode < 400:
		semelhttp.Dispose(ctx, semel.StateCompleted, "")
	}
}
