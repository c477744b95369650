package rewrite_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel/gateway/internal/forms/rewrite"
)

const endMark = `<script defer src=E></script>`

// ending inserts a mark at the end of a page that has a form, once, and keeps its policies.
type ending struct {
	tokens

	form, done bool
	policies   []string
}

func (e *ending) Form(*rewrite.Form) []byte {
	e.form = true
	return nil
}
func (e *ending) Policy(content []byte) { e.policies = append(e.policies, string(content)) }

func (e *ending) End(bool) []byte {
	if !e.form || e.done {
		return nil
	}
	e.done = true
	return []byte(endMark)
}

// TestEnd: what goes to the end of a page is in none of its elements, and never where it would be text.
func TestEnd(t *testing.T) {
	t.Parallel()
	for name, page := range map[string]string{
		"a body":                    `<html><body><main><form></form></main>{E}</body></html>`,
		"upper case":                "<form></form>{E}</BODY\n></html>",
		"attributes":                `<form></form>{E}</body a=">">`,
		"no form":                   `<html><body></body></html>`,
		"a form behind the body":    `<body></body><form></form></html>{E}`,
		"two bodies":                `<form></form>{E}</body></body>`,
		"no body":                   `<form></form>{E}`,
		"a piece of a page":         "<form></form>\n{E}",
		"longer names":              `<form></form></bodyx></bod></body-y>{E}`,
		"not an end tag":            `<form></form></ body>< /body>{E}`,
		"in a comment":              `<form></form><!-- </body> -->{E}</body>`,
		"in a script":               `<form></form><script>"</body>"</script>{E}</body>`,
		"in raw text":               `<form></form><textarea></body></textarea>{E}</body>`,
		"in a template":             `<form></form><template></body></template>{E}</body>`,
		"in a noscript":             `<form></form><noscript></body></noscript>{E}</body>`,
		"in svg":                    `<form></form><svg><desc></body></desc></svg>{E}</body>`,
		"in an attribute":           `<form></form><iframe srcdoc="</body>"></iframe>{E}</body>`,
		"a template that is open":   `<form></form><template>`,
		"a noscript that is open":   `<form></form><noscript>`,
		"svg that is open":          `<form></form><svg>`,
		"plaintext":                 `<form></form><plaintext></body>`,
		"a comment that is open":    `<form></form><!-- </body>`,
		"a script that is open":     `<form></form><script></body>`,
		"a tag that is open":        `<form></form><p title="</body>`,
		"a body's end that is open": `<form></form></body`,
		"a tag that begins":         `<form></form></`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plain, want := strings.ReplaceAll(page, "{E}", ""), strings.ReplaceAll(page, "{E}", endMark)
			for _, piece := range []int{1, 2, 3, 5, len(plain)} {
				var out bytes.Buffer
				w := rewrite.NewWriter(&out, &ending{}, nil)
				for rest := plain; rest != ""; rest = rest[min(piece, len(rest)):] {
					if _, err := w.Write([]byte(rest[:min(piece, len(rest))])); err != nil {
						t.Fatal(err)
					}
				}
				noError(t, w.Close())
				if diff := cmp.Diff(want, out.String()); diff != "" {
					t.Errorf("in pieces of %d (-want +got):\n%.2000s", piece, diff)
				}
				if got := w.Stats().Inserted; got != strings.Count(page, "{E}") {
					t.Errorf("in pieces of %d: %d insertions counted", piece, got)
				}
			}
		})
	}
}

// heads notes where a head ends in what is written, and puts something into each body and form.
type heads struct {
	ending

	out bytes.Buffer
	at  []int
}

func (*heads) Form(*rewrite.Form) []byte { return []byte("F") }
func (*heads) Body() []byte              { return []byte("B") }
func (h *heads) Head(bool)               { h.at = append(h.at, h.out.Len()) }

// TestHead: where the head ends, all before it is written and nothing behind it.
func TestHead(t *testing.T) {
	t.Parallel()
	for name, page := range map[string]string{
		"a head":                   `<html><head><title></head></title>{H}</head><body>B`,
		"upper case":               "<HEAD><link>{H}</HEAD\n><BODY>B",
		"attributes":               `<head>{H}</head a=">"><body>B`,
		"a body alone":             `<!doctype html><title>a</title>{H}<body a=">">B<form>F`,
		"a body that is in pieces": `{H}<body class="a b c d e f g h">B`,
		"two heads":                `<head>{H}</head><head></head><body>B<body>`,
		"a body before the head":   `{H}<body>B</head>`,
		"longer names":             `<head></headx></hea></head-y>{H}</head><bodyx>`,
		"a form in the head":       `<head><form>F</head><body>B`,
		"text before the body":     `<div></div><body>B`,
		"no head":                  `<form>F</form>`,
		"in a comment":             `<head><!-- </head> --><script>"</head><body>"</script>{H}</head><body>B`,
		"in a template":            `<head><template></head><body></template>{H}</head><body>B`,
		"in a noscript":            `<head><noscript></head><body></noscript>{H}</head><body>B`,
		"broken off":               `<head></head`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := strings.Replace(page, "{H}", "", 1)
			plain := strings.NewReplacer(">B", ">", ">F", ">").Replace(want)
			for _, piece := range []int{1, 2, 3, 5, len(plain)} {
				h := &heads{}
				w := rewrite.NewWriter(&h.out, h, nil)
				for rest := plain; rest != ""; rest = rest[min(piece, len(rest)):] {
					if _, err := w.Write([]byte(rest[:min(piece, len(rest))])); err != nil {
						t.Fatal(err)
					}
				}
				noError(t, w.Close())
				got := h.out.String()
				if len(h.at) > 0 {
					got = got[:h.at[0]] + "{H}" + got[h.at[0]:]
				}
				if got != page || len(h.at) > 1 {
					t.Errorf("in pieces of %d: got %q %v, want %q", piece, got, h.at, page)
				}
			}
		})
	}
}

// TestPolicy: the policies of a page are those that browsers read, in its head.
func TestPolicy(t *testing.T) {
	t.Parallel()
	const meta = `<meta http-equiv="Content-Security-Policy" content="script-src &#39;self&#39;">`
	for page, want := range map[string]int{
		meta: 1,
		`<html><head><title>a</title><link><script></script><style></style>` + meta + strings.ToUpper(meta): 2,
		`<head></head>` + meta: 1,
		`<body>` + meta:        0,
		`<p>` + meta:           0,
		`<template>` + meta:    0,
		`<noscript>` + meta:    0,
		`<!--` + meta:          0,
		`<title>` + meta:       0,
		`<meta name=x content="script-src 'none'">`: 0,
	} {
		e := &ending{}
		w := rewrite.NewWriter(&bytes.Buffer{}, e, nil)
		_, err := w.Write([]byte(page))
		noError(t, err)
		noError(t, w.Close())
		if len(e.policies) != want || want > 0 && !strings.EqualFold(e.policies[0], "script-src 'self'") {
			t.Errorf("%s: got %q, want %d", page, e.policies, want)
		}
	}
}
