package check_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/semel-dev/semel/check"
)

// TestRefusedSampleSaysWhy: the reason names the field that was missing.
func TestRefusedSampleSaysWhy(t *testing.T) {
	t.Parallel()
	for name, given := range map[string]struct{ contentType, body, want string }{
		"a problem":    {"application/problem+json", `{"title":"Bad","detail":"amount\nis missing"}`, `: "amount is missing"`},
		"a message":    {"application/json", `{"message":"no \u001b[31mamount"}`, `: "no [31mamount"`},
		"text":         {"text/plain; charset=utf-8", "no amount\n", `: "no amount"`},
		"much text":    {"text/plain", strings.Repeat("é", 300), `: "` + strings.Repeat("é", 200) + `…"`},
		"a page":       {"text/html", "<head><title>Oh</title></head><script>x</script><h1>no</h1> <p>amount", `: "no amount"`},
		"other JSON":   {"application/json", `{"code":7}`, `; its body begins with {"code":7}`},
		"no object":    {"application/json", `["no"]`, `; its body begins with ["no"]`},
		"not a string": {"application/json", `{"error":{"code":7}}`, `: "code 7"`},
		"a problem with fields": {
			"application/problem+json", `{"detail":"some fields need another value","errors":[{"pointer":"#/amount","detail":"at most 1000"},{"field":"number","message":"taken"}]}`,
			`: "some fields need another value: #/amount at most 1000; number taken"`,
		},
		"places of fields":    {"application/json", `{"detail":[{"loc":["body","amount"],"msg":"too much"}]}`, `: "body, amount too much"`},
		"messages of fields":  {"application/json", `{"errors":{"amount":["too much","no number"]}}`, `: "amount too much, no number"`},
		"many fields":         {"application/json", `{"errors":{"a":"1","b":"2","c":"3","d":"4","e":"5","f":"6","g":"7"}}`, `: "a 1; b 2; c 3; d 4; e 5; and 2 more"`},
		"a member's secret":   {"application/json", `{"password":"hunter2hunter2","n":1}`, `; its body begins with {"password":"***","n":1}`},
		"an echoed secret":    {"text/plain", "we got Bearer ann-was-here", `: "we got ***"`},
		"half of a secret":    {"text/plain", strings.Repeat("a", 195) + " ann-was-here", `a ***"`},
		"half of a member":    {"application/json", `{"a":"` + strings.Repeat("a", 195) + `","token":"ann-is-there"}`, "…"},
		"a control character": {"application/xml", "<e>\x1b[2Jno\u202e</e>", "422 Unprocessable Entity"},
		"XML":                 {"application/xml", "<e>no</e>", "; its body begins with <e>no</e>"},
		"bytes":               {"image/png", "\x89PNG\x00", "422 Unprocessable Entity"},
		"nothing":             {"", "", "422 Unprocessable Entity"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", given.contentType)
				w.WriteHeader(http.StatusUnprocessableEntity)
				_, _ = w.Write([]byte(given.body))
			}))
			defer server.Close()
			profile, _ := check.ProfileNamed("ietf")
			report, err := tryOut(t, check.Config{
				Template: check.Template{Method: http.MethodPost, URL: server.URL}, User: bearer("ann-was-here"), Profile: profile, Only: []string{"BASIC-01"},
			})
			if err != nil {
				t.Fatal(err)
			}
			for i := range report.Results {
				if one := &report.Results[i]; one.ID == "BASIC-01" && !strings.HasSuffix(one.Reason, given.want) {
					t.Errorf("got %q, want it to end in %q", one.Reason, given.want)
				} else if strings.Contains(one.Reason, "ann-") || strings.Contains(one.Reason, "\x1b") {
					t.Errorf("got %q", one.Reason)
				}
			}
		})
	}
}
