package semelgrpc_test

import (
	"context"
	"fmt"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	pb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/test/bufconn"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/semelgrpc"
	"github.com/semel-dev/semel/store/memstore"
)

// invoices makes a new invoice in each call.
type invoices struct {
	pb.UnimplementedTestServiceServer

	made int
}

func (i *invoices) UnaryCall(context.Context, *pb.SimpleRequest) (*pb.SimpleResponse, error) {
	i.made++
	return &pb.SimpleResponse{Username: fmt.Sprint("invoice ", i.made)}, nil
}

func Example() {
	store := memstore.New(nil)
	defer store.Close()
	guard, err := semel.New(store, nil)
	if err != nil {
		panic(err)
	}
	defer guard.Close()
	account := func(context.Context) string { return "alice" } // as authenticated by an outer interceptor
	door, err := semelgrpc.New(guard, semelgrpc.ScopeBy(account), nil)
	if err != nil {
		panic(err)
	}
	server := grpc.NewServer(grpc.ChainUnaryInterceptor(door.Unary), grpc.ChainStreamInterceptor(door.Stream))
	pb.RegisterTestServiceServer(server, &invoices{})
	listener := bufconn.Listen(1 << 10)
	go func() { _ = server.Serve(listener) }()
	defer server.Stop()

	keys, err := semelgrpc.WithKeys(nil)
	if err != nil {
		panic(err)
	}
	conn, err := grpc.NewClient("passthrough:shop", keys, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
	if err != nil {
		panic(err)
	}
	defer conn.Close()
	client, trailer := pb.NewTestServiceClient(conn), metadata.MD{}
	ctx := semelgrpc.NewIntent(context.Background()) // one wish, sent twice
	for range 2 {
		resp, err := client.UnaryCall(ctx, &pb.SimpleRequest{}, grpc.Trailer(&trailer))
		fmt.Println(resp.GetUsername(), err, trailer.Get(semelgrpc.StatusTrailer))
	}
	// Output:
	// invoice 1 <nil> [executed]
	// invoice 1 <nil> [replayed]
}
