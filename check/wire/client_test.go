package wire_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/semel-dev/semel/check/wire"
)

func quiet() *log.Logger { return log.New(io.Discard, "", 0) }

const created = "HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\nok"

func TestDoSendsWhatItIsGiven(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		request wire.Request
		manner  wire.Manner
		want    string
	}{
		"headers as they are spelled, in their order": {
			wire.Request{Method: "POST", Header: []wire.Field{{"x-B", `"1`}, {"A", ""}, {"x-b", "\x01é"}}, Body: []byte("body")},
			wire.Manner{},
			"POST /things HTTP/1.1\r\nHost: HOST\r\nx-B: \"1\r\nA: \r\nx-b: \x01é\r\nContent-Length: 4\r\nConnection: close\r\n\r\nbody",
		},
		"nothing twice": {
			wire.Request{Method: "POST", Header: []wire.Field{{"host", "other"}, {"content-length", "2"}, {"connection", "keep-alive"}}, Body: []byte("body")},
			wire.Manner{},
			"POST /things HTTP/1.1\r\nhost: other\r\ncontent-length: 2\r\nconnection: keep-alive\r\n\r\nbody",
		},
		"no length of no body": {
			wire.Request{Method: "GET"},
			wire.Manner{},
			"GET /things HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n\r\n",
		},
		"the length of an empty body": {
			wire.Request{Method: "POST"},
			wire.Manner{},
			"POST /things HTTP/1.1\r\nHost: HOST\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
		},
		"chunks": {
			wire.Request{Method: "POST", Header: []wire.Field{{"Content-Length", "4"}}, Body: []byte("body!")},
			wire.Manner{Chunked: true, Pieces: 2, Pause: time.Microsecond},
			"POST /things HTTP/1.1\r\nHost: HOST\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n3\r\nbod\r\n2\r\ny!\r\n0\r\n\r\n",
		},
		"cut in the head": {
			wire.Request{Method: "POST", Body: []byte("body")},
			wire.Manner{Fault: wire.CutInHead},
			"POST /things HTTP/1.1\r\nHost: HOST\r\nContent-Length: 4\r\nConnection: close\r\n",
		},
		"cut in the body": {
			wire.Request{Method: "POST", Body: []byte("body")},
			wire.Manner{Fault: wire.CutInBody},
			"POST /things HTTP/1.1\r\nHost: HOST\r\nContent-Length: 4\r\nConnection: close\r\n\r\nbo",
		},
		"cut in the chunks": {
			wire.Request{Method: "POST", Body: []byte("body")},
			wire.Manner{Fault: wire.CutInBody, Chunked: true},
			"POST /things HTTP/1.1\r\nHost: HOST\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n2\r\nbo\r\n",
		},
		"hang up": {
			wire.Request{Method: "POST", Body: []byte("body")},
			wire.Manner{Fault: wire.HangUp},
			"POST /things HTTP/1.1\r\nHost: HOST\r\nContent-Length: 4\r\nConnection: close\r\n\r\nbody",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at, received := recorder(t)
			test.request.URL = at
			manner := test.manner
			if manner.Fault == wire.None { // the recorder reads until the client is gone
				manner.Timeout = 300 * time.Millisecond
			}
			_, err := (&wire.Client{}).Do(t.Context(), &test.request, &manner)
			if want := map[bool]error{true: wire.ErrTimeout, false: wire.ErrLost}[manner.Fault == wire.None]; !errors.Is(err, want) {
				t.Errorf("error %v, want %v", err, want)
			}
			got := strings.ReplaceAll(<-received, at.Host, "HOST")
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("sent (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDoReadsAnswers(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		text  string
		most  int64
		want  *wire.Answer
		error error
		hint  string
	}{
		"a length":          {text: created, want: &wire.Answer{Proto: "HTTP/1.1", Status: 201, Body: []byte("ok")}},
		"HTTP/1.0":          {text: "HTTP/1.0 200 OK\r\n\r\nto the end", want: &wire.Answer{Proto: "HTTP/1.0", Status: 200, Body: []byte("to the end")}},
		"chunks, a trailer": {text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX: y\r\n\r\n", want: &wire.Answer{Proto: "HTTP/1.1", Status: 200, Body: []byte("ok")}},
		"early hints":       {text: "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n" + created, want: &wire.Answer{Proto: "HTTP/1.1", Status: 201, Body: []byte("ok")}},
		"no content":        {text: "HTTP/1.1 204 No Content\r\n\r\n", want: &wire.Answer{Proto: "HTTP/1.1", Status: 204, Body: []byte{}}},
		"too much":          {text: created, most: 1, want: &wire.Answer{Proto: "HTTP/1.1", Status: 201, Body: []byte("o"), Cut: true}},

		"nothing":              {error: wire.ErrCut},
		"half a status line":   {text: "HTTP/1.1 20", error: wire.ErrCut},
		"half a head":          {text: "HTTP/1.1 200 OK\r\nA: b\r\n", error: wire.ErrCut},
		"half a body":          {text: "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nha", want: &wire.Answer{Proto: "HTTP/1.1", Status: 200, Body: []byte("ha"), Cut: true}, error: wire.ErrCut},
		"half of the chunks":   {text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nha\r\n", want: &wire.Answer{Proto: "HTTP/1.1", Status: 200, Body: []byte("ha"), Cut: true}, error: wire.ErrCut},
		"garbage":              {text: "hello, who is there?\r\n\r\n", error: wire.ErrNotHTTP},
		"a head without end":   {text: "HTTP/1.1 200 OK\r\n" + strings.Repeat("A: b\r\n", 1<<18), error: wire.ErrNotHTTP, hint: "does not end"},
		"hints without end":    {text: strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 1000), error: wire.ErrNotHTTP, hint: "1xx"},
		"another protocol":     {text: "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", error: wire.ErrNotHTTP, hint: "switched"},
		"an alert of TLS":      {text: "\x15\x03\x01\x00\x02\x02\x16", error: wire.ErrTLS, hint: "https://"},
		"TLS expected, says a": {text: "HTTP/1.1 400 Bad Request\r\n\r\n<title>400 The plain HTTP request was sent to HTTPS port</title>", want: &wire.Answer{Proto: "HTTP/1.1", Status: 400, Body: []byte("<title>400 The plain HTTP request was sent to HTTPS port</title>")}, error: wire.ErrTLS, hint: "https://"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := service(t, says(test.text))
			got, err := (&wire.Client{MaxBody: test.most}).Do(t.Context(), &wire.Request{Method: "GET", URL: at}, nil)
			if !errors.Is(err, test.error) || test.hint != "" && !strings.Contains(err.Error(), test.hint) {
				t.Errorf("error %v, want %v with %q", err, test.error, test.hint)
			}
			if diff := cmp.Diff(test.want, got, cmpopts.IgnoreFields(wire.Answer{}, "Took", "Header")); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDoStopsReadingWhatNeverEnds(t *testing.T) {
	t.Parallel()
	at := service(t, func(conn net.Conn) {
		conn.SetDeadline(time.Time{}) // nothing but the client ends it
		readHead(bufio.NewReader(conn))
		io.WriteString(conn, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
		for {
			if _, err := io.WriteString(conn, "100\r\n"+strings.Repeat("more", 64)+"\r\n"); err != nil {
				return
			}
		}
	})
	got, err := (&wire.Client{MaxBody: 1000, Timeout: time.Hour}).Do(t.Context(), post(at, "x"), nil)
	if err != nil || len(got.Body) != 1000 || !got.Cut {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestDoReadsLargeBodies(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("x", 3<<20)
	at := server(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, large) })
	got, err := (&wire.Client{}).Do(t.Context(), post(at, "x"), nil)
	if err != nil || string(got.Body) != large || got.Cut {
		t.Errorf("got %d bytes, %v", len(got.Body), err)
	}
}

func TestDoTellsWhyThereIsNoAnswer(t *testing.T) {
	t.Parallel()
	resets := func(conn net.Conn) {
		readHead(bufio.NewReader(conn))
		if tcp, ok := conn.(*net.TCPConn); ok {
			tcp.SetLinger(0)
		}
	}
	waits := func(conn net.Conn) { io.Copy(io.Discard, conn) }
	trickles := func(conn net.Conn) {
		io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nha")
		io.Copy(io.Discard, conn)
	}
	closed := service(t, waits)
	closed.Host = "127.0.0.1:1"
	for name, test := range map[string]struct {
		at     *url.URL
		client wire.Client
		manner wire.Manner
		want   error
	}{
		"refused":           {closed, wire.Client{}, wire.Manner{}, wire.ErrUnreachable},
		"no such name":      {&url.URL{Scheme: "http", Host: "nobody.invalid"}, wire.Client{}, wire.Manner{}, wire.ErrUnreachable},
		"never connected":   {closed, wire.Client{Timeout: time.Millisecond, Dial: neverConnects}, wire.Manner{}, wire.ErrUnreachable},
		"reset":             {service(t, resets), wire.Client{}, wire.Manner{}, wire.ErrCut},
		"silence":           {service(t, waits), wire.Client{Timeout: 50 * time.Millisecond, Dial: connectsAnyway}, wire.Manner{}, wire.ErrTimeout},
		"silence, expected": {service(t, waits), wire.Client{}, wire.Manner{Timeout: 50 * time.Millisecond, Expect: true}, wire.ErrTimeout},
		"half an answer":    {service(t, trickles), wire.Client{}, wire.Manner{Timeout: 50 * time.Millisecond}, wire.ErrTimeout},
		"impatience begins when connected": {
			service(t, waits), wire.Client{}, wire.Manner{Timeout: time.Nanosecond}, wire.ErrTimeout,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := test.client.Do(t.Context(), post(test.at, "body"), &test.manner)
			if !errors.Is(err, test.want) {
				t.Errorf("error %v, want %v", err, test.want)
			}
		})
	}
}

func neverConnects(ctx context.Context, _, _ string) (net.Conn, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// connectsAnyway leaves a short time-out to the exchange: a busy machine may need longer to connect.
func connectsAnyway(ctx context.Context, network, address string) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(context.WithoutCancel(ctx), network, address)
}

// TestDoNeverSendsTwice: the standard library's client resends a request with an Idempotency-Key after a lost
// connection, and any request after a 408.
func TestDoNeverSendsTwice(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{
		"nothing": "", "half a head": "HTTP/1.1 201 Cre", "half a body": "HTTP/1.1 201 Created\r\nContent-Length: 9\r\n\r\nhal",
		"408": "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
		"503": "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nRetry-After: 0\r\n\r\n",
		"307": "HTTP/1.1 307 Temporary Redirect\r\nContent-Length: 0\r\nLocation: /things\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var came atomic.Int64
			say := says(answer)
			at := service(t, func(conn net.Conn) {
				came.Add(1)
				say(conn)
			})
			r := &wire.Request{Method: "POST", URL: at, Header: []wire.Field{{"Idempotency-Key", `"a"`}}}
			var client wire.Client
			if _, err := client.Do(t.Context(), r, nil); err != nil && !errors.Is(err, wire.ErrCut) {
				t.Errorf("got %v", err)
			}
			if n := came.Load(); n != 1 {
				t.Errorf("it came %d times", n)
			}
		})
	}
}

func TestDoEndsWithItsContext(t *testing.T) {
	t.Parallel()
	for name, manner := range map[string]wire.Manner{
		"while it waits for the answer": {},
		"while it pauses in the body":   {Pieces: 2, Pause: time.Hour, Timeout: time.Hour},
		"while it pauses before a cut":  {Pieces: 2, Pause: time.Hour, Timeout: time.Hour, Fault: wire.CutInBody},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			at := service(t, func(conn net.Conn) {
				readHead(bufio.NewReader(conn))
				cancel()
				io.Copy(io.Discard, conn)
			})
			if _, err := (&wire.Client{}).Do(ctx, post(at, "body"), &manner); !errors.Is(err, context.Canceled) {
				t.Errorf("error %v, want that of the context", err)
			}
		})
	}
}

func TestDoHearsAnAnswerBeforeTheBodyIsSent(t *testing.T) {
	t.Parallel()
	says := func(text string) *url.URL {
		return service(t, func(conn net.Conn) { // reads no more, and does not close
			readHead(bufio.NewReader(conn))
			io.WriteString(conn, text)
			<-t.Context().Done()
		})
	}
	const refusal = "HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\n\r\n"
	handler := server(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusRequestEntityTooLarge) })
	for name, test := range map[string]struct {
		at     *url.URL
		manner wire.Manner
		want   error
	}{
		"net/http":                      {handler, wire.Manner{}, nil},
		"one that keeps the connection": {says(refusal), wire.Manner{}, nil},
		"while the client pauses":       {says(refusal), wire.Manner{Pieces: 1 << 10, Pause: time.Hour}, nil},
		"nonsense":                      {says("no\r\n\r\n"), wire.Manner{}, wire.ErrNotHTTP},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := (&wire.Client{}).Do(t.Context(), post(test.at, strings.Repeat("x", 32<<20)), &test.manner)
			if !errors.Is(err, test.want) || err == nil && got.Status != http.StatusRequestEntityTooLarge {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}

func TestExpect(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		says       string
		body       bool
		wantStatus int
	}{
		"goes on when told":             {"HTTP/1.1 100 Continue\r\n\r\n", true, 201},
		"keeps the body when refused":   {"HTTP/1.1 417 Expectation Failed\r\nContent-Length: 0\r\n\r\n", false, 417},
		"continues without an answer":   {"", true, 201},
		"keeps the body when all is in": {"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", false, 200},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bodies := make(chan string, 1)
			at := service(t, func(conn net.Conn) {
				in := bufio.NewReader(conn)
				if head := readHead(in); !strings.Contains(head, "\r\nExpect: 100-continue\r\n") {
					t.Errorf("no Expect in %q", head)
				}
				io.WriteString(conn, test.says)
				body := make([]byte, 4)
				n, _ := io.ReadFull(in, body)
				bodies <- string(body[:n])
				io.WriteString(conn, created)
			})
			got, err := (&wire.Client{}).Do(t.Context(), post(at, "body"), &wire.Manner{Expect: true})
			if err != nil || got.Status != test.wantStatus {
				t.Errorf("got %+v, %v", got, err)
			}
			if body := <-bodies; (body != "") != test.body {
				t.Errorf("the body %q arrived", body)
			}
		})
	}
}

