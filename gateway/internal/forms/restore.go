package forms

import (
	"errors"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/gateway/internal/scope"
	"github.com/semel-dev/semel/semelhttp"
)

// restoreField is the parameter of a URL that names a page to show again:
// _semel=ID.DIGEST, the two parts of the name of the form's intent. It opens
// nothing: the page is shown to the one it was made for alone.
const restoreField = "_semel"

// restoreValue matches such a parameter.
var restoreValue = regexp.MustCompile(`^[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}$`)

// takeRestore takes the parameter out of a query.
func takeRestore(query string) (rest, value string) {
	if !strings.Contains(query, restoreField+"=") {
		return query, ""
	}
	var kept []string
	for pair := range strings.SplitSeq(query, "&") {
		if text, ok := strings.CutPrefix(pair, restoreField+"="); ok && restoreValue.MatchString(text) {
			value = text
			continue
		}
		kept = append(kept, pair)
	}
	return strings.Join(kept, "&"), value
}

// restorable reports whether the answer is a page that is to become a redirect.
func (p *pageWriter) restorable() bool {
	form, a := p.found.Rule.Form, p.attempt
	if form == nil || !form.RestoreRedirect || a.name == "" || a.restored != "" || a.guest || p.request.Method != http.MethodPost {
		return false
	}
	word := p.Header().Get(semelhttp.StatusHeader)
	return p.status == http.StatusOK && isPage(p.Header().Get("Content-Type")) && (word == "executed" || word == "replayed") && len(p.Header()["Trailer"]) == 0
}

// holdRestored holds a piece of the page back, and reports whether it still can: a
// page that is too long was not recorded.
func (p *pageWriter) holdRestored(b []byte) bool {
	p.held = append(p.held, b...)
	return len(p.held) <= p.found.MaxResponse
}

// release goes on as without the redirect.
func (p *pageWriter) release() error {
	held := p.held
	p.pageBuffer = nil
	if reason := p.untouched(); reason != "" {
		p.passOn()
	} else {
		p.begin()
	}
	_, err := p.Write(held)
	return err
}

// redirect sends the browser to where the page can be loaded again and again. It
// reports false for a page that was broken off.
func (p *pageWriter) redirect() bool {
	h := p.Header()
	if lines := h["Content-Length"]; len(lines) > 0 && lines[0] != strconv.Itoa(len(p.held)) {
		return false
	}
	for _, name := range append(bodyHeaders(), "Content-Type", "Content-Encoding", "Content-Language", "Content-Disposition", "Expires") {
		h.Del(name)
	}
	query := p.request.URL.RawQuery
	if query != "" {
		query += "&"
	}
	id, digest, _ := strings.Cut(strings.TrimPrefix(p.attempt.name, keyPrefix), ":")
	path := p.request.URL.EscapedPath()
	if strings.HasPrefix(path, "//") { // which would be another host
		path = "/." + path
	}
	h.Set("Location", path+"?"+query+restoreField+"="+id+"."+digest)
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Length", "0")
	p.mode = pagePassing
	p.setOutcomes()
	p.ResponseWriter.WriteHeader(http.StatusSeeOther)
	return true
}

// restore shows the recorded page again, to the one it was made for. It reports
// false where the request is not about such a page.
func (f *Forms) restore(p *pageWriter, r *http.Request, a *attempt, value string) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	target := *r.URL
	_, rt := f.leadsTo(r.Host, &target)
	if rt == nil || !rt.Rule.Form.RestoreRedirect {
		return false
	}
	id, digest, _ := strings.Cut(value, ".")
	name := keyPrefix + id + ":" + digest
	again := r.Clone(r.Context())
	again.Method, again.Body, again.ContentLength = http.MethodPost, http.NoBody, 0
	for _, principal := range identities(r, a.visitor, rt.Rule.Scope) {
		own, err := scope.For(again, principal)
		if err != nil {
			continue
		}
		rec, err := f.config.Guard.Lookup(r.Context(), semel.Key{Scope: own, Name: name})
		switch {
		case err != nil && !errors.Is(err, semel.ErrNotFound):
			semelhttp.WriteProblem(p, r, semelhttp.Problem{
				Name: "store-unavailable", Page: "page-unavailable", Title: "Temporarily unavailable", Status: http.StatusServiceUnavailable,
				Detail: "Wait a moment, then load the page again.", Retryable: true, RetryAfter: retryAfter,
			})
			return true
		case err != nil || rec.State != semel.StateCompleted:
			continue
		}
		a.principal, a.restored = principal, name
		rt.Handler.ServeHTTP(p, again)
		return true
	}
	pageForgotten(p, r)
	return true
}

// forgotten answers for a page that is gone after all; nothing runs.
func (a *attempt) forgotten(w http.ResponseWriter, r *http.Request) {
	semelhttp.Dispose(r.Context(), semel.StateReleased, "a page that was to be shown again is gone")
	pageForgotten(w, r)
}

// pageForgotten says so of one that is not kept any more, and of another's.
func pageForgotten(w http.ResponseWriter, r *http.Request) {
	semelhttp.WriteProblem(w, r, semelhttp.Problem{
		Name: "page-not-kept", Page: "page-not-kept", Title: "This page cannot be shown again", Status: http.StatusNotFound,
		Detail: "It is the answer to a form that was sent before, and is no longer kept, or belongs to another visitor. Nothing was done.",
	})
}
