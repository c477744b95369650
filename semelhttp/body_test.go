package semelhttp_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/internal/waiting"
	"github.com/semel-dev/semel/semelhttp"
)

// TestBodyBound: promise 8: exactly the bound passes, one more byte is refused
// and nothing is executed, whether the length is declared or not.
func TestBodyBound(t *testing.T) {
	t.Parallel()
	t.Run("within one read", func(t *testing.T) {
		t.Parallel()
		bodyBound(t, 1000, 100)
	})
	t.Run("past the first read", func(t *testing.T) {
		t.Parallel()
		bodyBound(t, 100_000, 10_000)
	})
}

func bodyBound(t *testing.T, bound, spool int) {
	t.Helper()
	for _, chunked := range []bool{false, true} {
		for size, tooLarge := range map[int]bool{0: false, 1: false, spool: false, spool + 1: false, bound - 1: false, bound: false, bound + 1: true, 100 * bound: true} {
			t.Run(fmt.Sprintf("%d chunked=%v", size, chunked), func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				var invoices counter
				d := newDoor(t, doorOptions{Options: semelhttp.Options{MaxBodyBytes: int64(bound), SpoolBytes: int64(spool), SpoolDir: dir}})
				body := bytes.Repeat([]byte("b"), size)
				server := d.serve(t, func(w http.ResponseWriter, r *http.Request) {
					got, err := io.ReadAll(r.Body)
					if !bytes.Equal(got, body) || err != nil {
						t.Errorf("the handler read %d bytes, %v", len(got), err)
					}
					invoices.create(w, r)
				})
				r := newAsk(t, server.URL+"/invoices", string(body), "Idempotency-Key", "k1")
				if chunked && size > 0 {
					r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), -1
				}
				got := sendAsk(t, server, r)
				if tooLarge {
					wantProblem(t, got, http.StatusRequestEntityTooLarge, "body-too-large")
					invoices.wantRan(t, "promise 8", 0)
				} else if got.word() != "executed" {
					t.Errorf("got %d %s, want executed", got.status, got.body)
				}
				wantEmpty(t, dir)
			})
		}
	}
}

// wantEmpty checks that no temporary file is left.
func wantEmpty(t *testing.T, dir string) {
	t.Helper()
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("%d temporary files are left, %v", len(left), err)
	}
}

// openFiles counts what this process has open below dir, removed files included.
func openFiles(t *testing.T, dir string) int {
	t.Helper()
	if runtime.GOOS != "linux" {
		return 0
	}
	links := must.Get(os.ReadDir("/proc/self/fd"))
	n := 0
	for _, link := range links {
		if target, err := os.Readlink("/proc/self/fd/" + link.Name()); err == nil && strings.HasPrefix(target, dir) {
			n++
		}
	}
	return n
}

// TestSpoolFile: a long body is in a file while it is needed, and gone after
// success, panic and refusal.
func TestSpoolFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	body := strings.Repeat("0123456789", 1000)
	d := newDoor(t, doorOptions{Options: semelhttp.Options{SpoolBytes: 100, SpoolDir: dir, MaxBodyBytes: 1 << 20}})
	var mu sync.Mutex // guards kept
	var kept []io.Reader
	server := d.serve(t, func(w http.ResponseWriter, r *http.Request) {
		if runtime.GOOS == "linux" && openFiles(t, dir) != 1 {
			t.Error("the body is in no file")
		}
		got, err := io.ReadAll(r.Body)
		if string(got) != body || err != nil {
			t.Errorf("the handler read %d bytes, %v", len(got), err)
		}
		mu.Lock()
		kept = append(kept, r.Body)
		mu.Unlock()
		if r.Header.Get("X-Panic") != "" {
			panic(http.ErrAbortHandler)
		}
	})
	ask(t, server, "k1", body) // success
	ask(t, server, "k1", body) // replay
	ask(t, server, "k1", body+"!")
	ask(t, server, "k1", strings.Repeat("x", 2<<20))
	r := newAsk(t, server.URL+"/invoices", body, "Idempotency-Key", "k2", "X-Panic", "1")
	if res, err := server.Client().Do(r); err == nil {
		res.Body.Close()
		t.Error("the panic made an answer")
	}
	server.Close()
	wantEmpty(t, dir)
	if n := openFiles(t, dir); n != 0 {
		t.Errorf("%d temporary files are open", n)
	}
	for _, late := range kept {
		if _, err := late.Read(make([]byte, 1)); !errors.Is(err, http.ErrBodyReadAfterClose) {
			t.Errorf("a late read: %v", err)
		}
	}
	wantOutcomes(t, d, "executed", "replayed", "mismatch", "body-too-large", "unknown")
}

