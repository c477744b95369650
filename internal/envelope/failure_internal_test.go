package envelope

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

// What OfError writes is recognised by its first bytes, for any words, and nothing else is.
func TestFailureOfWork(t *testing.T) {
	t.Parallel()
	for _, words := range []string{"", "no such customer: «4»", `he said "no" \`, "a\x00\x1b[2J\u202eb", "\xff\xfe", strings.Repeat("long ", 2000), strings.Repeat("😀\"", 5000), strings.Repeat("\x01", 9000)} {
		outcome, err := OfError(words)
		if err != nil {
			t.Fatal(err)
		}
		f, ok := FailureOf(outcome, 1024)
		whole := strings.ToValidUTF8(words, "\ufffd")
		if words == "\xff\xfe" {
			whole = "\ufffd\ufffd" // as the encoder writes them
		}
		switch {
		case !ok || !Failed(outcome):
			t.Errorf("%.20q is not taken for a failure", words)
		case len(f.Message) > 1024 || !utf8.ValidString(f.Message):
			t.Errorf("%.20q: %d bytes", words, len(f.Message))
		case len(whole) <= 1024 && f.Message != whole:
			t.Errorf("%.20q became %q", words, f.Message)
		case len(whole) > 1024 && (!strings.HasSuffix(f.Message, "…") || !strings.HasPrefix(whole, strings.TrimSuffix(f.Message, "…")) || len(f.Message) < 1000):
			t.Errorf("%.20q became %d bytes, %.40q", words, len(f.Message), f.Message)
		}
	}
	if value, err := Of("error"); err != nil || Failed(value) {
		t.Errorf("%s, %v is taken for a failure", value, err)
	}
	for _, other := range []string{"", `{`, `{"semel":1,"value":{"error":"x"}}`, `{"flow":1,"value":"failed"}`, `{"error":"x"}`} {
		if f, ok := FailureOf([]byte(other), 10); ok || Failed([]byte(other)) {
			t.Errorf("%s is taken for the failure %v", other, f)
		}
	}
}

// An outcome that was damaged, or that is larger than any flow writes, is a failure without words: no page reads it for long.
func TestFailureOfFlow(t *testing.T) {
	t.Parallel()
	whole := `{"flow":1,"failed":{"flow":"buy","reason":"declined","step":"charge","undone":["insert"]}}`
	f, ok := FailureOf([]byte(whole), 1024)
	if got, err := json.Marshal(f); err != nil || !ok || string(got) != `{"reason":"declined","step":"charge","undone":["insert"]}` {
		t.Errorf("got %s, %v", got, ok)
	}
	for _, bad := range []string{whole[:40], strings.Replace(whole, "declined", strings.Repeat("x", maxFlow), 1)} {
		if f, ok := FailureOf([]byte(bad), 1024); !ok || f.Message != "" {
			t.Errorf("%.40s is %v, %v", bad, f, ok)
		}
	}
}
