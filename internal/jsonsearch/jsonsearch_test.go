package jsonsearch_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel/internal/jsonsearch"
)

// find returns the values at the paths, whose steps are parted by slashes.
func find(t *testing.T, text io.Reader, paths ...string) ([]string, error) {
	t.Helper()
	steps := make([][]string, len(paths))
	for i, path := range paths {
		steps[i] = strings.Split(path, "/")
	}
	values, err := jsonsearch.Find(t.Context(), text, steps)
	var texts []string
	for _, value := range values {
		texts = append(texts, string(value))
	}
	return texts, err
}

func TestFindReturnsValuesAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	const text = ` {"a" : [1.50, {"b": "x\u00e9"}, []], "c":{"d" :null ,"e":{}}, "\u0061b": -2e+3, "z": [[[true]]], "é":false}`
	paths := []string{"a", "a/0", "a/1/b", "a/2", "a/3", "c/d", "c", "c/e", "ab", "z/0/0/0", "é", "none", "c/d/x"}
	want := []string{`[1.50, {"b": "x\u00e9"}, []]`, `1.50`, `"x\u00e9"`, `[]`, ``, `null`, `{"d" :null ,"e":{}}`, `{}`, `-2e+3`, `true`, `false`, ``, ``}
	for name, in := range map[string]io.Reader{
		"whole": strings.NewReader(text), "byte by byte": iotest.OneByteReader(strings.NewReader(text)), "end with the data": iotest.DataErrReader(strings.NewReader(text)),
	} {
		got, err := find(t, in, paths...)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}

func TestFindRefusesWhatReadersDisagreeAbout(t *testing.T) {
	t.Parallel()
	for text, reason := range map[string]string{
		`{"a":{"b":1},"a":{"b":2}}`: "twice", `{"a":{"b":1},"A":2}`: "some applications", `{"a":{"B":1}}`: "some applications", `{"a":{"\u0042":1}}`: "some applications",
		"": "not JSON", "{": "not JSON", `{"a":1,}`: "not JSON", `[1,]`: "not JSON", `{"a" 1}`: "not JSON", `{a:1}`: "not JSON", `{"a":01}`: "not JSON",
		`{"a":1.}`: "not JSON", `{"a":+1}`: "not JSON", `{"a":tru}`: "not JSON", "{\"a\":\"\n\"}": "not JSON", `{"a":"\x"}`: "not JSON", `{"a":"\u12g4"}`: "not JSON",
		strings.Repeat("[", 600) + strings.Repeat("]", 600): "too deep",
	} {
		_, err := find(t, strings.NewReader(text), "a/b", "x")
		if unclear, ok := errors.AsType[*jsonsearch.Error](err); !ok || !strings.Contains(unclear.Error(), reason) {
			t.Errorf("%.40q: got %v, want %q", text, err, reason)
		}
	}
	if got, err := find(t, strings.NewReader(`{"x":{"a":1,"a":2,"A":3},"a":1}`), "a"); err != nil || got[0] != "1" {
		t.Errorf("elsewhere: got %q, %v", got, err)
	}
}

// counted counts what is read.
type counted struct {
	io.Reader
	bytes int
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.bytes += n
	return n, err
}

func TestFindReadsTheTextOnceForAllPaths(t *testing.T) {
	t.Parallel()
	text := `{"f0":1,"z":[` + strings.Repeat("1,", 1<<20) + `1]}`
	in := &counted{Reader: strings.NewReader(text)}
	paths := strings.Split("f0 f1 f2 f3 f4 f5 f6 f7 f8 f9 f10 z", " ")
	if _, err := find(t, in, paths...); err != nil || in.bytes != len(text) {
		t.Errorf("read %d bytes of %d, %v", in.bytes, len(text), err)
	}
}

func TestFindEndsWithTheContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	text := "[" + strings.Repeat("1,", 1<<16) + "1]"
	in := &counted{Reader: io.MultiReader(readerFunc(func([]byte) (int, error) { cancel(); return 0, io.EOF }), strings.NewReader(text))}
	if _, err := jsonsearch.Find(ctx, in, [][]string{{"a"}}); !errors.Is(err, context.Canceled) || in.bytes > 1<<16 {
		t.Errorf("got %v after %d bytes, want the context's error", err, in.bytes)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestFindReturnsReadingErrors(t *testing.T) {
	t.Parallel()
	if _, err := find(t, io.MultiReader(strings.NewReader(`{"a":`), iotest.ErrReader(io.ErrUnexpectedEOF)), "a"); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %v", err)
	}
}

func TestIsRefusesCharsetsOtherThanUTF8(t *testing.T) {
	t.Parallel()
	for contentType, want := range map[string]struct{ isJSON, refused bool }{
		"": {isJSON: true}, "application/json": {isJSON: true}, "application/vnd.a+json; charset=UTF-8": {isJSON: true}, `application/json; charset="utf8"`: {isJSON: true},
		"application/json; charset=us-ascii": {isJSON: true}, "text/plain; charset=utf-16": {}, "application/json; charset=utf-16": {true, true},
		"application/json; charset=utf-7": {true, true}, "application/json; charset=iso-8859-1": {true, true}, "application/json; charset": {},
	} {
		isJSON, err := jsonsearch.Is(http.Header{"Content-Type": {contentType}})
		if isJSON != want.isJSON || (err != nil) != want.refused {
			t.Errorf("%s: got %v, %v", contentType, isJSON, err)
		}
	}
}

// FuzzFind: a text that encoding/json reads whole is read, with the same values; one that it does not read is refused.
func FuzzFind(f *testing.F) {
	for _, text := range []string{`{"a":[1,{"b":"x"}],"b":{}}`, `{"a":{"b":1},"a":{"b":2}}`, `[1,2`, `{"\u0061":-0.5e7}`, "{\"a\":\"\xff\"}", `"a"`, `{"a":tru}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		values, err := jsonsearch.Find(t.Context(), bytes.NewReader(text), [][]string{{"a"}, {"a", "b"}, {"b"}})
		var first json.RawMessage
		valid := json.NewDecoder(bytes.NewReader(text)).Decode(&first) == nil
		if unclear, ok := errors.AsType[*jsonsearch.Error](err); ok && valid && strings.Contains(unclear.Error(), "not JSON") || err == nil && !valid {
			t.Fatalf("%q: valid is %v, got %v", text, valid, err)
		}
		var object map[string]json.RawMessage
		if err != nil || json.Unmarshal(first, &object) != nil {
			return
		}
		for i, name := range []string{"a", "", "b"} {
			if name != "" && !bytes.Equal(values[i], object[name]) {
				t.Fatalf("%q: %s is %q, want %q", text, name, values[i], object[name])
			}
		}
	})
}
