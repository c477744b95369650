package semelgrpc_test

import (
	"context"
	"testing"

	"google.golang.org/grpc/codes"
	pb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/semelgrpc"
)

// CacheableUnaryCall is another method with the messages of UnaryCall.
func (s *service) CacheableUnaryCall(ctx context.Context, req *pb.SimpleRequest) (*pb.SimpleResponse, error) {
	return s.UnaryCall(ctx, req)
}

// TestNames proves docs/names.md.
func TestNames(t *testing.T) {
	t.Parallel()
	second := func(caller, key, amount string, cacheable bool) claimtest.Proof {
		return func(t *testing.T) (int, int) {
			t.Helper()
			d := newDoor(t, doorOptions{scope: func(ctx context.Context, method string) (string, error) {
				return semelgrpc.ScopeBy(func(context.Context) string { return metadata.ValueFromIncomingContext(ctx, "account")[0] })(ctx, method)
			}})
			as := func(caller, key string) context.Context {
				return metadata.AppendToOutgoingContext(t.Context(), "account", caller, "idempotency-key", key)
			}
			_, err := d.client.UnaryCall(as("alice", "k1"), invoice("10"))
			noError(t, err)
			call := d.client.UnaryCall
			if cacheable {
				call = d.client.CacheableUnaryCall
			}
			_, err = call(as(caller, key), invoice(amount))
			refused := 0
			if status.Code(err) == codes.FailedPrecondition {
				refused++
			} else {
				noError(t, err)
			}
			return int(d.ran.Load()), refused
		}
	}
	claimtest.Names(t, "gRPC", map[string]claimtest.Proof{
		"caller":     second("bob", "k1", "10", false),
		"method":     second("alice", "k1", "10", true),
		"key":        second("alice", "k2", "10", false),
		"sent again": second("alice", "k1", "10", false),
		"message":    second("alice", "k1", "99", false),
	})
}
