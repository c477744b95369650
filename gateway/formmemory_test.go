package gateway_test

import (
	"cmp"
	"compress/gzip"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/semel-dev/semel/gateway"
	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/store/memstore"
)

// manyForms is a page of n forms.
func manyForms(n int, action func(i int) string) string {
	var b strings.Builder
	b.WriteString(`<!DOCTYPE html><html lang="en"><body>`)
	for i := range n {
		fmt.Fprintf(&b, `<p>Invoice %d</p><form method="post" action="%s"><input name="amount"><button>Send</button></form>`, i, action(i))
	}
	b.WriteString(`</body></html>`)
	return b.String()
}

func sameAction(int) string    { return "/invoices?from=list&amp;page=2" }
func ownAction(i int) string   { return "/invoices/" + strconv.Itoa(i) }
func ownQuery(i int) string    { return "/invoices?id=" + strconv.Itoa(i) }
func otherPlace(i int) string  { return "/elsewhere/" + strconv.Itoa(i) }
func relativeOne(i int) string { return "../invoices?id=" + strconv.Itoa(i) }

const manyRules = `version: 1
routes:
  - name: invoices
    match: {methods: [POST], path: /invoices}
    form: true
  - name: invoice
    match: {methods: [POST], path: "/invoices/{id}"}
    form: true
`

// sink takes an answer, and needs no memory for it.
type sink struct {
	header http.Header
	n      int
}

func (s *sink) Header() http.Header { return s.header }
func (*sink) WriteHeader(int)       {}
func (*sink) Flush()                {}

func (s *sink) Write(b []byte) (int, error) {
	s.n += len(b)
	return len(b), nil
}

// shown returns a function that asks a gateway with rules for the page once, and how many bytes it is given.
func shown(tb testing.TB, text, page string, packed bool) func() int {
	tb.Helper()
	body := []byte(page)
	if packed {
		var out strings.Builder
		w := gzip.NewWriter(&out)
		if _, err := w.Write(body); err != nil || w.Close() != nil {
			tb.Fatal(err)
		}
		body = []byte(out.String())
	}
	application := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		if packed {
			w.Header().Set("Content-Encoding", "gzip")
		}
		_, _ = w.Write(body)
	}))
	tb.Cleanup(application.Close)
	g := must.Get(gateway.New(&gateway.Config{
		Upstream: application.URL, Store: memstore.New(nil), Rules: parse(tb, text), FormSecrets: [][]byte{[]byte("the secret of a test")},
	}))
	tb.Cleanup(func() {
		if err := g.Close(); err != nil {
			tb.Error(err)
		}
	})
	handler := g.Handler()
	return func() int {
		r := httptest.NewRequestWithContext(tb.Context(), http.MethodGet, "http://shop.test/list/all", http.NoBody)
		r.Header.Set("Accept", "text/html")
		r.Header.Set("Accept-Encoding", "gzip")
		r.Header.Set("Cookie", "sessionid=abc")
		to := &sink{header: http.Header{}}
		handler.ServeHTTP(to, r)
		return to.n
	}
}

// TestFormsNeedLittleMemory: what a form costs does not depend on how many there are. One that leads where another did costs
// nothing; one that leads elsewhere has to be looked up.
func TestFormsNeedLittleMemory(t *testing.T) { //nolint:paralleltest // AllocsPerRun counts the whole process
	const few, many = 100, 1000
	for name, c := range map[string]struct {
		action func(int) string
		most   float64 // allocations a form
	}{
		"the same action":   {sameAction, 0.1},
		"an action each":    {ownAction, 4},
		"a query each":      {ownQuery, 3},
		"forms of others":   {otherPlace, 12},
		"relative, resolve": {relativeOne, 12},
	} {
		allocs := func(forms int) float64 {
			show := shown(t, manyRules, manyForms(forms, c.action), false)
			if got := show(); got < forms*100 {
				t.Fatalf("%s: the page has %d bytes", name, got)
			}
			return testing.AllocsPerRun(5, func() { show() })
		}
		if got := (allocs(many) - allocs(few)) / (many - few); got > c.most {
			t.Errorf("%s: %.2f allocations a form, want at most %.1f", name, got, c.most)
		} else {
			t.Logf("%s: %.2f allocations a form", name, got)
		}
	}
}

// BenchmarkPage is a page through a gateway, without a connection to the reader.
func BenchmarkPage(b *testing.B) {
	article := "<html><head><title>News</title></head><body>" + manyForms(1, sameAction) +
		strings.Repeat(`<article class="card"><a href="/articles/1">A headline</a><p>Some text, and <b>more</b> of it</p></article>`+"\n", 10_000) + "</body></html>"
	for _, c := range []struct {
		name   string
		page   string
		packed bool
		rules  string
	}{
		{"Small", manyForms(1, ownAction) + strings.Repeat("<p>Some text, and <b>more</b> of it</p>\n", 250), false, ""},
		{"Forms", manyForms(10_000, sameAction), false, ""},
		{"OwnForms", manyForms(10_000, ownAction), false, ""},
		{"Gzip", manyForms(10_000, sameAction), true, ""},
		{"ArticleWithBoth", article, false, bothRules},
		{"ArticleWithoutScript", article, false, ""},
		{"ArticleWithPageScriptAlone", article, false, pageRules},
	} {
		b.Run(c.name, func(b *testing.B) {
			show := shown(b, cmp.Or(c.rules, manyRules), c.page, c.packed)
			b.SetBytes(int64(len(c.page)))
			b.ReportAllocs()
			for b.Loop() {
				show()
			}
		})
	}
}
