package semelhttp_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/semelhttp"
	"github.com/semel-dev/semel/store/memstore"
	"github.com/semel-dev/semel/store/storetest"
)

// TestTooLong: promise 3: an answer over the bound arrives whole, is not kept,
// and the handler does not run again.
func TestTooLong(t *testing.T) {
	t.Parallel()
	const bound = 1000
	for name, write := range map[string]func(w http.ResponseWriter, n int){
		"in one":    func(w http.ResponseWriter, n int) { _, _ = w.Write(make([]byte, n)) },
		"as string": func(w http.ResponseWriter, n int) { _, _ = io.WriteString(w, strings.Repeat("\x00", n)) },
		"in pieces": func(w http.ResponseWriter, n int) {
			for range n {
				_, _ = w.Write([]byte{0})
			}
		},
		"copied": func(w http.ResponseWriter, n int) {
			_, _ = io.Copy(w, struct{ io.Reader }{bytes.NewReader(make([]byte, n))})
		},
		"declared": func(w http.ResponseWriter, n int) {
			w.Header().Set("Content-Length", strconv.Itoa(n))
			_, _ = w.Write(make([]byte, n))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, size := range []int{bound - 1, bound, bound + 1, 100 * bound} {
				var invoices counter
				d := newDoor(t, doorOptions{Options: semelhttp.Options{MaxResponseBytes: bound}})
				server := d.serve(t, func(w http.ResponseWriter, _ *http.Request) {
					invoices.ran.Add(1)
					w.Header().Set("Location", "/exports/7")
					w.WriteHeader(http.StatusCreated)
					write(w, size)
				})
				first := ask(t, server, "k1", "x")
				if first.body != strings.Repeat("\x00", size) || first.status != http.StatusCreated || first.word() != "executed" {
					t.Errorf("%d bytes: got %d %q and %d bytes", size, first.status, first.word(), len(first.body))
				}
				second := ask(t, server, "k1", "x")
				if size <= bound {
					wantReplay(t, first, second)
				} else {
					wantProblem(t, second, http.StatusConflict, "response-not-kept")
					if !strings.Contains(second.body, `"location":"/exports/7"`) || !strings.Contains(second.body, `"recorded_status":201`) {
						t.Errorf("got %s, want the recorded status and location", second.body)
					}
				}
				invoices.wantRan(t, "promise 3", 1)
			}
		})
	}
}

// TestServerSentEvents: a stream arrives event by event, is recorded before its
// first byte (promise 7), and not run again (promise 3).
func TestServerSentEvents(t *testing.T) {
	t.Parallel()
	for name, buffer := range map[string]bool{"flush streams": false, "flush waits": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var invoices counter
			more := make(chan struct{})
			d := newDoor(t, doorOptions{Options: semelhttp.Options{BufferFlush: buffer}})
			server := d.serve(t, func(w http.ResponseWriter, r *http.Request) {
				invoices.ran.Add(1)
				w.Header().Set("Content-Type", "text/event-stream")
				control := http.NewResponseController(w)
				for i := range 3 {
					fmt.Fprintf(w, "data: %d\n\n", i)
					if err := control.Flush(); err != nil {
						t.Error(err)
					}
					<-more
					if err := r.Context().Err(); err != nil {
						t.Errorf("the stream's context ended: %v", err)
					}
				}
			})
			lines := bufio.NewReader(stream(t, server).Body)
			for i := range 3 {
				line, err := lines.ReadString('\n')
				if want := fmt.Sprintf("data: %d\n", i); line != want || err != nil {
					t.Fatalf("got %q %v, want %q", line, err, want)
				}
				if _, err := lines.ReadString('\n'); err != nil {
					t.Fatal(err)
				}
				wantProblem(t, ask(t, server, "k1", "x"), http.StatusConflict, "response-not-kept")
				more <- struct{}{}
			}
			invoices.wantRan(t, "promise 3", 1)
		})
	}
}

