// Package gin has the shape of the router.
package gin

type Context struct{}

type HandlerFunc func(*Context)

type RouterGroup struct{}

func (g *RouterGroup) Group(path string, h ...HandlerFunc) *RouterGroup { return g }
func (g *RouterGroup) Use(h ...HandlerFunc) *RouterGroup                { return g }
func (g *RouterGroup) GET(path string, h ...HandlerFunc)                {}
func (g *RouterGroup) POST(path string, h ...HandlerFunc)               {}
func (g *RouterGroup) PATCH(path string, h ...HandlerFunc)              {}

type Engine struct{ RouterGroup }

func Default() *Engine { return &Engine{} }
