package check_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/check"
	"github.com/semel-dev/semel/semelhttp"
)

// protectedOrders puts Semel's middleware around orders, and publishes its policy.
func protectedOrders(t *testing.T, app http.Handler, policy semel.Policy, options *semelhttp.Options) http.Handler {
	t.Helper()
	door := middleware(t, nil, policy, oneScope, options)
	mux := http.NewServeMux()
	mux.Handle("/", door.Handler(app))
	mux.Handle("GET "+semelhttp.DefaultPolicyURL, door.PolicyHandler())
	return mux
}

// TestResourcePasses runs against services whose client names the resource that its PUT creates. A second PUT replaces
// the resource, or only finds it.
func TestResourcePasses(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		again int // the status of a PUT to what is there
		keeps bool
	}{
		"replaced": {again: http.StatusOK}, "replaced in silence": {again: http.StatusNoContent}, "kept": {http.StatusOK, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app := &orders{}
			config := trial(t, &shelf{orders: app, again: test.again, keeps: test.keeps, made: map[string]string{}}, app)
			config.Template.Method = http.MethodPut
			config.Template.URL += "/{{key}}"
			config.Profile, _ = check.ProfileNamed("resource")
			config.Only, config.Level = nil, check.LevelShould
			report := expectBad(t, config)
			for _, id := range []string{"MIS-03", "SIZE-07"} {
				if got := resultOf(t, report, id); (got.Verdict == check.Skipped) == test.keeps {
					t.Errorf("%s: %s, %s", id, got.Verdict, got.Reason)
				}
			}
		})
	}
}

// shelf keeps the resources that are put on it.
type shelf struct {
	orders *orders
	again  int  // the status of a PUT to what is there
	keeps  bool // other content is refused, and replaces nothing

	mu   sync.Mutex // guards the field below
	made map[string]string
}

func (s *shelf) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var order struct{ N json.Number }
	if err != nil || json.Unmarshal(body, &order) != nil || order.N == "" || r.Method != http.MethodPut {
		http.Error(w, "no order", http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	was, known := s.made[r.URL.Path]
	content := r.URL.RawQuery + r.Header.Get("Content-Type") + string(body)
	status := s.again
	switch {
	case known && s.keeps && was != content:
		http.Error(w, "there is another", http.StatusConflict)
		return
	case !known:
		s.orders.taken.Add(1)
		w.Header().Set("Location", r.URL.Path)
		status = http.StatusCreated
	}
	s.made[r.URL.Path] = content
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if status != http.StatusNoContent {
		_, _ = fmt.Fprintf(w, `{"path":%q,"n":%s}`, r.URL.Path, order.N)
	}
}

// outdated counts an earlier state, as a cached page does.
type outdated struct {
	check.Counter

	keeps time.Duration

	mu    sync.Mutex // guards the fields below
	at    time.Time
	count int64
}

func (o *outdated) Count(ctx context.Context, fill func(string) string) (n int64, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if time.Since(o.at) > o.keeps {
		if o.count, err = o.Counter.Count(ctx, fill); err != nil {
			return 0, err
		}
		o.at = time.Now()
	}
	return o.count, nil
}

// TestOutdatedCountAccusesNoService counts behind the effects, but within the time in which they may be seen.
func TestOutdatedCountAccusesNoService(t *testing.T) {
	t.Parallel()
	d := newDesk()
	d.app = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		<-time.After(150 * time.Millisecond)
		d.orders.ServeHTTP(w, r)
	})
	config := trial(t, d, &outdated{Counter: d, keeps: 350 * time.Millisecond})
	config.Settle, config.Only = time.Second, []string{"basics", "KEY-01", "last"}
	expectBad(t, config)
}
