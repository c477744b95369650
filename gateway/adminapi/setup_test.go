package adminapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/gateway/adminapi"
	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/operator"
	"github.com/semel-dev/semel/store/logstore"
	"github.com/semel-dev/semel/store/memstore"
	"github.com/semel-dev/semel/store/sqlitestore"
)

const (
	aliceToken = "alice-0123456789abcdef0123456789abcdef"
	robinToken = "robin-0123456789abcdef0123456789abcdef" // may only look

	patience = time.Minute
)

// recordPath is the prefix of a path that names one record.
var recordPath = regexp.MustCompile(`^/v1/records/[0-9a-fA-F]{64}`)

// world is an API on a real listener, over a guard and its store.
type world struct {
	guard  *semel.Guard
	store  semel.Store
	url    string
	client *http.Client
	log    *logBuffer
}

// logBuffer is a log that many goroutines write.
type logBuffer struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// stores are the stores that every endpoint is tried on.
func stores() map[string]func(*testing.T) semel.Store {
	return map[string]func(*testing.T) semel.Store{
		"memory": func(*testing.T) semel.Store { return memstore.New(nil) },
		"sqlite": func(t *testing.T) semel.Store {
			t.Helper()
			return must.Get(sqlitestore.Open(t.Context(), filepath.Join(t.TempDir(), "semel.db"), nil))
		},
		"log": func(t *testing.T) semel.Store {
			t.Helper()
			return must.Get(logstore.Open(t.Context(), filepath.Join(t.TempDir(), "semel.log"), nil))
		},
	}
}

// open starts an API over the store; set may change its options before.
func open(t *testing.T, store semel.Store, set func(*adminapi.Options)) *world {
	t.Helper()
	return openGuard(t, store, &semel.Options{SweepEvery: -1}, set)
}

func openGuard(t *testing.T, store semel.Store, guardOptions *semel.Options, set func(*adminapi.Options)) *world {
	t.Helper()
	guard := must.Get(semel.New(store, guardOptions))
	w := &world{guard: guard, store: store, log: &logBuffer{}}
	opts := &adminapi.Options{
		Tokens: []adminapi.Token{token(t, "alice", aliceToken, false), token(t, "robin", robinToken, true)},
		Logger: slog.New(slog.NewTextHandler(w.log, nil)),
	}
	if set != nil {
		set(opts)
	}
	api := must.Get(adminapi.New(guard, opts))
	server := httptest.NewServer(api)
	transport := &http.Transport{}
	w.url, w.client = server.URL, &http.Client{Transport: transport, Timeout: patience}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		server.Close()
		if err := errors.Join(guard.Close(), store.Close()); err != nil {
			t.Error(err)
		}
	})
	return w
}

func token(t *testing.T, name, secret string, readOnly bool) adminapi.Token {
	t.Helper()
	return must.Get(adminapi.NewToken(name, secret, readOnly))
}

// reply is an answer, read to its end.
type reply struct {
	status int
	header http.Header
	body   string
}

func (r *reply) problem() string {
	var p struct{ Type string }
	_ = json.Unmarshal([]byte(r.body), &p)
	return strings.TrimPrefix(p.Type, "urn:semel:problem:")
}

func (r *reply) field() string {
	var p struct{ Field string }
	_ = json.Unmarshal([]byte(r.body), &p)
	return p.Field
}

// record is the part of a record's JSON that tests look at.
type record struct {
	Digest, Scope, Name, State, Note string
	Fence                            uint64
	Kept                             bool
	Outcome                          *struct {
		Status      int
		Location    string
		ContentType string `json:"content_type"`
		Bytes       int
		BodyOmitted bool `json:"body_omitted"`
	}
}

type page struct {
	Records  []record
	Examined int
	Next     string
}

type entry struct {
	Operator, Via, Act, Reason, Digest, Scope, Name, Before, As string
	Position                                                    uint64
}

type trail struct {
	Entries  []entry
	Examined int
	Next     string
}

// raw sends a request with exactly these headers, pairs of name and value.
func (w *world) raw(t *testing.T, method, path, body string, header ...string) reply {
	t.Helper()
	var from io.Reader
	if body != "" {
		from = strings.NewReader(body)
	}
	req := must.Get(http.NewRequestWithContext(t.Context(), method, w.url+path, from))
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Add(header[i], header[i+1])
	}
	res, err := w.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	return reply{res.StatusCode, res.Header, string(must.Get(io.ReadAll(res.Body)))}
}

