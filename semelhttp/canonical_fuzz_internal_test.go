package semelhttp

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/semel-dev/semel/internal/must"
)

// decoded holds a JSON text as an independent reader parses it.
type decoded struct {
	value     any
	depth     int
	clear     bool // JSON without duplicate names or text that readers repair
	oversized bool // over a bound that has nothing to do with the meaning
}

// decodeIndependently reads a text with encoding/json.
func decodeIndependently(text []byte) decoded {
	d := decoded{clear: json.Valid(text) && utf8.Valid(text)}
	if !d.clear {
		return d
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if dec.Decode(&d.value) != nil {
		return decoded{}
	}
	d.inspect(json.NewDecoder(bytes.NewReader(text)))
	return d
}

// inspect looks for what the decoded value does not show.
func (d *decoded) inspect(dec *json.Decoder) {
	dec.UseNumber()
	var names []map[string]bool // of the open objects; nil for an array
	isName := false
	members := 0
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			d.clear = false
			return
		}
		atName := isName
		switch token := token.(type) {
		case json.Delim:
			switch token {
			case '{':
				names = append(names, map[string]bool{})
			case '[':
				names = append(names, nil)
			default:
				names = names[:len(names)-1]
			}
			d.depth = max(d.depth, len(names))
		case string:
			d.clear = d.clear && !strings.ContainsRune(token, utf8.RuneError) // it may replace a lone surrogate
			if atName {
				open := names[len(names)-1]
				d.clear = d.clear && !open[token]
				open[token] = true
				members++
			}
		case json.Number:
			d.oversized = d.oversized || len(token) > maxJSONNumber
		}
		inObject := len(names) > 0 && names[len(names)-1] != nil
		_, ends := token.(json.Delim) // where a name is expected: the end of an empty object
		isName = inObject && (!atName || ends)
		d.oversized = d.oversized || d.depth > maxJSONDepth || members > maxJSONMembers
	}
}

// FuzzCanonicalJSON: a text has a canonical form exactly when an independent
// reader finds it clear, and two texts have the same exactly when that reader
// finds them equal.
func FuzzCanonicalJSON(f *testing.F) {
	for _, group := range readCanonicalVectors(f).JSON {
		for _, text := range group.Texts {
			f.Add([]byte(text), []byte(group.Texts[len(group.Texts)-1]))
		}
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		sumA, okA := canonicalOrNot(t, a)
		sumB, okB := canonicalOrNot(t, b)
		readA, readB := decodeIndependently(a), decodeIndependently(b)
		if okA && okB {
			if same := reflect.DeepEqual(readA.value, readB.value); same != (sumA == sumB) {
				t.Fatalf("%q and %q: equal = %v, digests equal = %v", a, b, same, sumA == sumB)
			}
		}
		if !okA {
			return
		}
		// Written again, indented and with its members sorted, it is the same.
		again := must.Get(json.MarshalIndent(readA.value, " ", "\t"))
		if sum, ok := canonicalOrNot(t, again); !ok || sum != sumA {
			t.Fatalf("%q, written again as %q: digest %x, %v, want %x", a, again, sum, ok, sumA)
		}
	})
}

func canonicalOrNot(t *testing.T, text []byte) (sum [32]byte, ok bool) {
	t.Helper()
	sum, err := canonicalJSON(bytes.NewReader(text), testCanonicalBytes)
	if err != nil && !errors.Is(err, errNotCanonical) {
		t.Fatalf("%q: %v", text, err)
	}
	read := decodeIndependently(text)
	repaired := bytes.ContainsRune(text, utf8.RuneError) || bytes.Contains(bytes.ToLower(text), []byte(`\ufffd`))
	switch {
	case err == nil && !read.clear && !repaired:
		t.Fatalf("%q has a canonical form, but is not clear", text)
	case err != nil && read.clear && !read.oversized:
		t.Fatalf("%q has no canonical form, but is clear", text)
	}
	return sum, err == nil
}

// FuzzMultipart: a body in which the boundary is replaced by another is the
// same, whatever the size of the reads; and any body is read without an error
// of its own.
func FuzzMultipart(f *testing.F) {
	for _, group := range readCanonicalVectors(f).Multipart {
		for _, b := range group.Bodies {
			f.Add([]byte(b.Body), b.Boundary, []byte("a\x00\r\n"))
		}
	}
	f.Fuzz(func(t *testing.T, body []byte, boundary string, content []byte) {
		sum, err := canonicalMultipart(bytes.NewReader(body), boundary, testCanonicalBytes)
		if err != nil && !errors.Is(err, errNotCanonical) {
			t.Fatalf("%q in %q: %v", boundary, body, err)
		}
		slow, slowErr := canonicalMultipart(iotest.HalfReader(bytes.NewReader(body)), boundary, testCanonicalBytes)
		if slow != sum || (err == nil) != (slowErr == nil) {
			t.Fatalf("%q in %q: %x, %v; with short reads %x, %v", boundary, body, sum, err, slow, slowErr)
		}
		const other = "another-boundary-of-its-own"
		if err == nil && !bytes.Contains(body, []byte(other)) {
			replaced := bytes.ReplaceAll(body, []byte("--"+boundary), []byte("--"+other))
			if got, err := canonicalMultipart(bytes.NewReader(replaced), other, testCanonicalBytes); err != nil || got != sum {
				t.Fatalf("%q in %q: %x; with another boundary %x, %v", boundary, body, sum, got, err)
			}
		}
		if bytes.Contains(content, []byte("--X")) || bytes.Contains(content, []byte("--YZ")) {
			return
		}
		built, err := canonicalMultipart(strings.NewReader(formOf("X", string(content), "end")), "X", testCanonicalBytes)
		rebuilt, errY := canonicalMultipart(strings.NewReader(formOf("YZ", string(content), "end")), "YZ", testCanonicalBytes)
		if errors.Join(err, errY) == nil && built != rebuilt {
			t.Fatalf("content %q: the boundary counts", content)
		}
	})
}
