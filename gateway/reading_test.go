package gateway_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// sendRaw sends a request line and header lines as they are, and returns the answer.
func (d *door) sendRaw(t *testing.T, line string, header ...string) reply {
	t.Helper()
	conn := dial(t, d)
	host := "Host: h.test\r\n"
	for _, h := range header {
		if strings.HasPrefix(h, "Host:") {
			host = ""
		}
	}
	_, _ = io.WriteString(conn, line+" HTTP/1.1\r\n"+host+"Connection: close\r\nContent-Length: 0\r\n"+strings.Join(append(header, ""), "\r\n")+"\r\n")
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return reply{err: err}
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return reply{status: res.StatusCode, header: res.Header, body: string(body), err: err}
}

const pathRules = `
version: 1
routes:
  - {name: pay, match: {path: "/pay"}, required: true}
  - {name: order, match: {methods: [POST, PUT], path: "/orders/{id}/lines"}, required: true}
  - {name: cafe, match: {path: "/café"}, required: true}
  - {name: upper, match: {path: "/Upper/{id}"}, required: true}
  - {name: host, match: {host: b.test, path: /host}, required: true}
  - {name: tree, match: {path: /tree/}, required: true}
  - {name: search, match: {path: "/search/{what}"}, protect: false}
  - {name: twin, match: {path: "/twin"}, required: true}
  - {name: twin with slash, match: {path: "/twin/{$}"}}
  - {name: small, match: {path: "/case"}}
  - {name: capital, match: {path: "/Case"}}
`

