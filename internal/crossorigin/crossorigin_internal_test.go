package crossorigin

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestMemoryIsBounded (promise 8): a page that asks at ever new addresses makes the memory no larger than its bound.
func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	var m Memory
	for i := range 3 * maxAnswers {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, fmt.Sprint("/", i), nil)
		r.Header.Set("Origin", "https://page.example")
		m.Of(r).Learn(http.StatusOK, http.Header{})
	}
	if n := len(m.recent) + len(m.older); n < maxAnswers || n > 2*maxAnswers {
		t.Errorf("%d answers are remembered, want at most %d", n, 2*maxAnswers)
	}
}
