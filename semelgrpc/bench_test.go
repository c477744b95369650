package semelgrpc_test

import (
	"context"
	"strconv"
	"testing"

	"google.golang.org/grpc"
	pb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/semelgrpc"
	"github.com/semel-dev/semel/store/memstore"
)

// sink is a transport stream that costs nothing, so that only the handler and the interceptor are measured.
type sink struct{}

func (sink) Method() string               { return "/grpc.testing.TestService/UnaryCall" }
func (sink) SetHeader(metadata.MD) error  { return nil }
func (sink) SendHeader(metadata.MD) error { return nil }
func (sink) SetTrailer(metadata.MD) error { return nil }

// BenchmarkUnary compares the bare handler with the interceptor around it, on a store in memory.
func BenchmarkUnary(b *testing.B) {
	req := &pb.SimpleRequest{ResponseSize: 12, Payload: &pb.Payload{Body: []byte(`{"customer_id":1,"amount_cents":125000,"currency":"EUR"}`)}}
	info := &grpc.UnaryServerInfo{FullMethod: sink{}.Method()}
	handler := func(context.Context, any) (any, error) {
		return &pb.SimpleResponse{Username: "invoices/1", Payload: &pb.Payload{Body: []byte(`{"id":1,"amount_cents":125000}`)}}, nil
	}
	for name, key := range map[string]func(i int) string{
		"bare":   nil,
		"no key": func(int) string { return "" },
		"first":  func(i int) string { return "k" + strconv.Itoa(i) },
		"replay": func(int) string { return "k" },
	} {
		b.Run(name, func(b *testing.B) {
			store := memstore.New(nil)
			claimtest.Closes(b, store)
			door, err := semelgrpc.New(claimtest.Guard(b, store, &semel.Options{}), func(context.Context, string) (string, error) { return "tenant-7 UnaryCall", nil }, nil)
			noError(b, err)
			base := grpc.NewContextWithServerTransportStream(b.Context(), sink{})
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				md := metadata.MD{"content-type": {"application/grpc"}, "user-agent": {"grpc-go/1.85.0"}, ":authority": {"shop"}}
				if key != nil {
					if name := key(i); name != "" {
						md[semelgrpc.DefaultMetadata] = []string{name}
					}
				}
				ctx := metadata.NewIncomingContext(base, md)
				if key == nil {
					_, err = handler(ctx, req)
				} else {
					_, err = door.Unary(ctx, req, info, handler)
				}
				noError(b, err)
			}
		})
	}
}
