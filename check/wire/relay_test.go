package wire_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/semel-dev/semel/check/wire"
)

// relayed returns a client whose connections all use one relay.
func relayed(t *testing.T, target string, swallow func() bool) *wire.Client {
	t.Helper()
	relay, err := wire.OpenRelay(t.Context(), target, swallow)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := relay.Close(); err != nil {
			t.Error(err)
		}
	})
	return &wire.Client{Dial: relay.Dial, Timeout: 10 * time.Second}
}

func TestRelayPassesOn(t *testing.T) {
	t.Parallel()
	echo := func(w http.ResponseWriter, r *http.Request) { io.Copy(w, r.Body) }
	plain := server(t, echo)
	secure, trust := tlsServer(t, echo)
	long := strings.Repeat("0123456789", 10_000)
	for _, at := range []string{plain.String(), secure.String()} {
		to := parse(t, at)
		client := relayed(t, wire.Address(to), nil)
		client.TLS = trust
		got, err := client.Do(t.Context(), post(to, long), nil)
		if err != nil || string(got.Body) != long {
			t.Errorf("%s: got %v", at, err)
		}
	}
}

func TestRelaySwallowsAnswers(t *testing.T) {
	t.Parallel()
	var answered atomic.Int32
	echo := func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Write(body)
		answered.Add(1)
	}
	plain := server(t, echo)
	secure, trust := tlsServer(t, echo)
	for _, at := range []*url.URL{plain, secure} {
		var connected atomic.Bool
		client := relayed(t, at.Host, connected.Load)
		client.TLS, client.Connected = trust, func() { connected.Store(true) }
		got, err := client.Do(t.Context(), post(at, "body"), nil)
		if got != nil || !errors.Is(err, wire.ErrCut) || !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("%s: got %+v, %v, want a reset", at.Scheme, got, err)
		}
	}
	if n := answered.Load(); n != 2 {
		t.Errorf("the services answered %d times", n)
	}
}

func TestRelayResetsWhereNobodyListens(t *testing.T) {
	t.Parallel()
	at := parse(t, "http://127.0.0.1:1/")
	if _, err := relayed(t, at.Host, nil).Do(t.Context(), post(at, "body"), nil); !errors.Is(err, wire.ErrCut) && !errors.Is(err, wire.ErrUnreachable) {
		t.Errorf("error %v, want a reset", err)
	}
}

func TestRelayEndsWhatItCarries(t *testing.T) {
	t.Parallel()
	came := make(chan struct{})
	at := service(t, func(conn net.Conn) {
		conn.SetDeadline(time.Time{}) // nothing but the relay ends it
		readHead(bufio.NewReader(conn))
		close(came)
		io.Copy(io.Discard, conn)
	})
	relay, err := wire.OpenRelay(t.Context(), at.Host, nil)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := (&wire.Client{Dial: relay.Dial, Timeout: time.Hour}).Do(t.Context(), post(at, "body"), nil)
		ended <- err
	}()
	<-came
	if err := relay.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; !errors.Is(err, wire.ErrCut) {
		t.Errorf("error %v, want a cut", err)
	}
}

func TestRelayPassesOnThatOneSideIsDone(t *testing.T) {
	t.Parallel()
	at := service(t, func(conn net.Conn) {
		all, _ := io.ReadAll(conn)
		conn.Write(all)
	})
	relay, err := wire.OpenRelay(t.Context(), at.Host, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { relay.Close() })
	conn, err := relay.Dial(t.Context(), "tcp", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	io.WriteString(conn, "all of it")
	conn.(*net.TCPConn).CloseWrite()
	if got, err := io.ReadAll(conn); string(got) != "all of it" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}
