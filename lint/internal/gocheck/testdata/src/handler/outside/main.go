// Command outside wraps the routes of another package.
package main

import (
	"net/http"

	"handler/far/api"
	"handler/far/store"

	"github.com/semel-dev/semel/semelhttp"
)

func protect(h http.Handler) http.Handler {
	door := &semelhttp.Middleware{}
	return door.Handler(h)
}

func main() {
	mux := http.NewServeMux()
	api.Routes(mux, &store.DB{}, &store.DB{})
	_ = http.ListenAndServe(":80", protect(mux))
}
