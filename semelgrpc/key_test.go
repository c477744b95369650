package semelgrpc_test

import (
	"context"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"

	"github.com/semel-dev/semel/semelgrpc"
)

// with is a context whose calls carry the metadata.
func with(t *testing.T, pairs ...string) context.Context {
	t.Helper()
	return metadata.AppendToOutgoingContext(t.Context(), pairs...)
}

// TestBadKeys: what is not one good key never passes unprotected.
func TestBadKeys(t *testing.T) {
	t.Parallel()
	d := newDoor(t, doorOptions{})
	for name, pairs := range map[string][]string{
		"empty":            {"idempotency-key", ""},
		"two":              {"idempotency-key", "k1", "idempotency-key", "k2"},
		"the same twice":   {"idempotency-key", "k1", "Idempotency-Key", "k1"},
		"joined by commas": {"idempotency-key", "k1, k2"},
		"too long":         {"idempotency-key", strings.Repeat("k", 256)},
		"far too long":     {"idempotency-key", strings.Repeat("k", 5000)},
		"half a quote":     {"idempotency-key", `"k1`},
		"bytes":            {"idempotency-key-bin", "k1"},
		"not text":         {"idempotency-key-bin", "\x00\xff"},
	} {
		got, err := d.client.UnaryCall(with(t, pairs...), invoice("10"))
		if got != nil {
			t.Errorf("%s: got %v", name, got)
		}
		wantRefusal(t, err, codes.InvalidArgument, semelgrpc.ReasonKeyInvalid)
	}
	d.wantRan(t, "a bad key", 0)
	longest := strings.Repeat("k", 255)
	d.ask(t.Context(), invoice("10"), longest).want(t, "invoice 1", "executed")
	d.ask(t.Context(), invoice("10"), longest).want(t, "invoice 1", "replayed")
}

// TestRequestField: the key is a field of the request, as AIP-155 has it, or in the metadata.
func TestRequestField(t *testing.T) {
	t.Parallel()
	for field, text := range map[string]string{"request_id": `request_id: "k1"`, "header.request_id": `header { request_id: "k1" }`} {
		o := newOrders(t)
		d := newDoor(t, doorOptions{Options: semelgrpc.Options{Field: field, Files: o.files, Required: true}, add: o.register})
		for _, c := range []struct {
			ctx    context.Context //nolint:containedctx // a row of a table.
			req    string
			want   string
			reason semelgrpc.Reason
		}{
			{t.Context(), text + ` amount: 10`, "order 1", ""},
			{t.Context(), text + ` amount: 10`, "order 1", ""},
			{with(t, "idempotency-key", "k1"), text + ` amount: 10`, "order 1", ""},
			{t.Context(), text + ` amount: 11`, "", semelgrpc.ReasonKeyReused},
			{with(t, "idempotency-key", "k2"), text + ` amount: 10`, "", semelgrpc.ReasonKeyInvalid},
			{with(t, "idempotency-key", "k2"), `amount: 10`, "order 2", ""},
			{with(t, "idempotency-key", "k2"), `amount: 10`, "order 2", ""},
			{t.Context(), `amount: 10 header {}`, "", semelgrpc.ReasonKeyMissing},
			{t.Context(), strings.Replace(text, "k1", strings.Repeat("k", 256), 1), "", semelgrpc.ReasonKeyInvalid},
			{t.Context(), strings.Replace(text, "k1", `\n`, 1), "", semelgrpc.ReasonKeyInvalid},
		} {
			got, err := o.call(c.ctx, d.conn, "Create", o.request(t, c.req))
			if got != c.want || semelgrpc.ReasonOf(err) != c.reason {
				t.Errorf("%s: %.60s: got %q, %v, want %q, %q", field, c.req, got, err, c.want, c.reason)
			}
		}
	}
}

// TestFieldThatIsNoText: a field that cannot hold a key is a fault of the service, and nothing runs.
func TestFieldThatIsNoText(t *testing.T) {
	t.Parallel()
	for _, field := range []string{"amount", "header", "note.text"} {
		o := newOrders(t)
		d := newDoor(t, doorOptions{Options: semelgrpc.Options{Field: field, Files: o.files}, add: o.register})
		_, err := o.call(t.Context(), d.conn, "Create", o.request(t, `amount: 10 note: "x" header { request_id: "y" }`))
		wantRefusal(t, err, codes.Unimplemented, semelgrpc.ReasonKeyUnsupported)
		if n := o.ran.Load(); n != 0 {
			t.Errorf("%s: it ran %d times", field, n)
		}
	}
}

