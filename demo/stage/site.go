package stage

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

const (
	headerTimeout = 10 * time.Second
	idleTimeout   = 2 * time.Minute
)

// site is one HTTP server on one address.
type site struct {
	listener net.Listener
	server   *http.Server
	done     chan error // the result of Serve
}

// listen listens on the address; a port of 0 means any free one.
func listen(ctx context.Context, address string) (net.Listener, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	return listener, nil
}

// serve serves on the listener until stop is called, regardless of ctx.
func serve(ctx context.Context, listener net.Listener, handler http.Handler, log *slog.Logger) *site {
	s := &site{
		listener: listener,
		server: &http.Server{
			Handler: handler, ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout,
			ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn), ConnContext: nameConnection,
		},
		done: make(chan error, 1),
	}
	// Event streams end when the server stops.
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	s.server.BaseContext = func(net.Listener) context.Context { return life }
	s.server.RegisterOnShutdown(end)
	go func() { s.done <- s.server.Serve(listener) }()
	return s
}

// port returns the TCP port of the site.
func (s *site) port() string {
	_, port, _ := net.SplitHostPort(s.listener.Addr().String()) // a listener's address has a port
	return port
}

// url returns the site's URL for this machine.
func (s *site) url() string {
	host, port, _ := net.SplitHostPort(s.listener.Addr().String()) // as above
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port)
}

// stop lets running requests finish until ctx ends, then cuts them.
func (s *site) stop(ctx context.Context) error {
	err := s.server.Shutdown(ctx)
	if err != nil {
		err = fmt.Errorf("stop the server on %s: %w", s.listener.Addr(), err)
		_ = s.server.Close() // Shutdown has reported why
	}
	if ended := <-s.done; !errors.Is(ended, http.ErrServerClosed) {
		err = errors.Join(err, fmt.Errorf("serve on %s: %w", s.listener.Addr(), ended))
	}
	return err
}
