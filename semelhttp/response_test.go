package semelhttp_test

import (
	"bytes"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/semelhttp"
)

func responses() []*semelhttp.Response {
	return []*semelhttp.Response{
		{Status: 200, Header: http.Header{}},
		{Status: 201, Header: http.Header{"Location": {"/a"}, "X-Many": {"a", "", "b"}, "X-Removed": nil}, Body: []byte("hello")},
		{Status: 999, Header: http.Header{"A": {"b"}}, BodyOmitted: true},
		{Status: 200, Header: http.Header{"Trailer": {"X-Sum"}}, Trailer: http.Header{"X-Sum": {"42"}}, Body: bytes.Repeat([]byte("z"), 300)},
	}
}

// TestResponseRoundTrip: a parsed envelope equals what was recorded.
func TestResponseRoundTrip(t *testing.T) {
	t.Parallel()
	for _, want := range responses() {
		data := must.Get(want.MarshalBinary())
		got, err := semelhttp.ParseResponse(data)
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
		again, err := got.MarshalBinary()
		if !bytes.Equal(again, data) || err != nil {
			t.Errorf("written again it differs, %v", err)
		}
	}
	for _, status := range []int{-1, 0, 99, 1000} {
		if _, err := (&semelhttp.Response{Status: status}).MarshalBinary(); err == nil {
			t.Errorf("the status %d was taken", status)
		}
	}
}

// TestResponseCutOff: an envelope that is damaged is an error, wherever it is
// cut, and never more than it was.
func TestResponseCutOff(t *testing.T) {
	t.Parallel()
	data := must.Get((&semelhttp.Response{Status: 201, Header: http.Header{"Location": {"/a"}}, Body: []byte("hello")}).MarshalBinary())
	for n := range data {
		if got, err := semelhttp.ParseResponse(data[:n]); err == nil {
			t.Errorf("cut at %d of %d: got %v", n, len(data), got)
		}
	}
	for name, damaged := range map[string][]byte{
		"version":     append([]byte{9}, data[1:]...),
		"flags":       append([]byte{data[0], 0x80}, data[2:]...),
		"JSON":        []byte(`{"semel":1,"value":{"id":"inv-1"}}`),
		"many values": {1, 0, 0, 200, 0, 0, 0, 5, 0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F},
	} {
		if got, err := semelhttp.ParseResponse(damaged); err == nil {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

// FuzzParseResponse: no envelope makes the reader panic or use memory beyond
// its length, and what it accepts it writes again with the same meaning.
func FuzzParseResponse(f *testing.F) {
	for _, r := range responses() {
		data := must.Get(r.MarshalBinary())
		f.Add(data)
	}
	f.Add([]byte(`{"semel":1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		first, err := semelhttp.ParseResponse(data)
		if err != nil {
			return
		}
		again, err := first.MarshalBinary()
		if err != nil {
			t.Fatalf("accepted, but cannot be written: %v", err)
		}
		second, err := semelhttp.ParseResponse(again)
		if diff := cmp.Diff(first, second, cmpopts.EquateEmpty()); diff != "" || err != nil {
			t.Fatalf("%v (-first +second):\n%s", err, diff)
		}
	})
}

// FuzzResponseRoundTrip: whatever a handler answers is replayed as it was.
func FuzzResponseRoundTrip(f *testing.F) {
	f.Add(201, "Location", "/a", "", []byte("hello"), true)
	f.Add(200, "X-\x00", "\xff", "b", []byte{}, false)
	f.Fuzz(func(t *testing.T, status int, name, a, b string, body []byte, trailer bool) {
		want := &semelhttp.Response{Status: status, Header: http.Header{"X-First": {b}}, Body: body}
		if name != "" {
			want.Header[name] = []string{a, b}
		}
		if trailer && name != "" {
			want.Trailer = http.Header{name: {b}}
		}
		data, err := want.MarshalBinary()
		if err != nil {
			if status >= 100 && status <= 999 {
				t.Fatal(err)
			}
			return
		}
		got, err := semelhttp.ParseResponse(data)
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
			t.Fatalf("%v (-want +got):\n%s", err, diff)
		}
	})
}
