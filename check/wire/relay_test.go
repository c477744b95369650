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

// relayed is a client whose connections all have that fate.
func relayed(t *testing.T, target string, fate wire.Fate) *wire.Client {
	t.Helper()
	relay, err := wire.OpenRelay(t.Context(), target, func(int) wire.Fate { return fate })
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
	for name, fate := range map[string]wire.Fate{
		"at once": {}, "late": {Latency: time.Millisecond}, "in slices": {Slice: 100},
		"up to more than there is": {ResetAfterSent: 1 << 20, ResetAfterAnswered: 1 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, at := range []string{plain.String(), secure.String()} {
				to := parse(t, at)
				client := relayed(t, wire.Address(to), fate)
				client.TLS = trust
				got, err := client.Do(t.Context(), post(to, long), nil)
				if err != nil || string(got.Body) != long {
					t.Errorf("%s: got %v", at, err)
				}
			}
		})
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
		client := relayed(t, at.Host, wire.Fate{Swallow: connected.Load})
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

func TestRelayResets(t *testing.T) {
	t.Parallel()
	received := make(chan int, 1)
	count := func(conn net.Conn) {
		all, err := io.ReadAll(conn)
		if !errors.Is(err, syscall.ECONNRESET) {
			all = nil
		}
		received <- len(all)
	}
	sent := service(t, count)
	if _, err := relayed(t, sent.Host, wire.Fate{ResetAfterSent: 25}).Do(t.Context(), post(sent, "body"), nil); !errors.Is(err, wire.ErrCut) {
		t.Errorf("error %v, want a cut", err)
	}
	if n := <-received; n != 25 {
		t.Errorf("%d bytes arrived before the reset", n)
	}
	answered := service(t, func(conn net.Conn) {
		readHead(bufio.NewReader(conn))
		io.WriteString(conn, created)
		io.Copy(io.Discard, conn)
	})
	got, err := relayed(t, answered.Host, wire.Fate{ResetAfterAnswered: int64(len(created) - 1)}).Do(t.Context(), post(answered, "body"), nil)
	if !errors.Is(err, wire.ErrCut) || got == nil || got.Status != http.StatusCreated || !got.Cut {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestRelayResetsWhereNobodyListens(t *testing.T) {
	t.Parallel()
	at := parse(t, "http://127.0.0.1:1/")
	if _, err := relayed(t, at.Host, wire.Fate{}).Do(t.Context(), post(at, "body"), nil); !errors.Is(err, wire.ErrCut) && !errors.Is(err, wire.ErrUnreachable) {
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
