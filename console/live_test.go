package console_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/console"
	"github.com/semel-dev/semel/gateway/adminapi"
	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/outcomelog"
	"github.com/semel-dev/semel/store/memstore"
)

// asked counts the questions to a store, which may not answer.
type asked struct {
	*memstore.Store

	questions atomic.Int64
	down      atomic.Bool
	lost      atomic.Pointer[semel.Digest] // of a record that cannot be read
}

// Lookup implements semel.Store.
func (s *asked) Lookup(ctx context.Context, d semel.Digest) (semel.Record, error) {
	s.questions.Add(1)
	if lost := s.lost.Load(); s.down.Load() || lost != nil && *lost == d {
		return semel.Record{}, semel.ErrUnavailable
	}
	return s.Store.Lookup(ctx, d)
}

// List implements semel.Lister.
func (s *asked) List(ctx context.Context, p semel.ListParams) (semel.ListPage, error) {
	s.questions.Add(1)
	return s.Store.List(ctx, p)
}

// lively is a console of a process that serves requests.
type lively struct {
	*world

	store    *asked
	executed atomic.Uint64
	done     chan struct{}
}

func readerToken(i int) string { return strconv.Itoa(i) + robinToken }

func openLively(t *testing.T) *lively {
	t.Helper()
	l := &lively{store: &asked{Store: memstore.New(nil)}, done: make(chan struct{})}
	guard := must.Get(semel.New(l.store, &semel.Options{SweepEvery: -1}))
	tokens := []adminapi.Token{must.Get(adminapi.NewToken("alice", aliceToken, false))}
	for i := range 4 {
		tokens = append(tokens, must.Get(adminapi.NewToken("reader"+strconv.Itoa(i), readerToken(i), true)))
	}
	api := must.Get(adminapi.New(guard, &adminapi.Options{Tokens: tokens}))
	server := httptest.NewUnstartedServer(must.Get(console.New(guard, console.Options{
		API: api, LiveClaims: 1000, Prometheus: "https://prometheus.example/graph", Done: l.done,
		History: console.NewHistory(func() console.Counts {
			return console.Counts{
				Requests: map[outcomelog.Outcome]uint64{outcomelog.Executed: l.executed.Load(), outcomelog.Mismatch: 12},
				Settled:  map[string]uint64{"completed": l.executed.Load()},
			}
		}),
	})))
	server.Config.ReadTimeout, server.Config.WriteTimeout = 1500*time.Millisecond, 1500*time.Millisecond // an event stream outlives them
	server.Start()
	t.Cleanup(func() {
		server.Close()
		noError(t, guard.Close())
		noError(t, l.store.Close())
	})
	l.world = &world{guard: guard, store: l.store.Store, url: server.URL}
	return l
}

// stream is an event stream.
type stream struct {
	status int
	body   io.ReadCloser
	lines  *bufio.Scanner
}

func (b *browser) follow() *stream {
	b.t.Helper()
	answer, err := b.Do(must.Get(http.NewRequestWithContext(b.t.Context(), http.MethodGet, b.url+"/console/live", nil)))
	noError(b.t, err)
	b.t.Cleanup(func() { _ = answer.Body.Close() })
	return &stream{answer.StatusCode, answer.Body, bufio.NewScanner(answer.Body)}
}

// next returns the numbers of the next event, or nil at the end of the stream.
func (s *stream) next(t *testing.T) map[string]int {
	t.Helper()
	for s.lines.Scan() {
		if text, ok := strings.CutPrefix(s.lines.Text(), "data: "); ok {
			var numbers map[string]int
			noError(t, json.Unmarshal([]byte(text), &numbers))
			return numbers
		}
	}
	return nil
}

