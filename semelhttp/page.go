package semelhttp

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"strconv"
	"strings"

	"github.com/semel-dev/semel/internal/must"
)

//go:embed templates
var templates embed.FS

// defaultLanguage is that of the texts in Go.
const defaultLanguage = "en"

// language holds the texts of the pages in one language.
type language struct {
	Policy   string `json:"policy"` // the link to the published policy
	Result   string `json:"result"` // the link to the result of an earlier attempt
	Wait     string `json:"wait"`   // "You can try again in %d s."
	Problems map[string]struct {
		Title  string `json:"title"`
		Detail string `json:"detail"`
	} `json:"problems"`
}

// problemPage is what templates/problem.html shows.
type problemPage struct {
	Lang, Title, Detail, Name string
	Wait                      string
	PolicyURL, Policy         string
	Location, Result          string
}

// writeProblemPage answers a browser, in its reader's language where it is one
// of ours.
func writeProblemPage(w http.ResponseWriter, r *http.Request, p *Problem) {
	lang, texts := chooseLanguage(r.Header.Values("Accept-Language"))
	page := problemPage{Lang: lang, Title: p.Title, Detail: p.Detail, Name: p.Name, PolicyURL: p.PolicyURL, Policy: texts.Policy}
	if translated, ok := texts.Problems[p.Name]; ok && lang != defaultLanguage && p.Language == "" {
		page.Title, page.Detail = translated.Title, translated.Detail
	}
	if p.Language != "" {
		page.Lang, lang = p.Language, p.Language
	}
	if p.RetryAfter > 0 {
		page.Wait = fmt.Sprintf(texts.Wait, p.retrySeconds())
	}
	if location, ok := p.Extra["location"].(string); ok {
		page.Location, page.Result = location, texts.Result
	}
	writePage(w, p.Status, lang, "templates/problem.html", page)
}

// writePage answers with one of the embedded pages.
func writePage(w http.ResponseWriter, status int, lang, name string, data any) {
	var page bytes.Buffer
	err := must.Get(template.ParseFS(templates, name)).Execute(&page, data)
	must.Succeed(err, "the embedded page %s can be filled", name)
	SetPageHeader(w.Header(), page.Bytes())
	w.Header().Set("Content-Language", lang)
	w.WriteHeader(status)
	_, _ = w.Write(page.Bytes()) // the client may have gone
}

// SetPageHeader sets what a page of Semel's is sent with: its type, and a
// Content-Security-Policy under which it runs nothing, loads nothing, is framed
// by nobody, and has no style but its own style elements.
func SetPageHeader(h http.Header, page []byte) {
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
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
	if styles == "" {
		styles = " 'none'"
	}
	h.Set("Content-Security-Policy", "default-src 'none'; style-src"+styles+"; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
}

// chooseLanguage returns the language the reader likes best of those we have.
func chooseLanguage(accept []string) (string, language) {
	var all map[string]language
	must.Succeed(json.Unmarshal(must.Get(templates.ReadFile("templates/texts.json")), &all), "the embedded texts are JSON")
	best, bestQuality := defaultLanguage, 0.0
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
					q, _ = strconv.ParseFloat(text, 64) // what is no number counts as 0
				}
			}
			if q > 0 && q <= 1 {
				visit(strings.ToLower(strings.TrimSpace(value)), q)
			}
		}
	}
}
