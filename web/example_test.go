package web_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/semel-dev/semel/web"
)

// A page loads the guard by its version, so that browsers keep it.
func ExampleHandler() {
	guard, _ := web.File("guard.js")
	address := "/semel/guard.js?v=" + guard.Version()

	request := httptest.NewRequestWithContext(context.Background(), http.MethodGet, address, http.NoBody)
	answer := httptest.NewRecorder()
	http.StripPrefix("/semel", web.Handler()).ServeHTTP(answer, request)
	fmt.Println(answer.Code, answer.Header().Get("Content-Type"))
	fmt.Println(answer.Header().Get("Cache-Control"))
	// Output:
	// 200 text/javascript; charset=utf-8
	// public, max-age=31536000, immutable
}
