package semelhttp_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/semel-dev/semel/internal/waiting"
	"github.com/semel-dev/semel/semelhttp"
)

// sharing gives a handler the memory for its answers, as a gateway does.
func sharing(captured *waiting.Bytes, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r.WithContext(captured.With(r.Context())))
	})
}

// TestUnfinishedAnswersShareOneBound (promise 8): answers that do not end take no more memory than MaxCapturedBytes. One
// that finds no room is streamed, and is not executed again. Answers that have ended give their room back.
func TestUnfinishedAnswersShareOneBound(t *testing.T) {
	t.Parallel()
	d := newDoor(t, doorOptions{Options: semelhttp.Options{MaxCapturedBytes: 1 << 20}})
	const answers = 20
	var written, done sync.WaitGroup
	written.Add(answers)
	end := make(chan struct{})
	handler := d.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(bytes.Repeat([]byte("x"), 200<<10))
		written.Done()
		<-end
		_, _ = w.Write([]byte("end"))
	}))
	replies := make([]*httptest.ResponseRecorder, answers)
	for i := range answers {
		done.Go(func() { replies[i] = handle(t, handler, "/", "x", "Idempotency-Key", fmt.Sprint("k", i)) })
	}
	written.Wait()
	close(end)
	done.Wait()
	kept := 0
	for i, first := range replies {
		if got := first.Body.Len(); got != 200<<10+3 {
			t.Errorf("answer %d has %d bytes", i, got)
		}
		again := handle(t, handler, "/", "x", "Idempotency-Key", fmt.Sprint("k", i))
		switch {
		case again.Body.String() == first.Body.String():
			kept++
		case !strings.Contains(again.Body.String(), "response-not-kept"):
			t.Errorf("answer %d again: %d %.200s", i, again.Code, again.Body)
		}
	}
	if kept == 0 || kept > 5 {
		t.Errorf("%d answers were kept, want those that found room", kept)
	}
	whole := d.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 900<<10)) }))
	for range 2 {
		if got := handle(t, whole, "/", "x", "Idempotency-Key", "whole"); got.Body.Len() != 900<<10 {
			t.Errorf("an answer that needs most of the room: got %d bytes, %.200s", got.Body.Len(), got.Body)
		}
	}
}

// TestNoRoomBeforeTheCommit (promises 4 and 8): where the memory for answers is used up, a transaction is rolled back, and the answer
// says when to come again.
func TestNoRoomBeforeTheCommit(t *testing.T) {
	t.Parallel()
	captured := &waiting.Bytes{Most: 100 << 10}
	d := newTxDoor(t, nil, semelhttp.Options{})
	handler := sharing(captured, d.Handler(d.insert(t, answers(http.StatusCreated, strings.Repeat("x", 100<<10)))))
	if !captured.Take(32 << 10) {
		t.Fatal("the memory is full at the start")
	}
	got := handle(t, handler, "/", "row", "Idempotency-Key", "k")
	if got.Code != http.StatusServiceUnavailable || got.Header().Get("Retry-After") == "" || !strings.Contains(got.Body.String(), "rolled-back") {
		t.Errorf("without room: %d %v %.200s", got.Code, got.Header(), got.Body)
	}
	d.wantRows(t, "row", 0)
	captured.Return(32 << 10)
	if got := handle(t, handler, "/", "row", "Idempotency-Key", "k"); got.Code != http.StatusCreated || got.Body.Len() != 100<<10 {
		t.Errorf("with room: %d, %d bytes", got.Code, got.Body.Len())
	}
	d.wantRows(t, "row", 1)
}

// TestAnswersInPieces (promise 3): an answer of any length, written in pieces of any size, is replayed as it was.
func TestAnswersInPieces(t *testing.T) {
	t.Parallel()
	captured := &waiting.Bytes{Most: 1 << 20}
	d := newDoor(t, doorOptions{})
	for _, length := range []int{0, 1, 4 << 10, 16<<10 - 1, 16 << 10, 48<<10 + 1, 100_000} {
		for _, piece := range []int{1 << 10, 5000, 32 << 10, 100_000} {
			for name, write := range map[string]func(io.Writer, []byte) (int64, error){
				"bytes": func(w io.Writer, b []byte) (int64, error) { n, err := w.Write(b); return int64(n), err },
				"string": func(w io.Writer, b []byte) (int64, error) {
					n, err := io.WriteString(w, string(b)) //nolint:staticcheck // strings are written by code of their own.
					return int64(n), err
				},
				"reader": func(w io.Writer, b []byte) (int64, error) { return io.Copy(w, io.MultiReader(bytes.NewReader(b))) },
			} {
				body := make([]byte, length)
				for i := range body {
					body[i] = byte(i * i >> 8)
				}
				handler := sharing(captured, d.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					for part := range slices.Chunk(body, piece) {
						if n, err := write(w, part); n != int64(len(part)) || err != nil {
							t.Errorf("%s: wrote %d of %d bytes, error %v", name, n, len(part), err)
						}
					}
				})))
				for _, time := range []string{"first", "replayed"} {
					got := handle(t, handler, "/", "x", "Idempotency-Key", fmt.Sprint(length, piece, name))
					if !bytes.Equal(got.Body.Bytes(), body) {
						t.Errorf("%s, %d bytes in pieces of %d by %s: got %d other bytes", time, length, piece, name, got.Body.Len())
					}
				}
			}
		}
	}
	if used := captured.Used(); used != 0 {
		t.Errorf("answers that have ended hold %d bytes", used)
	}
}
