package adminapi_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/semel-dev/semel/gateway/adminapi"
	"github.com/semel-dev/semel/internal/must"
)

// TestGuessing tries many tokens: after a few an address gets 429, and with the
// right token too.
func TestGuessing(t *testing.T) {
	t.Parallel()
	w, path := attacked(t, func(o *adminapi.Options) { o.Failures = adminapi.Rate{Every: time.Hour, Burst: 10} })
	for i := range 30 {
		r := w.raw(t, http.MethodGet, path, "", "Authorization", fmt.Sprintf("Bearer guess-%030d", i))
		if i < 10 {
			refused(t, fmt.Sprint("guess ", i), r, 401, "token-wrong", "")
			continue
		}
		refused(t, fmt.Sprint("guess ", i), r, 429, "too-many-failures", "")
		if r.header.Get("Retry-After") == "" {
			t.Fatal("Retry-After is missing")
		}
	}
	refused(t, "the right token", w.send(t, http.MethodGet, path, ""), 429, "too-many-failures", "")
	if n := strings.Count(w.log.String(), "wrong token"); n != 10 {
		t.Errorf("the log has %d lines about wrong tokens, want 10", n)
	}
}

// TestGuessingFromManyAddresses bounds what a crowd can try, and tells networks
// apart.
func TestGuessingFromManyAddresses(t *testing.T) {
	t.Parallel()
	guard := newGuard(t)
	api := must.Get(adminapi.New(guard, &adminapi.Options{
		Tokens:   []adminapi.Token{token(t, "alice", aliceToken, false)},
		Failures: adminapi.Rate{Every: time.Hour, Burst: 2}, AllFailures: adminapi.Rate{Every: time.Hour, Burst: 20},
	}))
	call := func(remote, token string) int {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/records", nil)
		r.RemoteAddr = remote
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("X-Forwarded-For", "192.0.2.77") // never believed
		answer := httptest.NewRecorder()
		api.ServeHTTP(answer, r)
		return answer.Code
	}
	for i, want := range []int{401, 401, 429} { // one network of 64 bits
		if got := call(fmt.Sprintf("[2001:db8::%d]:999", i+1), "wrong"); got != want {
			t.Errorf("guess %d of one network: got %d, want %d", i, got, want)
		}
	}
	if got := call("192.0.2.1:999", aliceToken); got != 200 {
		t.Errorf("the operator elsewhere: got %d", got)
	}
	for i := range 40 {
		want := 401
		if i >= 18 {
			want = 429
		}
		if got := call(fmt.Sprintf("198.51.100.%d:999", i), "wrong"); got != want {
			t.Fatalf("guess %d of the crowd: got %d, want %d", i, got, want)
		}
	}
}

// TestPagesCannotLockOperatorsOut sends what a page in an operator's browser can
// send from the operator's own address: the name of a user in an image's address,
// which browsers send as Basic, and any token to a host name of the attacker's
// that leads to this address (DNS rebinding). Neither takes away the guesses of
// those who call by address.
func TestPagesCannotLockOperatorsOut(t *testing.T) {
	t.Parallel()
	api := must.Get(adminapi.New(newGuard(t), &adminapi.Options{
		Tokens:   []adminapi.Token{token(t, "alice", aliceToken, false)},
		Failures: adminapi.Rate{Every: time.Hour, Burst: 2},
	}))
	call := func(host, authorization string) int {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/records", nil)
		r.Host = host
		r.Header.Set("Authorization", authorization)
		answer := httptest.NewRecorder()
		api.ServeHTTP(answer, r)
		return answer.Code
	}
	for range 5 {
		if got := call("127.0.0.1:8081", "Basic YWxpY2U6eA=="); got != 401 {
			t.Fatalf("a name and a password: got %d, want 401", got)
		}
	}
	for i, want := range []int{401, 401, 429, 429} {
		if got := call("evil.example:8081", "Bearer wrong"); got != want {
			t.Errorf("guess %d by a host name: got %d, want %d", i, got, want)
		}
	}
	if got := call("evil.example:8081", bearer); got != 429 {
		t.Errorf("the right token by a host name: got %d, want 429", got)
	}
	for _, host := range []string{"127.0.0.1:8081", "127.0.0.1", "[::1]:8081", "localhost:8081", "LOCALHOST"} {
		if got := call(host, bearer); got != 200 {
			t.Errorf("the right token at %s: got %d, want 200", host, got)
		}
	}
	for i, want := range []int{401, 401, 429} {
		if got := call("127.0.0.1:8081", "Bearer wrong"); got != want {
			t.Errorf("guess %d by address: got %d, want %d", i, got, want)
		}
	}
}
