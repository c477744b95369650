package gateway

import (
	"maps"
	"net/http"
)

// informedAnswer is the writer that httputil.ReverseProxy answers through. For
// an informational answer (1xx) of the upstream, ReverseProxy sends the whole
// header map, and then clears it. With this writer, what outer handlers had set
// before is neither sent with a 1xx nor lost after it.
type informedAnswer struct {
	http.ResponseWriter
	outer   http.Header // set before ReverseProxy ran
	cleared bool        // a 1xx has gone out since Header was last called
}

// Header implements http.ResponseWriter.
func (a *informedAnswer) Header() http.Header {
	h := a.ResponseWriter.Header()
	if a.cleared {
		a.cleared = false
		maps.Copy(h, a.outer)
	}
	return h
}

// WriteHeader implements http.ResponseWriter.
func (a *informedAnswer) WriteHeader(status int) {
	h := a.Header()
	if status < http.StatusOK && status != http.StatusSwitchingProtocols {
		for name, values := range a.outer {
			if added := h[name]; len(added) > len(values) { // ReverseProxy appends
				h[name] = added[len(values):]
			} else {
				delete(h, name)
			}
		}
		a.cleared = true
	}
	a.ResponseWriter.WriteHeader(status)
}

// NoteProblem passes on what semelhttp.WriteProblem tells.
func (a *informedAnswer) NoteProblem(name string) {
	if under, ok := a.ResponseWriter.(interface{ NoteProblem(name string) }); ok {
		under.NoteProblem(name)
	}
}

// Unwrap is for http.ResponseController.
func (a *informedAnswer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