// TestStreamedRefusal: a stream that says that nothing happened is released
// when the handler has returned, and not before.
func TestStreamedRefusal(t *testing.T) {
	t.Parallel()
	var invoices counter
	wait := make(chan struct{})
	d := newDoor(t, doorOptions{policy: semel.Policy{Wait: semel.NoWait}})
	server := d.serve(t, func(w http.ResponseWriter, _ *http.Request) {
		if invoices.ran.Add(1) > 1 {
			return
		}
		w.WriteHeader(http.StatusTooManyRequests)
		_ = http.NewResponseController(w).Flush()
		<-wait
	})
	res := stream(t, server)
	if word := res.Header.Get(semelhttp.StatusHeader); word != "released" {
		t.Errorf("got %q, want released", word)
	}
	wantProblem(t, ask(t, server, "k1", "x"), http.StatusConflict, "in-flight")
	close(wait)
	_, _ = io.Copy(io.Discard, res.Body)
	for d.guard.LiveClaims() > 0 {
		<-time.After(time.Millisecond)
	}
	if got := ask(t, server, "k1", "x"); got.word() != "executed" {
		t.Errorf("got %d %q, want executed", got.status, got.word())
	}
}

// TestConstantMemory: promise 8: neither a large download nor a large upload is
// held in memory.
func TestConstantMemory(t *testing.T) { //nolint:paralleltest // it measures the memory of the process.
	const size = 64 << 20
	d := newDoor(t, doorOptions{Options: semelhttp.Options{MaxBodyBytes: size, SpoolDir: t.TempDir()}})
	chunk := make([]byte, 64<<10)
	server := d.serve(t, func(w http.ResponseWriter, r *http.Request) {
		if n, err := io.Copy(io.Discard, r.Body); n != size || err != nil {
			t.Errorf("read %d bytes, %v", n, err)
		}
		for range size / len(chunk) {
			_, _ = w.Write(chunk)
		}
	})
	r := newAsk(t, server.URL+"/invoices", "", "Idempotency-Key", "k1")
	r.Body = io.NopCloser(io.LimitReader(zeros{}, size))
	r.ContentLength = -1
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	res, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	n, err := io.Copy(io.Discard, res.Body)
	if n != size || err != nil {
		t.Errorf("downloaded %d bytes, %v", n, err)
	}
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 16<<20 {
		t.Errorf("promise 8: %d bytes were allocated for %d that passed through each way", used, size)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// TestHijack: the claim is settled before the connection is handed out.
func TestHijack(t *testing.T) {
	t.Parallel()
	var invoices counter
	d := newDoor(t, doorOptions{})
	server := d.serve(t, func(w http.ResponseWriter, _ *http.Request) {
		invoices.ran.Add(1)
		conn, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		if open := d.guard.LiveClaims() - d.guard.Detached(); open != 0 {
			t.Errorf("promise 7: %d claims are open with the connection handed out", open)
		}
		if _, err := w.Write([]byte("x")); !errors.Is(err, http.ErrHijacked) {
			t.Errorf("write after hijacking: %v", err)
		}
		if _, _, err := http.NewResponseController(w).Hijack(); !errors.Is(err, http.ErrHijacked) {
			t.Errorf("hijack after hijacking: %v", err)
		}
		fmt.Fprint(buffered, "HTTP/1.1 299 Mine\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi")
		_ = buffered.Flush()
	})
	if first := ask(t, server, "k1", "x"); first.status != 299 || first.body != "hi" {
		t.Errorf("got %d %q, want what went over the connection", first.status, first.body)
	}
	wantProblem(t, ask(t, server, "k1", "x"), http.StatusConflict, "response-not-kept")
	invoices.wantRan(t, "promise 3", 1)
}

// TestHijackNotStored (promise 7): where the claim could not be settled, the
// connection is not handed out, and what the handler answers instead is not taken
// for recorded.
func TestHijackNotStored(t *testing.T) {
	t.Parallel()
	broken := storetest.Break(memstore.New(nil), storetest.Faults{Before: failing("settle")})
	d := newDoor(t, doorOptions{store: broken, policy: semel.Policy{Wait: semel.NoWait}})
	server := d.serve(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _, err := http.NewResponseController(w).Hijack()
		if !errors.Is(err, semel.ErrNotStored) {
			t.Errorf("hijack: got %v, want ErrNotStored", err)
		}
		w.WriteHeader(http.StatusInternalServerError)
	})
	if got := ask(t, server, "k1", "x"); got.status != http.StatusInternalServerError || got.word() != "not-stored" {
		t.Errorf("got %d %q, want 500 not-stored", got.status, got.word())
	}
	wantOutcomes(t, d, "not-stored")
	if live, detached := d.guard.LiveClaims(), d.guard.Detached(); live != 0 || detached != 0 {
		t.Errorf("promise 8: %d live, %d detached, want none", live, detached)
	}
}

// TestDetachedHandler (promise 8): a handler that streams on after its caller has
// gone is asked to end, and keeps its seat until it has returned, even if it does
// not listen.
func TestDetachedHandler(t *testing.T) {
	t.Parallel()
	let, told := make(chan struct{}), make(chan struct{})
	d := newDoor(t, doorOptions{Options: semelhttp.Options{AbandonAfter: time.Millisecond}})
	server := d.serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "begun")
		_ = http.NewResponseController(w).Flush()
		select {
		case <-r.Context().Done():
			close(told)
		case <-let:
		}
		<-let
	})
	res := stream(t, server)
	_, _ = io.ReadFull(res.Body, make([]byte, len("begun")))
	_ = res.Body.Close()
	select {
	case <-told:
	case <-time.After(10 * time.Second):
		t.Error("the handler is not told that its caller has gone")
	}
	if live, detached := d.guard.LiveClaims(), d.guard.Detached(); live != 1 || detached != 1 {
		t.Errorf("promise 8: %d live, %d detached, want both 1", live, detached)
	}
	wantProblem(t, ask(t, server, "k1", "x"), http.StatusConflict, "response-not-kept") // it is recorded
	close(let)
	for d.guard.LiveClaims() > 0 {
		<-time.After(time.Millisecond)
	}
}

