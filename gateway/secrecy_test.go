package gateway_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/gateway"
	"github.com/semel-dev/semel/store/memstore"
)

// marked is a secret that must not appear where it does not belong.
func marked(what string) string { return "MARK-" + what + "-5ecret" }

// markers are the secrets of this test: what callers send, what the upstream answers, and what the operator has configured.
func markers() []string {
	var all []string
	for _, what := range []string{
		"authorization", "cookie", "key", "bad-key", "query", "body", "field", "header", "host-user",
		"answer", "location", "set-cookie", "garbage", "garbage-header", "store",
		"outcome-key", "digest-secret", "old-secret",
	} {
		all = append(all, marked(what))
	}
	return all
}

// wantNoMarker fails when the text has a secret, in any usual spelling.
func wantNoMarker(t *testing.T, where, text string) {
	t.Helper()
	low := strings.ToLower(text)
	for _, secret := range markers() {
		for _, spelling := range []string{
			secret, hex.EncodeToString([]byte(secret)), base64.RawStdEncoding.EncodeToString([]byte(secret))[:16],
			url.QueryEscape(secret), fmt.Sprintf("%d", []byte(secret))[1:40], strings.ReplaceAll(fmt.Sprintf("%d", []byte(secret))[1:40], " ", ","),
		} {
			if at := strings.Index(low, strings.ToLower(spelling)); at >= 0 {
				t.Errorf("%s shows %s: …%s", where, secret, low[max(0, at-200):at+len(spelling)])
			}
		}
	}
}

// tattling is a store whose errors say more than they should, and whose rows can be changed.
type tattling struct {
	*memstore.Store
	down, tampered atomic.Bool
}

func (s *tattling) Claim(ctx context.Context, p semel.ClaimParams) (semel.Record, bool, error) {
	if s.down.Load() {
		return semel.Record{}, false, errors.New("connection refused")
	}
	rec, won, err := s.Store.Claim(ctx, p)
	if s.tampered.Load() && len(rec.Outcome) > 0 {
		rec.Outcome = bytes.Clone(rec.Outcome)
		rec.Outcome[len(rec.Outcome)-1] ^= 1
	}
	return rec, won, err
}

// talkative is an upstream whose answers are secret, and sometimes no answers.
func talkative(t *testing.T) string {
	t.Helper()
	return rawAnswers(t, func(conn net.Conn, req *http.Request) bool {
		body := marked("answer")
		text := "201 Created"
		if req.URL.Path == "/broken" {
			text = "500 Internal Server Error"
		}
		text = fmt.Sprintf("HTTP/1.1 %s\r\nLocation: /%s\r\nSet-Cookie: a=%s\r\nContent-Length: %d\r\n\r\n%s",
			text, marked("location"), marked("set-cookie"), len(body), body)
		last, found := map[string]string{
			"/garbage":        marked("garbage") + "\r\n\r\n",
			"/garbage-header": "HTTP/1.1 200 OK\r\n" + marked("garbage-header") + "\r\n\r\n",
			"/garbage-status": "HTTP/1.1 " + marked("garbage") + " OK\r\n\r\n",
			"/garbage-length": "HTTP/1.1 200 OK\r\nContent-Length: " + marked("garbage") + "\r\n\r\n",
			"/garbage-chunk":  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + marked("garbage") + "\r\n",
			"/reset":          "",
		}[req.URL.Path]
		if found {
			text = last
		}
		_, err := io.WriteString(conn, text)
		return err == nil && !found
	})
}

