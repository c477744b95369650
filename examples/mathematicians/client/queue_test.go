package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/semel-dev/semel/examples/mathematicians"
	"github.com/semel-dev/semel/examples/mathematicians/client"
)

// transport serves requests without a network, so that a bubble's time goes on.
type transport func(r *http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// through lets a handler answer.
func through(h http.Handler) transport {
	return func(r *http.Request) (*http.Response, error) {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Result(), nil
	}
}

// bench is a queue and a server, with the test in between.
type bench struct {
	t      *testing.T
	queue  *client.Queue
	path   string // of the queue
	file   string // of the server
	server *mathematicians.Server
	asked  []string // method and path of what was sent
	mu     sync.Mutex
	// meet, when set, answers in the server's place, unless it returns nil.
	meet func(r *http.Request, n int) (*http.Response, error)
}

func newBench(t *testing.T) *bench {
	t.Helper()
	dir := t.TempDir()
	b := &bench{t: t, path: filepath.Join(dir, "queue.db"), file: filepath.Join(dir, "server.db")}
	var err error
	if b.server, err = mathematicians.Open(b.file, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.server.Close() })
	b.queue = b.open()
	return b
}

// open opens the same queue once more.
func (b *bench) open() *client.Queue {
	b.t.Helper()
	q, err := client.Open(b.path, "http://server.example", &client.Options{Transport: transport(b.carry)})
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { q.Close() })
	return q
}

func (b *bench) carry(r *http.Request) (*http.Response, error) {
	b.mu.Lock()
	b.asked = append(b.asked, r.Method+" "+r.URL.Path)
	n := len(b.asked)
	b.mu.Unlock()
	if b.meet != nil {
		if reply, err := b.meet(r, n); reply != nil || err != nil {
			return reply, err
		}
	}
	return through(b.server)(r)
}

func (b *bench) add(e client.Entry) client.Entry {
	b.t.Helper()
	kept, err := b.queue.Add(b.t.Context(), e)
	if err != nil {
		b.t.Fatal(err)
	}
	return kept
}

