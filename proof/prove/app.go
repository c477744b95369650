package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync/atomic"
	"time"
)

// One request of failEvery fails after its effect.
const failEvery = 50

// app knows nothing of keys: every POST makes a line in a file, and is answered with its value.
type app struct {
	witness *os.File // takes a line in one call
	made    atomic.Int64
}

// serve runs the application until it is killed.
func (e *errand) serve(ctx context.Context) error {
	witness, err := os.OpenFile(e.Witness, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	server := &http.Server{Addr: e.Address, ReadHeaderTimeout: 10 * time.Second, Handler: &app{witness: witness}}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	_, _ = os.Stdout.WriteString("open\n") // see announcement
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return witness.Close()
}

// ServeHTTP makes a line. It answers 500 at times, although it has made one.
func (a *app) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var asked wish
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	made := a.made.Add(1)
	value := fmt.Sprintf("%d-%d", os.Getpid(), made)
	if _, err := fmt.Fprintf(a.witness, "%s %s\n", asked.Key, value); err != nil || made%failEvery == 0 {
		http.Error(w, "it is not known whether it happened", http.StatusInternalServerError)
		return
	}
	w.WriteHeader(http.StatusCreated)
	_, _ = fmt.Fprint(w, value) // the client may have gone
}
