package source_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel/check"
	"github.com/semel-dev/semel/check/internal/source"
	"github.com/semel-dev/semel/check/wire"
)

func TestSuggest(t *testing.T) {
	t.Parallel()
	const form, same = "application/x-www-form-urlencoded", "every intent would send the same request"
	for _, c := range []struct {
		contentType, body string
		want              []string
	}{
		{"", `{"a":[{"order":"0192f0c1-2f4b-7c3d-8e11-5a0b9c8d7e6f"}],"n":{{n}}}`, []string{`/a/0/order looks like an id: write {{uuid}}`}},
		{"", `{"id":"01HZX3V7Q0A1B2C3D4E5F6G7H8","m":"507f1f77bcf86cd799439011","x":"{{uuid}}"}`, []string{"/id", "/m"}},
		{"", `{"at":"2026-05-01T10:00:00.5Z","t":1764000000,"ms":1764000000123,"n":{{n}}}`, []string{"/at looks like a time: write {{now}}", "/t looks like a time: write {{n}}", "/ms"}},
		{"", `{"idempotency_key":"x","Request-Id":"y","n":{{n}}}`, []string{"/idempotency_key looks like the key", "/Request-Id"}},
		{"", `{"mail":"joe@example.com","n":{{n}}}`, []string{"/mail is an address that may already be taken: write {{n}}"}},
		{"", `{"a/b":"507f1f77bcf86cd799439011","name":"{{uuid}}","price":1050,"phone":"+46701740605"}`, []string{"/a~1b"}},
		{"", `{"name":"x"}`, []string{same}},
		{form, "order=507f1f77bcf86cd799439011&name={{n}}", []string{"the field order"}},
		{"text/xml", "<a>\n<id>507f1f77bcf86cd799439011</id></a>", []string{"line 2 of the body", same}},
		{"", "", nil},
	} {
		got := source.Suggest(&check.Template{Method: "POST", URL: "http://a/", Body: []byte(c.body), Header: []wire.Field{{Name: "content-type", Value: c.contentType}}})
		if diff := cmp.Diff(len(c.want), len(got)); diff != "" {
			t.Errorf("%s: %q", c.body, got)
			continue
		}
		for i := range got {
			if !strings.HasPrefix(got[i], c.want[i]) {
				t.Errorf("%s: got %q, want %q", c.body, got[i], c.want[i])
			}
		}
	}
}

func TestSuggestIsBounded(t *testing.T) {
	t.Parallel()
	var lines strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&lines, "%024x\n", i)
	}
	if got := source.Suggest(&check.Template{Body: []byte(lines.String())}); len(got) != 21 {
		t.Errorf("%d hints", len(got))
	}
}
