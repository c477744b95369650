package testserver_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/semel-dev/semel/internal/testserver"
)

// echo answers every line with itself and counts the lines it has heard.
type echo struct {
	addr  string
	heard atomic.Int64
}

func startEcho(t *testing.T) *echo {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	noError(t, err)
	e := &echo{addr: l.Addr().String()}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				for lines := bufio.NewScanner(conn); lines.Scan(); {
					e.heard.Add(1)
					fmt.Fprintln(conn, lines.Text())
				}
			}()
		}
	}()
	return e
}

func dial(t *testing.T, addr string) net.Conn {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", addr)
	noError(t, err)
	t.Cleanup(func() { conn.Close() })
	return conn
}

// ask sends a line and returns what comes back.
func ask(conn net.Conn) (string, error) {
	if _, err := fmt.Fprintln(conn, "hello"); err != nil {
		return "", err
	}
	return bufio.NewReader(conn).ReadString('\n')
}

func checkAnswer(t *testing.T, conn net.Conn) {
	t.Helper()
	if got, err := ask(conn); err != nil || got != "hello\n" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestProxyCut(t *testing.T) {
	t.Parallel()
	p := testserver.NewProxy(t, startEcho(t).addr)
	conn := dial(t, p.Addr())
	checkAnswer(t, conn)
	addr := p.Addr()
	p.Cut()
	if _, err := conn.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("got %v, want a broken connection", err)
	}
	if p.Addr() != addr {
		t.Errorf("the address changed from %s to %s", addr, p.Addr())
	}
	checkAnswer(t, dial(t, addr))
}

func TestProxyDown(t *testing.T) {
	t.Parallel()
	p := testserver.NewProxy(t, startEcho(t).addr)
	conn := dial(t, p.Addr())
	checkAnswer(t, conn)
	p.Down()
	p.Cut() // it stays down
	if _, err := conn.Read(make([]byte, 1)); err == nil {
		t.Error("the connection is not broken")
	}
	if listens(t, p.Addr()) {
		t.Error("it listens while it is down")
	}
	p.Up()
	p.Up() // it is up already
	checkAnswer(t, dial(t, p.Addr()))
}

// The server has heard what the client asked, and the client does not hear the answer.
func TestProxyLosesReplies(t *testing.T) {
	t.Parallel()
	server := startEcho(t)
	p := testserver.NewProxy(t, server.addr)
	before := dial(t, p.Addr())
	checkAnswer(t, before)
	p.LoseReplies()
	for i, conn := range []net.Conn{before, dial(t, p.Addr())} {
		if got, err := ask(conn); err == nil {
			t.Errorf("got the answer %q", got)
		}
		if got, want := server.heard.Load(), int64(i+2); got != want {
			t.Errorf("the server has heard %d lines, want %d", got, want)
		}
	}
	p.Clear()
	checkAnswer(t, dial(t, p.Addr()))
}

func TestProxyCutAfter(t *testing.T) {
	t.Parallel()
	p := testserver.NewProxy(t, startEcho(t).addr)
	p.CutAfter(3)
	if got, err := ask(dial(t, p.Addr())); got != "hel" || !errors.Is(err, io.EOF) {
		t.Errorf("got %q, %v; want three bytes and the end", got, err)
	}
}

func TestProxyStall(t *testing.T) {
	t.Parallel()
	server := startEcho(t)
	p := testserver.NewProxy(t, server.addr)
	conn := dial(t, p.Addr())
	checkAnswer(t, conn)
	p.Stall()
	noError(t, conn.SetReadDeadline(time.Now().Add(50*time.Millisecond)))
	if got, err := ask(conn); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("got %q, %v; want silence", got, err)
	}
	if got := server.heard.Load(); got != 1 {
		t.Errorf("the server has heard %d lines, want 1", got)
	}
	p.Clear()
	noError(t, conn.SetReadDeadline(time.Time{}))
	if got, err := ask(conn); err == nil {
		t.Errorf("got %q from a connection that lost something", got)
	}
	checkAnswer(t, dial(t, p.Addr()))
}

func TestProxyLatency(t *testing.T) {
	t.Parallel()
	const delay = 50 * time.Millisecond
	p := testserver.NewProxy(t, startEcho(t).addr)
	p.Latency(delay)
	start := time.Now()
	checkAnswer(t, dial(t, p.Addr()))
	if got := time.Since(start); got < delay {
		t.Errorf("the answer took %v, want at least %v", got, delay)
	}
	p.Clear()
	p.Latency(0) // it can be given again
}

// Whatever is broken while bytes are on their way, the proxy ends, and nothing of it is left.
func TestProxyUnderTraffic(t *testing.T) {
	t.Parallel()
	server := startEcho(t)
	p := testserver.NewProxy(t, server.addr)
	ctx, stop := context.WithCancel(t.Context())
	var clients sync.WaitGroup
	for range 4 {
		clients.Go(func() {
			for ctx.Err() == nil {
				converse(ctx, p.Addr())
			}
		})
	}
	for range 2 {
		for _, breaks := range []func(){
			p.Cut, func() { p.Latency(time.Millisecond) }, p.Cut, p.Clear, p.LoseReplies, p.Clear, func() { p.Down(); p.Up() },
			func() { p.CutAfter(100) }, p.Clear, func() { p.Stall(); p.Clear() },
		} {
			breaks()
			heard := server.heard.Load()
			testserver.Eventually(t, "the server hears something", func() bool { return server.heard.Load() > heard })
		}
	}
	stop()
	p.Close()
	clients.Wait()
}

// converse sends lines, without waiting for the answers, until the connection breaks.
func converse(ctx context.Context, addr string) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return
	}
	defer conn.Close()
	go io.Copy(io.Discard, conn)
	for ctx.Err() == nil {
		if _, err := fmt.Fprintln(conn, "hello"); err != nil {
			return
		}
	}
}
