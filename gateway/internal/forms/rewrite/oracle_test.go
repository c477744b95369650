package rewrite_test

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"
	"pgregory.net/rapid"
)

// parsed returns the actions of the forms that a full parser finds, and how often each.
func parsed(tb testing.TB, page string, scripting bool) map[string]int {
	tb.Helper()
	root, err := html.ParseWithOptions(strings.NewReader(page), html.ParseOptionEnableScripting(scripting))
	if err != nil {
		tb.Skip(err) // deeper than it goes
	}
	forms := make(map[string]int)
	for node := range root.Descendants() {
		if node.Type == html.ElementNode && node.Namespace == "" && node.Data == "form" {
			forms[attribute(node, "action")]++
		}
	}
	return forms
}

func attribute(node *html.Node, key string) string {
	for _, a := range node.Attr {
		if a.Namespace == "" && a.Key == key {
			return a.Val
		}
	}
	return ""
}

// piece draws a part of a page. Forms have numbers for actions.
func piece(t *rapid.T, pieces []string, n int) string {
	p := rapid.SampledFrom(pieces).Draw(t, "piece")
	return strings.ReplaceAll(p, "#", strconv.Itoa(n))
}

// The parts of pages of HTML alone, and all other parts. Where the rewriter is known to differ, in broken pages, a
// part is left out or replaced: see the package's documentation.
var (
	htmlPieces = []string{
		"<form action=#>", "<form action='#' method=post>", `<FORM METHOD="post" ACTION="#">`, "<form\naction=#/ x>", "<form x='<form action=a>' action=#>",
		"<form action=# action=z>", "<form/action=#\r>", "</form>", "</FORM x='>'>", "<form>"[:5], "text", "\n", "\x00", "<", ">", "&lt;form>",
		"<!--", "-->", "--!>", "<!-->", "<!--->", "<!- >", "<!x", "<?", "</ ", "</>", "<![CDATA[", "]]>", "<!DOCTYPE html>", "-", "'", `"`, "=",
		"<p>", "</p>", "<div>", "</div>", "<br/>", "<b>", "</b>", "<a href='x>y'>", "</a>", "<ul><li>", "</ul>", "<h1>", "</h1>",
		"<script>", "</script>", "<script>'<form action=b>'</script>", "<style>", "</style>", "<textarea>", "</textarea>", "<title>", "</title>",
		"<xmp>", "</xmp >", "<iframe>", "</iframe/>", "<noembed>", "</noembed>", "<plaintext", "<script", "</script", "</scriptx>",
		"<input type=text>", "<button>", "</button>", "<body>", "<head>", "</head>", "</body>", "</html>", "<label>", "</label>",
	}
	tablePieces    = []string{"<table>", "</table>", "<tr>", "</tr>", "<td>", "</td>", "<caption>", "<tbody>", "<colgroup>", "<th>", "</th>"}
	templatePieces = []string{"<template>", "</template>", "<template><div>", "</div></template>"}
	noscriptPieces = []string{"<noscript>", "</noscript>", "</noscript", "<noscript><p>", "<noscript", "</NOSCRIPT >", "</noscriptx>"}
	foreignPieces  = []string{
		"<svg>", "</svg>", "<svg/>", "<svg><g>", "</g>", "<path/>", "<svg><foreignObject>", "</foreignObject>", "<svg><desc>", "</desc>",
		"<math>", "</math>", "<math><mi>", "</mi>", "<math><annotation-xml>", "<math><annotation-xml encoding=text/html>",
		"</annotation-xml>", "<mglyph>", "<font>", "<font size=1>",
	}
)

func page(t *rapid.T, pieces []string) string {
	var b strings.Builder
	for n := range rapid.IntRange(1, 24).Draw(t, "pieces") {
		b.WriteString(piece(t, pieces, n))
	}
	return b.String()
}

// called returns the actions of the forms that the rewriter found.
func called(tb testing.TB, page string) (string, map[string]int) {
	tb.Helper()
	out, r, _ := rewritten(tb, page, 0, nil)
	forms := make(map[string]int)
	for _, f := range r.forms {
		forms[f.Action]++
	}
	return out, forms
}

// In an escaped script, x/net takes "<" with neither letter nor slash behind it for the end of the escape. The standard
// does not, and browsers neither: see TestChromiumAgrees.
var misread = regexp.MustCompile(`(?is)<script.*<!--.*<[^a-z/]`)

// TestFormsAreThoseOfAParser compares pages without noscript: there all browsers agree.
func TestFormsAreThoseOfAParser(t *testing.T) {
	t.Parallel()
	for name, pieces := range map[string][]string{
		"HTML":      htmlPieces,
		"tables":    slices.Concat(htmlPieces, tablePieces),
		"templates": slices.Concat(htmlPieces, templatePieces),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(rt *rapid.T) {
				page := page(rt, pieces)
				if misread.MatchString(page) {
					rt.Skip("x/net differs")
				}
				out, got := called(t, page)
				want := parsed(t, page, true)
				if diff := cmp.Diff(want, got); diff != "" {
					rt.Fatalf("forms of %q (-parser +rewriter):\n%s", page, diff)
				}
				if diff := cmp.Diff(want, parsed(t, out, true)); diff != "" {
					rt.Fatalf("forms of %q (-before +after the rewriter):\n%s", page, diff)
				}
			})
		})
	}
}

// TestNoscript compares what is found with what browsers with scripts and browsers without them find together.
func TestNoscript(t *testing.T) {
	t.Parallel()
	pieces := slices.Concat(htmlPieces, noscriptPieces, noscriptPieces, templatePieces)
	rapid.Check(t, func(rt *rapid.T) {
		page := page(rt, pieces)
		if misread.MatchString(page) {
			rt.Skip("x/net differs")
		}
		out, got := called(t, page)
		with := parsed(t, page, true)
		for action, n := range with {
			if got[action] < n {
				rt.Fatalf("form %s of %q was found %d times, with scripts there are %d", action, page, got[action], n)
			}
		}
		if diff := cmp.Diff(with, parsed(t, out, true)); diff != "" {
			rt.Fatalf("forms of %q with scripts (-before +after the rewriter):\n%s", page, diff)
		}
	})
}

// TestForeign compares pages with svg and math, of which no end tag of an element around those ends them.
func TestForeign(t *testing.T) {
	t.Parallel()
	pieces := without(slices.Concat(htmlPieces, foreignPieces, foreignPieces), "</b>", "</a>", "</div>", "</ul>", "</h1>", "</button>", "</label>")
	rapid.Check(t, func(rt *rapid.T) {
		page := page(rt, pieces)
		if misread.MatchString(page) {
			rt.Skip("x/net differs")
		}
		_, got := called(t, page)
		if diff := cmp.Diff(parsed(t, page, true), got); diff != "" {
			rt.Fatalf("forms of %q (-parser +rewriter):\n%s", page, diff)
		}
	})
}

func without(pieces []string, left ...string) []string {
	return slices.DeleteFunc(pieces, func(piece string) bool { return slices.Contains(left, piece) })
}
