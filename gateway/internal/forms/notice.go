package forms

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"html"
	"net/http"
	"strings"

	"golang.org/x/text/language"
)

// notice is the text for a reader whose form had been sent before.
type notice struct {
	tag  language.Tag
	text string
}

// inWords returns the notice in a rule's own words, where it has them in this language. One
// text for all languages is in that of the page.
func (n notice) inWords(texts map[string]string) notice {
	switch lang := n.tag.String(); {
	case texts[lang] != "":
		n.text = texts[lang]
	case texts[""] != "":
		n.tag, n.text = language.Und, texts[""]
	}
	return n
}

// notices are the texts, by language; the first is for all other languages.
func notices() []notice {
	return []notice{
		{language.English, "You had already sent this form, so it was not sent again. To do it once more on purpose, open the form again."},
		{language.Swedish, "Du hade redan skickat formuläret, så det skickades inte igen. Öppna formuläret på nytt om du vill göra det en gång till."},
		{language.Hindi, "आप यह फ़ॉर्म पहले ही भेज चुके थे, इसलिए इसे दोबारा नहीं भेजा गया। जान-बूझकर एक बार और करने के लिए फ़ॉर्म फिर से खोलें।"},
		{language.Chinese, "您之前已经提交过此表单，因此没有再次提交。如果确实需要再做一次，请重新打开表单。"},
	}
}

// noticeFor returns the notice in the language of the page, if it is one of ours,
// else in the one that the reader likes best.
func noticeFor(page string, accepted []string) notice {
	all := notices()
	tags := make([]language.Tag, len(all))
	for i := range all {
		tags[i] = all[i].tag
	}
	matcher := language.NewMatcher(tags)
	if page != "" {
		if tag, err := language.Parse(page); err == nil {
			if _, i, sure := matcher.Match(tag); sure >= language.High {
				return all[i]
			}
		}
	}
	wanted, _, err := language.ParseAcceptLanguage(strings.Join(accepted, ","))
	if err != nil {
		return all[0]
	}
	_, i, _ := matcher.Match(wanted...)
	return all[i]
}

// noticeStyle is the style sheet of the notice, for pages of any look: a line of its
// own, in the page's font.
//
//go:embed notice.css
var noticeStyle []byte

// noticeStylePath is its path.
const noticeStylePath = Path + "notice.css"

// noticeStyleVersion ends its address, so that caches may keep it for ever.
func noticeStyleVersion() string {
	sum := sha256.Sum256(noticeStyle)
	return hex.EncodeToString(sum[:8])
}

// serveNoticeStyle answers with the style sheet.
func serveNoticeStyle(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.Set("Allow", "GET, HEAD")
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		return
	}
	h.Set("Content-Type", "text/css; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-cache")
	if r.URL.Query().Get("v") == noticeStyleVersion() {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	_, _ = w.Write(noticeStyle) // the caller may have gone
}

// markup returns the notice for a page, with its style sheet where the
// page's policies let it have one.
func (n notice) markup(pass *elementPass) string {
	sheet := ""
	if pass.allowed {
		sheet = `<link rel="stylesheet" href="` + noticeStylePath + "?v=" + noticeStyleVersion() + `"`
		if pass.nonce != "" {
			sheet += ` nonce="` + html.EscapeString(pass.nonce) + `"`
		}
		sheet += ` />`
	}
	lang := ""
	if n.tag != language.Und {
		lang = ` lang="` + n.tag.String() + `"`
	}
	return sheet + `<p class="semel-notice" role="status" dir="auto"` + lang + `>` + inASCII(n.text) + `</p>`
}
