package semelhttp

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/semel-dev/semel"
)

const testCanonicalBytes = 1 << 20

// What TestCanonicalVectors has no text for.
func TestCanonicalJSON(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", maxJSONDepth) + strings.Repeat("]", maxJSONDepth)
	tests := []struct {
		name, a, b string
		want       string // equal, differ, or raw: the first has no canonical form
	}{
		{"number and string", `1`, `"1"`, "differ"},
		{"values swapped", `{"a":1,"b":2}`, `{"a":2,"b":1}`, "differ"},
		{"array boundary", `[[1],2]`, `[[1,2]]`, "differ"},
		{"long strings", `"` + strings.Repeat("é", 3000) + `"`, `"` + strings.Repeat(`\u00e9`, 3000) + `"`, "equal"},
		{"deepest", deep, " " + deep, "equal"},
		{"invalid UTF-8", "\"\xff\"", "", "raw"},
		{"overlong UTF-8", "\"\xc0\xaf\"", "", "raw"},
		{"leading comma", `[,1]`, "", "raw"},
		{"missing comma", `[1 2]`, "", "raw"},
		{"open", `{"a":[1,2`, "", "raw"},
		{"short escape", `"\u12"`, "", "raw"},
		{"many members", `{` + manyMembers(maxJSONMembers+1) + `}`, "", "raw"},
	}
	for _, tt := range tests {
		a, err := canonicalJSON(iotest.OneByteReader(strings.NewReader(tt.a)), testCanonicalBytes)
		b, errB := canonicalJSON(strings.NewReader(tt.b), testCanonicalBytes)
		checkForms(t, tt.name, tt.want, a, b, err, errB)
	}
}

// checkForms compares two canonical forms: they should be equal, or differ, or the first body is raw and has none.
func checkForms(t *testing.T, name, want string, a, b [32]byte, err, errB error) {
	t.Helper()
	if want == "raw" {
		if !errors.Is(err, errNotCanonical) {
			t.Errorf("%s: got %x, %v, want errNotCanonical", name, a, err)
		}
		return
	}
	if err != nil || errB != nil || (a == b) != (want == "equal") {
		t.Errorf("%s: equal = %v, errors %v, %v, want %s", name, a == b, err, errB, want)
	}
}

func manyMembers(n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`"` + strings.Repeat("x", i%7) + string(rune(0x1000+i)) + `":0`)
	}
	return b.String()
}

func TestCanonicalJSONBounds(t *testing.T) {
	t.Parallel()
	text := `{"` + manyMembers(0) + `a":"` + strings.Repeat("x", 100) + `"}`
	if _, err := canonicalJSON(strings.NewReader(text), int64(len(text))); err != nil {
		t.Errorf("at the bound: %v", err)
	}
	if _, err := canonicalJSON(strings.NewReader(text), int64(len(text))-1); !errors.Is(err, errNotCanonical) {
		t.Errorf("over the bound: got %v, want errNotCanonical", err)
	}
	if _, err := canonicalJSON(strings.NewReader("{"+manyMembers(maxJSONMembers)+"}"), testCanonicalBytes); err != nil {
		t.Errorf("the most members: %v", err)
	}
	broken := io.MultiReader(strings.NewReader(text), iotest.ErrReader(io.ErrClosedPipe))
	if _, err := canonicalJSON(broken, testCanonicalBytes); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("reading error at the end: got %v, want %v", err, io.ErrClosedPipe)
	}
	broken = io.MultiReader(strings.NewReader(text[:20]), iotest.ErrReader(io.ErrClosedPipe))
	if _, err := canonicalJSON(broken, testCanonicalBytes); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("reading error inside: got %v, want %v", err, io.ErrClosedPipe)
	}
}

func formOf(boundary string, parts ...string) string {
	var b strings.Builder
	for _, p := range parts {
		b.WriteString("--" + boundary + "\r\n" + p + "\r\n")
	}
	return b.String() + "--" + boundary + "--\r\n"
}

func TestCanonicalMultipart(t *testing.T) {
	t.Parallel()
	const name = "Content-Disposition: form-data; name=\"a\"\r\n\r\nx"
	big := name + strings.Repeat("0123456789abcdef\r\n", 4000)
	longest := strings.Repeat("b", maxBoundaryBytes)
	tests := []struct {
		name, a, boundA, b, boundB, want string
	}{
		{"several windows", formOf("A", big, name), "A", formOf(longest, big, name), longest, "equal"},
		{"split", formOf("A", "ab", "c"), "A", formOf("A", "a", "bc"), "A", "differ"},
		{"last delimiter after a line feed", "--A\r\n" + name + "\n--A--\r\n", "A", "", "", "raw"},
	}
	for _, tt := range tests {
		a, err := canonicalMultipart(iotest.OneByteReader(strings.NewReader(tt.a)), tt.boundA, testCanonicalBytes)
		b, errB := canonicalMultipart(strings.NewReader(tt.b), tt.boundB, testCanonicalBytes)
		checkForms(t, tt.name, tt.want, a, b, err, errB)
	}
}

