package stage

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/semel-dev/semel/internal/must"
)

// visitor is a browser without scripts.
type visitor struct {
	*http.Client

	t *testing.T
}

func (v *visitor) do(method, address, kind, body string) (int, string) {
	v.t.Helper()
	r := must.Get(http.NewRequestWithContext(v.t.Context(), method, address, strings.NewReader(body)))
	r.Header.Set("Content-Type", kind)
	r.Header.Set("Idempotency-Key", "lost")
	answer, err := v.Do(r)
	noError(v.t, err)
	defer answer.Body.Close()
	return answer.StatusCode, string(must.Get(io.ReadAll(answer.Body)))
}

// TestSettle is the story of the page: an answer is lost, the outcome is unknown, and a visitor settles it in the console.
func TestSettle(t *testing.T) {
	t.Parallel()
	d := start(t)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	v := &visitor{&http.Client{Jar: must.Get(cookiejar.New(nil)), Transport: transport}, t}
	at := d.URLs()
	_, page := v.do(http.MethodGet, at.Page, "", "")
	if !strings.Contains(page, `href="`+at.Console+`"`) || !strings.Contains(page, at.Token) {
		t.Fatalf("the page does not lead to the console: %s", page)
	}
	create := func() (int, string) {
		return v.do(http.MethodPost, at.Protected+"/api/invoices", "application/json", `{"customer_id": 1, "amount_cents": 4200, "currency": "EUR"}`)
	}
	d.protected.net.set(weather{condition: netLoseInside})
	for i, want := range []int{http.StatusBadGateway, http.StatusConflict} {
		if status, text := create(); status != want || !strings.Contains(text, "outcome-unknown") {
			t.Fatalf("attempt %d: got %d: %s", i+1, status, text)
		}
	}
	d.protected.net.set(weather{condition: netNormal})

	form := func(path string, values url.Values) string {
		_, page := v.do(http.MethodPost, strings.TrimSuffix(at.Console, "/console/")+path, "application/x-www-form-urlencoded", values.Encode())
		return page
	}
	form("/console/login", url.Values{"token": {at.Token}})
	_, page = v.do(http.MethodGet, at.Console+"unknown", "", "")
	record := regexp.MustCompile(`/console/records/[0-9a-f]{64}`).FindString(page)
	_, page = v.do(http.MethodGet, strings.TrimSuffix(at.Console, "/console/")+record, "", "")
	hidden := func(name string) []string {
		found := regexp.MustCompile(`name="` + name + `" value="([^"]*)"`).FindStringSubmatch(page)
		if found == nil {
			t.Fatalf("the page has no field %s: %s", name, page)
		}
		return found[1:]
	}
	page = form(record, url.Values{
		"form": hidden("form"), "seen": hidden("seen"), "as": {"completed"}, "reason": {"it is in the list"}, "status": {"201"}, "body": {`{"id":1}`},
	})
	if !strings.Contains(page, "The verdict was taken.") {
		t.Fatalf("the verdict was not taken: %s", page)
	}
	if status, text := create(); status != http.StatusCreated || text != `{"id":1}` {
		t.Errorf("after the verdict: got %d: %s", status, text)
	}
	_, page = v.do(http.MethodGet, at.Console+"settings", "", "")
	for _, address := range []string{at.Protected, strings.TrimSuffix(at.Console, "/console/")} {
		if host := strings.TrimPrefix(address, "http://"); !strings.Contains(page, ">"+host+"<") {
			t.Errorf("the settings do not show the address %s: %s", host, page)
		}
	}
	if now := must.Get(d.protected.state(t.Context())); now.Invoices != 1 || now.Requests != 3 {
		t.Errorf("got %+v, want one invoice of three requests", now)
	}
	noError(t, d.Reset(t.Context()))
	if status, _ := v.do(http.MethodGet, at.Console, "", ""); status != http.StatusUnauthorized {
		t.Errorf("the console after Reset: got status %d, want a new log-in", status)
	}
}
