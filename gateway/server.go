package gateway

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

const (
	// adminReadTimeout bounds a whole request to the admin handler.
	adminReadTimeout = 10 * time.Second
	// adminWriteTimeout bounds its answer, from the end of the request's header: a
	// call of the admin API takes 30 s at most, and a reader that stops is cut off.
	adminWriteTimeout = time.Minute
	// maxStreams bounds the requests that one HTTP/2 connection runs at a time.
	maxStreams = 250
	// adminOff is the AdminListen of a gateway without admin handler.
	adminOff = "off"
)

// Run listens on the config's addresses and serves until ctx ends, then drains:
// see [Gateway.Serve].
func (g *Gateway) Run(ctx context.Context) error {
	var listen net.ListenConfig
	front, err := listen.Listen(ctx, "tcp", g.config.Listen)
	if err != nil {
		return errors.Join(fmt.Errorf("gateway: listen on %s: %w (is another program using it?)", g.config.Listen, err), g.Close()) //nolint:contextcheck // closing does not wait.
	}
	if g.config.AdminListen == adminOff {
		return g.Serve(ctx, front, nil)
	}
	admin, err := listen.Listen(ctx, "tcp", g.config.AdminListen)
	if err != nil {
		return errors.Join(fmt.Errorf("gateway: listen on admin address %s: %w (is another program using it?)", g.config.AdminListen, err),
			front.Close(), g.Close()) //nolint:contextcheck // closing does not wait.
	}
	return g.Serve(ctx, front, admin)
}

// Serve serves callers on front and, unless it is nil, operators on admin. It
// closes both. When ctx ends it drains: readiness fails; after DrainDelay no
// new intents are taken (503, Retry-After) and those waiting for a twin are
// sent away likewise; requests that run may end within DrainTimeout, after
// which they are cut off and their outcome is unknown; then the gateway is
// closed. The error is nil for a drain that came to its end.
func (g *Gateway) Serve(ctx context.Context, front, admin net.Listener) error {
	var secure *tls.Config
	if g.certificates != nil {
		secure = g.certificates.tls()
	}
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end() // of upgrades, which a server does not wait for
	frontServer := g.frontServer(life, secure)
	adminServer := &http.Server{
		Handler: g.AdminHandler(), ReadTimeout: adminReadTimeout, WriteTimeout: adminWriteTimeout, MaxHeaderBytes: g.config.MaxHeaderBytes,
		ErrorLog: newErrorLog(g.log),
	}
	adminServer.RegisterOnShutdown(g.endStreams)
	sayUnmet := g.logRules(life)
	defer sayUnmet()
	observed := g.observe(life)
	defer func() { end(); observed() }()
	failed := make(chan error, 2)
	go func() {
		if secure != nil {
			failed <- frontServer.ServeTLS(front, "", "")
			return
		}
		failed <- frontServer.Serve(front)
	}()
	if admin != nil {
		go func() { failed <- adminServer.Serve(admin) }()
	}
	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
		err = fmt.Errorf("gateway: serve: %w", err)
	}
	err = errors.Join(err, g.drain(life, frontServer))
	stopping, cancel := context.WithTimeout(context.WithoutCancel(life), readyTimeout)
	defer cancel()
	if adminServer.Shutdown(stopping) != nil {
		err = errors.Join(err, adminServer.Close())
	}
	return err
}

func (g *Gateway) frontServer(life context.Context, secure *tls.Config) *http.Server {
	handler := g.Handler()
	if g.config.Around != nil {
		handler = g.config.Around(handler)
	}
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(secure != nil) // never in the clear
	return &http.Server{
		Handler:           handler,
		TLSConfig:         secure,
		Protocols:         &protocols,
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: maxStreams},
		ReadHeaderTimeout: g.config.ReadHeaderTimeout,
		IdleTimeout:       g.config.IdleTimeout,
		MaxHeaderBytes:    g.config.MaxHeaderBytes,
		BaseContext:       func(net.Listener) context.Context { return life },
		ConnContext:       rememberConn,
		ErrorLog:          newErrorLog(g.log),
	}
}

// drain ends the front server in order.
func (g *Gateway) drain(life context.Context, front *http.Server) error {
	g.log.LogAttrs(life, slog.LevelInfo, "draining", slog.Int("running", g.guard.LiveClaims()))
	g.draining.Store(true) // now /readyz says so, and its reader finds the line in the log
	if g.config.DrainDelay > 0 {
		timer := time.NewTimer(g.config.DrainDelay)
		defer timer.Stop()
		<-timer.C
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(life), g.config.DrainTimeout)
	defer cancel()
	served := make(chan error, 1)
	go func() { served <- front.Shutdown(ctx) }()
	err := g.guard.Shutdown(ctx) // no new intents, and those running end
	if err != nil {
		err = fmt.Errorf("gateway: %w", err)
	}
	if late := <-served; late != nil {
		err = errors.Join(err, fmt.Errorf("gateway: drain: %w (requests were cut off)", late), front.Close())
	}
	g.upstream.closeIdle()
	if err != nil {
		g.log.LogAttrs(life, slog.LevelWarn, "drained, but what still ran was cut off, and its outcome is unknown",
			slog.Int64("cut_off", g.metrics.cutOff.Load()), slog.Any("error", err))
		return err
	}
	g.log.LogAttrs(life, slog.LevelInfo, "drained")
	return nil
}

// observe runs what watches while the gateway serves, until ctx ends. The result waits for the end.
func (g *Gateway) observe(ctx context.Context) (wait func()) {
	var all sync.WaitGroup
	if g.operators.Run != nil {
		all.Go(func() { g.operators.Run(ctx) })
	}
	if g.certificates != nil {
		all.Go(func() { g.certificates.follow(ctx, g.config.Reload) })
	}
	if g.config.BusyAdvice != "" {
		all.Go(func() { g.adviseWhenBusy(ctx) })
	}
	if g.unknown != nil && g.config.AdminListen != adminOff {
		all.Go(func() { g.unknown.Run(ctx) })
	}
	return all.Wait
}
