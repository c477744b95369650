// Package app joins the two without showing it.
package app

import (
	"net/http"

	"handler/far/api"
	"handler/far/store"
)

func Run() error {
	mux := http.NewServeMux()
	api.Routes(mux, &store.DB{}, &store.DB{})
	return http.ListenAndServe(":80", mux)
}
