// Package pb has the shape of generated code.
package pb

import (
	"context"

	"google.golang.org/grpc"
)

type Request struct{}

type OrdersServer interface {
	Create(context.Context, *Request) (*Request, error)
	Set(context.Context, *Request) (*Request, error)
	Read(context.Context, *Request) (*Request, error)
	mustEmbedUnimplementedOrdersServer()
}

type UnimplementedOrdersServer struct{}

func (UnimplementedOrdersServer) Read(context.Context, *Request) (*Request, error) { return nil, nil }
func (UnimplementedOrdersServer) mustEmbedUnimplementedOrdersServer()              {}

func RegisterOrdersServer(s grpc.ServiceRegistrar, srv OrdersServer) { s.RegisterService(nil, srv) }

const file_orders_proto_rawDesc = "\n\forders.proto2F\n\x06Orders\x12\x1c\n\x06Create\x12\b.Request\x1a\b.Request\x12\x1e\n\x03Set\x12\b.Request\x1a\b.Request\"\x03\x90\x02\x02"
