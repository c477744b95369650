package gateway

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"

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

// readsBody reports whether the rule of the request looks into the body of the answer.
func readsBody(ctx context.Context) bool {
	rule, ok := ctx.Value(releasingKey{}).(releasing)
	return ok && rule.when.Pointer != ""
}

// says reports whether the body has what the rule looks for; body is nil if it is not known.
func (r *releasing) says(body []byte) bool {
	if r.when.Pointer == "" {
		return true
	}
	found, ok := lookUp(parseJSON(body), r.when.Pointer)
	switch {
	case !ok:
		return false
	case len(r.when.Equals) == 0:
		return !saysNothing(found)
	}
	return slices.ContainsFunc(r.when.Equals, func(want any) bool { return equals(found, want) })
}

// saysNothing reports whether applications say by this value that all went well.
func saysNothing(value any) bool {
	switch v := value.(type) {
	case string:
		return v == ""
	case bool:
		return !v
	case json.Number:
		return equals(v, 0.0)
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return value == nil
}

// release disposes of a claim whose rule has released_when. body is the answer's, or nil
// if it is too long or the rule does not look at it.
func release(res *http.Response, body []byte) {
	ctx := res.Request.Context()
	rule, ok := ctx.Value(releasingKey{}).(releasing)
	if !ok {
		return
	}
	switch location := res.Header.Get("Location"); {
	case rule.when.Holds(rule.path, res.StatusCode, res.Header) && rule.says(body):
		semelhttp.Dispose(ctx, semel.StateReleased, "released_when of the rule holds for "+res.Status)
	case rule.when.None && location != "" && res.StatusCode >= 300 && res.StatusCode < 400:
		semelhttp.Dispose(ctx, semel.StateCompleted, "")
	}
}
