package adopt_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/check"
	"github.com/semel-dev/semel/check/effects"
	"github.com/semel-dev/semel/check/wire"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/proof/integration/apps"
	"github.com/semel-dev/semel/semelgrpc"
	"github.com/semel-dev/semel/store/memstore"
)

var must = claimtest.NoError

const createOrder = "/shop.Orders/Create"

// invoke calls a service that takes and gives any JSON object.
func invoke(ctx context.Context, conn grpc.ClientConnInterface, order *structpb.Struct) (*structpb.Struct, error) {
	made := new(structpb.Struct)
	return made, conn.Invoke(ctx, createOrder, order, made)
}

// transcoded is a gateway of grpc-ecosystem before a gRPC server whose calls happen once.
func transcoded(t *testing.T, executed *atomic.Int64) http.Handler {
	t.Helper()
	guard, err := semel.New(memstore.New(nil), nil)
	must(t, err)
	t.Cleanup(func() { must(t, guard.Close()) })
	account := func(ctx context.Context) string {
		md, _ := metadata.FromIncomingContext(ctx)
		return fmt.Sprint(md.Get("authorization"))
	}
	door, err := semelgrpc.New(guard, semelgrpc.ScopeBy(account), nil)
	must(t, err)
	server := grpc.NewServer(grpc.UnaryInterceptor(door.Unary))
	server.RegisterService(&grpc.ServiceDesc{ServiceName: "shop.Orders", HandlerType: (*any)(nil), Methods: []grpc.MethodDesc{{
		MethodName: "Create", Handler: func(srv any, ctx context.Context, decode func(any) error, intercept grpc.UnaryServerInterceptor) (any, error) {
			order := new(structpb.Struct)
			if err := decode(order); err != nil {
				return nil, err
			}
			return intercept(ctx, order, &grpc.UnaryServerInfo{Server: srv, FullMethod: createOrder}, func(context.Context, any) (any, error) {
				if order.Fields["customer"] == nil {
					return nil, status.Error(codes.InvalidArgument, "an order needs a customer")
				}
				return structpb.NewStruct(map[string]any{"order": executed.Add(1)})
			})
		},
	}}}, nil)
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(t, err)
	go server.Serve(ln) // until the test ends
	t.Cleanup(server.Stop)
	conn, err := grpc.NewClient(ln.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	must(t, err)
	t.Cleanup(func() { must(t, conn.Close()) })
	return gateway(t, conn)
}

// gateway turns JSON into calls. It passes the key on: by default it keeps headers of its own list alone.
func gateway(t *testing.T, conn *grpc.ClientConn) http.Handler {
	t.Helper()
	mux := runtime.NewServeMux(runtime.WithIncomingHeaderMatcher(func(name string) (string, bool) {
		if name == "Idempotency-Key" {
			return name, true
		}
		return runtime.DefaultHeaderMatcher(name)
	}))
	must(t, mux.HandlePath(http.MethodPost, "/orders", func(w http.ResponseWriter, r *http.Request, _ map[string]string) {
		in, out := runtime.MarshalerForRequest(mux, r)
		ctx, err := runtime.AnnotateContext(r.Context(), mux, r, createOrder)
		order := new(structpb.Struct)
		if err == nil {
			if err = in.NewDecoder(r.Body).Decode(order); err != nil {
				err = status.Error(codes.InvalidArgument, err.Error())
			}
		}
		if err != nil {
			runtime.HTTPError(r.Context(), mux, out, w, r, err)
			return
		}
		made, err := invoke(ctx, conn, order)
		if err != nil {
			runtime.HTTPError(ctx, mux, out, w, r, err)
			return
		}
		runtime.ForwardResponseMessage(ctx, mux, out, w, r, made)
	}))
	return mux
}

// JSON clients of a gRPC service are protected as its own are, if their key reaches it. What a call does not have cannot
// distinguish two requests: the query and the content type; and a refusal is 400, as the gateway translates FAILED_PRECONDITION.
func TestGRPCGateway(t *testing.T) {
	t.Parallel()
	var executed atomic.Int64
	routes := http.NewServeMux()
	routes.Handle("POST /orders", transcoded(t, &executed))
	routes.HandleFunc("GET /executed", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, executed.Load()) })
	server := httptest.NewServer(routes)
	t.Cleanup(server.Close)
	count, err := effects.JSON(nil, server.URL+"/executed", "", nil)
	must(t, err)
	report := apps.Check(t, "ietf", &check.Config{
		Template: check.Template{
			Method: "POST", URL: server.URL + "/orders",
			Header: []wire.Field{{Name: "Content-Type", Value: "application/json"}},
			Body:   []byte(`{"customer":"Emmy {{n}}","amount":12.5}`),
		},
		User: bearer("ada"), Other: bearer("sofya"), Counters: []check.Counter{count}, Settle: time.Second,
	})
	apps.Wants(t, report, "MIS-03 MIS-04 MIS-07", "3 of 63 checks failed: the answer to one request is given to another.")
}

func bearer(token string) *check.User {
	return &check.User{Header: []wire.Field{{Name: "Authorization", Value: "Bearer " + token}}}
}
