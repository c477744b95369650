package check_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/semel-dev/semel/check"
)

// TestRefusedSampleSaysWhy: who forgot a field learns which one.
func TestRefusedSampleSaysWhy(t *testing.T) {
	t.Parallel()
	for name, given := range map[string]struct{ contentType, body, want string }{
		"a problem":    {"application/problem+json", `{"title":"Bad","detail":"amount\nis missing"}`, `: "amount is missing"`},
		"a message":    {"application/json", `{"message":"no \u001b[31mamount"}`, `: "no [31mamount"`},
		"text":         {"text/plain; charset=utf-8", "no amount\n", `: "no amount"`},
		"much text":    {"text/plain", strings.Repeat("é", 300), `: "` + strings.Repeat("é", 200) + `…"`},
		"a page":       {"text/html", "<h1>no</h1>", "422 Unprocessable Entity"},
		"other JSON":   {"application/json", `{"code":7}`, "422 Unprocessable Entity"},
		"no object":    {"application/json", `["no"]`, "422 Unprocessable Entity"},
		"not a string": {"application/json", `{"error":{"code":7}}`, "422 Unprocessable Entity"},
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
			plan, err := check.NewPlan(check.Config{
				Template: check.Template{Method: http.MethodPost, URL: server.URL}, Profile: profile, Only: []string{"BASIC-01"},
			})
			if err != nil {
				t.Fatal(err)
			}
			report, err := plan.Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for i := range report.Results {
				if one := &report.Results[i]; one.ID == "BASIC-01" && !strings.HasSuffix(one.Reason, given.want) {
					t.Errorf("got %q, want it to end in %q", one.Reason, given.want)
				}
			}
		})
	}
}
