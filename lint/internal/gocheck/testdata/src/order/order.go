// Command order has retries on the wrong side of the key.
package main

import (
	"net/http"

	"github.com/grpc-ecosystem/go-grpc-middleware/v2/interceptors/retry"
	"github.com/hashicorp/go-retryablehttp"
	"github.com/semel-dev/semel/semelgrpc"
	"github.com/semel-dev/semel/semelhttp"
	"google.golang.org/grpc"
)

func main() {
	_ = grpc.NewClient("wrong",
		grpc.WithChainUnaryInterceptor(retry.UnaryClientInterceptor(), semelgrpc.UnaryClientInterceptor())) // want `interceptor-order: this interceptor repeats`
	_ = grpc.NewClient("right",
		grpc.WithChainUnaryInterceptor(semelgrpc.UnaryClientInterceptor(), retry.UnaryClientInterceptor()))
	_ = grpc.NewClient("first",
		grpc.WithChainUnaryInterceptor(semelgrpc.UnaryClientInterceptor()),
		grpc.WithUnaryInterceptor(retry.UnaryClientInterceptor())) // want `interceptor-order`

	client := retryablehttp.NewClient()
	client.HTTPClient = &http.Client{Transport: &semelhttp.Transport{}} // want `interceptor-order: this client repeats`

	fine := retryablehttp.NewClient()
	fine.HTTPClient = &http.Client{}
}
