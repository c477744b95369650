// Package echo has the shape of the router.
package echo

type Context interface{}

type HandlerFunc func(Context) error

type MiddlewareFunc func(HandlerFunc) HandlerFunc

type Echo struct{}

func New() *Echo                                                            { return &Echo{} }
func (e *Echo) POST(path string, h HandlerFunc, m ...MiddlewareFunc)        {}
func (e *Echo) Add(method, path string, h HandlerFunc, m ...MiddlewareFunc) {}