// TestIdempotencyLevel: a method that declares one needs no key; one without side effects takes none.
func TestIdempotencyLevel(t *testing.T) {
	t.Parallel()
	o := newOrders(t)
	d := newDoor(t, doorOptions{Options: semelgrpc.Options{Required: true, Files: o.files}, add: o.register})
	for _, c := range []struct {
		method, key, want string
		reason            semelgrpc.Reason
	}{
		{"Get", "", "order 1", ""},
		{"Get", "k1", "order 2", ""},
		{"Get", "k1", "order 3", ""},
		{"Delete", "", "order 4", ""},
		{"Delete", "k1", "order 5", ""},
		{"Delete", "k1", "order 5", ""},
		{"Create", "", "", semelgrpc.ReasonKeyMissing},
		{"Create", "k1", "order 6", ""},
		{"Create", "k1", "order 6", ""},
	} {
		ctx := t.Context()
		if c.key != "" {
			ctx = with(t, "idempotency-key", c.key)
		}
		got, err := o.call(ctx, d.conn, c.method, o.request(t, `amount: 10`))
		if got != c.want || semelgrpc.ReasonOf(err) != c.reason {
			t.Errorf("%s with key %q: got %q, %v, want %q, %q", c.method, c.key, got, err, c.want, c.reason)
		}
	}
}

// TestInfrastructure: health checks have no key, and are not remembered where a client gives them one.
func TestInfrastructure(t *testing.T) {
	t.Parallel()
	checks := health.NewServer()
	d := newDoor(t, doorOptions{
		Options: semelgrpc.Options{Required: true}, dial: []grpc.DialOption{keys(t)},
		add: func(server *grpc.Server) { healthpb.RegisterHealthServer(server, checks) },
	})
	client := healthpb.NewHealthClient(d.conn)
	for _, serving := range []healthpb.HealthCheckResponse_ServingStatus{healthpb.HealthCheckResponse_SERVING, healthpb.HealthCheckResponse_NOT_SERVING} {
		checks.SetServingStatus("", serving)
		for _, ctx := range []context.Context{t.Context(), with(t, "idempotency-key", "k1")} {
			got, err := client.Check(ctx, &healthpb.HealthCheckRequest{})
			if err != nil || got.GetStatus() != serving {
				t.Errorf("got %v, %v, want %v", got, err, serving)
			}
		}
	}
	if words := d.outcomes(); len(words) != 0 {
		t.Errorf("the door decided about health checks: %v", words)
	}
}

// TestPolicy: the service has the last word about a method.
func TestPolicy(t *testing.T) {
	t.Parallel()
	o := newOrders(t)
	declared := map[string]semelgrpc.KeyPolicy{}
	d := newDoor(t, doorOptions{Options: semelgrpc.Options{Files: o.files, Policy: func(method string, says semelgrpc.KeyPolicy) semelgrpc.KeyPolicy {
		declared[method] = says
		switch method {
		case "/shop.Orders/Create":
			return semelgrpc.KeyIgnored
		case "/shop.Orders/Get":
			return semelgrpc.KeyRequired
		}
		return says
	}}, add: o.register})
	ctx := with(t, "idempotency-key", "k1")
	for _, want := range []string{"order 1", "order 2"} {
		if got, err := o.call(ctx, d.conn, "Create", o.request(t, "")); got != want || err != nil {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
	_, err := o.call(t.Context(), d.conn, "Get", o.request(t, ""))
	wantRefusal(t, err, codes.InvalidArgument, semelgrpc.ReasonKeyMissing)
	if declared["/shop.Orders/Create"] != semelgrpc.KeyOptional || declared["/shop.Orders/Get"] != semelgrpc.KeyIgnored {
		t.Errorf("the descriptors declare %v", declared)
	}
}

// TestOptions: what cannot work is refused at the start.
func TestOptions(t *testing.T) {
	t.Parallel()
	guard := newDoor(t, doorOptions{}).guard
	for name, o := range map[string]*semelgrpc.Options{
		"bytes":     {Metadata: "key-bin"},
		"of gRPC":   {Metadata: "grpc-key"},
		"no name":   {Metadata: "the key"},
		"no field":  {Field: "header..id"},
		"no fields": {Field: "."},
	} {
		if _, err := semelgrpc.New(guard, semelgrpc.ScopeBy(everyone), o); err == nil {
			t.Errorf("%s: it was accepted", name)
		}
	}
	if _, err := semelgrpc.New(nil, semelgrpc.ScopeBy(everyone), nil); err == nil {
		t.Error("no guard: it was accepted")
	}
	d := newDoor(t, doorOptions{Options: semelgrpc.Options{Metadata: "X-Request-ID"}})
	var trailer metadata.MD
	for _, word := range []string{"executed", "replayed"} {
		_, err := d.client.UnaryCall(with(t, "x-request-id", "k1"), invoice("10"), grpc.Trailer(&trailer))
		if got := trailer.Get(semelgrpc.StatusTrailer); err != nil || len(got) != 1 || got[0] != word {
			t.Errorf("got %v, %v, want %s", got, err, word)
		}
	}
}

// TestBrowsersOwnKey: what a browser adds to a call by gRPC-Web does not break it where keys come under another name.
func TestBrowsersOwnKey(t *testing.T) {
	t.Parallel()
	const firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:153.0) Gecko/20100101 Firefox/153.0"
	d := newDoor(t, doorOptions{Options: semelgrpc.Options{Metadata: "X-Request-ID"}, dial: []grpc.DialOption{grpc.WithUserAgent(firefox)}})
	d.ask(t.Context(), invoice("10"), `"11928949335802111766"`).want(t, "invoice 1", "[]")
	wantRefusal(t, d.ask(t.Context(), invoice("10"), "k1").err, codes.InvalidArgument, semelgrpc.ReasonKeyInvalid)
}
