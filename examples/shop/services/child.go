package services

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/semel-dev/semel/examples/internal/sqlite"
)

const headerTimeout = 10 * time.Second

// Child runs a service and exits, if this process is one of a fleet; otherwise
// it returns at once.
func Child() {
	role := os.Getenv(envRole)
	if role == "" {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() { // standard input ends when the supervisor does
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	log := slog.New(slog.NewTextHandler(os.Stderr, nil)).With(slog.String("role", role))
	if err := runRole(ctx, role, log); err != nil {
		log.Error("the service ends", slog.Any("error", err))
		os.Exit(1)
	}
	os.Exit(0)
}

// part holds the handler of a role, and the work that it does in the background.
type part struct {
	handler http.Handler
	work    []func(context.Context) error
	close   func() error
}

func runRole(ctx context.Context, role string, log *slog.Logger) error {
	var config fleetConfig
	if err := json.Unmarshal([]byte(os.Getenv(envFleet)), &config); err != nil {
		return fmt.Errorf("read %s: %w", envFleet, err)
	}
	listener, err := net.FileListener(os.NewFile(listenerFD, "listener"))
	if err != nil {
		return fmt.Errorf("take over the listener: %w", err)
	}
	p, err := openRole(ctx, role, &config, log)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /ready", func(http.ResponseWriter, *http.Request) {})
	if p.handler != nil {
		mux.Handle("/", p.handler)
	}
	server := &http.Server{Handler: mux, ReadHeaderTimeout: headerTimeout}
	ended := make(chan error, 1+len(p.work))
	go func() { ended <- server.Serve(listener) }()
	for _, work := range p.work {
		go func() { ended <- work(ctx) }()
	}
	select {
	case <-ctx.Done():
	case err = <-ended:
	}
	return errors.Join(err, server.Close(), p.close())
}

func openRole(ctx context.Context, role string, c *fleetConfig, log *slog.Logger) (*part, error) {
	if role == roleBroker {
		return openBroker(c)
	}
	s := &service{faults: c.faults(), client: &http.Client{Timeout: clientTimeout}, log: log}
	switch role {
	case roleProvider:
		return openProvider(ctx, s, c)
	case roleOrders:
		return openOrders(ctx, s, c)
	case rolePayment:
		return openPayment(ctx, s, c)
	case roleLogistics:
		return openLogistics(ctx, s, c)
	}
	return nil, fmt.Errorf("%q is not a service of this shop", role)
}

func openProvider(ctx context.Context, s *service, c *fleetConfig) (*part, error) {
	var err error
	if s.db, err = sqlite.Open(ctx, c.file(roleProvider), providerSchema); err != nil {
		return nil, err
	}
	p := &provider{service: s, callback: c.url(roleOrders, "/callbacks/payment")}
	return &part{handler: p.routes(), work: []func(context.Context) error{p.callBack}, close: s.db.Close}, nil
}