func TestExpectHearsARefusalBeforeItHangsUp(t *testing.T) {
	t.Parallel()
	at := service(t, says("HTTP/1.1 417 Expectation Failed\r\nContent-Length: 0\r\n\r\n"))
	got, err := (&wire.Client{}).Do(t.Context(), post(at, "body"), &wire.Manner{Expect: true, Fault: wire.HangUp})
	if err != nil || got.Status != http.StatusExpectationFailed {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestLostAnswersAreReturnedBesideTheError(t *testing.T) {
	t.Parallel()
	for fault, body := range map[wire.Fault]string{wire.LoseAnswer: "all of it", wire.CutInAnswer: ""} {
		t.Run(string(fault), func(t *testing.T) {
			t.Parallel()
			at := server(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "all of it") })
			got, err := (&wire.Client{}).Do(t.Context(), post(at, "body"), &wire.Manner{Fault: fault})
			if !errors.Is(err, wire.ErrLost) || got == nil || string(got.Body) != body || got.Took <= 0 {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}

func TestEveryFaultOverTLS(t *testing.T) {
	t.Parallel()
	for _, fault := range []wire.Fault{wire.None, wire.CutInHead, wire.CutInBody, wire.HangUp, wire.CutInAnswer, wire.LoseAnswer} {
		t.Run(fmt.Sprintf("fault %q", fault), func(t *testing.T) {
			t.Parallel()
			read := make(chan error, 1)
			at, trust := tlsServer(t, func(w http.ResponseWriter, r *http.Request) {
				_, err := io.ReadAll(r.Body)
				read <- err
				io.WriteString(w, "over "+r.Proto)
			})
			got, err := (&wire.Client{TLS: trust}).Do(t.Context(), post(at, "body"), &wire.Manner{Fault: fault})
			if fault == wire.None {
				if err != nil || string(got.Body) != "over HTTP/1.1" {
					t.Errorf("got %+v, %v", got, err)
				}
			} else if !errors.Is(err, wire.ErrLost) {
				t.Errorf("error %v", err)
			}
			if fault == wire.CutInHead { // nothing may run
				if len(read) > 0 {
					t.Error("the handler ran")
				}
				return
			}
			if err := <-read; (err != nil) != (fault == wire.CutInBody) {
				t.Errorf("the body was read with %v", err)
			}
		})
	}
}

func TestDoSaysWhatToDoAboutTLS(t *testing.T) {
	t.Parallel()
	secure, trust := tlsServer(t, func(http.ResponseWriter, *http.Request) {})
	plain := server(t, func(http.ResponseWriter, *http.Request) {})
	spoken := func(at *url.URL, scheme string) *url.URL {
		other := *at
		other.Scheme = scheme
		return &other
	}
	wrongName := trust.Clone()
	wrongName.ServerName = "another.example"
	for name, test := range map[string]struct {
		at   *url.URL
		tls  *tls.Config
		hint string
	}{
		"an unknown authority":     {secure, nil, "--cacert"},
		"another name":             {secure, wrongName, "--insecure"},
		"TLS to a plain port":      {spoken(plain, "https"), trust, "http://"},
		"plain HTTP to a TLS port": {spoken(secure, "http"), trust, "https://"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := (&wire.Client{TLS: test.tls}).Do(t.Context(), post(test.at, "body"), nil)
			if !errors.Is(err, wire.ErrTLS) || !strings.Contains(err.Error(), test.hint) {
				t.Errorf("error %v, want a hint at %s", err, test.hint)
			}
		})
	}
}
