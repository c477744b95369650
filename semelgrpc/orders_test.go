package semelgrpc_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/reflection"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

// ordersFile describes a service that no generated code of this program knows: its types are in no registry.
const ordersFile = `
name: "shop/orders.proto" package: "shop" syntax: "proto3"
message_type { name: "CreateRequest"
  field { name: "request_id" number: 1 type: TYPE_STRING label: LABEL_OPTIONAL }
  field { name: "amount"     number: 2 type: TYPE_INT64  label: LABEL_OPTIONAL }
  field { name: "header"     number: 3 type: TYPE_MESSAGE type_name: ".shop.Header" label: LABEL_OPTIONAL }
  field { name: "note"       number: 4 type: TYPE_STRING label: LABEL_OPTIONAL }
}
message_type { name: "Header" field { name: "request_id" number: 1 type: TYPE_STRING label: LABEL_OPTIONAL } }
message_type { name: "Order"  field { name: "name" number: 1 type: TYPE_STRING label: LABEL_OPTIONAL } }
service { name: "Orders"
  method { name: "Create" input_type: ".shop.CreateRequest" output_type: ".shop.Order" }
  method { name: "Get"    input_type: ".shop.CreateRequest" output_type: ".shop.Order" options { idempotency_level: NO_SIDE_EFFECTS } }
  method { name: "Delete" input_type: ".shop.CreateRequest" output_type: ".shop.Order" options { idempotency_level: IDEMPOTENT } }
  method { name: "Talk"   input_type: ".shop.CreateRequest" output_type: ".shop.Order" client_streaming: true server_streaming: true }
}`

// orders is the service, made of its description.
type orders struct {
	files *protoregistry.Files
	desc  protoreflect.ServiceDescriptor
	ran   atomic.Int32
}

func newOrders(tb testing.TB) *orders {
	tb.Helper()
	var file descriptorpb.FileDescriptorProto
	noError(tb, prototext.Unmarshal([]byte(ordersFile), &file))
	desc, err := protodesc.NewFile(&file, nil)
	noError(tb, err)
	o := &orders{files: &protoregistry.Files{}, desc: desc.Services().ByName("Orders")}
	noError(tb, o.files.RegisterFile(desc))
	return o
}

// register adds the service to a server, and what a client needs that has no generated code.
func (o *orders) register(server *grpc.Server) {
	desc := grpc.ServiceDesc{ServiceName: "shop.Orders", HandlerType: (*any)(nil), Metadata: "shop/orders.proto"}
	for _, name := range []string{"Create", "Get", "Delete"} {
		desc.Methods = append(desc.Methods, grpc.MethodDesc{MethodName: name, Handler: o.handler(name)})
	}
	desc.Streams = append(desc.Streams, grpc.StreamDesc{StreamName: "Talk", ClientStreams: true, ServerStreams: true, Handler: o.talk})
	server.RegisterService(&desc, o)
	reflectionpb.RegisterServerReflectionServer(server, reflection.NewServerV1(reflection.ServerOptions{Services: server, DescriptorResolver: o.files}))
}

func (o *orders) handler(name string) grpc.MethodHandler {
	method := o.desc.Methods().ByName(protoreflect.Name(name))
	return func(srv any, ctx context.Context, decode func(any) error, interceptor grpc.UnaryServerInterceptor) (any, error) {
		req := dynamicpb.NewMessage(method.Input())
		if err := decode(req); err != nil {
			return nil, err
		}
		info := &grpc.UnaryServerInfo{Server: srv, FullMethod: "/shop.Orders/" + name}
		return interceptor(ctx, req, info, func(context.Context, any) (any, error) { return o.next(method.Output()), nil })
	}
}

// next returns the answer of the next run.
func (o *orders) next(output protoreflect.MessageDescriptor) proto.Message {
	m := dynamicpb.NewMessage(output)
	m.Set(output.Fields().ByName("name"), protoreflect.ValueOfString(fmt.Sprint("order ", o.ran.Add(1))))
	return m
}

// talk answers every message.
func (o *orders) talk(_ any, stream grpc.ServerStream) error {
	method := o.desc.Methods().ByName("Talk")
	for {
		if err := stream.RecvMsg(dynamicpb.NewMessage(method.Input())); err != nil {
			return err
		}
		if err := stream.SendMsg(o.next(method.Output())); err != nil {
			return err
		}
	}
}

// request makes a request from its text form.
func (o *orders) request(tb testing.TB, text string) *dynamicpb.Message {
	tb.Helper()
	m := dynamicpb.NewMessage(o.desc.Methods().ByName("Create").Input())
	noError(tb, prototext.Unmarshal([]byte(text), m))
	return m
}

// call sends a request to a method, and returns the name in the answer.
func (o *orders) call(ctx context.Context, conn grpc.ClientConnInterface, method string, req proto.Message, options ...grpc.CallOption) (string, error) {
	resp := dynamicpb.NewMessage(o.desc.Methods().ByName(protoreflect.Name(method)).Output())
	err := conn.Invoke(ctx, "/shop.Orders/"+method, req, resp, options...)
	return resp.Get(resp.Descriptor().Fields().ByName("name")).String(), err
}
