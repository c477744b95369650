// Command guarded has guards of every kind, and one route without.
package main

import (
	"context"
	"database/sql"
	"net/http"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/semelhttp"
)

type server struct {
	db    *sql.DB
	door  *semelhttp.Middleware
	guard *semel.Guard
}

func (s *server) debit(ctx context.Context) (int, error) {
	_, err := s.db.ExecContext(ctx, "UPDATE account SET balance = balance - 1 WHERE id = $1", 1)
	return 0, err
}

func (s *server) create(w http.ResponseWriter, r *http.Request) { _, _ = s.debit(r.Context()) }

func (s *server) once(w http.ResponseWriter, r *http.Request) {
	_, _ = semel.Do(r.Context(), s.guard, semel.Key{}, s.debit)
}

func (s *server) below(w http.ResponseWriter, r *http.Request) { s.once(w, r) }

func (s *server) byHand(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Idempotency-Key") != "" {
		_, _ = s.debit(r.Context())
	}
}

func (s *server) protect(h http.HandlerFunc) http.Handler { return s.door.Handler(h) }

func (s *server) twice(h http.HandlerFunc) http.Handler { return s.protect(h) }

func (s *server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("POST /wrapped", s.door.Handler(http.HandlerFunc(s.create)))
	mux.Handle("POST /protected", s.protect(s.create))
	mux.Handle("POST /twice", s.twice(s.create))
	mux.HandleFunc("POST /once", s.once)
	mux.HandleFunc("POST /below", s.below)
	mux.HandleFunc("POST /hand", s.byHand)
	mux.HandleFunc("POST /forgotten", s.create) // want `unguarded-handler: POST /forgotten`
	return mux
}

func main() {
	s := &server{}
	_ = http.ListenAndServe(":80", s.routes())
}
