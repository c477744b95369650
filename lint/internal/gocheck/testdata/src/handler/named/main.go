// Command named has guards of its own, which the options name.
package main

import (
	"database/sql"
	"net/http"
)

type server struct{ db *sql.DB }

func once(h http.HandlerFunc) http.HandlerFunc { return h }

func (s *server) once() {}

func (s *server) create(w http.ResponseWriter, r *http.Request) {
	_, _ = s.db.ExecContext(r.Context(), "UPDATE account SET balance = balance - 1 WHERE id = $1", 1)
}

func (s *server) asks(w http.ResponseWriter, r *http.Request) {
	s.once()
	s.create(w, r)
}

func main() {
	s, mux := &server{}, http.NewServeMux()
	mux.HandleFunc("POST /once", once(s.create))
	mux.HandleFunc("POST /asks", s.asks)
	mux.HandleFunc("POST /bare", s.create) // want `unguarded-handler: POST /bare`
}
