package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"time"

	service "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"

	semelenvoy "github.com/semel-dev/semel/adapters/envoy"
	"github.com/semel-dev/semel/gateway"
	"github.com/semel-dev/semel/internal/cli/openstore"
	"github.com/semel-dev/semel/rules"
)

const (
	exitUsage       = 2
	exitUnreachable = 3
	drainTimeout    = 30 * time.Second
	maxMessageBytes = 16 << 20
)

// run serves until the context ends, and then lets the requests that run end.
func run(ctx context.Context, args []string, stderr io.Writer, getenv func(string) string) int {
	log := slog.New(slog.NewTextHandler(stderr, nil))
	code, err := start(ctx, args, stderr, getenv, log)
	if err != nil {
		_, _ = fmt.Fprintf(stderr, "semel-envoy: %v\n", err)
	}
	return code
}

func start(ctx context.Context, args []string, stderr io.Writer, getenv func(string) string, log *slog.Logger) (code int, err error) {
	flags := flag.NewFlagSet("semel-envoy", flag.ContinueOnError)
	flags.SetOutput(stderr)
	listen := flags.String("listen", "127.0.0.1:9002", "address for Envoy's ext_proc filter, without TLS")
	dsn := flags.String("store", cmp.Or(getenv("SEMEL_STORE"), "sqlite:semel.db"), "where intents are kept (SEMEL_STORE)")
	file := flags.String("rules", getenv("SEMEL_RULES"), "file with the rules (SEMEL_RULES)")
	upstream := flags.String("upstream", getenv("SEMEL_UPSTREAM"), "URL of the application, for rules that ask it (SEMEL_UPSTREAM)")
	required := flags.Bool("key-required", false, "refuse a POST or PATCH without a key where no rule matches")
	if err := flags.Parse(args); err != nil { // said by the flags
		if errors.Is(err, flag.ErrHelp) {
			return 0, nil
		}
		return exitUsage, nil
	}
	if flags.NArg() > 0 {
		return exitUsage, fmt.Errorf("unknown argument %q", flags.Arg(0))
	}
	config := &gateway.Config{Upstream: *upstream, KeyRequired: *required, Logger: log}
	if *file != "" {
		if config.Rules, err = rules.Load(*file); err != nil {
			return exitUsage, err
		}
	}
	store, err := openstore.Open(ctx, *dsn, &openstore.Options{Logger: log})
	if err != nil {
		return exitUnreachable, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	config.Store = store
	processor, err := semelenvoy.New(config) //nolint:contextcheck // it outlives ctx
	if err != nil {
		return exitUsage, err
	}
	defer func() { err = errors.Join(err, processor.Close()) }() //nolint:contextcheck // as above
	if err := serve(ctx, *listen, processor, log); err != nil {
		return exitUnreachable, err
	}
	return 0, nil
}

// serve answers Envoy until the context ends.
func serve(ctx context.Context, address string, processor *semelenvoy.Processor, log *slog.Logger) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	server := grpc.NewServer(grpc.MaxRecvMsgSize(maxMessageBytes), grpc.WaitForHandlers(true))
	service.RegisterExternalProcessorServer(server, processor)
	healthy := health.NewServer()
	grpc_health_v1.RegisterHealthServer(server, healthy)
	drained := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(drained)
		healthy.Shutdown() // tells Envoy to send no more
		cut := time.AfterFunc(drainTimeout, server.Stop)
		defer cut.Stop()
		server.GracefulStop()
	})
	log.Info("listening", slog.String("address", listener.Addr().String()))
	err = server.Serve(listener)
	if !stop() {
		<-drained
	}
	return err
}