// TestCopiedStreamMoves (promise 8): what a handler copies to its caller piece by piece
// moves, so that it is not taken for a stream that stalls.
func TestCopiedStreamMoves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		guard := must.Get(semel.New(memstore.New(nil), &semel.Options{SweepEvery: -1, Policy: semel.Policy{MaxRun: 24 * time.Hour}}))
		mw := must.Get(semelhttp.New(guard, semelhttp.ScopeBy(func(*http.Request) string { return "s" }), &semelhttp.Options{AbandonAfter: time.Minute}))
		ctx, hangUp := context.WithCancel(t.Context())
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/invoices", http.NoBody)
		r.Header.Set("Idempotency-Key", "k1")
		mw.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_ = http.NewResponseController(w).Flush()
			hangUp()
			_, _ = io.Copy(w, &drip{left: 4, pause: 40 * time.Second})
			if err := r.Context().Err(); err != nil {
				t.Errorf("a stream that moved was cut off: %v", err)
			}
			time.Sleep(2 * time.Minute)
			if r.Context().Err() == nil {
				t.Error("a stream that stalls is not cut off")
			}
		})).ServeHTTP(httptest.NewRecorder(), r)
		if err := guard.Close(); err != nil {
			t.Error(err)
		}
	})
}

// drip reads as one byte after each pause.
type drip struct {
	left  int
	pause time.Duration
}

func (d *drip) Read(p []byte) (int, error) {
	if d.left == 0 {
		return 0, io.EOF
	}
	time.Sleep(d.pause)
	d.left--
	p[0] = '.'
	return 1, nil
}
