package forms

import (
	"cmp"
	"log/slog"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/semel-dev/semel/internal/formguard/rewrite"
)

// Why a page was left as it is, in the words of the metric; pageRewritten for one
// that was not.
const (
	pageRewritten = "rewritten"
	pageNothing   = "no-forms"
	pageUnmatched = "unmatched" // it has forms, and no rule takes any
	pageTooLarge  = "too-large"
	pageCharset   = "charset"
	pageCoding    = "encoding"
	pageTransform = "no-transform"
	pageSecret    = "no-secret"
	pageMarkup    = "markup"
	pageNoScript  = "csp" // it got its tokens, and no script

	pageOther = "other" // not a page: not counted
	pageHead  = "head"  // the header of a page: not counted
)

// bodyHeaders are about the very bytes of a body.
func bodyHeaders() []string {
	return []string{"Content-Length", "Content-Md5", "Digest", "Content-Digest", "Repr-Digest", "Etag", "Last-Modified", "Accept-Ranges"}
}

// untouched returns why the answer is not to be rewritten, "" if it is.
func (p *pageWriter) untouched() string {
	if reason := p.unfit(); reason != "" {
		return reason
	}
	if _, err := p.forms.secrets.minter(p.request.Context()); err != nil {
		return pageSecret
	}
	return ""
}

// unfit returns why the answer cannot be rewritten, by its status and header.
func (p *pageWriter) unfit() string {
	h := p.Header()
	coding := contentCoding(h)
	switch {
	case p.status == http.StatusNoContent, p.status == http.StatusNotModified, p.status == http.StatusPartialContent, p.status == http.StatusResetContent,
		p.problem != "", !isPage(h), h.Get("Content-Range") != "",
		strings.HasPrefix(strings.ToLower(strings.TrimSpace(h.Get("Content-Disposition"))), "attachment"):
		return pageOther
	case hasDirective(h["Cache-Control"], "no-transform"):
		return pageTransform
	case len(h["Content-Encoding"]) > 1 || !decodable(coding):
		return pageCoding
	case !rewrite.Supported(charsetOf(h)):
		return pageCharset
	case p.request.Method == http.MethodHead:
		return pageHead
	case p.declared() > p.forms.config.MaxPageBytes:
		return pageTooLarge
	}
	return ""
}

// gaveUp returns why forms of a page may have got nothing, "" if all of it was looked at.
func (p *pageWriter) gaveUp() string {
	switch stats := p.rewriter.Stats(); {
	case stats.GaveUp == rewrite.TooLarge:
		return pageTooLarge
	case stats.GaveUp == rewrite.WrongCharset:
		return pageCharset
	case stats.GaveUp == rewrite.TooDeep, stats.LongTags > 0:
		return pageMarkup
	}
	return ""
}

// nothingToDo returns why a page that was looked at got nothing.
func (p *pageWriter) nothingToDo() string {
	if p.unmatched > 0 {
		return cmp.Or(p.gaveUp(), pageUnmatched)
	}
	return cmp.Or(p.gaveUp(), pageNothing)
}

// report counts a page by its result, and warns where that is none to be content with.
func (p *pageWriter) report(result string) {
	p.forms.countPage(result)
	p.warn(result)
}

// warn logs that a page lacks what its forms' rules promise, once for each reason and the
// route that its first form leads to: a site has many pages of one kind. That a page may
// not be transformed is its application's wish.
func (p *pageWriter) warn(result string) {
	why := whyUntouched(result)
	if result == pageNoScript && p.gaveUp() == "" { // else that has been said
		why = p.whyNoScript()
	}
	if why == "" || result == pageTransform {
		return
	}
	leads := cmp.Or(p.leads, p.found) // a page that was not read has no forms yet
	if first, _ := p.forms.lacking.first(why + "\n" + leads.Rule.Name); !first {
		return
	}
	text := "a page, or the rest of it, is passed on as it is: forms in there get no token, and sending them twice is not safe"
	if result == pageNoScript {
		text = "a page with protected forms gets their tokens and no guard script"
	}
	p.forms.config.Log.LogAttrs(p.request.Context(), slog.LevelWarn, text, //nolint:sloglint // one of two constants.
		slog.String("page", likePath(p.request.URL.Path)), slog.String("reason", why), slog.String("route", leads.Rule.Name))
}

// whyNoScript says why a page that wants the script lacks it.
func (p *pageWriter) whyNoScript() string {
	if !p.pass.allowed {
		return "its Content-Security-Policy, in the header or a meta element, allows none (name a nonce in it, or 'self')"
	}
	return "it has no end of a body, or ends inside a comment, script or template"
}

// whyUntouched says why a page is passed on as it is; "" for one that is not.
func whyUntouched(result string) string {
	return map[string]string{
		pageOther:     "browsers do not show it as a page (by its status, Content-Type, Content-Range or Content-Disposition)",
		pageTransform: "its Cache-Control says no-transform",
		pageCoding:    "its Content-Encoding cannot be read",
		pageCharset:   "its charset cannot be read as ASCII bytes (UTF-16, say)",
		pageTooLarge:  "it is longer than MaxPageBytes",
		pageMarkup:    "its elements are nested deeper than browsers allow, or the tag of a form or button in it is longer than 64 KiB",
	}[result]
}

// declared is the length that the header says, or 0.
func (p *pageWriter) declared() int64 {
	n, _ := strconv.ParseInt(p.Header().Get("Content-Length"), 10, 64) // 0 for none
	return n
}

// secure reports whether the browser speaks TLS, as far as can be told.
func (p *pageWriter) secure() bool { return secure(p.request) }

// secure reports whether the caller speaks TLS: with the gateway, or with a proxy
// in front of it that says so.
func secure(r *http.Request) bool {
	return r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https")
}

// isPage reports whether the content is HTML.
func isPage(h http.Header) bool {
	media, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	media = strings.ToLower(strings.TrimSpace(media))
	return media == "text/html" || media == "application/xhtml+xml"
}

// charsetOf returns the charset that the content type names, or "".
func charsetOf(h http.Header) string {
	_, params, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return params["charset"]
}

// contentCoding returns the content coding in small letters, "" for none.
func contentCoding(h http.Header) string {
	coding := strings.ToLower(strings.TrimSpace(h.Get("Content-Encoding")))
	if coding == "identity" {
		return ""
	}
	return coding
}

// hasDirective reports whether a Cache-Control has a directive without a value.
func hasDirective(lines []string, name string) bool {
	for _, line := range lines {
		for d := range strings.SplitSeq(line, ",") {
			if strings.EqualFold(strings.TrimSpace(d), name) {
				return true
			}
		}
	}
	return false
}

// privately is the Cache-Control of a page that is one reader's: no cache gives it
// to another, and none gives it again without asking. What is stricter stays.
func privately(lines []string) []string {
	if hasDirective(lines, "no-store") {
		return []string{"private, no-store"}
	}
	return []string{"private, no-cache"}
}

// isURLEncoded reports whether the content is a URL-encoded form.
func isURLEncoded(contentType string) bool {
	media, _, _ := strings.Cut(contentType, ";")
	return strings.EqualFold(strings.TrimSpace(media), "application/x-www-form-urlencoded")
}
