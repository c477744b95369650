package rewrite_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/semel-dev/semel/gateway/internal/forms/rewrite"
)

// stranger inserts bytes that no page has, so that they can be taken out again.
type stranger struct{ mark []byte }

func (s stranger) Form(*rewrite.Form) []byte           { return s.mark }
func (s stranger) Submitter(*rewrite.Submitter) []byte { return s.mark }
func (s stranger) Password(*rewrite.Submitter) []byte  { return s.mark }
func (s stranger) Body() []byte                        { return s.mark }
func (stranger) Base(string)                           {}
func (stranger) Policy([]byte)                         {}
func (stranger) Head(bool)                             {}
func (s stranger) End(bool) []byte                     { return s.mark }

// FuzzRewrite writes any bytes at once and in pieces: what comes out is the same, and the page but for what is inserted.
// Where pages are plain HTML, the forms are those of a parser.
func FuzzRewrite(f *testing.F) {
	for _, page := range pages {
		f.Add([]byte(unmarked.Replace(page)), uint8(3), "")
	}
	f.Add([]byte("<p title='\x83\x5C>'><form>"), uint8(1), "shift_jis")
	f.Add([]byte("\xFF\xFE<form>"), uint8(1), "")
	f.Fuzz(func(t *testing.T, page []byte, piece uint8, charset string) {
		inserter := stranger{[]byte("\x00\xFFmark\xFF\x00")}
		if bytes.Contains(page, inserter.mark) {
			return
		}
		options := &rewrite.Options{Charset: charset}
		whole := through(t, page, len(page), inserter, options)
		pieces := through(t, page, int(piece)+1, inserter, options)
		if !bytes.Equal(whole, pieces) {
			t.Errorf("%q in pieces of %d: got %q, want %q", page, piece+1, pieces, whole)
		}
		if plain := bytes.ReplaceAll(whole, inserter.mark, nil); !bytes.Equal(plain, page) {
			t.Errorf("%q without what was inserted: got %q", page, plain)
		}
		compare(t, string(page))
	})
}

// compare checks that a parser finds the same number of forms in a page that is plain HTML.
func compare(t *testing.T, page string) {
	t.Helper()
	lowered := strings.ToLower(page)
	for _, other := range []string{"svg", "math", "select", "noscript", "frameset", "template", "iso-2022", "csiso2022", "hz-gb", "replacement"} {
		if strings.Contains(lowered, other) {
			return
		}
	}
	if misread.MatchString(page) || strings.HasPrefix(page, "\xFF\xFE") || strings.HasPrefix(page, "\xFE\xFF") {
		return
	}
	want, got := 0, 0
	for _, n := range parsed(t, page, true) {
		want += n
	}
	_, found := called(t, page)
	for _, n := range found {
		got += n
	}
	if got != want {
		t.Errorf("%q: got %d forms, the parser finds %d", page, got, want)
	}
}

func through(t *testing.T, page []byte, piece int, inserter rewrite.Inserter, options *rewrite.Options) []byte {
	t.Helper()
	var out bytes.Buffer
	w := rewrite.NewWriter(&out, inserter, options)
	for rest := page; len(rest) > 0; {
		n := min(piece, len(rest))
		if _, err := w.Write(rest[:n]); err != nil {
			t.Fatal(err)
		}
		rest = rest[n:]
	}
	noError(t, w.Close())
	return out.Bytes()
}
