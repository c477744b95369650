package gateway

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/rules"
	"github.com/semel-dev/semel/store/memstore"
)

// TestRoutesShareOneBoundOfAnswers (promise 8): where there is memory for one of two unfinished answers, the other one is streamed,
// also when each has a route of its own.
func TestRoutesShareOneBoundOfAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		end := make(chan struct{})
		g := must.Get(New(&Config{
			Store: memstore.New(nil),
			Rules: must.Get(rules.Parse("semel.yaml", []byte("version: 1\nroutes:\n- {name: a, match: {path: /a}}\n- {name: b, match: {path: /b}}\n"))),
			Next: func(w http.ResponseWriter, _ *http.Request) error {
				_, err := w.Write(bytes.Repeat([]byte("x"), 200<<10))
				<-end
				return err
			},
		}))
		defer func() { _ = g.Close() }()
		g.captured.Most = 300 << 10
		var answers [2]*httptest.ResponseRecorder
		for i, path := range []string{"/a", "/b"} {
			answers[i] = httptest.NewRecorder()
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader("x"))
			r.Header.Set("Idempotency-Key", "k")
			go g.Handler().ServeHTTP(answers[i], r)
		}
		synctest.Wait()
		if a, b := answers[0].Body.Len(), answers[1].Body.Len(); (a == 0) == (b == 0) {
			t.Errorf("%d and %d bytes went out before the end, want those of one answer", a, b)
		}
		close(end)
		synctest.Wait()
	})
}
