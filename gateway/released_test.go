package gateway_test

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel/gateway"
)

// TestFailureInsideOfASuccessReleases (promise 2): a failure that an application says in the body or a header of a 200 is not an outcome
// where the rule names it.
func TestFailureInsideOfASuccessReleases(t *testing.T) {
	t.Parallel()
	const code = `{"errors":[{"extensions":{"code":"THROTTLED"}}],"data":null}`
	for name, tt := range map[string]struct {
		rule, header, body string
		released           bool
	}{
		"a member":               {`{status: 200, json_pointer: /errors}`, "", code, true},
		"its value":              {`{json_pointer: /errors/0/extensions/code, equals: [UNAUTHENTICATED, THROTTLED]}`, "", code, true},
		"another value":          {`{json_pointer: /errors/0/extensions/code, equals: UNAUTHENTICATED}`, "", code, false},
		"null":                   {`{json_pointer: /data}`, "", code, false},
		"another status":         {`{status: 201, json_pointer: /errors}`, "", code, false},
		"not JSON":               {`{json_pointer: /errors}`, "", "errors", false},
		"longer than is read":    {`{json_pointer: /errors}`, "", `{"errors":1,"pad":"` + strings.Repeat("x", 70<<10) + `"}`, false},
		"a number":               {`{json_pointer: /ok, equals: 0}`, "", `{"ok":0}`, true},
		"a header":               {`{header: grpc-status, equals: [8, 14]}`, "14", "", true},
		"another header":         {`{header: grpc-status, equals: [8, 14]}`, "0", "", false},
		"a header that is there": {`{header: grpc-status}`, "14", "", true},
		"a header of a success":  {`{header: grpc-status}`, "0", "", false},
		"no errors":              {`{json_pointer: /errors}`, "", `{"errors":[],"data":{"id":1}}`, false},
		"no error":               {`{json_pointer: /error}`, "", `{"error":{}}`, false},
		"an error that is false": {`{json_pointer: /error}`, "", `{"error":false}`, false},
		"an error that is 0":     {`{json_pointer: /error}`, "", `{"error":0.0}`, false},
		"an error that is 7":     {`{json_pointer: /error}`, "", `{"error":7}`, true},
		"an error that is true":  {`{json_pointer: /error}`, "", `{"error":true}`, true},
		"no header":              {`{header: grpc-status}`, "", "", false},
	} {
		for _, how := range []string{"upstream", "next"} {
			t.Run(name+", "+how, func(t *testing.T) {
				t.Parallel()
				var effects atomic.Int32
				serve := func(w http.ResponseWriter, r *http.Request) {
					effects.Add(1)
					if tt.header != "" {
						w.Header().Set("Grpc-Status", tt.header)
					}
					if r.Header.Get("Accept-Encoding") == "gzip" {
						t.Errorf("%s would be compressed", name)
					}
					_, _ = io.WriteString(w, tt.body)
				}
				address, next := upstream(t, serve), func(w http.ResponseWriter, r *http.Request) error { serve(w, r); return nil }
				d := open(t, address, func(c *gateway.Config) {
					c.Rules = parse(t, "version: 1\nroutes:\n  - name: gql\n    match: {path: /gql}\n    released_when: "+tt.rule+"\n")
					if how == "next" {
						c.Next = next
					}
				})
				var got []string
				for range 2 {
					answer := d.send(t, http.MethodPost, "/gql", "x", "Idempotency-Key", "k1")
					got = append(got, answer.word())
					if answer.body != tt.body {
						t.Errorf("got %d bytes", len(answer.body))
					}
				}
				want := []string{"executed", "replayed"}
				if tt.released {
					want = []string{"released", "released"}
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("said (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// TestUpstreamIsAskedForWhatCanBeDecoded: under a claim; the caller of a replay may accept less than the first.
func TestUpstreamIsAskedForWhatCanBeDecoded(t *testing.T) {
	t.Parallel()
	seen := make(chan string, 1)
	d := open(t, upstream(t, func(_ http.ResponseWriter, r *http.Request) { seen <- r.Header.Get("Accept-Encoding") }), nil)
	for sent, want := range map[string]string{"br, gzip;q=0.5, zstd": "gzip;q=0.5", "br": "identity", "deflate,gzip": "deflate, gzip"} {
		d.send(t, http.MethodPost, "/orders", "x", "Idempotency-Key", "k"+strconv.Itoa(len(sent)), "Accept-Encoding", sent)
		if got := <-seen; got != want {
			t.Errorf("%q: the upstream got %q, want %q", sent, got, want)
		}
	}
	d.send(t, http.MethodPost, "/orders", "x", "Accept-Encoding", "br")
	if got := <-seen; got != "br" {
		t.Errorf("without a key: the upstream got %q", got)
	}
}
