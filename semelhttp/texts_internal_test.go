package semelhttp

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/internal/refusal"
)

// ofMachines are words of programs, which no text for people contains.
var ofMachines = regexp.MustCompile(`(?i)\b(keys?|tokens?|scopes?|claims?|operators?|idempoten\w*|nyck(el|lar)\w*|begäran med samma)\b|कुंजी|टोकन|密钥|键|令牌|什么都没有做|答复|应答|पृष्ठ`)

// TestPageTexts: every row of the table has texts of its own for people, in every
// language, and none of them speaks as programs do.
func TestPageTexts(t *testing.T) {
	t.Parallel()
	scripts := map[string]*unicode.RangeTable{"en": unicode.Latin, "sv": unicode.Latin, "hi": unicode.Devanagari, "zh": unicode.Han}
	all := refusal.Texts()
	if len(all) != len(scripts) {
		t.Fatalf("%d languages, want %d", len(all), len(scripts))
	}
	wanted := map[string]bool{}
	for _, row := range problems() {
		if row.page == "" || wanted[row.page] && row.page != "store-unavailable" {
			t.Errorf("%v: the page %q is that of another row", row.err, row.page)
		}
		wanted[row.page] = true
	}
	for lang, script := range scripts {
		texts := all[lang]
		said := []string{texts.Policy, texts.Result, texts.Wait, texts.Back, texts.Once}
		for id := range wanted {
			said = append(said, texts.Pages[id].Title, texts.Pages[id].Detail)
		}
		for id, words := range texts.Pages {
			said = append(said, words.Title, words.Detail)
			if _, known := all["en"].Pages[id]; !known {
				t.Errorf("%s: %s is missing in English", lang, id)
			}
		}
		if len(texts.Pages) != len(all["en"].Pages) {
			t.Errorf("%s: %d pages, English has %d", lang, len(texts.Pages), len(all["en"].Pages))
		}
		for _, words := range said {
			if !strings.ContainsFunc(words, func(r rune) bool { return unicode.Is(script, r) }) {
				t.Errorf("%s: a text is missing or in another script: %q", lang, words)
			}
			if bad := ofMachines.FindString(words); bad != "" {
				t.Errorf("%s: %q is not a word for people: %s", lang, bad, words)
			}
		}
	}
}

// TestPagesOfOtherPackages: every problem names its page, every page that a package
// names has its texts, and every text is named.
func TestPagesOfOtherPackages(t *testing.T) {
	t.Parallel()
	problem := regexp.MustCompile(`\bProblem\{[^{}]*\bName: (?:"|name\b)[^{}]*\}`)
	named := regexp.MustCompile(`\b(?:Page: |\.Page(?:, [\w.]+)* = (?:"[a-z-]+", )*)"([a-z-]+)"`)
	used := map[string]bool{}
	for _, row := range problems() {
		used[row.page] = true
	}
	for _, pattern := range []string{"*.go", "../gateway/*.go", "../gateway/internal/forms/*.go"} {
		files := must.Get(filepath.Glob(pattern))
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			text := string(must.Get(os.ReadFile(file)))
			for _, found := range named.FindAllStringSubmatch(text, -1) {
				used[found[1]] = true
			}
			for _, found := range problem.FindAllString(text, -1) {
				if !strings.Contains(found, "Page: ") {
					t.Errorf("%s: a problem without a page: %s", file, found)
				}
			}
		}
	}
	pages := refusal.Texts()["en"].Pages
	for id := range used {
		if _, ok := pages[id]; !ok {
			t.Errorf("the page %s has no texts", id)
		}
	}
	for id := range pages {
		if !used[id] {
			t.Errorf("the texts %s are of no page", id)
		}
	}
}

// TestPagesOfOneName: two problems of one name are two pages, in every language.
func TestPagesOfOneName(t *testing.T) {
	t.Parallel()
	page := func(p Problem, lang string) string {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil)
		r.Header.Set("Accept", "text/html")
		r.Header.Set("Accept-Language", lang)
		w := httptest.NewRecorder()
		WriteProblem(w, r, p)
		_, h1, _ := strings.Cut(w.Body.String(), "<h1>")
		title, _, _ := strings.Cut(h1, "</h1>")
		return title
	}
	invalid, _ := problemOf(errKeyMissing)
	for lang := range refusal.Texts() {
		for _, pair := range [][2]Problem{
			{{Name: "key-invalid", Page: "form-damaged"}, {Name: "key-invalid", Page: "sign-in"}},
			{{Name: "response-too-large", Page: "result-too-large"}, {Name: "response-too-large", Page: "result-not-supported"}},
			{{Name: invalid.Name, Page: invalid.Page}, {Name: invalid.Name, Title: "The caller's own"}},
		} {
			pair[0].Status, pair[1].Status = http.StatusBadRequest, http.StatusBadRequest
			if one, two := page(pair[0], lang), page(pair[1], lang); one == two || one == "" {
				t.Errorf("%s: %s: both pages say %q", lang, pair[0].Name, one)
			}
		}
	}
}
