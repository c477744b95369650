package forms

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"html"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/text/language"

	"github.com/semel-dev/semel/internal/formguard"
	"github.com/semel-dev/semel/internal/outcomecookie"
	"github.com/semel-dev/semel/internal/refusal"
	"github.com/semel-dev/semel/rules"
	"github.com/semel-dev/semel/semelhttp"
)

// noteOutcome remembers the outcome of the form that this answers, for the page.
func (p *pageWriter) noteOutcome() {
	a := p.attempt
	for _, text := range a.refused { // so that the script does not send it again in a fresh form
		if name, ok := formguard.NameOf(text); ok {
			a.outcomes = outcomecookie.Add(a.outcomes, outcomecookie.Outcome{ID: name, Word: outcomecookie.Refused, Status: p.status})
		}
	}
	if a.name == "" || a.restored != "" {
		return
	}
	word := outcomecookie.WordOf(p.problem, p.Header().Get(semelhttp.StatusHeader))
	a.outcomes = outcomecookie.Add(a.outcomes, outcomecookie.Outcome{ID: a.token.Name(), Word: word, Status: p.status, Words: wordsID(p.found.Rule)})
}

// wordsID names a rule that has words of its own for the notice of the page that
// follows, "" for one without.
func wordsID(rule *rules.Route) string {
	if len(rule.Form.Texts.Duplicate) == 0 {
		return ""
	}
	sum := sha256.Sum256([]byte(rule.Name))
	return hex.EncodeToString(sum[:8])
}

// notice returns the notice in the language of the page, or of its reader, and in the
// words of the rule whose form had been sent before.
func (p *pageWriter) notice() notice {
	n := noticeFor(p.language(), p.request.Header["Accept-Language"])
	told := slices.IndexFunc(p.attempt.outcomes, toTell)
	if told < 0 || p.attempt.outcomes[told].Words == "" {
		return n
	}
	for i := range p.forms.config.Rules {
		if rule := &p.forms.config.Rules[i]; rule.Form != nil && wordsID(rule) == p.attempt.outcomes[told].Words {
			return n.inWords(rule.Form.Texts.Duplicate)
		}
	}
	return n
}

// tellsOfReplay reports whether the reader is to be told that a form had been sent
// before. A browser shows no body of a redirect, and may never show what it loads
// ahead: the page that follows tells.
func (p *pageWriter) tellsOfReplay() bool {
	return p.status < http.StatusMultipleChoices && !loadsAhead(p.request) && slices.ContainsFunc(p.attempt.outcomes, toTell)
}

// loadsAhead reports whether a browser prefetches the page, which it may never show.
func loadsAhead(r *http.Request) bool {
	for _, name := range []string{"Sec-Purpose", "Purpose", "X-Moz"} {
		if strings.HasPrefix(r.Header.Get(name), "prefetch") {
			return true
		}
	}
	return false
}

// navigates reports whether the answer is one that a browser shows as a page, and
// not a piece of one that a script asked for.
func navigates(r *http.Request) bool {
	if mode := r.Header.Get("Sec-Fetch-Mode"); mode != "" {
		return mode == "navigate"
	}
	return refusal.PrefersHTML(r)
}

// toTell reports whether a page still has to show the outcome to the reader.
func toTell(o outcomecookie.Outcome) bool {
	return o.Word == outcomecookie.Replayed && o.Status < http.StatusBadRequest
}

// setOutcomes sets the cookie with the outcomes, where there is news. An outcome
// in the page has been seen; a page that is sent while it is written will show it.
func (p *pageWriter) setOutcomes() {
	a := p.attempt
	news := (a.name != "" || len(a.refused) > 0) && a.restored == ""
	if p.noticed || p.mode == pageRewriting && p.tells && navigates(p.request) {
		for i := range a.outcomes {
			if toTell(a.outcomes[i]) {
				a.outcomes[i].Word, news = outcomecookie.Seen, true
			}
		}
	}
	if news {
		p.Header().Add("Set-Cookie", outcomecookie.Line(a.outcomes, secure(p.request)))
	}
}

// notice is the text for a reader whose form had been sent before.
type notice struct {
	tag  language.Tag
	text string
}

// inWords returns the notice in a rule's own words, where it has them in this language. A
// text for all languages takes the language of the page.
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