func (b *bench) sync() client.Counts {
	b.t.Helper()
	counts, err := b.queue.Sync(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	return counts
}

func (b *bench) list() []client.Entry {
	b.t.Helper()
	all, err := b.queue.List(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	return all
}

// canned is an answer that was made beforehand.
type canned struct {
	status int
	header http.Header
	body   string
}

func (c *canned) response() (*http.Response, error) {
	if c == nil {
		return nil, errors.New("no such host")
	}
	return &http.Response{StatusCode: c.status, Header: c.header, Body: io.NopCloser(strings.NewReader(c.body))}, nil
}

func answer(status int, header http.Header, body string) *canned {
	return &canned{status, header, body}
}

func author(ref string) client.Entry {
	return client.Entry{Ref: ref, Kind: client.Mathematician, Text: "name of " + ref}
}

func paper(ref, of string) client.Entry {
	return client.Entry{Ref: ref, Kind: client.Paper, Parent: of, Text: "title of " + ref}
}

// Parents and children that were added without a network are created, parents first, in the order of their adding.
func TestOfflineCreates(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.add(author("a"))
	b.add(paper("a1", "a"))
	b.add(author("b"))
	b.add(paper("b1", "b"))
	b.add(paper("a2", "a"))
	if got, want := b.sync(), (client.Counts{Done: 5}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	want := []row{{"name of a", ""}, {"name of b", ""}, {"title of a1", "name of a"}, {"title of a2", "name of a"}, {"title of b1", "name of b"}}
	if diff := cmp.Diff(want, rowsOf(t, b.file)); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	asked := len(b.asked)
	if b.sync(); len(b.asked) != asked {
		t.Errorf("what is done was sent again: %v", b.asked[asked:])
	}
}

// Ids from the stock are known without a network, are used once, and are those of the rows.
func TestStock(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	noError(t, errors.Join(b.queue.Stock(t.Context(), 2), b.queue.Stock(t.Context(), 2)))
	if got := len(b.asked); got != 4 {
		t.Errorf("%d ids were fetched, want two of each kind", got)
	}
	b.meet = func(*http.Request, int) (*http.Response, error) { return nil, errors.New("no network") }
	known := map[string]string{}
	for _, e := range []client.Entry{author("a"), paper("a1", "a"), author("b"), author("c")} {
		if kept := b.add(e); (kept.Unique == "") != (e.Ref == "c") {
			t.Errorf("%s has the id %q", e.Ref, kept.Unique)
		} else if e.Ref != "c" {
			known[kept.Unique] = e.Ref
		}
	}
	if len(known) != 3 {
		t.Errorf("got the ids %v, want three", known)
	}
	if err := b.queue.Stock(t.Context(), 2); err == nil {
		t.Error("a stock was filled without a network")
	}
	b.meet = nil
	b.sync()
	for _, e := range b.list() {
		if ref, was := known[e.Unique]; e.State != client.Done || (was && ref != e.Ref) || (!was && e.Ref != "c") {
			t.Errorf("got %+v of %v", e, known)
		}
	}
}

// The id is kept before it is sent, and every attempt carries it.
func TestTheIDIsNeverReplaced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.add(author("a"))
		sent := map[string]int{}
		b.meet = func(r *http.Request, n int) (*http.Response, error) {
			if r.Method != http.MethodPost {
				return nil, nil
			}
			var body struct{ Unique string }
			if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
				t.Error(err)
			}
			if kept := b.list()[0].Unique; kept != body.Unique {
				t.Errorf("%s was sent while %q was kept", body.Unique, kept)
			}
			sent[body.Unique]++
			w := httptest.NewRecorder()
			r.Body = io.NopCloser(strings.NewReader(fmt.Sprintf(`{"unique":%q,"name":{"firstName":"name of","lastName":"a"}}`, body.Unique)))
			b.server.ServeHTTP(w, r)
			if n < 8 {
				return nil, errors.New("the answer was lost")
			}
			return w.Result(), nil
		}
		if got, want := b.sync(), (client.Counts{Done: 1}); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
		if id := b.list()[0].Unique; len(sent) != 1 || sent[id] != 7 {
			t.Errorf("sent %v, want %s seven times", sent, id)
		}
	})
}

// What is not a refusal by this server is tried again, at its pace; what is one is not, and its children are refused too.
func TestAnswers(t *testing.T) {
	t.Parallel()
	problem := http.Header{"Content-Type": {"application/problem+json"}}
	refusal := `{"type":"urn:semel:mathematicians:malformed","detail":"name: is missing"}`
	for name, test := range map[string]struct {
		reply   *canned
		refused bool
		pause   time.Duration // at least
	}{
		"400":                   {reply: answer(400, problem, refusal), refused: true},
		"404":                   {reply: answer(404, problem, refusal), refused: true},
		"422":                   {reply: answer(422, problem, refusal), refused: true},
		"413":                   {reply: answer(413, problem, refusal), refused: true},
		"a proxy's 404":         {reply: answer(404, nil, "not here")},
		"another's problem":     {reply: answer(400, problem, `{"type":"about:blank"}`)},
		"a hotel's page":        {reply: answer(200, http.Header{"Content-Type": {"text/html"}}, "<h1>Welcome")},
		"a redirect":            {reply: answer(302, http.Header{"Location": {"http://hotel.example/"}}, "")},
		"201 of another id":     {reply: answer(201, http.Header{"Content-Type": {"application/json"}}, `{"unique":"x"}`)},
		"201 cut off":           {reply: answer(201, http.Header{"Content-Type": {"application/json"}}, `{"uni`)},
		"500":                   {reply: answer(500, problem, refusal)},
		"429 with seconds":      {reply: answer(429, http.Header{"Retry-After": {"90"}}, ""), pause: 90 * time.Second},
		"503 with a date":       {reply: answer(503, http.Header{"Retry-After": {"Sat, 01 Jan 2000 00:05:00 GMT"}}, ""), pause: 5 * time.Minute},
		"503 for a year":        {reply: answer(503, http.Header{"Retry-After": {"31536000"}}, ""), pause: time.Hour},
		"503 with nonsense":     {reply: answer(503, http.Header{"Retry-After": {"-1"}}, "")},
		"401":                   {reply: answer(401, problem, refusal)},
		"408":                   {reply: answer(408, problem, refusal)},
		"425":                   {reply: answer(425, problem, refusal)},
		"nothing: no such host": {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				b.add(author("a"))
				b.add(paper("a1", "a"))
				b.add(author("b"))
				met := false
				b.meet = func(r *http.Request, _ int) (*http.Response, error) {
					if met || r.Method != http.MethodPost {
						return nil, nil
					}
					met = true
					return test.reply.response()
				}
				begin := time.Now()
				got := b.sync()
				took := time.Since(begin)
				want := client.Counts{Done: 3}
				if test.refused {
					want = client.Counts{Done: 1, Refused: 2}
				}
				if got != want || slices.ContainsFunc(b.asked, func(s string) bool { return !strings.Contains(s, " /api/") }) {
					t.Errorf("got %+v, want %+v; sent %v", got, want, b.asked)
				}
				if most := max(test.pause, time.Second) + 2*time.Second; took < test.pause || took > most {
					t.Errorf("it took %v, want %v to %v", took, test.pause, most)
				}
				for _, e := range b.list() {
					if reason := map[string]string{"a": ": name: is missing", "a1": "what it belongs to was refused"}[e.Ref]; test.refused && !strings.HasSuffix(e.Reason, reason) {
						t.Errorf("%s has the reason %q, want %q", e.Ref, e.Reason, reason)
					}
				}
				if _, err := b.queue.Add(t.Context(), paper("a2", "a")); test.refused != errors.Is(err, client.ErrNoParent) {
					t.Errorf("a child of it is added with %v", err)
				}
			})
		})
	}
}

