package source_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel/check/internal/source"
)

// shown returns a request as text: the request line, the header without the lines of every request, and the body.
func shown(r *source.Request) string {
	var b strings.Builder
	b.WriteString(r.Template.Method + " " + r.Template.URL + "\n")
	for _, f := range r.Template.Header {
		line := f.Name + ": " + f.Value
		if line != "User-Agent: semel-check" && line != "Accept: */*" {
			b.WriteString(line + "\n")
		}
	}
	text := strings.TrimSuffix(b.String(), "\n")
	if len(r.Template.Body) > 0 {
		text += "\n\n" + string(r.Template.Body)
	}
	return text
}

// wants compares a request with its expected text.
func wants(t *testing.T, r *source.Request, err error, want string) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, shown(r)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// refused expects an error with the text.
func refused(t *testing.T, r *source.Request, err error, want string) {
	t.Helper()
	switch {
	case err == nil:
		t.Errorf("want an error with %q, got the request\n%s", want, shown(r))
	case !strings.Contains(err.Error(), want):
		t.Errorf("want an error with %q, got %q", want, err)
	}
}

// noted expects a note with the text.
func noted(t *testing.T, r *source.Request, want string) {
	t.Helper()
	if !strings.Contains(strings.Join(r.Notes, "\n"), want) {
		t.Errorf("want a note with %q, got %q", want, r.Notes)
	}
}
