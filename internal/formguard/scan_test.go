package formguard_test

import (
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel/internal/formguard"
)

const (
	urlencoded = "application/x-www-form-urlencoded"
	textPlain  = "text/plain"
	mixed      = "multipart/form-data; boundary=XX"

	tok  = "sm1.TOKEN"
	tok2 = "sm1.OTHER"
)

// checker is a test, or a run of a property.
type checker interface {
	Helper()
	Fatalf(format string, args ...any)
}

func scan(tb checker, contentType, query, body string, o *formguard.BodyOptions) formguard.Result {
	tb.Helper()
	got, err := formguard.Scan(strings.NewReader(body), contentType, query, o)
	if err != nil {
		tb.Fatalf("scan %.80q: %v", body, err)
	}
	return got
}

func strip(tb checker, contentType, field, body string) string {
	tb.Helper()
	got, err := io.ReadAll(formguard.Strip(strings.NewReader(body), contentType, field))
	if err != nil {
		tb.Fatalf("strip %.80q: %v", body, err)
	}
	return string(got)
}

// part is a part as browsers write a field.
func part(name, value string) string {
	return "--XX\r\nContent-Disposition: form-data; name=\"" + name + "\"\r\n\r\n" + value + "\r\n"
}

const end = "--XX--\r\n"

type stripCase struct {
	name, contentType, body, want string
	tokens                        []string
}

func stripCases() []stripCase {
	a, b, t := part("a", "1"), part("b", "2"), part("_semel", tok)
	long := strings.Repeat("X-", 100)
	return []stripCase{
		{"no token", urlencoded, "a=1&b=2", "a=1&b=2", nil},
		{"first", urlencoded, "_semel=sm1.TOKEN&a=1&b=2", "a=1&b=2", []string{tok}},
		{"middle", urlencoded, "a=1&_semel=sm1.TOKEN&b=2", "a=1&b=2", []string{tok}},
		{"last", urlencoded, "a=1&b=2&_semel=sm1.TOKEN", "a=1&b=2", []string{tok}},
		{"only", urlencoded, "_semel=sm1.TOKEN", "", []string{tok}},
		{"empty", urlencoded, "", "", nil},
		{"several", urlencoded, "_semel=sm1.TOKEN&_semel=sm1.OTHER&a=1&_semel=sm1.TOKEN", "a=1", []string{tok, tok2, tok}},
		{"empty pairs", urlencoded, "&&_semel=sm1.TOKEN&&a=1&", "&&&a=1&", []string{tok}},
		{"escaped name", urlencoded, "a=1&%5Fsemel=sm1.TOKEN", "a=1", []string{tok}},
		{"escaped, lower case", urlencoded, "a=1&%5fs%65mel=sm1.TOKEN", "a=1", []string{tok}},
		{"escaped value", urlencoded, "a=1&_semel=%73m1%2eTOKEN", "a=1", []string{tok}},
		{"spaces around", urlencoded, "a=1&+_semel%20=sm1.TOKEN", "a=1", []string{tok}},
		{"a value of the application", urlencoded, "_semel=blue&a=1", "_semel=blue&a=1", nil},
		{"an empty value", urlencoded, "_semel=&_semel&a=1", "_semel=&_semel&a=1", nil},
		{"overlong", urlencoded, "_semel=sm1." + strings.Repeat("x", 253), "_semel=sm1." + strings.Repeat("x", 253), nil},
		{"as long as can be", urlencoded, "_semel=sm1." + strings.Repeat("x", 252), "", []string{"sm1." + strings.Repeat("x", 252)}},
		{"other case", urlencoded, "_Semel=sm1.TOKEN", "_Semel=sm1.TOKEN", nil},
		{"semicolons do not separate", urlencoded, "a=1;_semel=sm1.TOKEN&b", "a=1;_semel=sm1.TOKEN&b", nil},
		{"broken escapes", urlencoded, "a=%zz&_semel=sm1.%&%5=1", "a=%zz&%5=1", []string{"sm1.%"}},
		{"in a value", urlencoded, "a=_semel=sm1.TOKEN", "a=_semel=sm1.TOKEN", nil},
		{"parameters, upper case", "Application/X-WWW-Form-URLencoded ; charset=utf-8", "_semel=sm1.TOKEN&a=1", "a=1", []string{tok}},

		{"text first", textPlain, "_semel=sm1.TOKEN\r\na=1\r\n", "a=1\r\n", []string{tok}},
		{"text last", textPlain, "a=1\r\n_semel=sm1.TOKEN\r\n", "a=1\r\n", []string{tok}},
		{"text only", textPlain, "_semel=sm1.TOKEN\r\n", "", []string{tok}},
		{"text, no line end", textPlain, "a=1\r\n_semel=sm1.TOKEN", "a=1\r\n", []string{tok}},
		{"text, LF", textPlain, "a=1\n_semel=sm1.TOKEN\nb=2", "a=1\nb=2", []string{tok}},
		{"text, other value", textPlain, "_semel=blue\r\n", "_semel=blue\r\n", nil},
		{"text is not escaped", textPlain, "%5Fsemel=sm1.TOKEN\r\n", "%5Fsemel=sm1.TOKEN\r\n", nil},

		{"part first", mixed, t + a + b + end, a + b + end, []string{tok}},
		{"part in the middle", mixed, a + t + b + end, a + b + end, []string{tok}},
		{"part last", mixed, a + b + t + end, a + b + end, []string{tok}},
		{"part only", mixed, t + end, end, []string{tok}},
		{"parts, several", mixed, t + part("_semel", tok2) + a + t + end, a + end, []string{tok, tok2, tok}},
		{"part of the application", mixed, part("_semel", "blue") + end, part("_semel", "blue") + end, nil},
		{"boundary in quotes", `multipart/form-data; boundary="XX"`, t + a + end, a + end, []string{tok}},
		{"LF only", mixed, lf(a + t + b + end), lf(a + b + end), []string{tok}},
		{"preamble and epilogue", mixed, "hello\r\n" + t + a + end + "bye", "hello\r\n" + a + end + "bye", []string{tok}},
		{"behind the end", mixed, a + end + t, a + end, []string{tok}},
		{"truncated in a token", mixed, a + t[:len(t)-7], a, []string{"sm1.T"[:4+len("TOKEN")-5]}},
		{"truncated elsewhere", mixed, t + a[:20], a[:20], []string{tok}},
		{"truncated in a header", mixed, a + t[:20], a + t[:20], nil},
		{"no boundary", "multipart/form-data", t + end, t + end, nil},
		{"another boundary", "multipart/form-data; boundary=YY", t + end, t + end, nil},
		{"boundary against the rules", "multipart/form-data; boundary=X=X", strings.ReplaceAll(a+t+end, "XX", "X=X"), strings.ReplaceAll(a+end, "XX", "X=X"), []string{tok}},
		{"overlong boundary", "multipart/form-data; boundary=" + long, strings.ReplaceAll(a+t+end, "XX", long), strings.ReplaceAll(a+end, "XX", long), []string{tok}},
		{"comma", "multipart/form-data, boundary=XX", a + t + end, a + end, []string{tok}},
		{"JSON", "application/json", "_semel=sm1.TOKEN", "_semel=sm1.TOKEN", nil},
		{"no type", "", "_semel=sm1.TOKEN", "_semel=sm1.TOKEN", nil},
	}
}

