package apps_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/semel-dev/semel/proof/integration/apps"
)

// A comparison forgives what it should, and nothing else.
func TestCompare(t *testing.T) {
	t.Parallel()
	page := func(body string, headers ...string) *apps.Answer {
		a := &apps.Answer{Status: http.StatusOK, Header: http.Header{"Content-Type": {"text/html"}}, Body: []byte(body)}
		for i := 0; i < len(headers); i += 2 {
			a.Header.Set(headers[i], headers[i+1])
		}
		return a
	}
	const token = `<input type="hidden" name="_semel" value="sm1.AbC-_9" autocomplete="off" data-semel-token>`
	const script = `<script src="/.well-known/semel/guard.js?v=0a-_"></script>`
	for _, c := range []struct {
		name                   string
		before, through, after *apps.Answer
		inserted               int
		want                   string // in the difference; "" for none
	}{
		{name: "the same", before: page("<p>a"), through: page("<p>a"), after: page("<p>a")},
		{name: "inserted", before: page("<form>", "Content-Length", "6"), through: page("<form>" + token + script), after: page("<form>", "Content-Length", "6"), inserted: 2},
		{name: "another insertion", before: page("<form>"), through: page("<form><input>"), after: page("<form>"), want: "words"},
		{name: "changes each time", before: page("<p>abc1"), through: page("<p>abc3"), after: page("<p>abc2")},
		{name: "changed next to it", before: page("<p>a b1"), through: page("<p>A b3"), after: page("<p>a b2"), want: "got …<p>A b3…, want …<p>a b1…"},
		{name: "lost", before: page("<p>a b"), through: page("<p>a"), after: page("<p>a b"), want: "words"},
		{name: "header lost", before: page("", "Vary", "Cookie"), through: page(""), after: page("", "Vary", "Cookie"), want: "Vary"},
		{name: "header changes each time", before: page("", "Expires", "1"), through: page("", "Expires", "2"), after: page("", "Expires", "3")},
		{name: "redirected", before: page("", "Location", "/a"), through: page("", "Location", "/b"), after: page("", "Location", "/a"), want: `200 "/b"`},
		{name: "no page", before: page("a1", "Content-Type", "text/css"), through: page("a3", "Content-Type", "text/css"), after: page("a2", "Content-Type", "text/css"), want: "bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			inserted, differences := apps.Compare(c.before, c.through, c.after)
			if inserted != c.inserted {
				t.Errorf("got %d insertions, want %d", inserted, c.inserted)
			}
			if got := strings.Join(differences, "\n"); !strings.Contains(got, c.want) || c.want == "" && got != "" {
				t.Errorf("got %q, want %q in it", got, c.want)
			}
		})
	}
}
