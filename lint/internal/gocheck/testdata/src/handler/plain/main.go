// Command plain registers handlers with net/http.
package main

import (
	"context"
	"database/sql"
	"net/http"
)

type server struct{ db *sql.DB }

func (s *server) debit(ctx context.Context) error {
	_, err := s.db.ExecContext(ctx, "UPDATE account SET balance = balance - 1 WHERE id = $1", 1)
	return err
}

func (s *server) create(w http.ResponseWriter, r *http.Request) {
	if err := s.debit(r.Context()); err != nil {
		w.WriteHeader(http.StatusInternalServerError)
	}
}

func (s *server) settle(w http.ResponseWriter, r *http.Request) {
	_, _ = s.db.ExecContext(r.Context(), "UPDATE account SET balance = 0 WHERE id = $1", 1)
}

func (s *server) read(w http.ResponseWriter, r *http.Request) {
	_, _ = s.db.QueryContext(r.Context(), "SELECT balance FROM account")
}

func (s *server) dynamic(w http.ResponseWriter, r *http.Request) {
	_, _ = s.db.ExecContext(r.Context(), r.FormValue("sql"))
}

func (s *server) asks(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodGet:
		s.read(w, r)
	case http.MethodPost:
		s.create(w, r)
	}
}

func (s *server) only(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	s.create(w, r)
}

// The write is one of another method.
func (s *server) counts(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodGet:
		s.create(w, r)
	case http.MethodPost:
		s.settle(w, r)
	}
}

type served struct{ server }

func (s *served) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.create(w, r) }

func logged(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { next.ServeHTTP(w, r) })
}

func (s *server) part() http.Handler {
	part := http.NewServeMux()
	part.HandleFunc("GET /part", s.create)
	return part
}

func main() {
	s, mux := &server{}, http.NewServeMux()
	mux.HandleFunc("POST /orders", s.create) // want `unguarded-handler: POST /orders has no guard, and each repetition of the request runs a write that is not safe to run twice \(relative-value\): \(\*server\).create \(plain/main.go:17\) → \(\*server\).debit \(plain/main.go:12\) → UPDATE account SET balance = balance - 1 WHERE id = \$1 \(plain/main.go:13\) \(not safe\)`
	mux.HandleFunc("GET /orders", s.create)
	mux.HandleFunc("DELETE /orders", s.create)
	mux.HandleFunc("POST /settle", s.settle)
	mux.HandleFunc("POST /search", s.read)
	mux.HandleFunc("PUT /dynamic", s.dynamic) // want `unguarded-handler: PUT /dynamic .* cannot be shown to be safe .*cannot tell`
	mux.HandleFunc("/asks", s.asks)           // want `unguarded-handler: /asks`
	mux.HandleFunc("/only", s.only)           // want `unguarded-handler: /only`
	mux.HandleFunc("/counts", s.counts)
	mux.HandleFunc("/all", s.create)
	mux.Handle("PATCH /served", &served{})                                         // want `unguarded-handler: PATCH /served`
	mux.Handle("POST /logged", logged(http.HandlerFunc(s.create)))                 // want `unguarded-handler: POST /logged`
	mux.HandleFunc("POST /literal", func(w http.ResponseWriter, r *http.Request) { // want `unguarded-handler: POST /literal`
		_ = s.debit(r.Context())
	})
	h := logged(http.HandlerFunc(s.create))
	mux.Handle("POST /variable", h) // want `unguarded-handler: POST /variable`
	mux.Handle("POST /part", s.part())
	//semel:safe the client sends each of these once
	mux.HandleFunc("POST /answered", s.create)
	_ = http.ListenAndServe(":80", logged(mux))
}
