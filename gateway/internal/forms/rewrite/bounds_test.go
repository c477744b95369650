package rewrite_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel/gateway/internal/forms/rewrite"
)

func TestSupported(t *testing.T) {
	t.Parallel()
	for charset, want := range map[string]bool{
		"": true, "utf-8": true, "UTF8": true, `"utf-8"`: true, "unicode-1-1-utf-8": true, "iso-8859-1": true, "windows-1252": true, "us-ascii": true,
		"Shift_JIS": true, "gbk": true, "gb18030": true, "big5": true, "euc-jp": true, "EUC-KR": true, "koi8-r": true, "x-user-defined": true, "utf8mb4": true,
		"utf-16": false, "UTF-16LE": false, "utf-16be": false, "ucs-2": false, "unicode": false, "utf-32": false, "ISO-10646-UCS-2": false,
		"iso-2022-jp": false, " ISO-2022-KR ": false, "csISO2022JP": false, "hz-gb-2312": false, "replacement": false, "utf-7": false, "ebcdic-cp-us": false, "IBM037": false,
	} {
		if got := rewrite.Supported(charset); got != want {
			t.Errorf("Supported(%q): got %t, want %t", charset, got, want)
		}
	}
}

func TestCharsets(t *testing.T) {
	t.Parallel()
	const form = "<form method=post>{F}"
	for name, c := range map[string]struct{ charset, page string }{
		"UTF-8 with a mark":                     {"", "\xEF\xBB\xBF" + form},
		"a mark outweighs the header":           {"iso-2022-jp", "\xEF\xBB\xBF" + form},
		"UTF-16 with a mark":                    {"utf-8", "\xFF\xFE<form>"},
		"UTF-16 the other way":                  {"", "\xFE\xFF<form>"},
		"UTF-16 in XML without":                 {"", "<\x00?\x00x\x00>\x00<form>"},
		"UTF-16 the other way, without":         {"", "\x00<\x00?\x00x><form>"},
		"ISO-2022-JP in an XML declaration":     {"", `<?xml version="1.0" encoding='ISO-2022-JP' ?><form>`},
		"an XML declaration of another charset": {"", `<?xml version="1.0" encoding="x" x="iso-2022-jp"?>` + form},
		"an XML declaration against the header": {"utf-8", `<?xml encoding="iso-2022-jp"?>` + form},
		"an XML declaration against a mark":     {"", "\xEF\xBB\xBF" + `<?xml encoding="iso-2022-jp"?>` + form},
		"an XML declaration behind the start":   {"", ` <?xml encoding="iso-2022-jp"?>` + form},
		"UTF-16 in the header":                  {"utf-16", "<form>"},
		"ISO-2022-JP in the header":             {"iso-2022-jp", "\x1b$B<form>\x1b(B<form>"},
		"ISO-2022-JP in a meta element":         {"", `<meta charset="ISO-2022-JP"><form>`},
		"the same by http-equiv":                {"", `<meta http-equiv=Content-Type content="text/html; charset = 'iso-2022-jp'; x"><form>`},
		"a meta element against the header":     {"utf-8", `<meta charset="iso-2022-jp">` + form},
		"a meta element against a mark":         {"", "\xEF\xBB\xBF" + `<meta charset="iso-2022-jp">` + form},
		"a meta element that cannot be right":   {"", `<meta charset="utf-16">` + form},
		"a meta element of another charset":     {"", `<meta charset="shift_jis"><meta http-equiv=refresh content="1;url=?charset=iso-2022-jp">` + form},
		"a meta element in a comment":           {"", `<!--<meta charset="iso-2022-jp">-->` + form},
		"Shift_JIS, trails that are letters":    {"shift_jis", "<p title=\x83\x5C>\x83\x5C\x83" + form + "</form\x83\x5C><form></form>" + form},
		"a lead byte without its trail":         {"gbk", "\x81" + form + `</form><a title="` + "\x81" + `">` + form},
		"GB18030 with digits in the characters": {"gb18030", "<\x81\x30\x81\x30" + form},
		"an unknown charset":                    {"klingon", form},
		"Latin-1 and not UTF-8":                 {"utf-8", "\xE9<p title='\xE9'>" + form},
		"shorter than a mark":                   {"utf-16", "\xEF"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, piece := range []int{0, 1} {
				got, _, stats := rewritten(t, unmarked.Replace(c.page), piece, &rewrite.Options{Charset: c.charset})
				if diff := cmp.Diff(marked.Replace(c.page), got); diff != "" {
					t.Errorf("in pieces of %d (-want +got):\n%s", piece, diff)
				}
				if gaveUp := stats.GaveUp == rewrite.WrongCharset; gaveUp && strings.Contains(c.page, "{") {
					t.Error("gave up, and inserted nevertheless")
				}
			}
		})
	}
}

func TestTheRestOfALargePageIsPassedOn(t *testing.T) {
	t.Parallel()
	const most = 20
	page := strings.Repeat("<form></form>", 10)
	for piece := range 30 {
		got, _, stats := rewritten(t, page, piece, &rewrite.Options{MaxBytes: most})
		want := marked.Replace("<form>{F}</form><form>{F}") + page[len("<form></form><form>"):]
		if got != want {
			t.Errorf("in pieces of %d: got\n%s\nwant\n%s", piece, got, want)
		}
		wantStats := rewrite.Stats{Inserted: 2, Bytes: int64(len(page)), GaveUp: rewrite.TooLarge}
		if diff := cmp.Diff(wantStats, stats); diff != "" {
			t.Errorf("in pieces of %d (-want +got):\n%s", piece, diff)
		}
	}
	if _, _, stats := rewritten(t, page, 0, &rewrite.Options{MaxBytes: int64(len(page))}); stats.GaveUp != rewrite.Looking {
		t.Errorf("a page as long as allowed: gave up because of %q", stats.GaveUp)
	}
}