// An entry that the server cannot take does not hold up the others, and pauses grow up to their bound.
func TestOneEntryHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.add(author("a"))
		b.add(author("b"))
		var at []time.Time
		b.meet = func(r *http.Request, _ int) (*http.Response, error) {
			text, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(strings.NewReader(string(text)))
			if strings.Contains(string(text), `"lastName":"a"`) {
				at = append(at, time.Now())
				return answer(500, nil, "").response()
			}
			return nil, nil
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		got, err := b.queue.Sync(ctx)
		if want := (client.Counts{Waiting: 1, Done: 1}); !errors.Is(err, context.DeadlineExceeded) || got != want {
			t.Errorf("got %+v, %v; want %+v", got, err, want)
		}
		for i := 1; i < len(at); i++ {
			full := min(200*time.Millisecond<<(i-1), time.Minute)
			if i > 10 {
				full = time.Minute
			}
			if pause := at[i].Sub(at[i-1]); pause < full/2 || pause > full+time.Second {
				t.Errorf("pause %d is %v, want %v to %v", i, pause, full/2, full)
			}
		}
		if len(at) < 60 {
			t.Errorf("%d attempts in an hour", len(at))
		}
	})
}

// One sender, in this process or another; it may begin as soon as the other has ended.
func TestOneSender(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.add(author("a"))
	sending, goOn := make(chan struct{}), make(chan struct{})
	once := sync.OnceFunc(func() { close(sending) })
	b.meet = func(r *http.Request, _ int) (*http.Response, error) {
		once()
		select {
		case <-goOn:
			return nil, nil
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
	done := make(chan error)
	go func() {
		_, err := b.queue.Sync(t.Context())
		done <- err
	}()
	<-sending
	for _, q := range []*client.Queue{b.open(), b.queue} {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		if _, err := q.Sync(ctx); !errors.Is(err, client.ErrSending) {
			t.Errorf("got %v, want ErrSending", err)
		}
		cancel()
	}
	b.add(author("b")) // adding and looking goes on
	close(goOn)
	if err := <-done; err != nil {
		t.Error(err)
	}
	if got := b.sync(); got.Done != 2 {
		t.Errorf("got %+v", got)
	}
}

// The same entry added again, even concurrently and by several processes, is kept once; another one under its ref is
// refused.
func TestAddTwice(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var running sync.WaitGroup
	for range 16 {
		q := b.open()
		running.Go(func() {
			for i := range 10 {
				if _, err := q.Add(t.Context(), author(fmt.Sprint("a", i))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	running.Wait()
	if got := len(b.list()); got != 10 {
		t.Errorf("got %d entries, want 10", got)
	}
	b.sync()
	if kept := b.add(author("a0")); kept.State != client.Done || kept.Unique == "" {
		t.Errorf("got %+v, want it done, with its id", kept)
	}
	for name, test := range map[string]struct {
		entry client.Entry
		want  error
	}{
		"other text":    {client.Entry{Ref: "a0", Kind: client.Mathematician, Text: "x"}, client.ErrRefTaken},
		"other kind":    {paper("a0", "a1"), client.ErrRefTaken},
		"no parent":     {paper("p", "nobody"), client.ErrNoParent},
		"own parent":    {paper("p", "p"), client.ErrNoParent},
		"orphan":        {client.Entry{Kind: client.Paper, Text: "x"}, client.ErrInvalid},
		"child of none": {client.Entry{Kind: client.Mathematician, Parent: "a0", Text: "x"}, client.ErrInvalid},
		"other sort":    {client.Entry{Kind: "theorem", Text: "x"}, client.ErrInvalid},
		"nothing":       {client.Entry{Kind: client.Mathematician}, client.ErrInvalid},
		"too long":      {client.Entry{Kind: client.Mathematician, Text: strings.Repeat("x", client.MaxBodyBytes+1)}, client.ErrInvalid},
		"long ref":      {client.Entry{Kind: client.Mathematician, Ref: strings.Repeat("x", client.MaxRefBytes+1), Text: "x"}, client.ErrInvalid},
	} {
		if kept, err := b.queue.Add(t.Context(), test.entry); !errors.Is(err, test.want) {
			t.Errorf("%s: got %+v, %v; want %v", name, kept, err, test.want)
		}
	}
	b.add(paper("p1", "a0"))
	if _, err := b.queue.Add(t.Context(), paper("p2", "p1")); !errors.Is(err, client.ErrNoParent) {
		t.Errorf("a paper has a paper: %v", err)
	}
	if a, b := b.add(client.Entry{Kind: client.Mathematician, Text: "x"}), b.add(client.Entry{Kind: client.Mathematician, Text: "x"}); a.Ref == b.Ref {
		t.Error("two wishes without a ref are one")
	}
}

// The server's own word on bad input reaches the person, over real HTTP.
func TestRefusedByTheRealServer(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	server := httptest.NewServer(b.server)
	defer server.Close()
	q, err := client.Open(b.path, server.URL, nil)
	noError(t, err)
	defer q.Close()
	b.add(client.Entry{Ref: "a", Kind: client.Mathematician, Text: "name\x00"})
	b.add(paper("p", "a"))
	b.add(author("b"))
	if counts, err := q.Sync(t.Context()); err != nil || counts != (client.Counts{Done: 1, Refused: 2}) {
		t.Errorf("got %+v, %v", counts, err)
	}
	want := []client.Entry{
		{Ref: "a", Reason: "400: name.lastName: holds a character that cannot be shown", State: client.Refused},
		{Ref: "p", Reason: "what it belongs to was refused", State: client.Refused},
		{Ref: "b", State: client.Done},
	}
	if diff := cmp.Diff(want, b.list(), cmpopts.IgnoreFields(client.Entry{}, "Kind", "Parent", "Text", "Unique")); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	for _, base := range []string{"", "server.example", "ftp://server.example", "http://", "http://%zz"} {
		if _, err := client.Open(filepath.Join(t.TempDir(), "q.db"), base, nil); err == nil {
			t.Errorf("%q was taken", base)
		}
	}
	if _, err := client.Open(t.TempDir(), "http://server.example", nil); err == nil || !strings.Contains(err.Error(), "SQLite file") {
		t.Errorf("got %v, want what to do", err)
	}
}
