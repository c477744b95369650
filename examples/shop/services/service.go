package services

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"
)

const maxBody = 1 << 20

// service holds the parts that the processes of the shop have in common.
type service struct {
	db     *sql.DB
	faults faults
	client *http.Client
	log    *slog.Logger
}

// answering makes a handler of a function that returns a status and a body.
func answering(fn func(r *http.Request) (int, any, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status, body, err := fn(r)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			status, body = http.StatusNotFound, map[string]string{"error": "not found"}
		case err != nil:
			status, body = http.StatusInternalServerError, map[string]string{"error": err.Error()}
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(body) // the caller may be gone
	})
}

func decode(r *http.Request, v any) error {
	return json.NewDecoder(io.LimitReader(r.Body, maxBody)).Decode(v)
}

// post sends v as JSON, with a key unless it is empty.
func (s *service) post(ctx context.Context, address, key string, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	return s.do(req, http.StatusCreated)
}

// get returns nil when address names something, and [sql.ErrNoRows] when it does not.
func (s *service) get(ctx context.Context, address string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return err
	}
	return s.do(req, http.StatusOK)
}

func (s *service) do(req *http.Request, want int) error {
	resp, err := s.client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxBody))
	switch {
	case err != nil:
		return err
	case resp.StatusCode == http.StatusNotFound:
		return sql.ErrNoRows
	case resp.StatusCode != want:
		return fmt.Errorf("%s %s: %s: %s", req.Method, req.URL, resp.Status, text)
	}
	return nil
}

// pause waits, and reports whether the service goes on.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
