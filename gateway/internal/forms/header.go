package forms

import (
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

// nothingToDo returns why a page that was looked at got nothing.
func (p *pageWriter) nothingToDo() string {
	switch p.rewriter.Stats().GaveUp {
	case rewrite.TooLarge:
		return pageTooLarge
	case rewrite.WrongCharset:
		return pageCharset
	case rewrite.TooDeep:
		return pageMarkup
	case rewrite.Looking, rewrite.WriteFailed:
	}
	if p.unmatched > 0 {
		return pageUnmatched
	}
	return pageNothing
}

// declared is the length that the header says, or 0.
func (p *pageWriter) declared() int64 {
	n, err := strconv.ParseInt(p.Header().Get("Content-Length"), 10, 64)
	if err != nil {
		return 0
	}
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