// TestNothingSecretIsTold (promise 5): whatever happens, at the most talkative level, neither log nor metrics nor the operators'
// pages show what callers sent, what they were answered, or the gateway's own keys and secrets.
func TestNothingSecretIsTold(t *testing.T) {
	t.Parallel()
	var lines safeBuffer
	outcomeKey := semel.OutcomeKey{ID: "k1"}
	copy(outcomeKey.Key[:], marked("outcome-key"))
	store := &tattling{Store: memstore.New(nil)}
	t.Cleanup(func() { _ = store.Close() })
	rules := parse(t, `
version: 1
routes:
  - name: form
    match: {path: /form}
    key: {derive: {fields: [a], window: 10s}}
  - name: reconciled
    match: {path: /reset}
    unknown:
      reconcile:
        get: "/garbage?ref={key}"
        happened_when: {status: 200}
        replay: {status: 201}
`)
	d := open(t, talkative(t), func(c *gateway.Config) {
		c.Logger = slog.New(slog.NewJSONHandler(&lines, &slog.HandlerOptions{Level: slog.LevelDebug}))
		c.Rules, c.Store = rules, store
		c.Guard.OutcomeKeys = []semel.OutcomeKey{outcomeKey}
		c.Guard.Secrets = [][]byte{[]byte(marked("digest-secret")), []byte(marked("old-secret"))}
		c.Guard.StoreTimeout = patience / 20
	})
	send := func(path, body, key string, status int) {
		t.Helper()
		header := []string{
			"Authorization", "Bearer " + marked("authorization"), "Cookie", "sessionid=" + marked("cookie"),
			"X-Secret", marked("header"), "Content-Type", "application/x-www-form-urlencoded",
		}
		if key != "" {
			header = append(header, "Idempotency-Key", key)
		}
		got := d.send(t, http.MethodPost, path+"?q="+marked("query"), body, header...)
		if got.err != nil || got.status != status {
			t.Errorf("%s: got %d %q %v, want %d", path, got.status, got.body, got.err, status)
		}
		if got.problem() != "" {
			wantNoMarker(t, "the refusal of "+path, got.body)
		}
	}
	key, body := marked("key"), "a="+marked("body")
	send("/pay", body, key, 201)
	send("/pay", body, key, 201)
	send("/pay", body+"&more", key, 422)
	send("/pay", body, `"`+marked("bad-key"), 400)
	send("/pay", body, marked("bad-key")+", "+marked("bad-key"), 400)
	send("/form", "a="+marked("field"), key, 201)
	send("/form", "a="+marked("field"), key, 201)
	send("/broken", body, key, 500)
	for _, path := range []string{"/garbage", "/garbage-header", "/garbage-status", "/garbage-length", "/garbage-chunk", "/reset"} {
		send(path, body, key, 502)
		send(path, body, key, 409)
		if path != "/garbage-chunk" {
			send(path, body, "", 502) // without a key it is passed on
		}
	}
	if cut := d.send(t, http.MethodPost, "/garbage-chunk", body); cut.err == nil {
		t.Errorf("half an answer came as a whole one: %q", cut.body)
	}
	store.tampered.Store(true)
	send("/pay", body, key, 409)
	store.tampered.Store(false)
	store.down.Store(true)
	send("/pay", body, marked("key")+"-other", 503)
	store.down.Store(false)
	for _, page := range []string{"/metrics", "/healthz", "/readyz", "/"} {
		got := d.operate(t, http.MethodGet, page, "Authorization", marked("authorization"))
		wantNoMarker(t, page, got.body+fmt.Sprint(got.header))
	}
	page, err := store.List(t.Context(), semel.ListParams{Outcomes: true})
	if err != nil || len(page.Records) < 6 {
		t.Fatalf("got %d records, %v", len(page.Records), err)
	}
	for _, rec := range page.Records {
		wantNoMarker(t, "a note", rec.Note)
		wantNoMarker(t, "a stored outcome", string(rec.Outcome))
		wantNoMarker(t, "a scope", rec.Scope)
	}
	policy := d.send(t, http.MethodGet, "/.well-known/idempotency", "")
	wantNoMarker(t, "the policy", policy.body)
	text := lines.String()
	wantNoMarker(t, "the log", text)
	for _, outcome := range []string{"executed", "replayed", "mismatch", "key-invalid", "unknown", "unreadable", "unavailable"} {
		if !strings.Contains(text, `"outcome":"`+outcome+`"`) {
			t.Errorf("nothing came to %s, so this test shows less than it says", outcome)
		}
	}
	if n := strings.Count(text, `"msg":"upstream failed"`); n < 10 {
		t.Errorf("%d failures of the upstream are logged, want those of every kind", n)
	}
}
