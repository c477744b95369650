// Package pairs serves the middleware of semelhttp under every one of its options, so that clients in Go, Python and TypeScript
// are tested with each of them. The first answer of every order is lost on its way.
package pairs

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/memdb"
	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/semelhttp"
	"github.com/semel-dev/semel/store/memstore"
)

// OtherHeader is read by some rows in place of the usual one.
const OtherHeader = "X-Order-Key"

// Row is one setting of the options.
type Row struct {
	Name string `json:"name"`
	// Names is the text that the refusal of a client with the usual header must contain; "" where it is not refused.
	Names   string            `json:"names"`
	Options semelhttp.Options `json:"-"`
}

// Rows returns a setting for each field of the options. A test fails for a field without one.
func Rows() []Row {
	type o = semelhttp.Options
	return []Row{
		{Name: "defaults"},
		{Name: "other-header", Names: OtherHeader, Options: o{Key: semelhttp.FromHeader(OtherHeader)}},
		{Name: "other-header-required", Names: OtherHeader, Options: o{Key: semelhttp.FromHeader(OtherHeader), Required: true}},
		{Name: "json-member", Options: o{Key: semelhttp.FromJSONPointer("/id")}},
		{Name: "derived", Options: o{Key: semelhttp.Derived(semelhttp.DerivedKey{Fields: []string{"id"}})}},
		{Name: "required", Options: o{Required: true}},
		{Name: "methods", Options: o{Methods: []string{http.MethodPut, http.MethodPost}}},
		{Name: "max-body", Options: o{MaxBodyBytes: 100}},
		{Name: "spool", Options: o{SpoolBytes: 1, SpoolDir: os.TempDir()}},
		{Name: "max-response", Options: o{MaxResponseBytes: 1000}},
		{Name: "max-captured", Options: o{MaxCapturedBytes: 1000}},
		{Name: "transactor", Options: o{Transactor: (*memdb.DB)(nil)}}, // one is opened for the row
		{Name: "max-held", Options: o{Transactor: (*memdb.DB)(nil), MaxHeldBytes: 16 << 20}},
		{Name: "on-5xx", Options: o{On5xx: semelhttp.UnknownOn5xx}},
		{Name: "buffer-flush", Options: o{BufferFlush: true}},
		{Name: "abandon-after", Options: o{AbandonAfter: time.Second}},
		{Name: "canonical-json", Options: o{Fingerprint: semelhttp.FingerprintOptions{CanonicalJSON: true, MaxCanonicalBytes: 10}}},
		{Name: "fingerprint-headers", Options: o{Fingerprint: semelhttp.FingerprintOptions{Headers: []string{"X-Tenant"}}}},
		{Name: "fingerprint-func", Options: o{Fingerprint: semelhttp.FingerprintOptions{
			Func: func(*http.Request, *semelhttp.Body) (semel.Fingerprint, error) {
				return semel.FingerprintOf("order"), nil
			},
		}}},
		{Name: "before-replay", Options: o{BeforeReplay: func(*http.Request, *semel.Record) error { return nil }}},
		{Name: "fail-open", Options: o{FailOpen: true}},
		{Name: "policy", Options: o{PolicyURL: "/policy", ScopeText: "the account"}},
		{Name: "in-flight-503", Options: o{InFlightStatus: http.StatusServiceUnavailable}},
		{Name: "stripe", Options: o{StripeErrors: true}},
		{Name: "on-decision", Options: o{OnDecision: noDecision}},
	}
}

// Server has a middleware for each row.
type Server struct {
	http.Handler

	mu      sync.Mutex // guards the field below
	effects map[string]int
}

// New returns the server of the rows: POST and PUT to /ROW/orders make one order, GET of /ROW/effects says how many were made, and
// GET of /rows lists them. close ends it.
func New() (server *Server, end func(), err error) {
	s := &Server{effects: map[string]int{}}
	mux := http.NewServeMux()
	s.Handler = mux
	var open []func() error
	end = func() {
		for _, one := range open {
			_ = one() // of memory
		}
	}
	for _, row := range Rows() {
		db := memdb.New(memstore.New(nil), nil)
		guard, err := semel.New(db, nil)
		if err != nil {
			return nil, end, err
		}
		open = append(open, guard.Close, db.Close)
		if row.Options.Transactor != nil {
			row.Options.Transactor = db
		}
		if row.Options.OnDecision == nil {
			row.Options.OnDecision = noDecision
		}
		m, err := semelhttp.New(guard, semelhttp.ScopeBy(func(*http.Request) string { return row.Name }), &row.Options)
		if err != nil {
			return nil, end, fmt.Errorf("the row %s: %w", row.Name, err)
		}
		mux.Handle("/"+row.Name+"/orders", losing(m.Handler(s.order(row.Name))))
		mux.HandleFunc("GET /"+row.Name+"/effects", func(w http.ResponseWriter, _ *http.Request) { reply(w, s.Effects(row.Name)) })
	}
	mux.HandleFunc("GET /rows", func(w http.ResponseWriter, _ *http.Request) { reply(w, Rows()) })
	return s, end, nil
}

func noDecision(context.Context, semelhttp.Decision) {}

// Effects returns how many orders a row has.
func (s *Server) Effects(row string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.effects[row]
}

func (s *Server) order(row string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		s.mu.Lock()
		s.effects[row]++
		n := s.effects[row]
		s.mu.Unlock()
		w.WriteHeader(http.StatusCreated)
		reply(w, n)
	})
}

func reply(w http.ResponseWriter, value any) {
	_, _ = w.Write(append(must.Get(json.Marshal(value)), '\n')) // the caller may have gone
}

// losing loses each second answer, the first among them, unless it is a refusal.
func losing(next http.Handler) http.Handler {
	var mu sync.Mutex
	lost := false
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := httptest.NewRecorder()
		next.ServeHTTP(answer, r)
		if answer.Code < http.StatusBadRequest {
			mu.Lock()
			lost = !lost
			now := lost
			mu.Unlock()
			if now {
				panic(http.ErrAbortHandler) //nolint:forbidigo // net/http's way to give no answer.
			}
		}
		maps.Copy(w.Header(), answer.Header())
		w.WriteHeader(answer.Code)
		_, _ = w.Write(answer.Body.Bytes())
	})
}
