package rewrite_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/semel-dev/semel/gateway/internal/forms/rewrite"
)

// article is a page of about n bytes as sites have them: much text, links, pictures, inline script and style, one form.
func article(n int) []byte {
	var b strings.Builder
	b.WriteString(`<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>News</title><style>` +
		strings.Repeat(".card > a:hover{color:#123}\n", 300) + `</style><script>` +
		strings.Repeat(`if(a<b&&c>d){e.push("<li>"+f+"</li>")}`, 300) + `</script></head><body class="home">` +
		`<form method="post" action="/search"><input name="q"><button>Search</button></form>`)
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, `<article class="card card-%d" id="a%[1]d"><h2><a href="/articles/%[1]d?from=home&amp;at=%[1]d" title="Article %[1]d">A headline of some words</a></h2>
<img src="/images/%[1]d.jpg" srcset="/images/%[1]d-2x.jpg 2x" alt="A picture" width="320" height="200" loading="lazy">
<!-- teaser %[1]d --><p>Some text that goes on for a while, with <em>emphasis</em> and a <a href="/tags/text">link</a>, as teasers do; then
more of it, until the editor has decided that it is enough for a front page on which there are many others.</p>
<svg width="16" height="16" viewBox="0 0 16 16"><path d="M8 0a8 8 0 100 16A8 8 0 008 0zm3 5l-4 6-2-2"/></svg></article>
`, i)
	}
	b.WriteString(`</body></html>`)
	return []byte(b.String())
}

// grid is a table of about n bytes with a form and two buttons in each row.
func grid(n int) []byte {
	var b strings.Builder
	b.WriteString(`<!DOCTYPE html><html><body><table>`)
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, `<tr><td>%d</td><td>Invoice</td><td><form method="post" action="/invoices/%[1]d" class="inline">
<input type="hidden" name="csrf" value="0123456789abcdef"><input name="amount" value="%[1]d" required>
<button class="btn btn-primary" type="submit">Save</button><button formaction="/invoices/%[1]d/delete" class="btn">Delete</button></form></td></tr>
`, i)
	}
	b.WriteString(`</table></body></html>`)
	return []byte(b.String())
}

// inert is a page of about n bytes with forms that do not send anything as long as they are there.
func inert(n int) []byte {
	const row = `<template><form method=post action="/a?b=1&amp;c=&#50;"><button formaction=/d>x</button><template><form id=i></template></form><form name=n></template>
<form action=/e><noscript><form action=/f></form></form><template><form></noscript><noscript></noscript><input type=image formmethod=post></form>
`
	return bytes.Repeat([]byte(row), n/len(row))
}

func benchmark(b *testing.B, page []byte) {
	b.Helper()
	inserter := stranger{[]byte(formMark)}
	b.Run("rewrite", func(b *testing.B) {
		b.SetBytes(int64(len(page)))
		b.ReportAllocs()
		for b.Loop() {
			w := rewrite.NewWriter(io.Discard, inserter, nil)
			for rest := page; len(rest) > 0; { // as a proxy copies
				n := min(32<<10, len(rest))
				if _, err := w.Write(rest[:n]); err != nil {
					b.Fatal(err)
				}
				rest = rest[n:]
			}
			if err := w.Close(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("tokenizer", func(b *testing.B) { // of x/net, doing nothing with the tokens
		b.SetBytes(int64(len(page)))
		b.ReportAllocs()
		for b.Loop() {
			z := html.NewTokenizer(bytes.NewReader(page))
			for z.Next() != html.ErrorToken {
				z.Raw()
			}
		}
	})
}

func BenchmarkRewriteArticle(b *testing.B) { benchmark(b, article(1<<20)) }

func BenchmarkRewriteForms(b *testing.B) { benchmark(b, grid(1<<20)) }

// TestMemoryDoesNotGrowWithThePage counts allocations for pages of different length.
func TestMemoryDoesNotGrowWithThePage(t *testing.T) { //nolint:paralleltest // AllocsPerRun counts the whole process
	allocs := func(page []byte) float64 {
		return testing.AllocsPerRun(5, func() {
			w := rewrite.NewWriter(io.Discard, stranger{[]byte(formMark)}, nil)
			for rest := page; len(rest) > 0; rest = rest[min(1000, len(rest)):] {
				if _, err := w.Write(rest[:min(1000, len(rest))]); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
	for name, page := range map[string]func(int) []byte{"an article": article, "a grid of forms": grid, "forms in templates and noscript": inert} {
		short, long := allocs(page(100<<10)), allocs(page(4<<20))
		if long > short+4 { // the buffer for a tag may have to grow once or twice more
			t.Errorf("%s: %v allocations for a page of 4 MiB, %v for one of 100 KiB", name, long, short)
		}
	}
}
