package semelhttp_test

import (
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/outcomelog"
	"github.com/semel-dev/semel/semelhttp"
)

// FuzzKeyHeader: no header value makes the middleware panic; what runs, runs
// once; a value that RFC 8941 reads as a String is the key it says; and the
// quoted form of a key that was taken is the same key.
func FuzzKeyHeader(f *testing.F) {
	for _, seed := range []string{
		"abc", `"abc"`, `"a\"b"`, `"abc";x=1`, ` "abc" `, `"abc`, `abc"`, `"a", "b"`, "a,b", "", "\x00", "é", `"\\"`,
		strings.Repeat("k", 255), strings.Repeat("k", 256), "8e03978e-40d5-43dd-bc93-6894a57f9324", `:YWJj:`, `?1`, `("a")`,
	} {
		f.Add(seed)
	}
	ran, name, round := 0, "", 0
	d := newDoor(f, doorOptions{
		policy:  semel.Policy{Retention: time.Second},
		scope:   func(*http.Request) (string, error) { return strconv.Itoa(round), nil },
		Options: semelhttp.Options{Required: true, Key: keyTap{semelhttp.FromHeader("Idempotency-Key"), &name}},
	})
	handler := d.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { ran++ }))
	f.Fuzz(func(t *testing.T, value string) {
		ran, round, d.decisions = 0, round+1, nil
		try := func(value string) outcomelog.Outcome {
			name = ""
			w := &discard{header: http.Header{}}
			handler.ServeHTTP(w, &http.Request{
				Method: http.MethodPost, Host: "a", URL: &url.URL{Path: "/"}, Header: http.Header{"Idempotency-Key": {value}},
				Body: io.NopCloser(strings.NewReader("x")), ContentLength: 1,
			})
			outcomes := d.outcomes()
			return outcomes[len(outcomes)-1]
		}
		outcome := try(value)
		if want, err := semel.ParseStrictKey("s", value); err == nil && (outcome != "executed" || name != want.Name) {
			t.Fatalf("%q: got %s with the key %q, want %q as RFC 8941 reads it", value, outcome, name, want.Name)
		}
		switch {
		case outcome == "executed":
			key := name
			quoted := `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(key) + `"`
			if again := try(quoted); again != "replayed" || name != key || ran != 1 {
				t.Fatalf("%q: then %s got %s with the key %q and ran %d times", value, quoted, again, name, ran)
			}
		case outcome != "key-invalid" || ran != 0:
			t.Fatalf("%q: got %s, and ran %d times", value, outcome, ran)
		}
	})
}