// A delimiter is found wherever it falls between two windows.
func TestCanonicalMultipartAcrossWindows(t *testing.T) {
	t.Parallel()
	for n := multipartWindow - 90; n < multipartWindow+10; n++ {
		part := strings.Repeat("x", n)
		a, err := canonicalMultipart(strings.NewReader(formOf("boundary-of-some-length", part, "y")), "boundary-of-some-length", testCanonicalBytes)
		b, errB := canonicalMultipart(strings.NewReader(formOf("A", part, "y")), "A", testCanonicalBytes)
		checkForms(t, fmt.Sprintf("part of %d bytes", n), "equal", a, b, err, errB)
	}
}

// fingerprintWith is addCanonicalBody alone.
func fingerprintWith(t *testing.T, header http.Header, body string, rules canonicalRules) semel.Fingerprint {
	t.Helper()
	var h semel.Hasher
	if err := addCanonicalBody(&h, header, strings.NewReader(body), rules); err != nil {
		t.Fatal(err)
	}
	return h.Sum()
}

func contentType(v ...string) http.Header { return http.Header{"Content-Type": v} }

func TestAddCanonicalBody(t *testing.T) {
	t.Parallel()
	all := canonicalRules{json: true, multipart: true, maxBytes: testCanonicalBytes}
	gz := contentType("application/json")
	gz.Set("Content-Encoding", "gzip")
	const js = "application/json"
	multi := func(b string) http.Header { return contentType("multipart/form-data; boundary=" + b) }
	tests := []struct {
		name  string
		rules canonicalRules
		ha    http.Header
		a     string
		hb    http.Header
		b     string
		want  bool
	}{
		{"json", all, contentType(js), `{"a":1,"b":2}`, contentType("Application/JSON"), `{"b":2, "a":1}`, true},
		{"json suffix", all, contentType("application/vnd.x+json"), `{"a":1}`, contentType("application/vnd.x+json"), ` {"a":1}`, true},
		{"json of another type", all, contentType("application/vnd.x+json"), `{}`, contentType(js), `{}`, false},
		{"without the rule", canonicalRules{maxBytes: testCanonicalBytes}, contentType(js), `{}`, contentType(js), ` {}`, false},
		{"not json", all, contentType("text/plain"), `{}`, contentType("text/plain"), ` {}`, false},
		{"compressed", all, gz, `{}`, gz, ` {}`, false},
		{"malformed", all, contentType(js), `{"a":1,"a":2}`, contentType(js), `{"a":2,"a":1}`, false},
		{"malformed, identical", all, contentType(js), `{`, contentType(js), `{`, true},
		{"two content types", all, contentType(js, js), `{}`, contentType(js, js), ` {}`, false},
		{"multipart", all, multi("A"), formOf("A", "x\r\n\r\ny"), multi(`"B"`), formOf("B", "x\r\n\r\ny"), true},
		{"multipart, malformed", all, multi("A"), formOf("A", "x") + "z", multi("B"), formOf("B", "x") + "z", false},
		{"multipart, continued parameter", all, contentType("multipart/form-data; boundary*0=A"), formOf("A", "x"), multi("A"), formOf("A", "x"), false},
		{"over the bound", canonicalRules{json: true, maxBytes: 3}, contentType(js), `[1] `, contentType(js), ` [1]`, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := fingerprintWith(t, tt.ha, tt.a, tt.rules) == fingerprintWith(t, tt.hb, tt.b, tt.rules)
			if got != tt.want {
				t.Errorf("equal = %v, want %v", got, tt.want)
			}
		})
	}
}

// A body never equals one of another kind, not even if it is the other's
// canonical stream.
func TestCanonicalKindsDiffer(t *testing.T) {
	t.Parallel()
	header := contentType("application/json")
	raw := fingerprintWith(t, header, "n", canonicalRules{})
	reduced := fingerprintWith(t, header, "null", canonicalRules{json: true, maxBytes: 10})
	if raw == reduced {
		t.Error("raw bytes that look like a canonical stream have its fingerprint")
	}
}

type brokenSeeker struct{ *bytes.Reader }

func (brokenSeeker) Seek(int64, int) (int64, error) { return 0, io.ErrClosedPipe }

func TestAddCanonicalBodyReportsReadingErrors(t *testing.T) {
	t.Parallel()
	var h semel.Hasher
	err := addCanonicalBody(&h, contentType("text/plain"), brokenSeeker{bytes.NewReader(nil)}, canonicalRules{})
	if !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("got %v, want %v", err, io.ErrClosedPipe)
	}
}
