package semelgrpc_test

import (
	"context"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	pb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/semel-dev/semel/semelgrpc"
)

// keys is the option under test.
func keys(tb testing.TB) grpc.DialOption {
	tb.Helper()
	option, err := semelgrpc.WithKeys(nil)
	noError(tb, err)
	return option
}

// retrying is an interceptor that sends a call again after DEADLINE_EXCEEDED, as clients have them.
func retrying(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	err := invoke(ctx, method, req, reply, cc, opts...)
	if status.Code(err) == codes.DeadlineExceeded {
		err = invoke(ctx, method, req, reply, cc, opts...)
	}
	return err
}

// losing is an interceptor that loses the first answer.
func losing() grpc.UnaryClientInterceptor {
	first := true
	return func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		err := invoke(ctx, method, req, reply, cc, opts...)
		if first && err == nil {
			first = false
			return status.Error(codes.DeadlineExceeded, "the answer was lost")
		}
		return err
	}
}

// TestRetryInterceptor: an interceptor that retries, outside of the one that gives keys, makes two wishes of one. WithKeys
// is outside of all that are chained, wherever the options are.
func TestRetryInterceptor(t *testing.T) {
	t.Parallel()
	plain, err := semelgrpc.UnaryClient(nil)
	noError(t, err)
	for name, c := range map[string]struct {
		dial []grpc.DialOption
		want int32
	}{
		"chained outside":  {[]grpc.DialOption{grpc.WithChainUnaryInterceptor(retrying, plain, losing())}, 2},
		"chained inside":   {[]grpc.DialOption{grpc.WithChainUnaryInterceptor(plain, retrying, losing())}, 1},
		"WithKeys":         {[]grpc.DialOption{keys(t), grpc.WithChainUnaryInterceptor(retrying, losing())}, 1},
		"WithKeys at last": {[]grpc.DialOption{grpc.WithChainUnaryInterceptor(retrying, losing()), keys(t)}, 1},
	} {
		d := newDoor(t, doorOptions{dial: c.dial})
		if got := d.ask(t.Context(), invoice("10")); got.err != nil {
			t.Errorf("%s: %v", name, got.err)
		}
		d.wantRan(t, name, c.want)
	}
}

// TestIntentUnderOtherMetadata: an intent travels under the name that client and server agree on, and under no other.
func TestIntentUnderOtherMetadata(t *testing.T) {
	t.Parallel()
	option, err := semelgrpc.WithKeys(&semelgrpc.ClientOptions{Metadata: "X-Request-Key"})
	noError(t, err)
	d := newDoor(t, doorOptions{Options: semelgrpc.Options{Metadata: "x-request-key"}, dial: []grpc.DialOption{option}})
	d.unary = func(ctx context.Context, _ *pb.SimpleRequest) (*pb.SimpleResponse, error) {
		return &pb.SimpleResponse{Username: strings.Join(metadata.ValueFromIncomingContext(ctx, semelgrpc.DefaultMetadata), ",")}, nil
	}
	ctx := semelgrpc.WithIntent(t.Context(), "order-42")
	d.ask(ctx, invoice("10")).want(t, "", "executed")
	d.ask(semelgrpc.WithIntent(t.Context(), "order-42"), invoice("10")).want(t, "", "replayed")
	d.ask(semelgrpc.WithIntent(ctx, "order-43"), invoice("10")).want(t, "", "executed")
	d.ask(metadata.AppendToOutgoingContext(ctx, "x-request-key", "order-43"), invoice("10")).want(t, "", "replayed")
}

// TestMintedKeys: each call is a wish of its own, unless its context says which.
func TestMintedKeys(t *testing.T) {
	t.Parallel()
	d := newDoor(t, doorOptions{dial: []grpc.DialOption{keys(t)}})
	d.ask(t.Context(), invoice("10")).want(t, "invoice 1", "executed")
	d.ask(t.Context(), invoice("10")).want(t, "invoice 2", "executed")
	d.ask(t.Context(), invoice("10"), "k1").want(t, "invoice 3", "executed")
	d.ask(t.Context(), invoice("10"), "k1").want(t, "invoice 3", "replayed")
	ctx := semelgrpc.NewIntent(t.Context())
	d.ask(ctx, invoice("10")).want(t, "invoice 4", "executed")
	d.ask(ctx, invoice("10")).want(t, "invoice 4", "replayed")
	d.ask(semelgrpc.NewIntent(ctx), invoice("10")).want(t, "invoice 5", "executed")
	for _, key := range []string{"order 17", `a,b`, `say "once"`, `back\slash`, " padded ", `"`} {
		d.ran.Store(100)
		d.ask(semelgrpc.WithIntent(t.Context(), key), invoice("10")).want(t, "invoice 101", "executed")
		d.ask(semelgrpc.WithIntent(ctx, key), invoice("10")).want(t, "invoice 101", "replayed")
	}
	if got := d.ask(semelgrpc.WithIntent(t.Context(), "köp"), invoice("10")); status.Code(got.err) != codes.Internal || !strings.Contains(got.err.Error(), "non-printable") {
		t.Errorf("a key that metadata cannot carry: got %v", got.err)
	}
	if got := d.ask(semelgrpc.WithIntent(t.Context(), ""), invoice("10")); semelgrpc.ReasonOf(got.err) != semelgrpc.ReasonKeyInvalid {
		t.Errorf("an empty key: got %v", got.err)
	}
}

// TestClientOptions: the name of the metadata, the minting, and the methods that need no key.
func TestClientOptions(t *testing.T) {
	t.Parallel()
	o := newOrders(t)
	interceptor, err := semelgrpc.UnaryClient(&semelgrpc.ClientOptions{Metadata: "X-Request-ID", Mint: func() string { return "minted" }, Files: o.files})
	noError(t, err)
	for method, want := range map[string]string{"/shop.Orders/Create": "minted", "/shop.Orders/Get": "", "/shop.Orders/Delete": "", "/other.Service/Do": "minted"} {
		err := interceptor(t.Context(), method, nil, nil, nil, func(ctx context.Context, _ string, _, _ any, _ *grpc.ClientConn, _ ...grpc.CallOption) error {
			md, _ := metadata.FromOutgoingContext(ctx)
			if got := strings.Join(md.Get("x-request-id"), " "); got != want {
				t.Errorf("%s: got the key %q, want %q", method, got, want)
			}
			return nil
		})
		noError(t, err)
	}
	if _, err := semelgrpc.WithKeys(&semelgrpc.ClientOptions{Metadata: "key-bin"}); err == nil {
		t.Error("metadata of bytes was accepted")
	}
}