// Promise 8: pages follow the numbers of the process without questions to the store, for longer than the server's timeouts.
func TestLive(t *testing.T) {
	t.Parallel()
	l := openLively(t)
	b := l.logIn(t, aliceToken)
	before := l.store.questions.Load()
	s := b.follow()
	for want := range 4 { // an event a second
		if got := s.next(t); got["executed"] != want || got["records"] != want || got["refused"] != 12 {
			t.Fatalf("event %d: got %v", want, got)
		}
		l.executed.Add(1)
	}
	if n := l.store.questions.Load() - before; n > 0 {
		t.Errorf("the store was asked %d times", n)
	}
	close(l.done)
	if got := s.next(t); got != nil && s.next(t) != nil {
		t.Error("the stream goes on after the server's end")
	}
}

// Promise 10: strangers follow nothing, and a session's end ends its streams.
func TestLiveSession(t *testing.T) {
	t.Parallel()
	l := openLively(t)
	if s := l.browser(t).follow(); s.status != http.StatusUnauthorized || s.next(t) != nil {
		t.Errorf("a stranger: got status %d", s.status)
	}
	b := l.logIn(t, aliceToken)
	s := b.follow()
	if s.next(t) == nil {
		t.Fatal("no event came")
	}
	_, page := b.get("/console/")
	b.post("/console/logout", url.Values{"form": {hidden(t, page, "form")}})
	l.executed.Add(1)
	if got := s.next(t); got != nil {
		t.Errorf("after the log-out: got %v", got)
	}
}

// Promise 8: readers have a bound, of which no operator takes all by many sessions, and one that leaves makes room.
func TestLiveReaders(t *testing.T) {
	t.Parallel()
	l := openLively(t)
	var all []*stream
	b := l.logIn(t, aliceToken)
	for i := range 4 {
		for range 8 {
			s := l.logIn(t, readerToken(i)).follow()
			if s.next(t) == nil {
				t.Fatalf("reader %d: got status %d", len(all), s.status)
			}
			all = append(all, s)
		}
		if s := l.logIn(t, readerToken(i)).follow(); s.status != http.StatusServiceUnavailable {
			t.Errorf("a ninth page of an operator: got status %d", s.status)
		}
	}
	if s := b.follow(); s.status != http.StatusServiceUnavailable {
		t.Errorf("one more: got status %d", s.status)
	}
	noError(t, all[0].body.Close())
	for s := b.follow(); s.status != http.StatusOK; s = b.follow() {
		if t.Context().Err() != nil {
			t.Fatal("its room is not free")
		}
	}
}

// Promise 8: the counts of the navigation are asked for once in a while, and not by each page.
func TestCountsAreKept(t *testing.T) {
	t.Parallel()
	l := openLively(t)
	b := l.logIn(t, aliceToken)
	const pages = 20
	before := l.store.questions.Load()
	for range pages {
		b.get("/console/rules")
	}
	if n := l.store.questions.Load() - before; n >= pages {
		t.Errorf("%d pages asked the store %d times", pages, n)
	}
}

// The overview tells the process from the store, and shows the process's numbers when the store is down.
func TestOverview(t *testing.T) {
	t.Parallel()
	l := openLively(t)
	l.executed.Add(1234)
	b := l.logIn(t, aliceToken)
	_, page := b.get("/console/")
	contains(t, page, `<th scope="row" data-name="Outcome">mismatch</th>`, "its key was used for a different request", `of <data value="1000">`, `href="https://prometheus.example/graph"`, "answered a read within", "Nothing needs you.",
		`<data data-live="stopped" data-base="0" value="0">0</data> duplicates stopped</strong> since this process began`)
	l.store.down.Store(true)
	status, page := b.get("/console/")
	if status != http.StatusOK {
		t.Errorf("the store is down: got status %d", status)
	}
	contains(t, page, "The store does not answer", "mismatch", "!answered a read", "!Nothing needs you")

	other := open(t) // a process that serves no requests
	b = other.logIn(t, aliceToken)
	_, page = b.get("/console/")
	contains(t, page, "!data-live", "!data-new", "!/console/rules", "!/console/outbox", "!/console/log\"", "This console serves no requests")
	if status, _ := b.get("/console/live"); status != http.StatusNotFound {
		t.Errorf("its event stream: got status %d", status)
	}
}
