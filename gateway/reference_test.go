package gateway_test

import (
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/semel-dev/semel/gateway"
)

// The problem document, the page for a person and the log line of an unknown outcome have one reference, and the console finds the
// record by it.
func TestReference(t *testing.T) {
	t.Parallel()
	var lines safeBuffer
	d := open(t, upstream(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }), func(c *gateway.Config) {
		withTokens(t, c)
		c.Logger = slog.New(slog.NewTextHandler(&lines, nil))
	})
	form := regexp.MustCompile(`[0-9A-F]{4}-[0-9A-F]{4}`)
	first := form.FindString(d.send(t, http.MethodPost, "/orders", "x", "Idempotency-Key", "k").body)
	if first == "" {
		t.Fatal("the problem document has no reference")
	}
	repeated := d.send(t, http.MethodPost, "/orders", "x", "Idempotency-Key", "k").body
	if !strings.Contains(repeated, `"reference":"`+first+`"`) {
		t.Errorf("the repetition gets no reference %s: %s", first, repeated)
	}
	for language, words := range map[string]string{"en": "Your reference: ", "sv": "Din referens: ", "hi": "आपका संदर्भ: ", "zh": "您的参考编号： "} { //nolint:misspell // Swedish.
		page := d.send(t, http.MethodPost, "/orders", "x", "Idempotency-Key", "k", "Accept", "text/html", "Accept-Language", language).body
		if !strings.Contains(page, words+first) {
			t.Errorf("%s: the page has no reference %s: %s", language, first, page)
		}
	}
	if text := lines.String(); !strings.Contains(text, "reference="+first) {
		t.Errorf("the log has no reference %s: %s", first, text)
	}
}
