package rewrite_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"
	"pgregory.net/rapid"

	"github.com/semel-dev/semel/internal/must"
)

func TestForm(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		page string
		want form
	}{
		"nothing": {`<form>`, form{Method: "get"}},
		"everything": {
			`<form ACTION="/a?x=1&amp;y=2" Method=POST enctype=Multipart/Form-Data id=i name='n' target=_top data-semel-draft="invoice-&#52;2">`,
			form{Action: "/a?x=1&y=2", Method: "post", ID: "i"},
		},
		"an empty action":       {`<form action>`, form{Method: "get"}},
		"duplicates":            {`<form method=post method=get action=/a ACTION=/b>`, form{Action: "/a", Method: "post"}},
		"a dialog":              {`<form method=dialog>`, form{Method: "dialog"}},
		"a method of no kind":   {`<form method="post ">`, form{Method: "get"}},
		"a method by reference": {`<form method="&#112;ost">`, form{Method: "post"}},
		"a Kelvin sign":         {"<form encType=text/plain action=\u212A>", form{Action: "\u212A", Method: "get"}},
		"in a template":         {`<template><form>`, form{Method: "get", Inert: true}},
		"in a noscript":         {`<noscript><form>`, form{Method: "get", Inert: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, piece := range []int{0, 1} {
				_, r, _ := rewritten(t, c.page, piece, nil)
				if diff := cmp.Diff([]form{c.want}, r.forms); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			}
		})
	}
}

func TestSubmitter(t *testing.T) {
	t.Parallel()
	inner := form{Action: "/a", Method: "get"}
	outer := form{Action: "/o", Method: "get"}
	inert := inner
	inert.Inert = true
	for name, c := range map[string]struct {
		page string
		want submitter
	}{
		"alone":             {`<button formaction=/x>`, submitter{FormAction: "/x", HasFormAction: true}},
		"in a form":         {`<form action=/a><p><button formaction=/x>`, submitter{FormAction: "/x", HasFormAction: true, Form: &inner}},
		"behind a form":     {`<form action=/a></form><button formaction=/x>`, submitter{FormAction: "/x", HasFormAction: true}},
		"in a nested form":  {`<form action=/a><form action=/b><button formaction=/x>`, submitter{FormAction: "/x", HasFormAction: true, Form: &inner}},
		"of another form":   {`<form action=/a><input type=submit formmethod=POST form=f>`, submitter{FormMethod: "post", HasFormMethod: true, FormID: "f", Form: &inner}},
		"a method":          {`<button formmethod="?">`, submitter{FormMethod: "get", HasFormMethod: true}},
		"in a template":     {`<form action=/o><template><form action=/a><button formaction>`, submitter{HasFormAction: true, Form: &inert}},
		"in an outer form":  {`<form action=/o><template><form action=/a></form><button formaction>`, submitter{HasFormAction: true, Form: &outer}},
		"behind a template": {`<form action=/o><template><form action=/a></template><button formaction>`, submitter{HasFormAction: true, Form: &outer}},
		"behind a noscript": {`<form action=/o><noscript></form><form action=/a></noscript><button formaction>`, submitter{HasFormAction: true, Form: &outer}},
		"behind a noscript in a template": {
			`<template><form action=/a><noscript></template><template><form action=/b></template></noscript><button formaction>`,
			submitter{HasFormAction: true, Form: &inert},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, piece := range []int{0, 1} {
				_, r, _ := rewritten(t, c.page, piece, nil)
				if diff := cmp.Diff([]submitter{c.want}, r.submitters); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			}
		})
	}
}

func TestBase(t *testing.T) {
	t.Parallel()
	for page, want := range map[string][]string{
		`<base target=_top><base href="/a&amp;b"><base href=/c>`: {"/a&b"},
		`<template><base href=/a></template><noscript><base href=/b></noscript><svg>` +
			`<base href=/c></svg><!--<base href=/d>-->`: nil,
	} {
		if _, r, _ := rewritten(t, page, 0, nil); !cmp.Equal(want, r.bases) {
			t.Errorf("bases of %s: got %q, want %q", page, r.bases, want)
		}
	}
}

// TestReferences compares the values of attributes with those of a full parser.
func TestReferences(t *testing.T) {
	t.Parallel()
	for _, value := range []string{
		"&amp;", "&amp", "&amp=", "&ampx", "&amp1", "&AMP;", "&copy=2", "&copy2", "&copy", "&copy;2", "&copy&copy", "&notit;", "&notin;", "&notin",
		"&semi;", "&semi", "&;", "&", "&&amp;", "&#", "&#;", "&#x", "&#x;", "&#X41;", "&#x41", "&#65", "&#65x", "&#x41g", "&#065;", "&#0;", "&#128;",
		"&#xD800;", "&#x110000;", "&#99999999999999999999;", "&#x10FFFF;", "&fjlig;", "&NotEqualTilde;", "&lt;form>", "&quot;", "&apos;", "&apos", "a&b=c&d",
		"\r\n", "\r", "\n\r", "x\x00y", "&nosuch;", "&nosuch", "&\x00amp;", "&amp\x00",
	} {
		if got, want := both(t, value); got != want {
			t.Errorf("%q: got %q, want %q", value, got, want)
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		parts := rapid.SliceOf(rapid.SampledFrom([]string{
			"&", ";", "#", "x", "amp", "lt", "not", "in", "it", "copy", "=", "1", "65", "a", "F", "g", " ", "semi", "\r", "\n", "é",
		})).Draw(rt, "parts")
		value := strings.Join(parts, "")
		if got, want := both(t, value); got != want {
			rt.Errorf("%q: got %q, want %q", value, got, want)
		}
	})
}

// both returns what the rewriter and the parser make of a value.
func both(tb testing.TB, value string) (got, want string) {
	tb.Helper()
	page := `<form action="` + strings.ReplaceAll(value, `"`, "&quot;") + `">`
	_, r, _ := rewritten(tb, page, 0, nil)
	root := must.Get(html.Parse(strings.NewReader(page)))
	for node := range root.Descendants() {
		if node.Data == "form" {
			want = attribute(node, "action")
		}
	}
	return r.forms[0].Action, want
}
