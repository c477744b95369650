package semelhttp

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/semel-dev/semel/internal/outcomecookie"
)

// outcomeWriter tells the pages of a browser the outcome of a form whose field holds
// the key: see docs/browser.md. An application that sets the cookie has its way.
type outcomeWriter struct {
	http.ResponseWriter

	request *http.Request
	key     string
	problem string
	told    bool
}

// tellOutcome returns a writer that sets the outcome cookie, if a cookie can name the key.
func tellOutcome(w http.ResponseWriter, r *http.Request, key string) http.ResponseWriter {
	if !outcomecookie.IsID(key) {
		return w
	}
	return &outcomeWriter{ResponseWriter: w, request: r, key: key}
}

// tellStale returns a writer that tells the outcome of a stale form, so that its token is not sent again.
func tellStale(w http.ResponseWriter, r *http.Request, err error) http.ResponseWriter {
	if stale, ok := errors.AsType[*staleTokenError](err); ok {
		return tellOutcome(w, r, stale.id)
	}
	return w
}

// NoteProblem is called by [WriteProblem].
func (w *outcomeWriter) NoteProblem(name string) {
	w.problem = name
	if under, ok := w.ResponseWriter.(interface{ NoteProblem(name string) }); ok {
		under.NoteProblem(name)
	}
}

// WriteHeader implements [http.ResponseWriter].
func (w *outcomeWriter) WriteHeader(status int) {
	if status >= http.StatusOK && !w.told {
		w.told = true
		w.tell(status)
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *outcomeWriter) tell(status int) {
	h := w.Header()
	if slices.ContainsFunc(h["Set-Cookie"], func(line string) bool { return strings.HasPrefix(line, outcomecookie.Name+"=") }) {
		return
	}
	var before []outcomecookie.Outcome
	if cookie, err := w.request.Cookie(outcomecookie.Name); err == nil {
		before = outcomecookie.Parse(cookie.Value)
	}
	o := outcomecookie.Outcome{ID: w.key, Word: outcomecookie.WordOf(w.problem, h.Get(StatusHeader)), Status: status}
	h.Add("Set-Cookie", outcomecookie.Line(outcomecookie.Add(before, o), w.request.TLS != nil))
}

// Write implements [http.ResponseWriter].
func (w *outcomeWriter) Write(b []byte) (int, error) {
	if !w.told {
		w.WriteHeader(http.StatusOK)
	}
	return w.ResponseWriter.Write(b)
}

// Flush implements [http.Flusher].
func (w *outcomeWriter) Flush() { _ = w.FlushError() }

// FlushError is called by [http.ResponseController].
func (w *outcomeWriter) FlushError() error {
	if !w.told {
		w.WriteHeader(http.StatusOK)
	}
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// Unwrap is for [http.ResponseController].
func (w *outcomeWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
