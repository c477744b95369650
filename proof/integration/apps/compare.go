package apps

import (
	"bytes"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"
)

// Tour is a walk through every page of an application that links lead to, once
// through its own door and once through the gateway.
type Tour struct {
	// Direct and Through are the same person at either door.
	Direct, Through *Person
	// From are the paths where the walk begins.
	From []string
	// Leave says which paths are not walked, such as that of a link that logs
	// out.
	Leave func(path string) bool
	// Limit bounds the answers that are compared.
	Limit int
}

// Seen lists what a [Tour] came across.
type Seen struct {
	Answers, Pages, Inserted int
}

// Walk compares all answers, and reports those that are not the same byte for
// byte, apart from what the gateway says that it inserts and what the
// application itself changes from one answer to the next.
func (t *Tour) Walk(tb testing.TB) Seen {
	tb.Helper()
	var seen Seen
	queue := slices.Clone(t.From)
	known := make(map[string]bool)
	for _, path := range queue {
		known[path] = true
	}
	for len(queue) > 0 && seen.Answers < t.Limit {
		path := queue[0]
		queue = queue[1:]
		before, through, after := t.Direct.Get(path), t.Through.Get(path), t.Direct.Get(path)
		seen.Answers++
		inserted, differences := Compare(before, through, after)
		seen.Inserted += inserted
		for _, difference := range differences {
			tb.Errorf("%s: %s", path, difference)
		}
		if !isPage(before) {
			continue
		}
		seen.Pages++
		for _, link := range links(before) {
			if !known[link] && !t.Leave(link) {
				known[link] = true
				queue = append(queue, link)
			}
		}
	}
	return seen
}

func isPage(a *Answer) bool {
	kind, _, _ := mime.ParseMediaType(a.Header.Get("Content-Type"))
	return kind == "text/html"
}

// insertion is the markup that the gateway adds to pages: a contract.
func insertion() *regexp.Regexp {
	return regexp.MustCompile(`<input type="hidden" name="_semel" value="sm1\.[\w-]+" autocomplete="off" data-semel-token(?: form="[^"]*")?>` +
		`|<script src="/\.well-known/semel/guard\.js\?v=[\w-]+"(?: nonce="[^"]*")?(?: integrity="[^"]*")?></script>` +
		`|<p class="semel-notice" role="status" lang="[^"]*">[^<]*</p>`)
}

// Compare compares one answer with those that the application gave directly
// before and after it. It returns how much was inserted, and every difference
// that is neither an insertion nor something that the application itself
// changes from one answer to the next.
func Compare(before, through, after *Answer) (inserted int, differences []string) {
	body := through.Body
	if isPage(through) {
		inserted = len(insertion().FindAll(body, -1))
		body = insertion().ReplaceAllLiteral(body, nil)
	}
	if through.Status != before.Status || through.Location() != before.Location() {
		differences = append(differences, fmt.Sprintf("got %d %q, want %d %q", through.Status, through.Location(), before.Status, before.Location()))
	}
	got, want := headers(through, inserted > 0), headers(before, inserted > 0)
	for name := range before.Header {
		if before.Header.Get(name) != after.Header.Get(name) {
			got.Del(name)
			want.Del(name)
		}
	}
	if diff := cmp.Diff(got, want); diff != "" {
		differences = append(differences, "headers, got (-) and want (+):\n"+diff)
	}
	if bytes.Equal(body, before.Body) || bytes.Equal(body, after.Body) {
		return inserted, differences
	}
	if isPage(before) {
		return inserted, append(differences, pageDifference(body, before.Body, after.Body)...)
	}
	return inserted, append(differences, fmt.Sprintf("got other %d bytes, want %d", len(body), len(before.Body)))
}

// pageDifference is the first difference of a page that is not one of two
// renderings of the application's own.
func pageDifference(body, before, after []byte) []string {
	got, one, two := words(body), words(before), words(after)
	if len(got) != len(one) || len(got) != len(two) {
		return []string{fmt.Sprintf("got %d words, want %d or %d: %s", len(got), len(one), len(two), around(got, one))}
	}
	for i := range got {
		if one[i] == two[i] && got[i] != one[i] {
			return []string{around(got, one)}
		}
	}
	return nil
}

// headers are the headers that have to stay. An answer into which something was
// inserted is another one for caches.
func headers(a *Answer, changed bool) http.Header {
	kept := a.Header.Clone()
	for _, name := range []string{"Date", "Set-Cookie", "Connection", "Keep-Alive"} { // and what is between two hops
		kept.Del(name)
	}
	if changed {
		for _, name := range []string{"Content-Length", "Etag", "Last-Modified", "Cache-Control", "Expires", "Accept-Ranges"} {
			kept.Del(name)
		}
	}
	return kept
}

// words cuts a text into runs of letters and digits, and what is between them.
func words(text []byte) []string {
	return regexp.MustCompile(`[A-Za-z0-9]+|[^A-Za-z0-9]+`).FindAllString(string(text), -1)
}

// around shows where two texts begin to differ.
func around(got, want []string) string {
	i := 0
	for i < min(len(want), len(got)) && want[i] == got[i] {
		i++
	}
	cut := func(all []string) string {
		return strings.Join(all[max(0, min(i, len(all))-12):min(len(all), i+12)], "")
	}
	return "got …" + cut(got) + "…, want …" + cut(want) + "…"
}

// links are the paths of the same site that a page refers to.
func links(a *Answer) []string {
	doc, err := html.Parse(bytes.NewReader(a.Body))
	if err != nil {
		return nil
	}
	var found []string
	for n := range doc.Descendants() {
		for _, name := range []string{"href", "src"} {
			if n.Type != html.ElementNode || !has(n, name) || n.Data == "base" {
				continue
			}
			u, err := a.URL.Parse(attribute(n, name))
			if err == nil && u.Host == a.URL.Host && strings.HasPrefix(u.Scheme, "http") {
				found = append(found, (&url.URL{Path: u.Path, RawPath: u.RawPath, RawQuery: u.RawQuery}).String())
			}
		}
	}
	return found
}