func lf(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }

func TestStripTakesTheTokensAndNothingElse(t *testing.T) {
	t.Parallel()
	for _, x := range stripCases() {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(strip(t, x.contentType, "", x.body), x.want); diff != "" {
				t.Errorf("stripped (-got +want):\n%s", diff)
			}
			got := scan(t, x.contentType, "", x.body, nil)
			if diff := cmp.Diff(got.Tokens, x.tokens); diff != "" || got.Found != (len(x.tokens) > 0) {
				t.Errorf("found = %v, tokens (-got +want):\n%s", got.Found, diff)
			}
			if got.Length != int64(len(x.want)) {
				t.Errorf("length %d, want %d", got.Length, len(x.want))
			}
			for name, r := range map[string]io.Reader{
				"byte by byte": iotest.OneByteReader(strings.NewReader(x.body)),
				"end with it":  iotest.DataErrReader(strings.NewReader(x.body)),
			} {
				again, err := formguard.Scan(r, x.contentType, "", nil)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(again, got); diff != "" {
					t.Errorf("%s (-got +want):\n%s", name, diff)
				}
			}
			small, err := io.ReadAll(iotest.OneByteReader(formguard.Strip(iotest.OneByteReader(strings.NewReader(x.body)), x.contentType, "")))
			if err != nil || string(small) != x.want {
				t.Errorf("byte by byte: %q, %v", small, err)
			}
			var copied strings.Builder
			n, err := io.Copy(&copied, formguard.Strip(iotest.HalfReader(strings.NewReader(x.body)), x.contentType, ""))
			if err != nil || copied.String() != x.want || n != int64(len(x.want)) {
				t.Errorf("copied: %q of %d bytes, %v", copied.String(), n, err)
			}
			bare := scan(t, x.contentType, "", x.want, nil)
			if bare.Found || bare.Digest != got.Digest {
				t.Errorf("what is left: found = %v, same digest = %v", bare.Found, bare.Digest == got.Digest)
			}
		})
	}
}

func TestStripQuery(t *testing.T) {
	t.Parallel()
	for _, x := range []struct{ query, want string }{
		{"", ""},
		{"_semel=sm1.TOKEN", ""},
		{"a=1&_semel=sm1.TOKEN", "a=1"},
		{"_semel=sm1.TOKEN&a=1&&%5fsemel=sm1.x", "a=1&"},
		{"_semel=1&a;_semel=sm1.x", "_semel=1&a;_semel=sm1.x"},
	} {
		if got := formguard.StripQuery(x.query, ""); got != x.want {
			t.Errorf("%q: got %q, want %q", x.query, got, x.want)
		}
		with, bare := scan(t, urlencoded, x.query, "a=1", nil), scan(t, urlencoded, x.want, "a=1", nil)
		if with.Digest != bare.Digest || bare.Found {
			t.Errorf("%q: same digest = %v, found afterwards = %v", x.query, with.Digest == bare.Digest, bare.Found)
		}
	}
	if got := formguard.StripQuery("key=sm1.x&_semel=sm1.y", "key"); got != "_semel=sm1.y" {
		t.Errorf("another field's name: got %q", got)
	}
}
