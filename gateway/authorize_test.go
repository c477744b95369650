package gateway_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel/rules"
)

// office is an upstream that acts on POST, and says by GET who may see what.
type office struct {
	acted atomic.Int32
	mu    sync.Mutex // guards the fields below
	asked []string
	say   http.HandlerFunc
}

func (o *office) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.asked = append(o.asked, strings.Join([]string{
			r.Host, r.URL.String(), r.Header.Get("Authorization"), r.Header.Get("Cookie"), r.Header.Get("X-Account"), r.Header.Get("X-Forwarded-Proto"),
		}, " "))
		o.say(w, r)
		return
	}
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Location", "/secret")
	w.WriteHeader(http.StatusCreated)
	_, _ = fmt.Fprintf(w, "secret %d", o.acted.Add(1))
}

func (o *office) will(say http.HandlerFunc) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.say, o.asked = say, nil
}

func (o *office) questions() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]string(nil), o.asked...)
}

// TestAuthorize (promise 5): before a repetition is answered, the upstream says whether the caller may still see it.
func TestAuthorize(t *testing.T) {
	t.Parallel()
	o := &office{}
	d := openRuled(t, upstream(t, o.ServeHTTP), `
version: 1
routes:
  - name: pay
    match: {path: "/orders/{order}/payments"}
    scope: [{header: X-Account}]
    authorize: {get: "/may/{order}?amount={json:/amount}&key={key}"}
`)
	pay := func(body string) reply {
		return d.send(t, http.MethodPost, "//orders/o%2F1/./payments", body, "Idempotency-Key", "k 1", "Content-Type", "application/json",
			"Authorization", "Bearer me", "Cookie", "a=b", "X-Account", "7", "Host", "shop.test")
	}
	const body = `{"amount":12.50}`
	check(t, "first", pay(body), 201, "secret 1")
	if asked := o.questions(); asked != nil {
		t.Errorf("the first attempt was asked about: %q", asked)
	}
	status := func(status int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("WWW-Authenticate", "Bearer")
			w.Header().Set("Connection", "X-Hop")
			w.Header().Set("X-Hop", "1")
			w.Header().Set("Cache-Control", "public, max-age=60")
			w.WriteHeader(status)
			_, _ = fmt.Fprintf(w, "upstream says %d", status)
		}
	}
	for _, yes := range []int{200, 204, 299} {
		o.will(status(yes))
		got := pay(body)
		check(t, fmt.Sprint(yes), got, 201, "secret 1")
		if diff := cmp.Diff([]string{"shop.test /may/o%2F1?amount=12.50&key=k+1 Bearer me a=b 7 http"}, o.questions()); diff != "" {
			t.Errorf("%d: asked (-want +got):\n%s", yes, diff)
		}
		if got.word() != "replayed" || got.header.Get("X-Hop") != "" {
			t.Errorf("%d: header %v", yes, got.header)
		}
	}
	for _, no := range []int{401, 403} {
		o.will(status(no))
		for _, b := range []string{body, `{"amount":1}`} { // a mismatch tells as little
			got := pay(b)
			check(t, fmt.Sprint(no), got, no, fmt.Sprintf("upstream says %d", no))
			if got.header.Get("Www-Authenticate") != "Bearer" || got.header.Get("Cache-Control") != "no-store" || got.header.Get("X-Hop") != "" ||
				got.header.Get("Location") != "" || got.word() != "" {
				t.Errorf("%d: header %v", no, got.header)
			}
		}
	}
	for _, other := range []int{302, 404, 429, 500, 503} {
		o.will(status(other))
		got := pay(body)
		check(t, fmt.Sprint(other), got, 503, "authorisation-unavailable")
		if got.header.Get("Retry-After") == "" || got.header.Get("Location") != "" || strings.Contains(got.body, "upstream says") {
			t.Errorf("%d: %v %s", other, got.header, got.body)
		}
	}
	o.will(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	check(t, "no answer", pay(body), 503, "authorisation-unavailable")
	o.will(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write(make([]byte, 2<<20))
	})
	check(t, "endless no", pay(body), 503, "authorisation-unavailable")
	o.will(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "9")
		_, _ = w.Write([]byte("half"))
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	check(t, "a yes that breaks off", pay(body), 503, "authorisation-unavailable")
	o.will(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 2<<20)) })
	check(t, "a long yes", pay(body), 201, "secret 1")
	o.will(status(200))
	check(t, "without what the question needs", pay(`{}`), 503, "authorisation-unavailable")
	wantActed(t, &o.acted, 1)
	policy := d.send(t, http.MethodGet, "/.well-known/idempotency", "")
	if n := strings.Count(policy.body, `"replay_authorised": true`); n != 1 {
		t.Errorf("the published policy says %d times that the right is checked: %s", n, policy.body)
	}
	page := d.send(t, http.MethodGet, "/.well-known/idempotency", "", "Accept", "text/html")
	if !strings.Contains(page.body, "it is checked that the caller may still see the answer") {
		t.Errorf("the page of the policy does not say that the right is checked: %s", page.body)
	}
}

