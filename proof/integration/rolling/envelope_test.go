package rolling_test

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel/semelhttp"
)

// inOrder puts the fields in the head of a recorded answer in order: a live one
// has them as they came out of a map. It has its own reader of the first version, so
// that a change of what is written is seen.
func inOrder(name string, outcome []byte) []byte {
	if !strings.HasPrefix(name, "http ") || len(outcome) < 12 {
		return outcome
	}
	head, rest := outcome[12:12+binary.BigEndian.Uint32(outcome[4:])], outcome[12+binary.BigEndian.Uint32(outcome[4:]):]
	start, _ := uvarint(head)
	var fields []string
	for at := start; at < len(head); {
		from := at
		at += textLength(head[at:])
		size, values := uvarint(head[at:])
		at += size
		for range values {
			at += textLength(head[at:])
		}
		fields = append(fields, string(head[from:at]))
	}
	slices.Sort(fields)
	return slices.Concat(outcome[:12], head[:start], []byte(strings.Join(fields, "")), rest)
}

// uvarint reads a uvarint, which may be longer than it had to be.
func uvarint(b []byte) (size, value int) {
	for shift := 0; ; shift += 7 {
		value |= int(b[size]&0x7F) << shift
		size++
		if b[size-1] < 0x80 {
			return size, value
		}
	}
}

// textLength returns the length of a text, including its length prefix.
func textLength(b []byte) int {
	size, length := uvarint(b)
	return size + length
}

// TestEnvelope: the first version of a recorded answer, byte by byte.
func TestEnvelope(t *testing.T) {
	t.Parallel()
	golden := "\x01\x00\x00\xc9" + "\x00\x00\x00\x1e" + "\x00\x00\x00\x06" +
		"\x03" + "\x08Location\x01\x05/a/12" + "\x06X-Both\x02\x03one\x00" +
		"a body" +
		"\x01" + "\x05X-Sum\x01\x029f"
	want := &semelhttp.Response{
		Status: 201, Header: map[string][]string{"Location": {"/a/12"}, "X-Both": {"one", ""}},
		Body: []byte("a body"), Trailer: map[string][]string{"X-Sum": {"9f"}},
	}
	got, err := semelhttp.ParseResponse([]byte(golden))
	must(t, err)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("read (-want +got):\n%s", diff)
	}
	written, err := want.MarshalBinary()
	if err != nil || string(written) != golden {
		t.Errorf("written: %q, %v\nwant     %q", written, err, golden)
	}
}