// TestReadings: no request slips past a rule by a path, a host or a method that the application reads as the one under the rule:
// it falls under the rule as well (key-missing), or is refused (ambiguous-request). Whatever has one reading passes, as it came.
func TestReadings(t *testing.T) {
	t.Parallel()
	target := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, "passed "+r.Method+" "+r.RequestURI)
	})
	d := openRuled(t, target, pathRules)
	const rule, refused, passed, bad = "key-missing", "ambiguous-request", "passed", "bad"
	for _, tt := range []struct {
		want, line string
		header     []string
	}{
		{rule, "POST /pay", nil},
		{rule, "POST /pay?x=1", nil},
		{rule, "POST //pay", nil},
		{rule, "POST /./pay", nil},
		{rule, "POST /x/../pay", nil},
		{rule, "POST /../pay", nil},
		{rule, "POST /x/%2e%2E/pay", nil},
		{rule, "POST /%70ay", nil},
		{rule, "POST http://h.test/pay", nil},
		{rule, "POST http://h.test//pay", []string{"Host: other.test"}},
		{refused, "POST /pay/", nil},
		{rule, "POST /pay/.", nil},
		{refused, "POST /pay;x=1", nil},
		{refused, "POST /;x=1/pay", nil},
		{refused, "POST /x/..;/pay", nil},
		{refused, "POST /x/..;y=1/pay", nil},
		{refused, "POST /pay;a%2Fb", nil},
		{refused, "POST /pay%3Bx=1", nil},
		{refused, "POST /pay%2F", nil},
		{refused, "POST /%2Fpay", nil},
		{refused, "POST /x%2F..%2Fpay", nil},
		{refused, "POST /x%2f%2e%2e%2fpay", nil},
		{refused, "POST /x%5C..%5Cpay", nil},
		{refused, `POST /x\..\pay`, nil},
		{bad, `POST \pay`, nil},
		{refused, "POST /%2570ay", nil},
		{refused, "POST /x%252F..%252Fpay", nil},
		{refused, "POST /%c0%afpay", nil},
		{refused, "POST /x%c0%af%c0%ae%c0%ae%c0%afpay", nil},
		{refused, "POST /x%e0%80%af..%e0%80%afpay", nil},
		{refused, "POST /x%f0%80%80%af..%f0%80%80%afpay", nil},
		{refused, "POST /pay%00", nil},
		{refused, "POST /pay%0a", nil},
		{refused, "POST /pay%0Ax", nil},
		{refused, "POST /x%0a/pay", nil},
		{refused, "POST /pay%250a", nil},
		{refused, "POST /pay%00.png", nil},
		{refused, "POST /pay%3Fx=1", nil},
		{refused, "POST /pay%23x", nil},
		{refused, "POST /Pay", nil},
		{refused, "POST /PAY;x", nil},
		{refused, "POST /%50AY", nil},
		{refused, "POST /%EF%BC%8Fpay", nil},
		{refused, "POST /%EF%BD%90ay", nil},
		{rule, "POST /caf%C3%A9", nil},
		{rule, "POST /café", nil},
		{refused, "POST /cafe%CC%81", nil},
		{refused, "POST /cafe\u0301", nil},
		{refused, "POST /CAF%C3%89", nil},
		{rule, "PUT /orders/A%2Fb/lines", nil},
		{rule, "PUT /orders/x;y/lines", nil},
		{refused, "PUT /orders/A%2Fb/lines;x", nil},
		{refused, "PUT /%6Frders/A%2Fb/lines;x", nil},
		{refused, "PUT /orders/1%2Flines", nil},
		{refused, "PUT /orders%2F1%2Flines", nil},
		{rule, "POST /Upper/ID-1", nil},
		{refused, "POST /upper/1", nil},
		{rule, "POST /tree", nil},
		{rule, "POST /tree/A/b;c", nil},
		{refused, "POST /Tree/a", nil},
		{refused, "POST /search/..%2Fpay", nil},
		{refused, "POST /search/a%2F..%2F..%2Fpay", nil},
		{refused, "POST /search/x%2Fy", []string{"Idempotency-Key: k"}},
		{passed, "POST /search/x%2Fy", nil},
		{passed, "POST /search/Words%20and;more", []string{"Idempotency-Key: k"}},
		{rule, "POST /twin", nil},
		{passed, "POST /twin/", nil},
		{passed, "POST /case", nil},
		{passed, "POST /Case", nil},
		{passed, "POST /other/", nil},
		{passed, "POST /Other%2Fthing;x=1?a=%2F", nil},
		{passed, "POST /latin%E9", nil},
		{passed, "GET /pay;x", nil},
		{passed, "GET /PAY/", nil},
		{passed, "POST /payments", nil},
		{rule, "POST /host", []string{"Host: b.test"}},
		{rule, "POST /host", []string{"Host: B.TEST.:80"}},
		{rule, "POST http://B.test/host", []string{"Host: other.test"}},
		{refused, "POST /HOST", []string{"Host: b.test:8080"}},
		{passed, "POST /host", []string{"Host: other.test"}},
		{bad, "POST /host", []string{"Host: b.test", "Host: other.test"}},
		{bad, "POST /host", []string{"Host: b.test/x"}},
		{refused, "post /pay", nil},
		{refused, "Post /pay", nil},
		{refused, "post /other", []string{"Idempotency-Key: k"}},
		{passed, "post /other", nil},
		{passed, "get /pay", nil},
		{refused, "GET /pay", []string{"X-HTTP-Method-Override: POST"}},
		{refused, "GET /pay", []string{"X-Method-Override: patch"}},
		{refused, "DELETE /orders/1/lines", []string{"X-HTTP-Method: PUT"}},
		{rule, "POST /orders/1/lines", []string{"X-HTTP-Method-Override: PUT"}},
		{refused, "POST /x", []string{"X-HTTP-Method-Override: PUT", "X-HTTP-Method-Override: DELETE"}},
		{refused, "GET /x", []string{"X-HTTP-Method-Override: POST", "Idempotency-Key: k"}},
		{passed, "POST /x", []string{"X-HTTP-Method-Override: DELETE"}},
		{bad, "POST pay", nil},
		{bad, "POST /pay%zz", nil},
		{bad, "POST /pay x", nil},
		{refused, "POST /" + strings.Repeat("%2F", 3000) + "pay", nil},
		{passed, "POST /" + strings.Repeat("x", 5000), nil},
		{refused, "POST /" + strings.Repeat("x", 4000) + "/a;b/c%3Bd%2Fe%252Ff%00g", nil},
		{passed, "POST /a;b/" + strings.Repeat("%EF%B7%BA", 400), nil},
		{refused, "POST /a;b/c%3Bd%2Fe%252Ff/" + strings.Repeat("%EF%B7%BA", 400), nil},
	} {
		got := d.sendRaw(t, tt.line, tt.header...)
		line := tt.line[:min(len(tt.line), 60)]
		switch tt.want {
		case passed:
			method, target, _ := strings.Cut(tt.line, " ")
			if got.status != http.StatusCreated || got.body != "passed "+method+" "+strings.ReplaceAll(target, "é", "%C3%A9") {
				t.Errorf("%s %q: got %d %s %v, want it passed on as it is", line, tt.header, got.status, got.body, got.err)
			}
		case bad:
			if got.err == nil && (got.status != http.StatusBadRequest || strings.HasPrefix(got.body, "passed")) {
				t.Errorf("%s %q: got %d %s, want 400", line, tt.header, got.status, got.body)
			}
		default:
			if got.status != http.StatusBadRequest || got.problem() != tt.want {
				t.Errorf("%s %q: got %d %s %v, want 400 %s", line, tt.header, got.status, got.body, got.err, tt.want)
			}
		}
	}
}

