package webhook

import (
	"net/http"
	"strconv"
	"sync"
	"time"
)

const (
	// An endpoint that does not answer, or asks for time, is left alone: firstRest, and twice
	// as long after each failure, up to mostRest; as long as Retry-After says, up to mostAsked.
	firstRest = time.Second
	mostRest  = time.Minute
	mostAsked = time.Hour
	// maxTargets bounds the endpoints of which something is remembered.
	maxTargets = 16 << 10
)

// target holds what a sender knows of an endpoint. The holder of slot owns the fields below it.
type target struct {
	users    int           // guarded by targets.mu
	slot     chan struct{} // taken by the delivery under way
	rest     time.Time     // no delivery begins before it
	failures int           // in a row, of those after which it rests
	gone     string        // the URL that answered 410
}

// noteAttempt remembers an attempt.
func (t *target) noteAttempt(after time.Duration, err error) {
	if err == nil || after == 0 {
		t.failures, t.rest = 0, time.Time{}
		return
	}
	own := min(firstRest<<min(t.failures, 10), mostRest) //nolint:mnd // no overflow.
	t.failures++
	t.rest = time.Now().Add(max(own, after))
}

// targets holds the endpoints that are in use, and those that failed.
type targets struct {
	mu  sync.Mutex // guards the field below
	all map[string]*target
}

// use returns the endpoint, until leave.
func (s *targets) use(name string) *target {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[string]*target{}
	}
	t := s.all[name]
	if t == nil {
		t = &target{slot: make(chan struct{}, 1)}
		s.all[name] = t
	}
	t.users++
	return t
}

// leave forgets the endpoint when nothing is to be remembered, or too much is.
func (s *targets) leave(name string, t *target) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t.users--
	if t.users == 0 && (t.failures == 0 && t.gone == "" || len(s.all) > maxTargets) {
		delete(s.all, name)
	}
}

// retryAfter reads the header Retry-After: seconds, or a date.
func retryAfter(text string) time.Duration {
	if n, err := strconv.Atoi(text); err == nil {
		return time.Duration(min(max(0, n), int(mostAsked/time.Second))) * time.Second
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	return min(max(0, time.Until(at)), mostAsked)
}
