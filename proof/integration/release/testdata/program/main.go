// Command program is what a user of semelgrpc begins with.
package main

import (
	"context"

	"google.golang.org/grpc"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/semelgrpc"
	"github.com/semel-dev/semel/store/memstore"
)

func main() {
	guard, err := semel.New(memstore.New(nil), nil)
	if err != nil {
		panic(err)
	}
	defer guard.Close()
	door, err := semelgrpc.New(guard, semelgrpc.ScopeBy(func(context.Context) string { return "alice" }), nil)
	if err != nil {
		panic(err)
	}
	grpc.NewServer(grpc.UnaryInterceptor(door.Unary)).Stop()
}
