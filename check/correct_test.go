package check_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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

// TestSemelPassesInEveryMode also knows the few checks that are skipped.
func TestSemelPassesInEveryMode(t *testing.T) {
	t.Parallel()
	anywhere := []string{"BASIC-13", "MIS-09"}
	for name, given := range map[string]struct {
		profile string
		policy  semel.Policy
		options semelhttp.Options
		skipped []string
	}{
		"default":        {profile: "ietf", skipped: anywhere},
		"required":       {profile: "ietf", options: semelhttp.Options{Required: true}, skipped: anywhere},
		"canonical JSON": {profile: "ietf", options: semelhttp.Options{Fingerprint: semelhttp.FingerprintOptions{CanonicalJSON: true}}, skipped: anywhere},
		"store on 5xx":   {profile: "ietf", options: semelhttp.Options{On5xx: semelhttp.StoreOn5xx}, skipped: anywhere},
		"no waiting":     {profile: "ietf", policy: semel.Policy{Wait: semel.NoWait}, skipped: anywhere},
		"stripe":         {profile: "stripe", skipped: []string{"BASIC-13", "KEY-03", "KEY-12", "KEY-13", "MIS-09"}},
		"dedup": {profile: "dedup", policy: semel.Policy{Dedup: true}, skipped: []string{
			"BASIC-03", "BASIC-04", "BASIC-05", "BASIC-08", "BASIC-12", "MIS-02", "MIS-03", "MIS-04", "MIS-05", "MIS-06", "MIS-07", "MIS-09", "MIS-10", "MIS-12",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app := &orders{}
			config := trial(t, protectedOrders(t, app, given.policy, &given.options), app)
			config.Profile, _ = check.ProfileNamed(given.profile)
			report := expectBad(t, config)
			wantHaving(t, report, check.Skipped, given.skipped)
		})
	}
}

func TestDeskPasses(t *testing.T) {
	t.Parallel()
	d := newDesk()
	report := expectBad(t, trial(t, d, d))
	wantHaving(t, report, check.Skipped, []string{"BASIC-13", "MIS-09"})
}

// TestReplacingResourcePasses runs against a service whose PUT creates or replaces a resource.
func TestReplacingResourcePasses(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusOK, http.StatusNoContent} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			t.Parallel()
			app := &orders{}
			config := trial(t, &shelf{orders: app, again: status, made: map[string]bool{}}, app)
			config.Template.Method = http.MethodPut
			config.Template.URL += "/{{key}}"
			config.Profile, _ = check.ProfileNamed("resource")
			config.Only, config.Level = nil, check.LevelShould
			report := expectBad(t, config)
			for _, id := range []string{"MIS-03", "SIZE-07"} {
				if got := resultOf(t, report, id); got.Verdict != check.Skipped {
					t.Errorf("%s: %s, %s", id, got.Verdict, got.Reason)
				}
			}
		})
	}
}

// shelf keeps the resources that are put on it, and replaces existing ones.
type shelf struct {
	orders *orders
	again  int // the status of a PUT to what is there

	mu   sync.Mutex // guards the field below
	made map[string]bool
}

func (s *shelf) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var order struct{ N json.Number }
	if err != nil || json.Unmarshal(body, &order) != nil || order.N == "" || r.Method != http.MethodPut {
		http.Error(w, "no order", http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	known := s.made[r.URL.Path]
	s.made[r.URL.Path] = true
	s.mu.Unlock()
	status := s.again
	if !known {
		s.orders.taken.Add(1)
		w.Header().Set("Location", r.URL.Path)
		status = http.StatusCreated
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if status != http.StatusNoContent {
		_, _ = fmt.Fprintf(w, `{"path":%q,"n":%s}`, r.URL.Path, order.N)
	}
}

// TestResourcePasses runs against a service whose client names the resource it creates: the second PUT finds it, and
// answers 200.
func TestResourcePasses(t *testing.T) {
	t.Parallel()
	app := &orders{}
	made := map[string]string{}
	d := newDesk() // for its lock
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d.mu.Lock()
		defer d.mu.Unlock()
		body := httptest.NewRecorder()
		_, _ = body.Body.ReadFrom(r.Body)
		was, known := made[r.URL.String()]
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.Method != http.MethodPut || !strings.HasPrefix(r.URL.Path, "/orders/"):
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		case known && was != body.Body.String()+r.Header.Get("Content-Type"):
			w.WriteHeader(http.StatusConflict)
			return
		case !known:
			app.taken.Add(1)
			made[r.URL.String()] = body.Body.String() + r.Header.Get("Content-Type")
			w.Header().Set("Location", r.URL.Path)
			w.WriteHeader(http.StatusCreated)
		}
		_, _ = w.Write([]byte(`{"id":"` + strings.TrimPrefix(r.URL.Path, "/orders/") + `"}`))
	})
	config := trial(t, handler, app)
	config.Template.Method = http.MethodPut
	config.Template.URL += "/{{key}}"
	config.Template.Body = []byte(`{"item":"brass gears"}`)
	config.Profile, _ = check.ProfileNamed("resource")
	config.Skip = []string{"BASIC-08", "BASIC-11", "MIS-12"}
	bad, _ := runTrial(t, config)
	if diff := cmp.Diff([]string(nil), bad); diff != "" {
		t.Errorf("not passed (-want +got):\n%s", diff)
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
