package refusal

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/semel-dev/semel/internal/must"
)

//go:embed templates
var templates embed.FS

// DefaultLanguage is that of the texts in Go.
const DefaultLanguage = "en"

// Language holds the texts of the pages in one language.
type Language struct {
	Policy string `json:"policy"` // the link to the published policy
	Result string `json:"result"` // the link to the result of an earlier attempt
	Wait   string `json:"wait"`   // "You can try again in %d s."
	// Reference comes before the digits that an operator finds the record by.
	Reference string `json:"reference"`
	Back      string `json:"back"` // the link to the form that nothing came of
	Once      string `json:"once"` // how to do once more what may have happened, and the link to the form
	Pages     map[string]struct {
		Title  string `json:"title"`
		Detail string `json:"detail"`
	} `json:"pages"`
}

// mayHaveHappened returns the pages about something that happened, or may have: a
// person who opens the form again after one of them does it once more.
func mayHaveHappened() []string {
	return []string{
		"commit-unknown", "in-flight", "no-answer", "outcome-unknown", "upstream-failed", "superseded", "response-not-kept", "response-unreadable", "duplicate",
	}
}

// problemPage holds the texts of templates/problem.html.
type problemPage struct {
	Lang, Title, Detail, Name string
	Wait                      string
	Reference                 string
	Form, Back, Once          string
	PolicyURL, Policy         string
	Location, Result          string
}

// writeProblemPage answers a browser, in its reader's language where it is one
// of ours.
func writeProblemPage(w http.ResponseWriter, r *http.Request, p *Problem) {
	lang, texts := chooseLanguage(r.Header.Values("Accept-Language"))
	page := problemPage{Lang: lang, Title: p.Title, Detail: p.Detail, Name: p.Name, PolicyURL: p.PolicyURL, Policy: texts.Policy}
	if words, ok := texts.Pages[p.Page]; ok {
		page.Title, page.Detail = words.Title, words.Detail
	}
	if p.Language != "" {
		page.Lang, lang = p.Language, p.Language
	}
	if p.RetryAfter > 0 {
		page.Wait = fmt.Sprintf(texts.Wait, p.retrySeconds())
	}
	if reference, ok := p.Extra["reference"].(string); ok {
		page.Reference = texts.Reference + " " + reference
	}
	if location, ok := p.Extra["location"].(string); ok {
		page.Location, page.Result = location, texts.Result
	}
	if sendsForm(r) {
		page.Form = cameFrom(r)
		if slices.Contains(mayHaveHappened(), p.Page) {
			page.Once = texts.Once
		} else if page.Form != "" {
			page.Back = texts.Back
		}
	}
	WritePage(w, r, p.Status, lang, templates, "templates/problem.html", page)
}

// sendsForm reports whether the request is a form of a page.
func sendsForm(r *http.Request) bool {
	media, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	switch strings.ToLower(strings.TrimSpace(media)) {
	case "application/x-www-form-urlencoded", "multipart/form-data", "text/plain":
		return r.Method == http.MethodPost
	}
	return false
}

// cameFrom returns the path and the query of the page that sent the request, if
// that page is one of the same site, and "" otherwise. No other host can be in it.
func cameFrom(r *http.Request) string {
	from, err := url.Parse(r.Header.Get("Referer"))
	switch {
	case err != nil, from.Scheme != "http" && from.Scheme != "https", from.Host == "":
		return ""
	case !strings.EqualFold(from.Host, r.Host) && r.Header.Get("Sec-Fetch-Site") != "same-origin":
		return ""
	}
	path := "/" + strings.TrimLeft(from.EscapedPath(), "/\\")
	if from.RawQuery != "" {
		path += "?" + from.RawQuery
	}
	return path
}

// WritePage answers with a page that is made of one of the embedded files.
func WritePage(w http.ResponseWriter, r *http.Request, status int, lang string, files embed.FS, name string, data any) {
	var page bytes.Buffer
	err := must.Get(template.ParseFS(files, name)).Execute(&page, data)
	must.Succeed(err, "the embedded page %s can be filled", name)
	SetPageHeader(w.Header(), r, page.Bytes())
	w.Header().Set("Content-Language", lang)
	w.WriteHeader(status)
	_, _ = w.Write(page.Bytes()) // the client may have gone
}

