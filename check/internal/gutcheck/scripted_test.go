package gutcheck_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/semel-dev/semel/check"
	"github.com/semel-dev/semel/check/internal/gutcheck"
	"github.com/semel-dev/semel/gateway"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/rules"
	"github.com/semel-dev/semel/store/memstore"
)

func counters(c counted) []check.Counter { return []check.Counter{c} }

// scripted is an application whose form a script makes and sends: nothing works without scripts, and no button is ever disabled.
type scripted struct {
	orders atomic.Int64
	slow   time.Duration // of all orders but the first of an item
	items  sync.Map
}

const scriptedPage = `<!doctype html><html><head><title>Orders</title></head><body><main id="app"></main><script>
document.getElementById("app").innerHTML = '<form id="order"><input name="item" required><button>Order</button></form><p id="said"></p>';
document.getElementById("order").onsubmit = async (event) => {
  event.preventDefault();
  const item = new FormData(event.target).get("item"), said = document.getElementById("said");
  try {
    const answer = await fetch("/api/orders", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ item }) });
    said.textContent = (await answer.json()).id;
  } catch {
    said.textContent = "lost";
  }
};
</script></body></html>`

func (s *scripted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		text, _ := io.ReadAll(r.Body)
		if _, again := s.items.LoadOrStore(string(text), true); again {
			<-time.After(s.slow) // the application's work, which goes on when the caller has gone
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_, _ = fmt.Fprintf(w, `{"id":%d}`, s.orders.Add(1))
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = io.WriteString(w, scriptedPage)
}

func (s *scripted) count(context.Context) (int64, error) { return s.orders.Load(), nil }

// behind puts a gateway with these rules before an application.
func behind(t *testing.T, app http.Handler, text string) string {
	t.Helper()
	file, err := rules.Parse("rules.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	store := memstore.New(nil)
	upstream := httptest.NewServer(app)
	g, err := gateway.New(&gateway.Config{Upstream: upstream.URL, Store: store, Rules: file, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(g.Handler())
	t.Cleanup(func() {
		front.Close()
		_ = g.Close()
		upstream.Close()
		_ = store.Close()
	})
	return front.URL
}

// TestScriptedPage: behind a gateway without page: true each of these orders twice, with it none does.
func TestScriptedPage(t *testing.T) {
	t.Parallel()
	for _, protect := range []bool{false, true} {
		t.Run(fmt.Sprintf("page %v", protect), func(t *testing.T) {
			t.Parallel()
			app := &scripted{}
			url := behind(t, app, fmt.Sprintf("version: 1\nroutes:\n  - {name: orders, match: {methods: [POST], path: /api/orders}, page: %v}\n", protect))
			found := verdicts(t, &gutcheck.Config{URL: url, Counters: counters(app.count)}, "a double click", "the answer is lost, and again")
			verdict := gutcheck.Twice
			if protect {
				verdict = gutcheck.Once
			}
			if diff := want(found, map[string]gutcheck.Verdict{
				"a click": gutcheck.Once, "a double click": verdict, "Enter, then a click": verdict,
				"a reload while it is sent, and again": verdict, "the address anew while it is sent": verdict,
				"the answer is lost, and again": verdict, "the answer is lost, and reload": verdict,
				"Back after the answer, and again": gutcheck.LeftOut, "a second tab while it is sent": gutcheck.Another,
			}); diff != "" {
				t.Errorf("verdicts (-got +want):\n%s", diff)
			}
		})
	}
}

// TestAnswersAlone: without a counter, two ids in answers are two orders.
func TestAnswersAlone(t *testing.T) {
	t.Parallel()
	c := &gutcheck.Config{URL: serve(t, &scripted{}), Form: "#order button", Values: map[string]string{"item": "tea {{n}}"}}
	found := verdicts(t, c, "a double click")
	if found["a click"] != gutcheck.Once || found["a double click"] != gutcheck.Twice {
		t.Errorf("got %v", found)
	}
}

// TestSlowRepetitions: an effect that a repetition has seconds later is seen, and one that is later still leaves the way without a verdict.
func TestSlowRepetitions(t *testing.T) {
	t.Parallel()
	for slow, want := range map[time.Duration]gutcheck.Verdict{time.Second: gutcheck.Twice, 6 * time.Second: gutcheck.Unjudged} {
		t.Run(slow.String(), func(t *testing.T) {
			t.Parallel()
			app := &scripted{slow: slow}
			report, err := gutcheck.Run(t.Context(), &gutcheck.Config{
				URL: serve(t, app), Values: map[string]string{"item": "tea {{n}}"}, Counters: counters(app.count), Only: []string{"a double click"}, Browser: testserver.Chromium(t), Timeout: 3 * time.Second, Settle: time.Second,
			})
			if err != nil || len(report.Results) != 2 || report.Results[1].Verdict != want {
				t.Errorf("got %v, %+v", err, report)
			}
		})
	}
}

// TestTooLong: a way whose time ends is not judged, and the next one is gone.
func TestTooLong(t *testing.T) {
	t.Parallel()
	app := &scripted{}
	var hung atomic.Bool
	count := counted(func(ctx context.Context) (int64, error) {
		if app.orders.Load() > 1 && hung.CompareAndSwap(false, true) {
			<-ctx.Done()
			return 0, ctx.Err()
		}
		return app.count(ctx)
	})
	report, err := gutcheck.Run(t.Context(), &gutcheck.Config{
		URL: serve(t, app), Counters: counters(count), Only: []string{"a double click", "Enter, then a click"}, Browser: testserver.Chromium(t), Timeout: 2 * time.Second, Settle: time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Results) != 3 || report.Results[1].Verdict != gutcheck.Unjudged || report.Results[1].Reason != "it took too long" || report.Results[2].Verdict != gutcheck.Twice {
		t.Errorf("got %+v", report.Results)
	}
}

// TestText: a screen has 80 columns, and gives reasons.
func TestText(t *testing.T) {
	t.Parallel()
	report := &gutcheck.Report{URL: "http://127.0.0.1:9000/new", Browser: "Chromium 1", Sends: "POST /orders", Button: "Order", Results: []gutcheck.Result{
		{Way: "a click", Scripts: true, Sent: 1, Effects: -1, Verdict: gutcheck.Once},
		{Way: "a double click", Scripts: true, Sent: 2, Effects: -1, Verdict: gutcheck.Twice},
		{Way: "a second tab while it is sent", Scripts: true, Sent: 2, Effects: -1, Verdict: gutcheck.Another, Reason: "perhaps meant"},
	}}
	var out bytes.Buffer
	if err := gutcheck.Text(&out, report); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		if len([]rune(line)) > 81 {
			t.Errorf("%d columns: %s", len(line), line)
		}
	}
	for _, says := range []string{"Nothing was counted", "TWICE", "1  perhaps meant", "In 1 of 3 ways the same form was carried out twice."} {
		if !strings.Contains(out.String(), says) {
			t.Errorf("%q is not in\n%s", says, out.String())
		}
	}
}
