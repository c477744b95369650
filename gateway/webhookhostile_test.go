package gateway_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/semel-dev/semel/gateway"
	"github.com/semel-dev/semel/internal/testserver"
)

// TestHostileWebhooks (promise 3): nothing that a stranger writes around a recorded delivery, or in place of one, reaches the upstream by a
// path that only verified deliveries may take.
func TestHostileWebhooks(t *testing.T) {
	t.Parallel()
	target, n := counting(t)
	d := open(t, target, func(c *gateway.Config) { c.Rules = parse(t, fmt.Sprintf(hookRules, secretFile(t))) })
	const body = "{}"
	head := func(request string, pairs []string, more ...string) string {
		text := request + " HTTP/1.1\r\nHost: a.test\r\n"
		for i := 0; i < len(pairs); i += 2 {
			text += pairs[i] + ": " + pairs[i+1] + "\r\n"
		}
		return text + strings.Join(append(more, ""), "\r\n")
	}
	sized := fmt.Sprintf("Content-Length: %d\r\nConnection: close\r\n\r\n%s", len(body), body)
	const end = "GET /.well-known/idempotency/status HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n" // refused as well
	good := signedAt("m1", time.Now(), body)
	unsigned := good[:4]
	inner := head("POST /standard/a", good) + sized
	for _, c := range []struct {
		name, text string
		want       []int // nil for any refusals
	}{
		{"a method in another letter case", head("post /standard/a", unsigned) + sized, nil},
		{"PATCH, signed", head("PATCH /standard/a", good) + sized, []int{405}},
		{"PATCH, unsigned", head("PATCH /standard/a", unsigned) + sized, []int{405}},
		{"a path with a double slash", head("POST //standard/a", unsigned) + sized, nil},
		{"an encoded path", head("POST /%73tandard/a", unsigned) + sized, nil},
		{"a path with dots", head("POST /x/../standard/a", unsigned) + sized, nil},
		{"a path with encoded dots", head("POST /x/%2e%2e/standard/a", unsigned) + sized, nil},
		{"a path with a parameter", head("POST /standard;a=1/a", unsigned) + sized, nil},
		{"a path in another letter case", head("POST /STRIPE", unsigned) + sized, nil},
		{"a slash at the end", head("POST /stripe/", unsigned) + sized, nil},
		{"an absolute target", head("POST http://b.test/standard/a", unsigned) + sized, []int{401}},
		{"two signatures", head("POST /standard/a", good, "WEBHOOK-SIGNATURE: v1,x") + sized, []int{400}},
		{"an underscore", head("POST /standard/a", good, "Webhook_Timestamp: 1") + sized, []int{400}},
		{"a header of the connection", head("POST /standard/a", good) + strings.Replace(sized, "close", "close, webhook-signature", 1), []int{400}},
		{"a signature in a trailer", head("POST /standard/a", unsigned, "Trailer: Webhook-Signature") +
			"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n2\r\n{}\r\n0\r\nWebhook-Signature: " + good[5] + "\r\n\r\n", []int{401}},
		{"an upgrade", head("POST /standard/a", unsigned, "Upgrade: websocket") + strings.Replace(sized, "close", "Upgrade", 1) + end, nil},
		{"two lengths", head("POST /standard/a", good, "Content-Length: 9") + sized, []int{400}},
		{"a length and chunks", head("POST /standard/a", good, "Content-Length: 2", "Transfer-Encoding: chunked") + "\r\n2\r\n{ \r\n0\r\n\r\n" + end, nil},
		{"a request in the body of one that is refused", head("POST /standard/a", unsigned, fmt.Sprintf("Content-Length: %d", len(inner))) + "\r\n" + inner + end, []int{401, 400}},
		{"a key of its own", head("POST /standard/a", unsigned, "Idempotency-Key: k1", "X-Idempotency-Key: k1") + sized, []int{401}},
	} {
		got := testserver.Exchange(t, d.url, c.text)
		if acted := n.Load(); acted != 0 || c.want != nil && !slices.Equal(got, c.want) || c.want == nil && slices.ContainsFunc(got, func(status int) bool { return status < 400 }) {
			t.Errorf("%s: answered %v, want %v; the upstream acted %d times", c.name, got, c.want, acted)
		}
		n.Store(0)
	}
	if got := d.send(t, http.MethodPatch, "/standard/a", body, good...); got.header.Get("Allow") != http.MethodPost {
		t.Errorf("PATCH: got %+v, want the header Allow", got)
	}
	check(t, "the delivery itself", d.send(t, http.MethodPost, "/standard/a", body, good...), 201, "1")
	wantActed(t, n, 1)
}
