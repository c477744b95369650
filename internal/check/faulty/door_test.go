package faulty_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel/internal/check/faulty"
)

// shop is a shop behind a door, correct or faulty.
type shop struct {
	*faulty.App
	door http.Handler
}

func open(behaviour faulty.Behaviour, turn func(*faulty.Decisions)) shop {
	app, decisions := faulty.NewApp(behaviour), faulty.Correct()
	if turn != nil {
		turn(&decisions)
	}
	return shop{app, faulty.NewDoor(nil, &faulty.Memory{}, decisions, app)}
}

// order orders once, and describes the answer.
func (s shop) order(t *testing.T, key, body string, change ...func(*http.Request)) string {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/orders", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	for _, c := range change {
		c(r)
	}
	w := httptest.NewRecorder()
	s.door.ServeHTTP(w, r)
	return fmt.Sprintf("%d %s%s", w.Code, w.Header().Get("Location"), mark(w.Header()))
}

func mark(h http.Header) string {
	if h.Get("Idempotent-Replayed") != "" {
		return " replayed"
	}
	return ""
}

// wantOrders fails unless there are that many orders.
func (s shop) wantOrders(t *testing.T, want int64) {
	t.Helper()
	if got, _ := s.Count(t.Context(), nil); got != want {
		t.Errorf("got %d orders, want %d", got, want)
	}
}

const (
	book = `{"number":"book","amount":1}`
	pen  = `{"number":"pen","amount":1}`
)

func TestDoor(t *testing.T) {
	t.Parallel()
	s := open(faulty.Behaviour{}, nil)
	for _, step := range []struct{ key, body, want string }{
		{"a", book, "201 /orders/1"},
		{"a", book, "201 /orders/1 replayed"},
		{`"a"`, book, "201 /orders/1 replayed"},
		{`"a";x=1`, book, "201 /orders/1 replayed"},
		{"a", pen, "422 "},
		{"a", book, "201 /orders/1 replayed"},
		{"b", pen, "201 /orders/2"},
		{"A", pen, "201 /orders/3"},
		{`"a`, pen, "400 "},
		{`"a", "b"`, pen, "400 "},
		{`""`, pen, "400 "},
		{"ä", pen, "400 "},
		{strings.Repeat("k", 255), pen, "201 /orders/4"},
		{strings.Repeat("k", 256), pen, "400 "},
		{"c", `{"number":""}`, "400 "},
		{"c", `{"number":""}`, "400  replayed"},
		{"c", pen, "422 "},
		{"", pen, "201 /orders/5"},
		{"d", `{"number":"fail-1","amount":1}`, "500 "},
		{"d", `{"number":"fail-1","amount":1}`, "500 "},
	} {
		if got := s.order(t, step.key, step.body); got != step.want {
			t.Errorf("%q %s: got %q, want %q", step.key, step.body, got, step.want)
		}
	}
	s.wantOrders(t, 5)
}

func TestDoorTellsRequestsApart(t *testing.T) {
	t.Parallel()
	s := open(faulty.Behaviour{}, nil)
	s.order(t, "a", book)
	for name, change := range map[string]func(*http.Request){
		"query":        func(r *http.Request) { r.URL.RawQuery = "x=1" },
		"path":         func(r *http.Request) { r.URL.Path = "/other" },
		"method":       func(r *http.Request) { r.Method = http.MethodPatch },
		"content type": func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") },
	} {
		if got := s.order(t, "a", book, change); got != "422 " {
			t.Errorf("another %s: got %q, want a refusal", name, got)
		}
	}
	if got := s.order(t, "a", book, func(r *http.Request) { r.Header.Set("Authorization", "Bearer bob") }); got != "201 /orders/2" {
		t.Errorf("another caller: got %q, want an order of their own", got)
	}
	if got := s.order(t, "a", book, func(r *http.Request) { r.Header.Add("Idempotency-Key", "b") }); got != "400 " {
		t.Errorf("two lines: got %q, want a refusal", got)
	}
}

func TestDoorLetsOneOfManyThrough(t *testing.T) {
	t.Parallel()
	for wait, twins := range map[time.Duration]string{5 * time.Second: "201 /orders/1 replayed", 0: "409 "} {
		t.Run(wait.String(), func(t *testing.T) {
			t.Parallel()
			s := open(faulty.Behaviour{Before: 100 * time.Millisecond}, func(d *faulty.Decisions) { d.Wait = wait })
			got := make([]string, 20)
			var all sync.WaitGroup
			for i := range got {
				all.Go(func() { got[i] = s.order(t, "a", book) })
			}
			all.Wait()
			count := map[string]int{}
			for _, one := range got {
				count[one]++
			}
			want := map[string]int{"201 /orders/1": 1, twins: 19}
			if diff := cmp.Diff(want, count); diff != "" {
				t.Errorf("answers (-want +got):\n%s", diff)
			}
			s.wantOrders(t, 1)
		})
	}
}

func TestDoorOutlivesTheClient(t *testing.T) {
	t.Parallel()
	s := open(faulty.Behaviour{Before: 100 * time.Millisecond}, nil)
	process := faulty.Serve(func(faulty.Life) http.Handler { return s.door })
	t.Cleanup(process.Close)
	ask := func(wait time.Duration) string {
		client := &http.Client{Timeout: wait, Transport: &http.Transport{DisableKeepAlives: true}}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, process.URL+"/orders", strings.NewReader(book))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Idempotency-Key", "a")
		got, err := client.Do(r)
		if err != nil {
			return "none"
		}
		_, _ = io.Copy(io.Discard, got.Body)
		_ = got.Body.Close()
		return fmt.Sprintf("%d%s", got.StatusCode, mark(got.Header))
	}
	if got := ask(50 * time.Millisecond); got != "none" {
		t.Fatalf("got %s, want the client to go away", got)
	}
	if got := ask(10 * time.Second); got != "201 replayed" {
		t.Errorf("got %s, want the first one's answer", got)
	}
	s.wantOrders(t, 1)
}

func TestDoorRefusesWhatACrashLeft(t *testing.T) {
	t.Parallel()
	app, memory, entered := faulty.NewApp(faulty.Behaviour{}), &faulty.Memory{}, make(chan struct{})
	var once sync.Once
	process := faulty.Serve(func(life faulty.Life) http.Handler {
		return faulty.NewDoor(life, memory, faulty.Correct(), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			app.ServeHTTP(w, r)
			once.Do(func() {
				close(entered)
				<-r.Context().Done() // until it is killed
			})
		}))
	})
	t.Cleanup(process.Close)
	ask := func() int {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, process.URL+"/orders", strings.NewReader(book))
		if err != nil {
			t.Error(err)
			return 0
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Idempotency-Key", "a")
		r.GetBody = nil // net/http must not resend it
		got, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
		if err != nil {
			return 0
		}
		_ = got.Body.Close()
		return got.StatusCode
	}
	var first sync.WaitGroup
	first.Go(func() {
		if got := ask(); got != 0 {
			t.Errorf("the first got %d, want no answer", got)
		}
	})
	<-entered
	if err := process.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	first.Wait()
	if got := ask(); got != http.StatusConflict {
		t.Errorf("after the crash: got %d, want 409", got)
	}
	if got, _ := app.Count(t.Context(), nil); got != 1 {
		t.Errorf("got %d orders, want 1", got)
	}
}
