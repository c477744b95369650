package check_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/semel-dev/semel/check"
)

// locker answers from its own map, and makes one mistake.
type locker struct {
	app   http.Handler
	claim func(l *locker, w http.ResponseWriter, r *http.Request, name string)

	mu    sync.Mutex // guards the fields below
	done  map[string]kept
	doing map[string]chan struct{}
}

func (l *locker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.claim(l, w, r, caller(r)+" "+r.Header.Get("Idempotency-Key"))
}

func newLocker(app http.Handler, claim func(*locker, http.ResponseWriter, *http.Request, string)) *locker {
	return &locker{app: app, claim: claim, done: map[string]kept{}, doing: map[string]chan struct{}{}}
}

// find looks an answer up.
func (l *locker) find(name string) (kept, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	answer, ok := l.done[name]
	return answer, ok
}

// begin claims the name, or returns a channel that is closed when its holder has settled it.
func (l *locker) begin(name string) (running chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if running, taken := l.doing[name]; taken {
		return running
	}
	l.doing[name] = make(chan struct{})
	return nil
}

// settle records the answer of a claim.
func (l *locker) settle(name string, answer kept) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.done[name] = answer
	if running, ok := l.doing[name]; ok {
		close(running)
		delete(l.doing, name)
	}
}

// run executes, records and answers.
func (l *locker) run(w http.ResponseWriter, r *http.Request, name string) {
	answer := record(l.app, r)
	l.settle(name, answer)
	answer.write(w)
}

// looksFirst reads, and then writes: of two that read at once, both run.
func looksFirst(l *locker, w http.ResponseWriter, r *http.Request, name string) {
	if answer, ok := l.find(name); ok {
		answer.write(w)
		return
	}
	l.run(w, r, name)
}

// busy answers racers with a status that the test chooses.
func busy(status int, header ...string) func(*locker, http.ResponseWriter, *http.Request, string) {
	return func(l *locker, w http.ResponseWriter, r *http.Request, name string) {
		if answer, ok := l.find(name); ok {
			answer.write(w)
			return
		}
		if l.begin(name) != nil {
			for i := 0; i+1 < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			http.Error(w, "busy", status)
			return
		}
		l.run(w, r, name)
	}
}

// TestRacersAreTold: of the answers to a request whose twin is running, some are clear refusals.
func TestRacersAreTold(t *testing.T) {
	t.Parallel()
	for status, fails := range map[int][]string{
		http.StatusForbidden: {"RACE-06"}, http.StatusServiceUnavailable: nil, http.StatusTooEarly: nil,
	} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			t.Parallel()
			app := &booth{takes: 50 * time.Millisecond}
			report := visit(t, app, front(app, newLocker(app, busy(status, "Retry-After", "0"))), func(c *check.Config) { c.Only = []string{"race"} })
			failsOnly(t, report, fails...)
		})
	}
}

// limited serves a few at once, and answers all others that it is busy.
func limited(next http.Handler, few, status int) http.Handler {
	room := make(chan struct{}, few)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case room <- struct{}{}:
			defer func() { <-room }()
			next.ServeHTTP(w, r)
		default:
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(status)
		}
	})
}

func TestBusyIsNotRefused(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusTooManyRequests, http.StatusServiceUnavailable} {
		app := &booth{takes: 50 * time.Millisecond}
		report := visit(t, app, limited(newLocker(app, looksFirst), 3, status), func(c *check.Config) { c.Only = []string{"RACE-08"} })
		failsOnly(t, report)
		passes(t, report, "RACE-08")
		if got := len(exchangesOf(report, "RACE-08")); got <= 10 || got > 20 {
			t.Errorf("%d requests for ten intents, of which three had room", got)
		}
	}
}

// TestRacesAreSkippedWhereThereIsNone: a race needs two requests at once, and streams need HTTP/2.
func TestRacesAreSkippedWhereThereIsNone(t *testing.T) {
	t.Parallel()
	app := &booth{open: true}
	url := serve(t, app)
	config := check.Config{
		Template: check.Template{Method: "POST", URL: url, Body: []byte(`{"seat":{{n}}}`)}, Profile: check.Profiles()[0],
		Counters: []check.Counter{app}, Only: []string{"race", "UNIQ-03", "SCOPE-05"}, Level: check.LevelStrict,
		Other: bearer("bob"), Parallel: 1,
	}
	if plan, err := check.NewPlan(config); err == nil {
		t.Errorf("a single request is not a race, but %d checks were planned", len(plan.Checks))
	}
	config.Parallel, config.Only = 2, []string{"RACE-05"}
	report, err := tryOut(t, config)
	if err != nil || report.Results[0].Verdict != check.Skipped {
		t.Errorf("without HTTP/2: %v, %v", report.Results[0], err)
	}
}

// TestRacesEndWithTheService: the service is gone if no request of a whole volley reaches it.
func TestRacesEndWithTheService(t *testing.T) {
	t.Parallel()
	app := &booth{open: true}
	server := httptest.NewUnstartedServer(nil)
	var sales atomic.Int64
	server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		app.ServeHTTP(w, r)
		if sales.Add(1) == 2 { // those of the sample
			_ = server.Listener.Close()
		}
	})
	server.Start()
	t.Cleanup(server.Close)
	report, err := tryOut(t, check.Config{
		Template: check.Template{Method: "POST", URL: server.URL, Body: []byte(`{"seat":{{n}}}`)}, Profile: check.Profiles()[0],
		Counters: []check.Counter{app}, Only: []string{"RACE-01", "RACE-06"},
	})
	if err != nil || !strings.Contains(report.Died, "could not be reached") || len(having(report, check.Incomplete)) != 2 {
		t.Errorf("died: %q, %v, %v", report.Died, having(report, check.Incomplete), err)
	}
}