// TestLongBodiesShareOneBound (promise 8): a long body is in memory while there is room for it, of a declared length or not,
// else in a file. It is the same body in both, and gives its room back.
func TestLongBodiesShareOneBound(t *testing.T) {
	t.Parallel()
	body, bodies := strings.Repeat("0123456789", 70_000), &waiting.Bytes{Most: 1 << 20}
	for name, length := range map[string]int64{"declared": int64(len(body)), "unknown": -1} {
		dir, files := t.TempDir(), 0
		d := newDoor(t, doorOptions{Options: semelhttp.Options{SpoolDir: dir}})
		handler := sharing(&waiting.Bytes{Most: 1 << 20, Bodies: bodies}, d.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			files = openFiles(t, dir)
			if got, err := io.ReadAll(r.Body); string(got) != body || err != nil {
				t.Errorf("%s: the handler read %d bytes, %v", name, len(got), err)
			}
		})))
		for i, taken := range []int64{0, 900 << 10, 900 << 10, 0} { // two executions, each with its replay the other way
			noRoom := taken > 0
			bodies.Take(taken)
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", io.NopCloser(strings.NewReader(body)))
			r.ContentLength = length
			r.Header.Set("Idempotency-Key", fmt.Sprint(i/2))
			got := httptest.NewRecorder()
			handler.ServeHTTP(got, r)
			if want := []string{"executed", "replayed"}[i%2]; got.Header().Get(semelhttp.StatusHeader) != want {
				t.Errorf("%s: request %d: %d %v, want %s", name, i, got.Code, got.Header(), want)
			}
			if i%2 == 0 && runtime.GOOS == "linux" && (files == 1) != noRoom {
				t.Errorf("%s: request %d: the body is in %d files", name, i, files)
			}
			if bodies.Return(taken); bodies.Used() != 0 {
				t.Fatalf("%s: request %d: %d bytes are held", name, i, bodies.Used())
			}
		}
	}
}

// TestNoRoomToSpool: a temporary file that cannot be made stops the request,
// and nothing is executed.
func TestNoRoomToSpool(t *testing.T) {
	t.Parallel()
	var invoices counter
	d := newDoor(t, doorOptions{Options: semelhttp.Options{SpoolBytes: 1, SpoolDir: t.TempDir() + "/missing"}})
	got := ask(t, d.serve(t, invoices.create), "k1", strings.Repeat("x", 10_000))
	wantProblem(t, got, http.StatusServiceUnavailable, "store-unavailable")
	if strings.Contains(got.body, "missing") {
		t.Errorf("the caller sees %s", got.body)
	}
	invoices.wantRan(t, "no room", 0)
}

// sendRaw sends bytes over a connection of its own.
func sendRaw(t *testing.T, server *httptest.Server, text string) net.Conn {
	t.Helper()
	conn := must.Get(new(net.Dialer).DialContext(t.Context(), "tcp", server.Listener.Addr().String()))
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(30 * time.Second))
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	return conn
}

// raw is sendRaw, and returns the status of the first answer.
func raw(t *testing.T, server *httptest.Server, text string, closeWrite bool) int {
	t.Helper()
	conn := sendRaw(t, server, text)
	if tcp, ok := conn.(*net.TCPConn); ok && closeWrite {
		noError(t, tcp.CloseWrite())
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	return res.StatusCode
}

// TestBodyCutOff: a body shorter than it was declared to be is not executed.
func TestBodyCutOff(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"short":         "Content-Length: 10\r\n\r\nhello",
		"chunk cut off": "Transfer-Encoding: chunked\r\n\r\n5\r\nhel",
		"chunk garbled": "Transfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n0\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, server, invoices := serveInvoices(t, doorOptions{})
			got := raw(t, server, "POST /invoices HTTP/1.1\r\nHost: a\r\nIdempotency-Key: k1\r\n"+body, true)
			if got != http.StatusBadRequest {
				t.Errorf("got %d, want 400", got)
			}
			invoices.wantRan(t, "cut off", 0)
			wantOutcomes(t, d, "body-incomplete")
		})
	}
}

