package semelhttp_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/semelhttp"
)

// TestDerivedFromOddForms: a form that browsers and applications understand is
// protected, and a body of another type passes, as no key was required.
func TestDerivedFromOddForms(t *testing.T) {
	t.Parallel()
	const form = "application/x-www-form-urlencoded"
	long, longer := strings.Repeat("x", 70_000), strings.Repeat("y", 200_000)
	for name, tt := range map[string]struct {
		contentType, first, second string
		runs                       int64
	}{
		"a long field that does not count":   {form, "note=" + long + "&amount=1", "note=" + longer + "&amount=1", 1},
		"a long field that counts":           {form, "amount=" + long + "&note=1", "amount=" + long + "&note=2", 1},
		"long fields that differ":            {form, "amount=" + long, "amount=" + longer, 2},
		"long fields that differ at the end": {form, "amount=" + long + "a", "amount=" + long + "b", 2},
		"a long field at the end":            {form, "amount=1&note=" + long, "amount=1&note=" + longer, 1},
		"a malformed parameter":              {form + ";charset", "amount=1", "amount=1", 1},
		"no content type, no JSON":           {"", "amount=1", "amount=1", 2},
		"no content type, JSON":              {"", `{"amount":1}`, `{"amount":1}`, 1},
		"multipart without a boundary":       {"multipart/form-data", "amount=1", "amount=1", 2},
		"text":                               {"text/plain", "amount=1", "amount=1", 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var invoices counter
			d := newDoor(t, doorOptions{Options: semelhttp.Options{
				Key: semelhttp.Derived(semelhttp.DerivedKey{Fields: []string{"amount"}}),
				Fingerprint: semelhttp.FingerprintOptions{Func: func(*http.Request, *semelhttp.Body) (semel.Fingerprint, error) {
					return semel.Fingerprint{}, nil
				}},
			}})
			handler := d.Handler(http.HandlerFunc(invoices.create))
			for _, body := range []string{tt.first, tt.second} {
				var header []string
				if tt.contentType != "" {
					header = []string{"Content-Type", tt.contentType}
				}
				if answer := handle(t, handler, "/invoices", body, header...); answer.Code != http.StatusCreated {
					t.Fatalf("got %d %s", answer.Code, answer.Body)
				}
			}
			invoices.wantRan(t, "promise 2", tt.runs)
		})
	}
}