// send calls as alice, who looks at a record before her verdict.
func (w *world) send(t *testing.T, method, path, body string) reply {
	t.Helper()
	header := []string{"Authorization", "Bearer " + aliceToken}
	if seen := recordPath.FindString(path); seen != "" && method != http.MethodGet {
		if tag := w.send(t, http.MethodGet, seen, "").header.Get("ETag"); tag != "" {
			header = append(header, "If-Match", tag)
		}
	}
	if body != "" {
		header = append(header, "Content-Type", "application/json")
	}
	return w.raw(t, method, path, body, header...)
}

// get reads an answer that must be fine.
func get[T any](t *testing.T, r reply) T {
	t.Helper()
	var out T
	if r.status != http.StatusOK {
		t.Fatalf("got %d %s, want 200", r.status, r.body)
	}
	if err := json.Unmarshal([]byte(r.body), &out); err != nil {
		t.Fatalf("%v in %s", err, r.body)
	}
	return out
}

// refused checks a refusal; field is that of a bad request, or empty.
func refused(t *testing.T, what string, r reply, status int, name, field string) {
	t.Helper()
	if r.status != status || r.problem() != name || r.field() != field {
		t.Errorf("%s: got %d %s, want %d %s %q", what, r.status, r.body, status, name, field)
	}
	if got := r.header.Get("Content-Type"); got != "application/problem+json" {
		t.Errorf("%s: the refusal is %q", what, got)
	}
	checkHeader(t, what, r)
}

// checkHeader looks at what every answer says to browsers and caches.
func checkHeader(t *testing.T, what string, r reply) {
	t.Helper()
	if r.header.Get("Cache-Control") != "no-store" || r.header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("%s: it may be cached or sniffed: %v", what, r.header)
	}
	for name := range r.header {
		if strings.HasPrefix(name, "Access-Control-") || name == "Set-Cookie" {
			t.Errorf("%s: it has the header %s", what, name)
		}
	}
}

// settle leaves a record behind: completed, or else unknown.
func (w *world) settle(t *testing.T, scope, name string, state semel.State, outcome []byte) semel.Digest {
	t.Helper()
	key := semel.Key{Scope: scope, Name: name}
	claim := w.claim(t, key)
	var err error
	if state == semel.StateCompleted {
		err = claim.Complete(outcome, nil)
	} else {
		err = claim.Unknown("the upstream hung up")
	}
	if err != nil {
		t.Fatal(err)
	}
	return w.guard.Digest(key)
}

func (w *world) claim(t *testing.T, key semel.Key) *semel.Claim {
	t.Helper()
	claim, rec, err := w.guard.Begin(t.Context(), key, semel.FingerprintOf("x"))
	if err != nil || claim == nil {
		t.Fatalf("begin: got %v %v", rec, err)
	}
	return claim
}

// hold has another process claim a key.
func (w *world) hold(t *testing.T, key semel.Key, lease time.Duration) {
	t.Helper()
	p := semel.ClaimParams{Digest: key.Digest(), Scope: key.Scope, Name: key.Name, Owner: semel.Owner{1}, Lease: lease, Retention: time.Hour}
	if _, _, err := w.store.Claim(t.Context(), p); err != nil {
		t.Fatal(err)
	}
}

func (w *world) records(t *testing.T) *operator.Records {
	t.Helper()
	return must.Get(operator.New(w.guard, nil))
}

// entries returns the audit trail, as the guard has it.
func (w *world) entries(t *testing.T) []operator.Entry {
	t.Helper()
	return must.Get(w.records(t).Audit(t.Context(), operator.AuditParams{})).Entries
}

// lookup returns the record's state; absent for none.
func (w *world) lookup(t *testing.T, d semel.Digest) semel.State {
	t.Helper()
	rec, err := w.store.Lookup(context.WithoutCancel(t.Context()), d)
	if errors.Is(err, semel.ErrNotFound) {
		return semel.StateAbsent
	}
	if err != nil {
		t.Fatal(err)
	}
	return rec.State
}
