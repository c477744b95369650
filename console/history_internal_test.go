package console

import (
	"bytes"
	"compress/gzip"
	"math"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/gateway/adminapi"
	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/outcomelog"
	"github.com/semel-dev/semel/store/memstore"
)

// Promise 8: the counts of a day are kept by the minute, and no more.
func TestHistory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		h := NewHistory(func() Counts { // three executed in a minute, one unknown in ten
			n := uint64(time.Since(start) / time.Minute)
			return Counts{
				Requests: map[outcomelog.Outcome]uint64{outcomelog.Executed: 3 * n, outcomelog.Unknown: n / 10, outcomelog.Mismatch: n},
				Settled:  map[string]uint64{"completed": 3 * n, "unknown": n / 10, "released": 7},
				Claim:    Latency{Bounds: []float64{0.001, 0.01}, Counts: []uint64{n, 2 * n, 2 * n}},
			}
		})
		go h.Run(t.Context())
		for _, test := range []struct {
			age                time.Duration
			readings, parts, n int // n is the length of a part in minutes
		}{{0, 1, 0, 1}, {90 * time.Minute, 91, 90, 1}, {4 * time.Hour, 241, 120, 2}, {30 * time.Hour, 1441, 144, 10}} {
			time.Sleep(test.age - time.Since(start))
			synctest.Wait()
			day := h.day()
			all := columns(day)
			if len(day) != test.readings || len(all) != test.parts {
				t.Fatalf("after %v: got %d readings and %d columns, want %d and %d", test.age, len(day), len(all), test.readings, test.parts)
			}
			for _, c := range all {
				if got := c.to.tally.Executed - c.from.tally.Executed; got != uint64(3*test.n) {
					t.Errorf("after %v: %d executed from %v, want %d", test.age, got, c.from.at, 3*test.n)
				}
			}
		}
		now := h.now()
		if want := (tally{Executed: 5400, Unknown: 180, Refused: 1800, Records: 5580, Open: 180}); now.tally != want {
			t.Errorf("got %+v, want %+v", now.tally, want)
		}
		if got := now.claim.quantile(0.75); math.Abs(got-0.0055) > 1e-9 {
			t.Errorf("three quarters of the claims took %v s, want 0.0055", got)
		}
		if !math.IsNaN(now.settle.quantile(0.5)) {
			t.Error("a median of no durations is a number")
		}
	})
}

// A line has gaps where no number is, and ends at the right edge.
func TestPath(t *testing.T) {
	t.Parallel()
	for want, values := range map[string][]float64{
		"M0 60H360M540 0H720": {1, 1, math.NaN(), 2},
		"M0 120H720":          {0},
		"M0 120H360V30H720":   {0, 1.5},
		"":                    {math.NaN()},
	} {
		if got := path(values, 2); got != want {
			t.Errorf("%v: got %s, want %s", values, got, want)
		}
	}
	for v, want := range map[float64]float64{0.1: 0.1, 1: 1, 1.2: 2, 4: 5, 70: 100, 1000: 1000} {
		if got := roundUp(v); math.Abs(got-want) > 1e-9 {
			t.Errorf("the edge above %v is %v, want %v", v, got, want)
		}
	}
}

// busy is a console after a day in which every minute was different, over a number of records.
func busy(tb testing.TB, records int) *Console {
	tb.Helper()
	store := memstore.New(nil)
	guard := must.Get(semel.New(store, &semel.Options{SweepEvery: -1}))
	tb.Cleanup(func() {
		if err := guard.Close(); err != nil {
			tb.Error(err)
		}
		if err := store.Close(); err != nil {
			tb.Error(err)
		}
	})
	for i := range records {
		claim, _, err := guard.Begin(tb.Context(), semel.Key{Scope: "shop", Name: "order " + strconv.Itoa(i)}, semel.FingerprintOf("x"))
		if err != nil {
			tb.Fatal(err)
		}
		if err := claim.Unknown("the connection broke"); err != nil {
			tb.Fatal(err)
		}
	}
	var c Counts
	n := uint64(1)
	h := NewHistory(func() Counts { return c })
	for minute := range minutes {
		n = (n*7919 + 13) % 104729 // as random as needed
		c = Counts{Requests: map[outcomelog.Outcome]uint64{}, Waited: c.Waited + n%7, Settled: map[string]uint64{"completed": c.Settled["completed"] + n}}
		for i, o := range []outcomelog.Outcome{outcomelog.Executed, outcomelog.Replayed, outcomelog.InFlight, outcomelog.Mismatch, outcomelog.Unknown} {
			c.Requests[o] = h.counts.Requests[o] + n/uint64(3*i+1)
		}
		for _, l := range []*Latency{&c.Claim, &c.Settle} {
			l.Bounds = []float64{0.0001, 0.001, 0.01, 0.1}
			l.Counts = []uint64{n % 11, n % 23, n%23 + n%17, n%23 + n%17 + n%5, n%23 + n%17 + n%5}
			l.Add(h.last.claim)
		}
		h.counts = c
		h.keep(measure(h.since.Add(time.Duration(minute-minutes)*time.Minute), c))
	}
	h.points[0].at = h.since.Add(-minutes * time.Minute)
	api := must.Get(adminapi.New(guard, &adminapi.Options{Tokens: []adminapi.Token{must.Get(adminapi.NewToken("alice", strings.Repeat("a", 32), false))}}))
	return must.Get(New(guard, Options{API: api, History: h, LiveClaims: 1000}))
}