// TestAuthorizeWhileRunning: who waited for a twin and lost the right in the
// meantime is not told, because the question comes after the wait.
func TestAuthorizeWhileRunning(t *testing.T) {
	t.Parallel()
	arrived, finish := make(chan struct{}, 1), make(chan struct{})
	var may atomic.Bool
	may.Store(true)
	target := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			if !may.Load() {
				w.WriteHeader(http.StatusForbidden)
			}
			return
		}
		arrived <- struct{}{}
		<-finish
		_, _ = io.WriteString(w, "secret")
	})
	d := openRuled(t, target, "version: 1\nroutes:\n  - {name: r, match: {path: /r}, wait: 1m, authorize: {get: /session}}\n")
	replies := make(chan reply, 2)
	post := func() {
		replies <- d.sendContext(t.Context(), http.MethodPost, "/r", http.NoBody, "Idempotency-Key", "k")
	}
	go post()
	receive(t, arrived)
	go post()
	d.until(t, "semel_waiters 1")
	may.Store(false)
	close(finish)
	got := map[string]int{}
	for range 2 {
		r := receive(t, replies)
		got[fmt.Sprint(r.status, " ", r.body)]++
	}
	if diff := cmp.Diff(map[string]int{"200 secret": 1, "403 ": 1}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestAuthorizeProblems: a rule that cannot work is reported with its place.
func TestAuthorizeProblems(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`authorize: {}`:                                  "authorize has no get",
		`authorize: {got: /x}`:                           `unknown key "got"`,
		`authorize: {get: "/x/{answer:/id}"}`:            "get cannot use its own answer",
		`authorize: {get: "/x/{nowhere}"}`:               "{nowhere} is not a wildcard",
		`authorize: {get: "//evil.test"}`:                "it must be a path that starts with one slash",
		`authorize: {get: "http://evil.test/"}`:          "it must be a path that starts with one slash",
		`authorize: {get: "/a/../b"}`:                    `a segment of its path is "." or ".."`,
		"protect: false\n    authorize: {get: /x}":       `"authorize" says nothing in a route that is not protected`,
		`authorise: {get: /x}`:                           `unknown key "authorise"`,
		"authorize: {get: /x}\n    authorize: {get: /y}": `"authorize"`,
	} {
		_, err := rules.Parse("r.yaml", []byte("version: 1\nroutes:\n  - name: r\n    match: {path: /r}\n    "+text+"\n"))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}

// TestLocationInjection: what the upstream's answer says becomes part of a Location and never more than that.
func TestLocationInjection(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		`a\r\nSet-Cookie: session=1`: "/payments/a%0D%0ASet-Cookie:%20session=1",
		`\r\n\r\n<script>`:           "/payments/%0D%0A%0D%0A%3Cscript%3E",
		`//evil.test`:                "/payments/%2F%2Fevil.test",
		`\\\\evil.test`:              "/payments/%5C%5Cevil.test",
		`javascript:alert(1)`:        "/payments/javascript:alert%281%29",
		`../../admin`:                "/payments/..%2F..%2Fadmin",
		`..`:                         "",
		`.`:                          "",
		``:                           "",
		`a?b#c`:                      "/payments/a%3Fb%23c",
		`\u0000`:                     "/payments/%00",
		`\ud800`:                     "/payments/%EF%BF%BD",
		`\uff0f\uff0fevil.test`:      "/payments/%EF%BC%8F%EF%BC%8Fevil.test",
	} {
		target := rawAnswers(t, func(conn net.Conn, req *http.Request) bool {
			if req.Method == http.MethodPost {
				return false // hangs up: unknown
			}
			body := `[{"state":"paid","id":"` + value + `"}]`
			_, err := fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
			return err == nil
		})
		d := openRuled(t, target, payments)
		pay := func() reply {
			return d.send(t, http.MethodPost, "/orders/1/payments", `{"amount":1}`, "Idempotency-Key", "k", "Content-Type", "application/json")
		}
		check(t, "first", pay(), 502, "outcome-unknown")
		got := pay()
		if want == "" {
			check(t, value, got, 409, "outcome-unknown")
			continue
		}
		if got.status != 201 || got.header.Get("Location") != want || len(got.header["Set-Cookie"]) > 0 {
			t.Errorf("%s: got %d %v, want Location: %s", value, got.status, got.header, want)
		}
	}
}
