// Package mux has the shape of the router.
package mux

import "net/http"

type Router struct{}

type Route struct{}

func NewRouter() *Router { return &Router{} }
func (r *Router) HandleFunc(path string, f func(http.ResponseWriter, *http.Request)) *Route {
	return nil
}
func (r *Router) Path(path string) *Route         { return nil }
func (r *Route) Handler(h http.Handler) *Route    { return r }
func (r *Route) Methods(methods ...string) *Route { return r }
