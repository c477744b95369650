package semelhttp_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/semel-dev/semel/internal/waiting"
	"github.com/semel-dev/semel/semelhttp"
)

// TestUnfinishedAnswersShareOneBound (promise 8): answers that do not end take no more memory than MaxCapturedBytes. One
// that finds no room is streamed, and is not executed again.
func TestUnfinishedAnswersShareOneBound(t *testing.T) {
	t.Parallel()
	captured := &waiting.Bytes{Most: 1 << 20}
	d := newDoor(t, doorOptions{Options: semelhttp.Options{Captured: captured}})
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
	if used := captured.Used(); used == 0 || used > captured.Most {
		t.Errorf("%d unfinished answers hold %d bytes, want at most %d", answers, used, captured.Most)
	}
	close(end)
	done.Wait()
	if used := captured.Used(); used != 0 {
		t.Errorf("answers that have ended hold %d bytes", used)
	}
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
}