// SetPageHeader sets what a page of Semel's is sent with as the answer to r: its
// type, and a Content-Security-Policy under which it runs nothing, loads nothing,
// sends nothing and has no style but its own style elements. It is shown in frames
// of its own origin, and in any frame in which a page of that origin asked for it:
// that page was allowed to be there, and a refusal must be legible where the form
// was. Such a page holds links, and nothing that could be clicked by mistake with
// an effect.
func SetPageHeader(h http.Header, r *http.Request, page []byte) {
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Add("Vary", "Sec-Fetch-Dest, Sec-Fetch-Site")
	styles := ""
	for rest := page; ; {
		_, after, found := bytes.Cut(rest, []byte("<style>"))
		if !found {
			break
		}
		var style []byte
		style, rest, _ = bytes.Cut(after, []byte("</style>"))
		sum := sha256.Sum256(style)
		styles += " 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	styles = cmp.Or(styles, " 'none'")
	policy := "default-src 'none'; style-src" + styles + "; base-uri 'none'; form-action 'none'"
	if framedByItself(r) {
		h.Del("X-Frame-Options")
	} else {
		h.Set("X-Frame-Options", "SAMEORIGIN")
		policy += "; frame-ancestors 'self'"
	}
	h.Set("Content-Security-Policy", policy)
}

// framedByItself reports whether a browser says that the answer goes into a frame,
// and that a page of the same origin asked for it. No page of another site can make
// a browser say so.
func framedByItself(r *http.Request) bool {
	return slices.Contains([]string{"iframe", "frame", "embed", "object"}, r.Header.Get("Sec-Fetch-Dest")) &&
		r.Header.Get("Sec-Fetch-Site") == "same-origin"
}

// Texts returns the texts of pages by language.
func Texts() (all map[string]Language) {
	must.Succeed(json.Unmarshal(must.Get(templates.ReadFile("templates/texts.json")), &all), "the embedded texts are JSON")
	return all
}

// chooseLanguage returns the language the reader likes best of those we have.
func chooseLanguage(accept []string) (string, Language) {
	all := Texts()
	best, bestQuality := DefaultLanguage, 0.0
	eachQuality(accept, func(tag string, q float64) {
		primary, _, _ := strings.Cut(tag, "-")
		if _, ok := all[primary]; ok && q > bestQuality {
			best, bestQuality = primary, q
		}
	})
	return best, all[best]
}

// PrefersHTML reports whether the caller asks for HTML by name, and not for
// JSON just as much. Callers that take anything get JSON.
func PrefersHTML(r *http.Request) bool {
	var html, machine float64
	eachQuality(r.Header["Accept"], func(media string, q float64) {
		switch media {
		case "text/html", "application/xhtml+xml":
			html = max(html, q)
		case "application/json", "application/problem+json":
			machine = max(machine, q)
		}
	})
	return html > machine
}

// maxAccepted bounds how many entries of an Accept header are read.
const maxAccepted = 64

// eachQuality calls visit for the entries of an Accept or Accept-Language
// header, in lower case, with their quality.
func eachQuality(lines []string, visit func(value string, q float64)) {
	n := 0
	for _, line := range lines {
		for entry := range strings.SplitSeq(line, ",") {
			if n++; n > maxAccepted {
				return
			}
			value, params, _ := strings.Cut(entry, ";")
			q := 1.0
			for param := range strings.SplitSeq(params, ";") {
				if text, ok := strings.CutPrefix(strings.ToLower(strings.TrimSpace(param)), "q="); ok {
					q, _ = strconv.ParseFloat(text, 64) // anything but a number counts as 0
				}
			}
			if q > 0 && q <= 1 {
				visit(strings.ToLower(strings.TrimSpace(value)), q)
			}
		}
	}
}
