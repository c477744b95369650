package semelenvoy_test

import (
	"fmt"
	"maps"
	"slices"

	service "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"google.golang.org/grpc"

	semelenvoy "github.com/semel-dev/semel/adapters/envoy"
	"github.com/semel-dev/semel/gateway"
	"github.com/semel-dev/semel/store/memstore"
)

// A processor in a gRPC server; Serve it on the address that the filter in Envoy names.
func ExampleNew() {
	store := memstore.New(nil)
	defer store.Close()
	processor, err := semelenvoy.New(&gateway.Config{Store: store})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer processor.Close()

	server := grpc.NewServer(grpc.MaxRecvMsgSize(16 << 20)) // more than Envoy buffers
	service.RegisterExternalProcessorServer(server, processor)
	fmt.Println(slices.Collect(maps.Keys(server.GetServiceInfo())))
	// Output: [envoy.service.ext_proc.v3.ExternalProcessor]
}
