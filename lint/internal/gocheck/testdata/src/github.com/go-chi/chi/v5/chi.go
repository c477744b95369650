// Package chi has the shape of the router.
package chi

import "net/http"

type Router interface {
	http.Handler
	Use(middlewares ...func(http.Handler) http.Handler)
	With(middlewares ...func(http.Handler) http.Handler) Router
	Group(fn func(r Router)) Router
	Route(pattern string, fn func(r Router)) Router
	Get(pattern string, h http.HandlerFunc)
	Post(pattern string, h http.HandlerFunc)
	Put(pattern string, h http.HandlerFunc)
	MethodFunc(method, pattern string, h http.HandlerFunc)
	Mount(pattern string, h http.Handler)
}

func NewRouter() Router { return nil }
