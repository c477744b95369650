package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/semel-dev/semel/formguard/rewrite"
)

// pageSizes are those of an ordinary page, a long list and an absurd one.
func pageSizes() []pageSize {
	return []pageSize{{"10 kB", 10 << 10, 64}, {"1 MB", 1 << 20, 8}, {"20 MB", 20 << 20, 1}}
}

type pageSize struct {
	name  string
	bytes int
	least int // pages in a measurement
}

// formPage is a page of about so many bytes: rows of a table with links and
// entities, a script and a style, and one form in every 8 kB, at least one.
func formPage(size int) []byte {
	var b bytes.Buffer
	b.WriteString("<!DOCTYPE html>\n<html lang=\"en\"><head><title>Invoices</title><style>td { padding: 2px }</style>\n" +
		"<script>if (1 < 2) { document.title += '</' + 'form>' }</script></head><body>\n<table>\n")
	forms := 0
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, "<tr class=\"row\"><td><a href=\"/invoices/%d?from=list&amp;page=2\">Invoice %d</a></td><td>Ada &amp; Sons</td><td>%d.00</td></tr>\n", i, i, i%997)
		if b.Len() < (forms+1)*8<<10 && forms > 0 {
			continue
		}
		forms++
		b.WriteString("</table>\n<form method=\"post\" action=\"/invoices\"><label>Amount <input name=\"amount\" type=\"number\"></label>" +
			"<input type=\"hidden\" name=\"csrf_token\" value=\"abcdef\"><button>Send</button></form>\n<table>\n")
	}
	b.WriteString("</table>\n</body></html>\n")
	return b.Bytes()
}

// formGrid is a page of about so many bytes with a form and two buttons in each row.
func formGrid(size int) []byte {
	var b bytes.Buffer
	b.WriteString("<!DOCTYPE html>\n<html lang=\"en\"><head><title>Invoices</title></head><body>\n<table>\n")
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, "<tr><td>%d</td><td><form method=\"post\" action=\"/invoices/%d\" class=\"inline\"><input type=\"hidden\" name=\"csrf_token\" value=\"abcdef\">"+
			"<input name=\"amount\" value=\"%d\" required><button class=\"btn btn-primary\">Save</button>"+
			"<button class=\"btn\" formaction=\"/invoices/%d/delete\">Delete</button></form></td></tr>\n", i, i, i%997, i)
	}
	b.WriteString("</table>\n</body></html>\n")
	return b.Bytes()
}

// oneToken inserts what the gateway inserts, without making it up.
type oneToken struct{ input []byte }

func (o *oneToken) Form(f *rewrite.Form) []byte {
	if !strings.EqualFold(f.Method, http.MethodPost) {
		return nil
	}
	return o.input
}

func (o *oneToken) Submitter(*rewrite.Submitter) []byte { return nil }
func (o *oneToken) Body() []byte                        { return nil }
func (o *oneToken) Base(string)                         {}

// tally counts bytes; like a connection it has no short cuts.
type tally struct{ n int64 }

func (s *tally) Write(p []byte) (int, error) {
	s.n += int64(len(p))
	return len(p), nil
}

// benchFormPages passes pages on through a bare copy and through the rewriter.
func benchFormPages(ctx context.Context, s *settings) (*table, error) {
	t := &table{title: "inserting into pages that pass, in memory, one goroutine, by processor time"}
	input := []byte(`<input type="hidden" name="_semel" value="` + strings.Repeat("x", 54) + `" autocomplete="off" data-semel-token>`)
	for _, size := range append(pageSizes(), pageSize{"1 MB, all forms", 1 << 20, 8}) {
		page := formPage(size.bytes)
		if strings.HasSuffix(size.name, "forms") {
			page = formGrid(size.bytes)
		}
		own := *s
		own.least = size.least
		samples, err := measure(ctx, &own, []subject{
			{"copy", func(ctx context.Context, n int) error { return repeat(ctx, n, func() error { return copyPage(page) }) }},
			{"rewrite", func(ctx context.Context, n int) error {
				return repeat(ctx, n, func() error { return rewritePage(page, input) })
			}},
		})
		if err != nil {
			return nil, err
		}
		for i, name := range []string{"io.Copy", "rewritten"} {
			r := row{subject: size.name + ", " + name, time: speedText(len(page), samples[i].busy), allocs: allocsText(samples[i].allocs) + " a page"}
			if i > 0 {
				r.against = fmt.Sprintf("%.2f× the time of the copy; %s a page", samples[i].busy/samples[0].busy, nanosText(samples[i].busy))
			}
			t.rows = append(t.rows, r)
		}
	}
	return t, nil
}

func copyPage(page []byte) error {
	_, err := io.Copy(&tally{}, struct{ io.Reader }{bytes.NewReader(page)})
	return err
}

func rewritePage(page, input []byte) error {
	out := &tally{}
	w := rewrite.NewWriter(out, &oneToken{input}, &rewrite.Options{MaxBytes: -1})
	_, err := io.Copy(struct{ io.Writer }{w}, struct{ io.Reader }{bytes.NewReader(page)})
	if err := errors.Join(err, w.Close()); err != nil {
		return err
	}
	if got, want := out.n, int64(len(page)+w.Stats().Inserted*len(input)); got != want || w.Stats().Inserted == 0 {
		return fmt.Errorf("the page has %d bytes, want %d with %d insertions", got, want, w.Stats().Inserted)
	}
	return nil
}

// repeat does the work n times, until ctx ends.
func repeat(ctx context.Context, n int, work func() error) error {
	for range n {
		if err := work(); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

func speedText(size int, nanos float64) string {
	return fmt.Sprintf("%.0f MB/s", float64(size)/1e6/(nanos/float64(time.Second)))
}
