package gateway_test

import (
	"bufio"
	"crypto/tls"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2/hpack"

	"github.com/semel-dev/semel/gateway"
)

// noting is an upstream that tells the header of a request.
func noting(t *testing.T) (url string, seen chan http.Header) {
	t.Helper()
	seen = make(chan http.Header, 1)
	return upstream(t, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case seen <- r.Header.Clone():
		default: // of a request that should not have come
		}
	}), seen
}

// TestConnectionNames (F1, F3, threat 10): what Connection names is dropped
// before it is judged, and what the gateway judges by must not be named there.
func TestConnectionNames(t *testing.T) {
	t.Parallel()
	target, seen := noting(t)
	d := openRuled(t, target, `version: 1
routes:
  - name: orders
    match: {path: /orders}
    scope: [{header: X-Account}]
    key: {header: Order-Key}
  - name: derived
    match: {path: /derived}
    key: {derive: {headers: [X-Part], window: 10s}}
  - name: form
    match: {path: /form}
    form: true
`)
	for _, option := range []string{
		"Content-Encoding", "content-type", "Content-Length", "Content-MD5", "Content_Type", "close, Content-Encoding", "Idempotency-Key",
		"X-Idempotency-Key", "Order-Key", "X-Account", "X-Part", "Cookie", "Authorization", "Host", "Forwarded", "X-Forwarded-For",
		"X-Forwarded-Proto", "X-Real-IP",
	} {
		for _, path := range []string{"/orders", "/derived", "/form", "/"} {
			got := d.sendRaw(t, "POST "+path, "Connection: "+option)
			check(t, option+" "+path, got, http.StatusBadRequest, "ambiguous-request")
		}
	}
	for _, option := range []string{"X-Custom", "close", "keep-alive, X-Custom", "TE", "upgrade", "X-HTTP-Method-Override", "", "a b, X-Custom"} {
		got := d.sendRaw(t, "PUT /orders", "Connection: "+option, "X-Custom: 1", "X-Http-Method-Override: POST")
		if named := strings.Contains(option, "Override"); !named {
			check(t, option, got, http.StatusBadRequest, "ambiguous-request") // by the override
			continue
		}
		check(t, option, got, http.StatusOK, "")
		if h := receive(t, seen); h["X-Http-Method-Override"] != nil {
			t.Errorf("%s: the application got %v", option, h)
		}
	}
}

// TestUnderscores (threat 10): a header that an application server confuses
// with one that the gateway judges by is not passed on, or refused.
func TestUnderscores(t *testing.T) {
	t.Parallel()
	target, seen := noting(t)
	d := openRuled(t, target, `version: 1
routes:
  - name: orders
    match: {methods: [POST], path: /orders}
    scope: [{header: X-Account}]
    key: {header: Order-Key}
  - name: pay
    match: {methods: [POST], path: /pay}
    required: true
`)
	for _, header := range []string{"Idempotency_Key: k", "X-Idempotency_Key: k", "Order_Key: k", "order_key: k"} {
		check(t, header, d.sendRaw(t, "POST /", header), http.StatusBadRequest, "ambiguous-request")
	}
	for _, header := range []string{"X_HTTP_Method_Override: POST", "X-HTTP_Method-Override: POST", "x_http_method: POST", "X_Method-Override: post"} {
		check(t, header, d.sendRaw(t, "PUT /pay", header), http.StatusBadRequest, "ambiguous-request")
	}
	for _, header := range []string{
		"Content_Type: a/b", "Content_Length: 9", "Content-Type_: x", "Content_Encoding: gzip", "Transfer_Encoding: chunked", "X_Account: 1",
		"X_Forwarded_For: 6.6.6.6", "X-Forwarded_Host: h", "X_Real_IP: 6.6.6.6", "Keep_Alive: x", "Order_Key: k",
	} {
		check(t, header, d.sendRaw(t, "GET /", header, "X_Other: 1"), http.StatusOK, "")
		name, _, _ := strings.Cut(header, ":")
		h := receive(t, seen)
		for got := range h {
			if strings.EqualFold(got, name) {
				t.Errorf("%s: the application got %q", header, h[got])
			}
		}
		if h["X_other"] == nil {
			t.Errorf("%s: the application did not get the other header: %v", header, h)
		}
	}
}

// TestMalformedHTTP2: what HTTP/2 can carry and HTTP/1 cannot say is refused, and not said to have been passed on.
func TestMalformedHTTP2(t *testing.T) {
	t.Parallel()
	target, n := counting(t)
	d := openTLS(t, target, func(*gateway.Config) {})
	for name, tt := range map[string][3]string{
		"method":    {"POST /x HTTP/1.1", "h.test", "400"},
		"authority": {"POST", "x/y", "400"},
		"user":      {"POST", "user@h.test", "reset"},
	} {
		if status := http2Status(t, d, tt[0], tt[1]); status != tt[2] {
			t.Errorf("%s: got %s, want %s", name, status, tt[2])
		}
	}
	wantActed(t, n, 0)
}

// http2Status sends one request without a body by hand, and returns the status.
func http2Status(t *testing.T, d *door, method, authority string) string {
	t.Helper()
	conn, err := (&tls.Dialer{
		NetDialer: &net.Dialer{Timeout: patience},
		Config:    &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}},
	}).DialContext(t.Context(), "tcp", strings.TrimPrefix(d.url, "https://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	var block strings.Builder
	encoder := hpack.NewEncoder(&block)
	for _, f := range [][2]string{{":method", method}, {":scheme", "https"}, {":authority", authority}, {":path", "/"}, {"content-length", "0"}} {
		_ = encoder.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]})
	}
	frame := func(kind, flags byte, stream uint32, payload string) string {
		head := binary.BigEndian.AppendUint32(nil, uint32(len(payload))<<8|uint32(kind))
		return string(binary.BigEndian.AppendUint32(append(head, flags), stream)) + payload
	}
	_, _ = io.WriteString(conn, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"+frame(4, 0, 0, "")+frame(1, 4|1, 1, block.String()))
	br := bufio.NewReader(conn)
	status := ""
	decoder := hpack.NewDecoder(4096, func(f hpack.HeaderField) {
		if f.Name == ":status" {
			status = f.Value
		}
	})
	for status == "" {
		head := make([]byte, 9)
		if _, err := io.ReadFull(br, head); err != nil {
			t.Fatalf("no answer: %v", err)
		}
		payload := make([]byte, binary.BigEndian.Uint32(head)>>8)
		if _, err := io.ReadFull(br, payload); err != nil {
			t.Fatal(err)
		}
		switch head[3] {
		case 1:
			if _, err := decoder.Write(payload); err != nil {
				t.Fatal(err)
			}
		case 3, 7:
			return "reset"
		}
	}
	return status
}
