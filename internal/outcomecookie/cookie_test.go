package outcomecookie_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel/internal/outcomecookie"
)

// TestCookie: what was written is read again, the newest first, and no more than
// eight; of what another wrote only what could be ours.
func TestCookie(t *testing.T) {
	t.Parallel()
	var all []outcomecookie.Outcome
	for i := range 10 {
		all = outcomecookie.Add(all, outcomecookie.Outcome{ID: "key-" + strconv.Itoa(i%9), Word: outcomecookie.Executed, Status: 303, Words: strings.Repeat("0123abcd", 2*(i%2))})
	}
	line := outcomecookie.Line(all, true)
	value, attributes, _ := strings.Cut(strings.TrimPrefix(line, outcomecookie.Name+"="), ";")
	if got := outcomecookie.Parse(value); len(got) != 8 || got[0].ID != "key-0" || cmp.Diff(all, got) != "" {
		t.Errorf("got %+v, want %+v", got, all)
	}
	if attributes != " Path=/; Secure; SameSite=Lax" {
		t.Errorf("got %q", attributes)
	}
	for _, value := range []string{"", "a", "a:executed", "a:done:200", "a:executed:x", "a:executed:99", "a:executed:200:", "a:executed:200:<b>", "a:executed:200:b", "a:executed:200:0123456789abcdeF", "a:executed:200:b:c", "a b:executed:200", "<b>:executed:200", strings.Repeat("a", 65) + ":executed:200"} {
		if got := outcomecookie.Parse(value); got != nil {
			t.Errorf("%q: got %+v", value, got)
		}
	}
}

// TestWordOf: a page hears of every answer what it was.
func TestWordOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ problem, status, want string }{
		{"", "executed", "executed"},
		{"", "replayed", "replayed"},
		{"", "unprotected", "executed"},
		{"", "unknown", "unknown"},
		{"", "not-stored", "unknown"},
		{"", "released", "refused"},
		{"", "", "refused"},
		{"in-flight", "", "in-flight"},
		{"outcome-unknown", "", "unknown"},
		{"commit-unknown", "", "unknown"},
		{"response-not-kept", "", "executed"},
		{"duplicate", "", "executed"},
		{"form-stale", "", "refused"},
	} {
		if got := outcomecookie.WordOf(c.problem, c.status); got != c.want {
			t.Errorf("%q %q: got %s, want %s", c.problem, c.status, got, c.want)
		}
	}
}
