package check_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/semel-dev/semel/internal/webhooksig"
)

// receiver takes webhooks, and for each does something that calls a dependency. It is correct unless a mistake breaks
// it in one way.
type receiver struct {
	mistake mistake
	secret  []byte
	prefix  string // of the names of its header lines

	mu      sync.Mutex
	effects int64
	fails   int             // calls of the dependency that are still to fail
	seen    map[string]bool // ids; true when their request was done
	failed  map[string]bool // ids of payloads that ask for a failure, and got it
}

const marksFirst mistake = "an id is seen before it succeeds"

func newReceiver(m mistake) *receiver {
	return &receiver{mistake: m, secret: []byte("secret"), prefix: "Webhook-", seen: map[string]bool{}, failed: map[string]bool{}}
}

// Name, PerIntent and Count make it a counter, FailNext and Pending a dependency.
func (s *receiver) Name() string    { return "the receiver" }
func (s *receiver) PerIntent() bool { return false }
func (s *receiver) Count(context.Context, func(string) string) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.effects, nil
}

func (s *receiver) FailNext(n, _ int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fails = n
}

func (s *receiver) Pending() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fails
}

// verified accepts deliveries with a valid signature and a recent time.
func (s *receiver) verified(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		seconds, _ := strconv.ParseInt(r.Header.Get(s.prefix+"Timestamp"), 10, 64)
		at := time.Unix(seconds, 0)
		good := webhooksig.Sign(s.secret, r.Header.Get(s.prefix+"Id"), at, body)
		switch {
		case r.Header.Get(s.prefix+"Signature") != good:
			http.Error(w, "not signed", http.StatusUnauthorized)
		case time.Since(at).Abs() > 5*time.Minute:
			http.Error(w, "too old", http.StatusBadRequest)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// process has the effect, unless the dependency fails.
func (s *receiver) process(id, payload string) error {
	<-time.After(30 * time.Millisecond)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fails > 0 {
		s.fails--
		return errors.New("the dependency failed")
	}
	if strings.Contains(payload, "fails once") && !s.failed[id] || strings.Contains(payload, "fails always") {
		s.failed[id] = true
		return errors.New("it fails")
	}
	s.effects++
	return nil
}

// ServeHTTP answers 409 while the first is running, and remembers an id when its request is done.
func (s *receiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	payload, _ := io.ReadAll(r.Body)
	ids := r.Header.Values(s.prefix + "Id")
	if len(ids) != 1 || ids[0] == "" {
		http.Error(w, "one id is needed", http.StatusBadRequest)
		return
	}
	id := ids[0]
	s.mu.Lock()
	done, known := s.seen[id]
	if !known {
		s.seen[id] = s.mistake == marksFirst
	}
	s.mu.Unlock()
	switch {
	case known && !done:
		http.Error(w, "known", http.StatusConflict)
	case known:
		w.WriteHeader(http.StatusNoContent)
	default:
		s.finish(w, id, string(payload))
	}
}

func (s *receiver) finish(w http.ResponseWriter, id, payload string) {
	err := s.process(id, payload)
	s.mu.Lock()
	switch {
	case err == nil:
		s.seen[id] = true
	case s.mistake != marksFirst:
		delete(s.seen, id)
	}
	s.mu.Unlock()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}
