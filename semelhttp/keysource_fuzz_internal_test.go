package semelhttp

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/semel-dev/semel/internal/jsonsearch"
)

// keyIn asks a source for the key of a request with this body.
func keyIn(source KeySource, contentType, body string) (string, bool, error) {
	r := &http.Request{Header: http.Header{"Content-Type": {contentType}}}
	return source.Key(r, &Body{mem: []byte(body), size: int64(len(body)), ready: true})
}

// follow looks a pointer up in a decoded document, as RFC 6901 has it.
func follow(document any, pointer string) (any, bool) {
	for token := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		token = strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
		switch at := document.(type) {
		case map[string]any:
			value, ok := at[token]
			if !ok {
				return nil, false
			}
			document = value
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(at) || strconv.Itoa(i) != token {
				return nil, false
			}
			document = at[i]
		default:
			return nil, false
		}
	}
	return document, true
}

// FuzzJSONPointer: where an independent reader finds a text clear, the key is
// the value that this reader finds at the pointer.
func FuzzJSONPointer(f *testing.F) {
	for _, pointer := range []string{"/id", "/a/0/b", "/a~1b", "/~0", "/", "//", "/a/-", "/a/00", "id", "/~2", "/a/9999999999999999999"} {
		for _, body := range []string{`{"id":"k"}`, `{"a":[{"b":1.50}]}`, `{"a/b":"x","~":null,"":{"":"y"}}`, `{"id":"a","id":"b"}`, `{"id":"\u006b"}`, "{\"id\":\"\xff\"}", `[1]`} {
			f.Add(pointer, body, "application/json")
		}
	}
	f.Add("/id", `{"id":"k"}`, "application/vnd.api+json; charset=utf-16")
	f.Fuzz(func(t *testing.T, pointer, body, contentType string) {
		name, found, err := keyIn(FromJSONPointer(pointer), contentType, body)
		if found && err == nil && !strings.HasPrefix(pointer, "/") {
			t.Fatalf("the pointer %q found %q", pointer, name)
		}
		d := decodeIndependently([]byte(body))
		isJSON, wrong := jsonsearch.Is(http.Header{"Content-Type": {contentType}})
		if !d.clear || d.oversized || err != nil || !isJSON || wrong != nil {
			return
		}
		var want string
		at, there := follow(d.value, pointer)
		switch value := at.(type) {
		case string:
			want = value
		case json.Number:
			want = value.String()
		default:
			there = false
		}
		if found != there || name != want {
			t.Fatalf("%q in %q: got %q %v, want %q %v", pointer, body, name, found, want, there)
		}
	})
}

// FuzzDerivedKey: forms that an application reads differently in the chosen
// fields have different keys.
func FuzzDerivedKey(f *testing.F) {
	for _, pair := range [][2]string{{"a=1&b=2", "b=2&a=1"}, {"a=1&a=2", "a=2&a=1"}, {"a=%31", "a=1"}, {"a", "a="}, {"a=1%26b=2", "a=1&b=2"}, {"a=+", "a=%20"}, {"&&a=1", "a=1"}} {
		f.Add(pair[0], pair[1])
	}
	source := Derived(DerivedKey{Fields: []string{"a", "b"}})
	f.Fuzz(func(t *testing.T, one, two string) {
		const form = "application/x-www-form-urlencoded"
		first, found, err := keyIn(source, form, one)
		second, foundToo, errToo := keyIn(source, form, two)
		if err != nil || errToo != nil || !found || !foundToo {
			return
		}
		a, err := url.ParseQuery(one)
		b, errToo := url.ParseQuery(two)
		if err != nil || errToo != nil { // a semicolon, of which readers think differently
			return
		}
		same := slices.Equal(a["a"], b["a"]) && slices.Equal(a["b"], b["b"])
		if (first == second) != same {
			t.Fatalf("%q and %q: the same key is %v, the same fields is %v", one, two, first == second, same)
		}
	})
}
