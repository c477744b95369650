package semelgrpc_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/semel-dev/semel/semelgrpc"
)

// TestUnregisteredType: promise 2: an answer whose type is in no registry is replayed as it was.
func TestUnregisteredType(t *testing.T) {
	t.Parallel()
	o := newOrders(t)
	d := newDoor(t, doorOptions{Options: semelgrpc.Options{Files: o.files}, add: o.register})
	for range 2 {
		if got, err := o.call(with(t, "idempotency-key", "k1"), d.conn, "Create", o.request(t, `amount: 10`)); got != "order 1" || err != nil {
			t.Errorf("got %q, %v, want order 1", got, err)
		}
	}
	// A replay for outer interceptors has the type, where the service says where to find it.
	types := dynamicpb.NewTypes(o.files)
	typed, err := semelgrpc.New(d.guard, semelgrpc.ScopeBy(everyone), &semelgrpc.Options{Types: types})
	noError(t, err)
	plain, err := semelgrpc.New(d.guard, semelgrpc.ScopeBy(everyone), nil)
	noError(t, err)
	info := &grpc.UnaryServerInfo{FullMethod: "/shop.Orders/Create"}
	ctx := metadata.NewIncomingContext(t.Context(), metadata.Pairs("idempotency-key", "k1"))
	for _, i := range []*semelgrpc.Interceptor{typed, plain} {
		got, err := i.Unary(ctx, o.request(t, `amount: 10`), info, nil) // a run panics
		noError(t, err)
		m, ok := got.(proto.Message)
		if !ok {
			t.Fatalf("got %T", got)
		}
		if _, raw := m.(*emptypb.Empty); raw != (i == plain) {
			t.Errorf("got a %T", m)
		}
		read := o.next(o.desc.Methods().ByName("Create").Output())
		wire, err := proto.Marshal(m)
		noError(t, err)
		noError(t, proto.Unmarshal(wire, read))
		if want := `"order 1"`; !strings.Contains(prototext.Format(read), want) {
			t.Errorf("got %s, want %s", prototext.Format(read), want)
		}
	}
	// A caller that takes another encoding cannot have the bytes.
	_, err = plain.Unary(metadata.NewIncomingContext(t.Context(), metadata.Pairs("idempotency-key", "k1", "content-type", "application/grpc+json")),
		o.request(t, `amount: 10`), info, nil)
	wantRefusal(t, err, codes.FailedPrecondition, semelgrpc.ReasonUnreadable)
}

// TestReflectionClient: a client without generated code, such as grpcurl: it asks the server for the description.
func TestReflectionClient(t *testing.T) {
	t.Parallel()
	o := newOrders(t)
	d := newDoor(t, doorOptions{Options: semelgrpc.Options{Required: true, Files: o.files}, add: o.register})
	stream, err := reflectionpb.NewServerReflectionClient(d.conn).ServerReflectionInfo(t.Context())
	noError(t, err)
	noError(t, stream.Send(&reflectionpb.ServerReflectionRequest{
		MessageRequest: &reflectionpb.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: "shop.Orders"},
	}))
	answer, err := stream.Recv()
	noError(t, err)
	noError(t, stream.CloseSend())
	var described descriptorpb.FileDescriptorProto
	noError(t, proto.Unmarshal(answer.GetFileDescriptorResponse().GetFileDescriptorProto()[0], &described))
	file, err := protodesc.NewFile(&described, nil)
	noError(t, err)
	method := file.Services().ByName("Orders").Methods().ByName("Create")
	for _, want := range []string{"executed", "replayed"} {
		req, resp := dynamicpb.NewMessage(method.Input()), dynamicpb.NewMessage(method.Output())
		noError(t, prototext.Unmarshal([]byte(`amount: 10 note: "lunch"`), req))
		var trailer metadata.MD
		noError(t, d.conn.Invoke(with(t, "idempotency-key", "k1"), "/shop.Orders/Create", req, resp, grpc.Trailer(&trailer)))
		if got := resp.Get(method.Output().Fields().ByName("name")).String(); got != "order 1" || trailer.Get(semelgrpc.StatusTrailer)[0] != want {
			t.Errorf("got %q, %v, want order 1, %s", got, trailer, want)
		}
	}
}

// jsonCodec makes messages of anything.
type jsonCodec struct{}

func (jsonCodec) Marshal(v any) ([]byte, error)      { return json.Marshal(v) }
func (jsonCodec) Unmarshal(data []byte, v any) error { return json.Unmarshal(data, v) }
func (jsonCodec) Name() string                       { return "json" }

// TestNotProtobuf: a request that cannot be compared is refused with a key, and passes without one.
func TestNotProtobuf(t *testing.T) {
	t.Parallel()
	ran := 0
	d := newDoor(t, doorOptions{server: []grpc.ServerOption{grpc.ForceServerCodec(jsonCodec{})}, add: func(server *grpc.Server) {
		server.RegisterService(&grpc.ServiceDesc{ServiceName: "plain", HandlerType: (*any)(nil), Methods: []grpc.MethodDesc{{
			MethodName: "Create",
			Handler: func(srv any, ctx context.Context, decode func(any) error, interceptor grpc.UnaryServerInterceptor) (any, error) {
				var req map[string]int
				if err := decode(&req); err != nil {
					return nil, err
				}
				return interceptor(ctx, &req, &grpc.UnaryServerInfo{Server: srv, FullMethod: "/plain/Create"}, func(context.Context, any) (any, error) {
					ran++
					return map[string]int{"id": ran}, nil
				})
			},
		}}}, nil)
	}})
	var got map[string]int
	noError(t, d.conn.Invoke(t.Context(), "/plain/Create", map[string]int{"amount": 10}, &got, grpc.ForceCodec(jsonCodec{})))
	err := d.conn.Invoke(with(t, "idempotency-key", "k1"), "/plain/Create", map[string]int{"amount": 10}, &got, grpc.ForceCodec(jsonCodec{}))
	wantRefusal(t, err, codes.Unimplemented, semelgrpc.ReasonKeyUnsupported)
	if ran != 1 || got["id"] != 1 {
		t.Errorf("it ran %d times, and answered %v", ran, got)
	}
}