// TestLongerThanDeclared: bytes behind the declared length are another request,
// as for every handler.
func TestLongerThanDeclared(t *testing.T) {
	t.Parallel()
	d := newDoor(t, doorOptions{})
	server := d.serve(t, func(_ http.ResponseWriter, r *http.Request) {
		if body, err := io.ReadAll(r.Body); string(body) != "hello" || err != nil {
			t.Errorf("the handler read %q, %v", body, err)
		}
	})
	raw(t, server, "POST /invoices HTTP/1.1\r\nHost: a\r\nIdempotency-Key: k1\r\nContent-Length: 5\r\n\r\nhello and more", false)
	wantOutcomes(t, d, "executed")
}

// TestOuterLimit: a bound that an outer handler set counts too.
func TestOuterLimit(t *testing.T) {
	t.Parallel()
	var invoices counter
	d := newDoor(t, doorOptions{})
	inner := d.Handler(http.HandlerFunc(invoices.create))
	server := newServer(t, http.MaxBytesHandler(inner, 10))
	wantProblem(t, ask(t, server, "k1", strings.Repeat("x", 11)), http.StatusRequestEntityTooLarge, "body-too-large")
	invoices.wantRan(t, "outer limit", 0)
}

// TestExpectContinue: a body that will be refused is not even asked for.
func TestExpectContinue(t *testing.T) {
	t.Parallel()
	_, server, invoices := serveInvoices(t, doorOptions{Options: semelhttp.Options{MaxBodyBytes: 10}})
	const head = "POST /invoices HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n"
	for header, want := range map[string]int{
		"Idempotency-Key: k1\r\nContent-Length: 11\r\n\r\n":                     http.StatusRequestEntityTooLarge,
		"Idempotency-Key: a\r\nIdempotency-Key: b\r\nContent-Length: 5\r\n\r\n": http.StatusBadRequest,
		"Idempotency-Key: k1\r\nContent-Length: 5\r\n\r\n":                      http.StatusContinue,
	} {
		if got := raw(t, server, head+header, false); got != want {
			t.Errorf("%q: got %d, want %d first", header, got, want)
		}
	}
	invoices.wantRan(t, "not asked for", 0)
}

// TestRequestTrailers: they are there when the handler runs.
func TestRequestTrailers(t *testing.T) {
	t.Parallel()
	d := newDoor(t, doorOptions{})
	server := d.serve(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if got := r.Trailer.Get("X-Sum"); got != "42" {
			t.Errorf("got the trailers %v, want X-Sum", r.Trailer)
		}
	})
	r := newAsk(t, server.URL+"/invoices", "", "Idempotency-Key", "k1")
	r.Body, r.ContentLength, r.Trailer = io.NopCloser(strings.NewReader("hello")), -1, http.Header{"X-Sum": {"42"}}
	if got := sendAsk(t, server, r); got.word() != "executed" {
		t.Errorf("got %d %q", got.status, got.word())
	}
}

// TestFormFiles: the temporary files of a form that the handler parsed go away
// with the request, as they do without the door.
func TestFormFiles(t *testing.T) {
	t.Parallel()
	d := newDoor(t, doorOptions{})
	contentType, body := multipartForm(t, "b0undary", "a", "1")
	body = strings.Replace(body, `name="a"`, `name="a"; filename="f"`, 1)
	var name string
	server := d.serve(t, func(_ http.ResponseWriter, r *http.Request) {
		if err := r.ParseMultipartForm(0); err != nil { // everything to disk
			t.Error(err)
			return
		}
		file, _, err := r.FormFile("a")
		if err != nil {
			t.Error(err)
			return
		}
		defer file.Close()
		if onDisk, ok := file.(*os.File); ok {
			name = onDisk.Name()
		}
	})
	ask(t, server, "k1", body, "Content-Type", contentType)
	server.Close()
	if _, err := os.Stat(name); name == "" || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file %q is still there: %v", name, err)
	}
}

// TestAbortedUpload: a client that leaves while it sends causes no execution.
func TestAbortedUpload(t *testing.T) {
	t.Parallel()
	var invoices counter
	told := make(chan struct{})
	d := newDoor(t, doorOptions{Options: semelhttp.Options{
		OnDecision: func(context.Context, semelhttp.Decision) { close(told) },
	}})
	server := d.serve(t, invoices.create)
	_ = sendRaw(t, server, "POST / HTTP/1.1\r\nHost: a\r\nIdempotency-Key: k1\r\nContent-Length: 10\r\n\r\nhel").Close()
	<-told
	invoices.wantRan(t, "aborted", 0)
	wantOutcomes(t, d, "body-incomplete")
}
