package stage

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

// latency is long enough for a second request to overlap the first, and short enough for a test.
const latency = 100 * time.Millisecond

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func start(t *testing.T) *Demo {
	t.Helper()
	d, err := Start(t.Context(), &Options{Latency: latency})
	noError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 10*time.Second)
		defer cancel()
		if err := d.Stop(ctx); err != nil {
			t.Errorf("stop: %v", err)
		}
		if _, err := os.Stat(d.dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the databases are still there after Stop: %v", err)
		}
	})
	return d
}

// TestPlay plays every scenario (promises 1, 2, 3 and 6, from the outside).
func TestPlay(t *testing.T) {
	t.Parallel()
	d := start(t)
	told := 0
	results, err := d.Play(t.Context(), func(Result) { told++ })
	noError(t, err)
	if len(results) != len(scenarios()) || told != len(results) {
		t.Errorf("got %d results and %d calls for %d scenarios", len(results), told, len(scenarios()))
	}
	for i := range results {
		r := &results[i]
		if !r.Once() {
			t.Errorf("%s: behind the gateway got %d invoices and %d e-mails, want 1 and 1", r.Scenario, r.Protected.Invoices, r.Protected.Emails)
		}
		if r.Unprotected.Invoices < 2 || r.Unprotected.Emails < 2 {
			t.Errorf("%s: unprotected got %d invoices and %d e-mails; it shows nothing", r.Scenario, r.Unprotected.Invoices, r.Unprotected.Emails)
		}
		if !strings.Contains(r.Protected.Saw, "replayed") && r.Protected.Saw != "422 key-reused" {
			t.Errorf("%s: the second caller saw %q, neither a replay nor a refusal", r.Scenario, r.Protected.Saw)
		}
	}
}

// TestOnceSeesADuplicate checks that the verdict can be negative.
func TestOnceSeesADuplicate(t *testing.T) {
	t.Parallel()
	d := start(t)
	got, err := playOn(t.Context(), scenarios()[0], d.unprotected, "no gateway before it")
	noError(t, err)
	for name, r := range map[string]Result{
		"no gateway": {Protected: got}, "nothing": {}, "two e-mails": {Protected: Tally{Invoices: 1, Emails: 2}},
	} {
		if r.Once() {
			t.Errorf("%s: %+v counts as once", name, r.Protected)
		}
	}
	if !(&Result{Protected: Tally{Invoices: 1, Emails: 1}}).Once() {
		t.Error("one invoice with one e-mail does not count as once")
	}
}

func TestEventsFollowTheState(t *testing.T) {
	t.Parallel()
	d := start(t)
	at := d.URLs()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at.Page+"/events", nil)
	noError(t, err)
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	response, err := transport.RoundTrip(request)
	noError(t, err)
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	until := func(want string) {
		t.Helper()
		for lines.Scan() {
			if strings.Contains(lines.Text(), want) {
				return
			}
		}
		t.Fatalf("the events ended before %q: %v", want, lines.Err())
	}
	until(`"unprotected":{"requests":0,"invoices":0,"emails":0}`)
	call, err := http.NewRequestWithContext(ctx, http.MethodPost, at.Unprotected+"/api/invoices", strings.NewReader(`{"customer_id":1,"amount_cents":100}`))
	noError(t, err)
	call.Header.Set("Content-Type", "application/json")
	answer, err := transport.RoundTrip(call)
	noError(t, err)
	answer.Body.Close()
	until(`"unprotected":{"requests":1,"invoices":1,"emails":1}`)
	noError(t, d.Reset(ctx))
	until(`"unprotected":{"requests":0,"invoices":0,"emails":0}`)
}

func TestListenNearTakesAnyPortWhenItsOwnIsTaken(t *testing.T) {
	t.Parallel()
	page, err := listen(t.Context(), "127.0.0.1:0")
	noError(t, err)
	defer page.Close()
	for range 2 { // the second time, the next port is in use
		near, err := listenNear(t.Context(), page.Addr().String(), 1)
		noError(t, err)
		defer near.Close()
	}
}

func TestDecisionsKeepTheLatestInTheOrderTheyCame(t *testing.T) {
	t.Parallel()
	told := 0
	d := newDecisions(slog.DiscardHandler, func() { told++ })
	log := slog.New(d)
	for i := range maxDecisions + 5 {
		log.LogAttrs(t.Context(), slog.LevelInfo, "decision", slog.String("route", fmt.Sprint(i)), slog.String("outcome", "replayed"))
	}
	log.LogAttrs(t.Context(), slog.LevelInfo, "decision",
		slog.String("route", "long"), slog.String("outcome", "executed"), slog.Float64("took_ms", 3_600_000))
	log.LogAttrs(t.Context(), slog.LevelInfo, "something else")
	got := d.latest()
	if len(got) != maxDecisions || told != maxDecisions+6 {
		t.Fatalf("kept %d and told %d times, want %d and %d", len(got), told, maxDecisions, maxDecisions+6)
	}
	if got[0].Request != fmt.Sprint(maxDecisions+4) || got[0].Tone != "kept" {
		t.Errorf("the newest is %+v", got[0])
	}
	for _, one := range got {
		if one.Request == "long" {
			t.Error("what came an hour ago is among the latest")
		}
	}
	d.clear()
	if diff := cmp.Diff([]decision{}, d.latest(), cmp.AllowUnexported(decision{})); diff != "" {
		t.Errorf("after clear (-want +got):\n%s", diff)
	}
}

func TestWatchWaits(t *testing.T) {
	t.Parallel()
	var w watch
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.untilArrived(ended, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("nothing came: got error %v, want the context's", err)
	}
	if err := w.untilIdle(ended); err != nil {
		t.Errorf("nothing is under way: got error %v", err)
	}
	w.move(1)
	if err := w.untilArrived(ended, 1); err != nil {
		t.Errorf("one came: got error %v", err)
	}
	if err := w.untilIdle(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("one is under way: got error %v, want the context's", err)
	}
	idle := make(chan error, 1)
	go func() { idle <- w.untilIdle(t.Context()) }()
	w.move(-1)
	if err := <-idle; err != nil {
		t.Errorf("it has ended: got error %v", err)
	}
}

// noError ends the test with the error.
func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
