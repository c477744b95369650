package check

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/semel-dev/semel/check/wire"
)

// testRun is one run of checks against one service.
type testRun struct {
	config *Config
	client wire.Client
	pace   *rate.Limiter
	user   *User // with the values from the log-in
	other  *User
	books  ledger
	// jars keep the cookies of users who logged in or visit pages, by user and other. logIn makes them; they do their
	// own locking.
	jars map[*User]http.CookieJar

	mu      sync.Mutex // guards the fields below
	number  int64      // the last {{n}}
	intents int        // how many were made
	sent    int
	allowed int // how many may be sent
	lookUps int
	spared  int // requests repeated after a 429
	died    error
	// doubtful holds the reason why counting is not trusted any more; nil while it is.
	doubtful error
	controls int // requests that are left for controls, and reruns for checks that run again
	reruns   int
	waited   time.Duration   // because plain requests were asked to come again
	noise    map[string]bool // the kinds of answers that they got instead of being carried out
	// ailing says why plain requests are not carried out; empty while they are. rounds counts the checks for which they
	// still were not, and over ends the run.
	ailing, over string
	rounds       int
	sample       *sample
	notes        []string
	// effectsOnce means that a repetition was found to have no second effect; explained holds the differences for which
	// basic checks failed, by their ids.
	effectsOnce bool
	explained   map[string][]string
	lag         time.Duration // how long the sample's effects took to be seen, if that was long
}

// errBudget reports a defect of a check: it tries to send more than it announced.
var errBudget = errors.New("the check tried to send more requests than it announced")

func newTestRun(c *Config) *testRun {
	return &testRun{
		config: c,
		client: wire.Client{TLS: c.TLS, Timeout: c.Timeout},
		pace:   rate.NewLimiter(rate.Limit(c.Rate), max(1, c.Parallel)),
		user:   c.User,
		other:  c.Other,
		number: time.Now().UnixMicro(),
	}
}

func (s *testRun) spend() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.died != nil:
		return s.died
	case s.sent >= s.allowed:
		return errBudget
	}
	s.sent++
	return nil
}

func (s *testRun) sentSoFar() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sent
}

// lookUp sends a request that is not to the endpoint under test.
func (s *testRun) lookUp(ctx context.Context, r *wire.Request) (*wire.Answer, error) {
	s.mu.Lock()
	s.lookUps++
	s.mu.Unlock()
	if err := s.pace.Wait(ctx); err != nil {
		return nil, err
	}
	if r.Method != http.MethodGet { // such as a log-in
		return s.client.Do(ctx, r, nil)
	}
	return s.client.LookUp(ctx, r)
}

// addNote keeps a remark about the whole run, once.
func (s *testRun) addNote(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.notes, text) {
		s.notes = append(s.notes, text)
	}
}

// lost ends the run: the service's address no longer answers.
func (s *testRun) lost(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.died == nil {
		s.died = err
	}
}
