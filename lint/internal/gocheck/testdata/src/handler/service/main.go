// Command service serves gRPC.
package main

import (
	"context"
	"database/sql"

	"google.golang.org/grpc"

	"handler/service/pb"
)

type orders struct {
	pb.UnimplementedOrdersServer
	db *sql.DB
}

func (o *orders) Create(ctx context.Context, r *pb.Request) (*pb.Request, error) {
	_, err := o.db.ExecContext(ctx, "INSERT INTO orders (ref, n) VALUES ($1, 1)", "a")
	return r, err
}

// Its descriptor says that it may be repeated.
func (o *orders) Set(ctx context.Context, r *pb.Request) (*pb.Request, error) {
	_, err := o.db.ExecContext(ctx, "INSERT INTO orders (ref, n) VALUES ($1, 1)", "a")
	return r, err
}

func main() {
	s := grpc.NewServer()
	pb.RegisterOrdersServer(s, &orders{}) // want `unguarded-handler: gRPC Orders/Create has no guard`
}