// page draws a page of the console.
func (c *Console) page(tb testing.TB, path string, work func(*call)) string {
	tb.Helper()
	w := httptest.NewRecorder()
	work(&call{Request: httptest.NewRequestWithContext(tb.Context(), http.MethodGet, path, nil), w: w})
	if w.Code != http.StatusOK {
		tb.Fatalf("%s: got status %d", path, w.Code)
	}
	return w.Body.String()
}

// What a browser loads has a bound, after compression.
func TestBudgets(t *testing.T) {
	t.Parallel()
	c := busy(t, 50)
	overview := c.page(t, "/console/", c.overview)
	if n := strings.Count(overview, `role="img"`); n != 3 {
		t.Errorf("the overview has %d charts, want 3", n)
	}
	for name, item := range map[string]struct {
		text string
		most int
	}{
		"console.js":  {string(must.Get(files.ReadFile("console.js"))), 4 << 10},
		"console.css": {string(must.Get(files.ReadFile("console.css"))), 8 << 10},
		"overview":    {overview, 30 << 10},
		"records":     {c.page(t, "/console/records", c.list), 30 << 10},
	} {
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		if _, err := w.Write([]byte(item.text)); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d bytes, %d compressed", name, len(item.text), packed.Len())
		if packed.Len() > item.most {
			t.Errorf("%s has %d bytes compressed, at most %d are allowed", name, packed.Len(), item.most)
		}
	}
}

// Charts have a name, a description, and a table with a row for each column.
func TestChartTable(t *testing.T) {
	t.Parallel()
	c := busy(t, 0)
	all := columns(c.history.day())
	for _, one := range []chart{rates(all), latency(all, "claim", "Claim", func(r *reading) Latency { return r.claim })} {
		if len(one.Rows) != chartColumns || !strings.Contains(one.Text, "The greatest value of") {
			t.Errorf("%s has %d rows and says %s", one.Title, len(one.Rows), one.Text)
		}
		for _, row := range one.Rows {
			if len(row.Cells) != len(one.Lines) {
				t.Fatalf("%s: %s has %d numbers for %d lines", one.Title, row.At, len(row.Cells), len(one.Lines))
			}
		}
	}
}

// The pages' links lead where a browser may go.
func TestIsLink(t *testing.T) {
	t.Parallel()
	got := map[string]bool{}
	want := map[string]bool{
		"https://prometheus.example/graph?g0.expr=x": true, "http://127.0.0.1:9090": true,
		"javascript:alert(1)": false, "//prometheus.example": false, "https://": false, "https://a:b@prometheus.example": false, "": false,
	}
	for address := range want {
		got[address] = IsLink(address)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// 2 ms are the most that a page of 50 records may cost.
func BenchmarkRecordsPage(b *testing.B) {
	c := busy(b, pageRecords)
	for b.Loop() {
		c.page(b, "/console/records", c.list)
	}
}

func BenchmarkOverviewPage(b *testing.B) {
	c := busy(b, pageRecords)
	for b.Loop() {
		c.page(b, "/console/", c.overview)
	}
}

// Charts are drawn once for each reading, however many ask for them.
func TestChartsAreKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := NewHistory(func() Counts { return Counts{} })
		if got := h.charts(); len(got) != 0 {
			t.Fatalf("a history of one reading has %d charts", len(got))
		}
		time.Sleep(2 * time.Minute)
		first, again := h.charts(), h.charts()
		if len(first) != 3 || &first[0] != &again[0] {
			t.Error("the charts of one reading are drawn twice")
		}
		time.Sleep(time.Second)
		if later := h.charts(); &later[0] == &first[0] {
			t.Error("the charts of the next reading are those of the one before")
		}
	})
}
