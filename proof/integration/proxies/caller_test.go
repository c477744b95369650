package proxies_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/semel-dev/semel/internal/testserver"
)

const patience = 30 * time.Second

// caller sends requests over connections of its own, which it keeps.
type caller struct {
	t      *testing.T
	url    string
	client *http.Client
}

func newCaller(t *testing.T, url string) *caller {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: trusting(t), ForceAttemptHTTP2: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &caller{t, url, &http.Client{Transport: transport, Timeout: patience}}
}

// answer holds a caller's reply, or why there was none.
type answer struct {
	err    error
	status int
	proto  string
	header http.Header
	body   string
}

// send sends a request once: net/http does not send one with this spelling of the key's name again. The key may be "".
func (c *caller) send(method, path, body, key string) answer {
	c.t.Helper()
	return c.sendAs(method, path, body, "idempotency-key", key)
}

// sendAs sends a request with a header as it is spelled.
func (c *caller) sendAs(method, path, body, header, value string) answer {
	c.t.Helper()
	var reader io.Reader = http.NoBody
	if body != "" {
		reader = strings.NewReader(body)
	}
	r, err := http.NewRequestWithContext(context.WithoutCancel(c.t.Context()), method, c.url+path, reader)
	if err != nil {
		return answer{err: err}
	}
	if value != "" {
		r.Header[header] = []string{value}
	}
	res, err := c.client.Do(r)
	if err != nil {
		return answer{err: err}
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	return answer{err, res.StatusCode, res.Proto, res.Header, string(text)}
}

// warm makes the proxy keep connections to both of its servers, and the caller one to the proxy.
func (c *caller) warm() {
	c.t.Helper()
	for range 4 {
		if got := c.send(http.MethodPost, "/warm", "", ""); got.err != nil || got.status != http.StatusCreated {
			c.t.Fatalf("before: got %v, %+v", got.err, got)
		}
	}
}

// until sends a request until it is answered with 201.
func (c *caller) until(method, path, body, key string) answer {
	c.t.Helper()
	var got answer
	testserver.Eventually(c.t, path+" is answered", func() bool {
		got = c.send(method, path, body, key)
		return got.err == nil && got.status == http.StatusCreated
	})
	return got
}

// want reports an answer with another status, or another Idempotency-Status unless that is "".
func (a answer) want(t *testing.T, status int, marked string) {
	t.Helper()
	if a.err != nil || a.status != status || marked != "" && a.header.Get("Idempotency-Status") != marked {
		t.Errorf("got %d %q %s, %v; want %d %q", a.status, a.header.Get("Idempotency-Status"), a.body, a.err, status, marked)
	}
}

// problem returns the name of the problem that the answer is, or "".
func (a answer) problem() string {
	var p struct{ Type string }
	if err := json.Unmarshal([]byte(a.body), &p); err != nil {
		return ""
	}
	return strings.TrimPrefix(p.Type, "urn:semel:problem:")
}