func TestLongTagsGetNothing(t *testing.T) {
	t.Parallel()
	for start, want := range map[string]struct{ long, inserted int }{
		"<form a='":                            {1, 1}, // the form behind it is in it
		"<button formaction=/x a='":            {1, 2},
		"<input type=submit formaction=/x a='": {0, 2}, // most likely a hidden field
	} {
		for _, extra := range []int{0, 1} {
			tag := start + strings.Repeat("x", rewrite.MaxTag-len(start)-len("'>")+extra) + "'>"
			for _, piece := range []int{0, 1000, rewrite.MaxTag} {
				out, _, stats := rewritten(t, "a"+tag+"b<form>", piece, nil)
				wantLong, wantInserted := extra*want.long, want.inserted-extra
				if stats.LongTags != wantLong || stats.Inserted != wantInserted {
					t.Errorf("%s… of MaxTag+%d bytes in pieces of %d: got %+v, want %d long tags and %d insertions", start, extra, piece, stats, wantLong, wantInserted)
				}
				if plain := strings.NewReplacer(formMark, "", sendMark, "").Replace(out); plain != "a"+tag+"b<form>" {
					t.Errorf("%s… of MaxTag+%d bytes in pieces of %d: the page is not the same", start, extra, piece)
				}
			}
		}
	}
}

func TestDepthIsBounded(t *testing.T) {
	t.Parallel()
	for _, tag := range []string{"<template>", "<template><form>", "<svg>", "<svg><desc><p>"} {
		page := strings.Repeat(tag, 100_000)
		got, r, stats := rewritten(t, page, 4096, nil)
		if stats.GaveUp != rewrite.TooDeep || len(r.forms) > 600 {
			t.Errorf("%s 100000 times: %d forms, gave up because of %q, want %q", tag, len(r.forms), stats.GaveUp, rewrite.TooDeep)
		}
		if strings.ReplaceAll(got, formMark, "") != page {
			t.Errorf("%s 100000 times: the page is not the same", tag)
		}
	}
}

// unfinished matches text that may be held back: the start of a tag that may be a button's, or the end of the body.
var unfinished = regexp.MustCompile(`^<(i|in|inp|inpu|input|b|bu|but|butt|butto|button|(input|button) .*|/(b|bo|bod|body.*)?)?$`)

// TestNothingElseIsHeldBack compares the output after each byte.
func TestNothingElseIsHeldBack(t *testing.T) {
	t.Parallel()
	page := `<p>a < b <!-- - --><form action="x"><i>i<b>b<bu><butt x><button formaction="a>b">c<input name=a></inp<inputs x></button x><script>'<'</script>`
	var out bytes.Buffer
	w := rewrite.NewWriter(&out, &recorder{}, nil)
	longest := 0
	for i := range len(page) {
		if _, err := w.Write([]byte{page[i]}); err != nil {
			t.Fatal(err)
		}
		passed := strings.NewReplacer(formMark, "", sendMark, "").Replace(out.String())
		held, ok := strings.CutPrefix(page[:i+1], passed)
		if !ok {
			t.Fatalf("after %q: got %q", page[:i+1], passed)
		}
		if held != "" && !unfinished.MatchString(held) {
			t.Errorf("%q is held back", held)
		}
		longest = max(longest, len(held))
	}
	if want := len(`<button formaction="a>b"`); longest != want {
		t.Errorf("at most %d bytes were held back, want %d: what is inserted before a button needs it", longest, want)
	}
}

// failing takes some writes, and no more.
type failing struct{ left int }

var errFull = errors.New("the disk is full")

func (f *failing) Write(p []byte) (int, error) {
	if f.left == 0 {
		return 0, errFull
	}
	f.left--
	return len(p), nil
}

func TestErrorsOfTheDestinationStay(t *testing.T) {
	t.Parallel()
	for left := range 4 {
		w := rewrite.NewWriter(&failing{left}, &recorder{}, nil)
		if _, err := io.WriteString(w, "<form><p><button formaction=x>"); !errors.Is(err, errFull) {
			t.Errorf("Write with %d writes left: got %v, want %v", left, err, errFull)
		}
		if err := w.Close(); !errors.Is(err, errFull) {
			t.Errorf("Close with %d writes left: got %v, want %v", left, err, errFull)
		}
	}
}

func TestClose(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	w := rewrite.NewWriter(&out, &recorder{}, nil)
	fmt.Fprint(w, "a<button formaction=")
	if got := out.String(); got != "a" {
		t.Errorf("before Close: got %q", got)
	}
	for range 2 {
		if err := w.Close(); err != nil || out.String() != "a<button formaction=" {
			t.Errorf("after Close: got %q, %v", out.String(), err)
		}
	}
	if _, err := w.Write([]byte("b")); !errors.Is(err, rewrite.ErrClosed) {
		t.Errorf("Write after Close: got %v, want %v", err, rewrite.ErrClosed)
	}
}
