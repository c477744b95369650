package semelhttp_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/semelhttp"
)

// losingBase lets the first answers of every key get lost after the server
// gave them.
type losingBase struct {
	http.RoundTripper
	lose int

	mu   sync.Mutex // guards the field below
	seen map[string]int
}

func (b *losingBase) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := b.RoundTripper.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	key := sentKey(req)
	b.seen[key]++
	lost := b.seen[key] <= b.lose
	b.mu.Unlock()
	if lost {
		resp.Body.Close()
		return nil, io.ErrUnexpectedEOF
	}
	return resp, nil
}

// Promises 2 and 3, over both doors: however many answers get lost, and however
// many callers have the same intent, there is one effect, and every caller gets
// its answer.
func TestTransportWithMiddlewareOneEffect(t *testing.T) {
	t.Parallel()
	const intents, callers = 8, 4
	d := newDoor(t, doorOptions{})
	var effects atomic.Int32
	server := d.serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		effects.Add(1)
		w.WriteHeader(http.StatusCreated)
		fmt.Fprintf(w, "made %s", body)
	})
	base := &losingBase{RoundTripper: server.Client().Transport, lose: 3, seen: map[string]int{}}
	client := &http.Client{Transport: &semelhttp.Transport{Base: base, Backoff: -1, MaxRetryAfter: time.Nanosecond, MaxAttempts: 50}}
	var wg sync.WaitGroup
	for i := range intents * callers {
		wg.Go(func() {
			wish := fmt.Sprint("order ", i%intents)
			req, err := http.NewRequestWithContext(semelhttp.WithIntent(t.Context(), wish), http.MethodPost, server.URL, strings.NewReader(wish))
			if err != nil {
				t.Error(err)
				return
			}
			resp, err := client.Do(req)
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			if err != nil || resp.StatusCode != http.StatusCreated || string(body) != "made "+wish {
				t.Errorf("%s: got %d %q, %v", wish, resp.StatusCode, body, err)
			}
		})
	}
	wg.Wait()
	if n := effects.Load(); n != intents {
		t.Errorf("%d effects of %d intents", n, intents)
	}
}

// A caller that gives up keeps the key, and learns later what happened.
func TestTransportResumesAnUnknownIntent(t *testing.T) {
	t.Parallel()
	d := newDoor(t, doorOptions{})
	var effects atomic.Int32
	server := d.serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusCreated)
		fmt.Fprint(w, effects.Add(1))
	})
	base := &losingBase{RoundTripper: server.Client().Transport, lose: 2, seen: map[string]int{}}
	client := &http.Client{Transport: &semelhttp.Transport{Base: base, Backoff: -1, MaxAttempts: 2}}
	first := must.Get(http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, strings.NewReader("x")))
	_, err := client.Do(first) //nolint:bodyclose // an error has none.
	unknown, ok := errors.AsType[*semelhttp.UnknownError](err)
	if !ok || !errors.Is(err, semel.ErrUnknown) {
		t.Fatalf("got %v, want an UnknownError through http.Client", err)
	}
	again := must.Get(http.NewRequestWithContext(semelhttp.WithIntent(t.Context(), unknown.Key), http.MethodPost, server.URL, strings.NewReader("x")))
	resp := sent(t, client.Do, again)
	body, _ := io.ReadAll(resp.Body)
	if string(body) != "1" || effects.Load() != 1 || !semelhttp.Replayed(resp) {
		t.Errorf("got %q after %d effects", body, effects.Load())
	}
}

// A failure that the server stored is final, one that it released is not.
func TestTransportRepeatsReleasedFailures(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		on5xx  semelhttp.On5xx
		status int
		want   []int
	}{
		"released": {semelhttp.ReleaseOn5xx, http.StatusInternalServerError, []int{500, 201}},
		"stored":   {semelhttp.StoreOn5xx, http.StatusInternalServerError, []int{500}},
		"unknown":  {semelhttp.UnknownOn5xx, http.StatusInternalServerError, []int{500}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDoor(t, doorOptions{Options: semelhttp.Options{On5xx: tt.on5xx}})
			var ran []int
			handler := d.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				status := http.StatusCreated
				if len(ran) == 0 {
					status = tt.status
				}
				ran = append(ran, status)
				w.WriteHeader(status)
			}))
			tr, log := noPause(func(_ int, req *http.Request) (*http.Response, error) {
				in := httptest.NewRequestWithContext(req.Context(), req.Method, req.URL.String(), nil)
				in.Header.Set("Idempotency-Key", sentKey(req))
				rec := httptest.NewRecorder()
				handler.ServeHTTP(rec, in)
				return rec.Result(), nil
			})
			sent(t, tr.RoundTrip, post(t, t.Context(), nil))
			if diff := cmp.Diff(tt.want, ran); diff != "" {
				t.Errorf("the handler ran: -want +got\n%s", diff)
			}
			if len(log.keys) != 2 {
				t.Errorf("%d attempts, want 2", len(log.keys))
			}
		})
	}
}
