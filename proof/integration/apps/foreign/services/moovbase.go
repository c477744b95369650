package main

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/moov-io/base/idempotent"
	"github.com/moov-io/base/idempotent/lru"
)

// moovBase serves the shop with the recorder of moov-io/base, which only stops a key that it has seen.
func moovBase(s *shop, address string) error {
	seen := lru.New()
	reply := func(w http.ResponseWriter, status int, answer any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(answer) //nolint:errchkjson // else the caller is gone
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /count", func(w http.ResponseWriter, _ *http.Request) { reply(w, http.StatusOK, s.count()) })
	mux.HandleFunc("POST /orders", func(w http.ResponseWriter, r *http.Request) {
		if _, before := idempotent.FromRequest(r, seen); before {
			idempotent.SeenBefore(w)
			return
		}
		var sent one
		_ = json.NewDecoder(r.Body).Decode(&sent) // which leaves the item empty
		status, answer := s.order(r.Header.Get("Authorization"), sent.Item)
		reply(w, status, answer)
	})
	server := &http.Server{Addr: address, Handler: mux, ReadHeaderTimeout: time.Minute}
	return server.ListenAndServe()
}