// TestReadingsWithoutRules: without rules, paths do not matter, and methods do.
func TestReadingsWithoutRules(t *testing.T) {
	t.Parallel()
	target, n := counting(t)
	d := open(t, target, nil)
	for i, line := range []string{"POST /A%2Fb;c/../d\\e/", "POST /" + strings.Repeat("%2F", 3000), "POST /%00"} {
		got := d.sendRaw(t, line, fmt.Sprintf("Idempotency-Key: k%d", i))
		if got.status != http.StatusCreated {
			t.Errorf("%.40s: got %d %s %v", line, got.status, got.body, got.err)
		}
	}
	acted := n.Load()
	check(t, "small letters", d.sendRaw(t, "post /", "Idempotency-Key: k"), 400, "ambiguous-request")
	check(t, "another method", d.sendRaw(t, "PUT /", "Idempotency-Key: k", "X-HTTP-Method-Override: POST"), 400, "ambiguous-request")
	if n.Load() != acted {
		t.Error("what was refused reached the upstream")
	}
}

// TestManyReadings (threat 12): a path with more readings than are compared is refused, and says why; a long
// path with few passes.
func TestManyReadings(t *testing.T) {
	t.Parallel()
	target, n := counting(t)
	d := openRuled(t, target, "version: 1\nroutes:\n  - {name: files, match: {methods: [POST], path: '/f/{x...}'}}\n  - {name: pay, match: {path: '/pay/{id}'}, required: true}\n")
	many := "a;b/c%3Bd/e%253Bf/g%2Fh/i%252Fj/k%5Cl/m%C0%AFn/o%00p/q%3Fr/s%0At/u%25253Bv"
	for _, path := range []string{"/f/" + many, "/f/" + many + strings.Repeat("/%EF%B7%BA", 300)} {
		got := d.sendRaw(t, "POST "+path)
		check(t, path[:20], got, http.StatusBadRequest, "ambiguous-request")
		if !strings.Contains(got.body, "more than 64 ways") {
			t.Errorf("the reason is not told: %s", got.body)
		}
	}
	wantActed(t, n, 0)
	check(t, "few readings", d.sendRaw(t, "POST /f/"+strings.Repeat("Caf%C3%A9%20a%2Fb;v=1/", 100)), http.StatusCreated, "1")
}
