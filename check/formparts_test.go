package check_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/semel-dev/semel/check"
	"github.com/semel-dev/semel/check/wire"
)

// inParts returns a template of a multipart form.
func inParts(url, parts string) check.Template {
	return check.Template{
		Method: "POST", URL: url, Header: []wire.Field{{Name: "Content-Type", Value: "multipart/form-data; boundary=b"}},
		Body: []byte(strings.ReplaceAll(parts, "\n", "\r\n")),
	}
}

const (
	noteInParts = "--b\nContent-Disposition: form-data; name=\"note\"\n\nA table {{n}}\n--b--\n"
	fileInParts = "--b\nContent-Disposition: form-data; name=\"file\"; filename=\"{{n}}.txt\"\nContent-Type: text/plain\n\nA table\n--b--\n"
)

// TestRefusedPageForm: a page's form is made invalid after it is filled in, however it is sent. If that is impossible,
// the check is skipped, and the user's body is not blamed.
func TestRefusedPageForm(t *testing.T) {
	t.Parallel()
	for name, given := range map[string]struct {
		coding string
		status int
		want   check.Verdict
		says   string
	}{
		"in parts":       {"multipart/form-data", http.StatusUnprocessableEntity, check.Pass, ""},
		"in pairs":       {"application/x-www-form-urlencoded", http.StatusUnprocessableEntity, check.Pass, ""},
		"taken":          {"multipart/form-data", 0, check.Skipped, "answered 303"},
		"a server error": {"multipart/form-data", http.StatusInternalServerError, check.Skipped, "the form with empty fields is answered 500"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app := newFormShop("")
			app.coding, app.strict = given.coding, given.status
			url := serve(t, app)
			report := runProfile(t, "form", check.Config{
				Template: inParts(url+"/orders", noteInParts), Page: &check.Page{URL: url + "/"},
				Counters: []check.Counter{app}, Only: []string{"ERR-01", "ERR-02"},
			})
			for _, id := range []string{"ERR-01", "ERR-02"} {
				if got := resultOf(t, report, id); got.Verdict != given.want || !strings.Contains(got.Reason, given.says) {
					t.Errorf("%s: %s (%s), want %s (%s)", id, got.Verdict, got.Reason, given.want, given.says)
				}
			}
			if !report.Fine() {
				t.Error("the report is not fine")
			}
		})
	}
}

// TestFormIsEditedByFileName: the name of a file may contain a place.
func TestFormIsEditedByFileName(t *testing.T) {
	t.Parallel()
	for m, want := range map[mistake][]string{"": nil, tokenOnly: {"FORM-04"}} {
		app := newFormShop(m)
		app.coding = "multipart/form-data"
		url := serve(t, app)
		report := runProfile(t, "form", check.Config{
			Template: inParts(url+"/orders", fileInParts), Page: &check.Page{URL: url + "/", Form: "order"},
			Counters: []check.Counter{app}, Only: formChecks(),
		})
		wantFaults(t, report, want...)
		for _, sent := range resultOf(t, report, "FORM-04").Exchanges {
			if body := string(sent.Request.Body); strings.Contains(body, "{{") {
				t.Errorf("sent with a place: %s", body)
			}
		}
	}
}
