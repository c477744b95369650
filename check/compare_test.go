package check_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/semel-dev/semel/check"
)

// answers returns the n-th answer to an intent, identified by its key: the first is 1. In its text, ALL is the number
// of the request, and ASKED the n of its body.
type answers struct {
	contentType string
	text        func(intent, attempt int) string
	zip         bool

	mu       sync.Mutex
	intents  map[string]int
	attempts map[string]int
	all      int
}

func (a *answers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var order struct{ N json.Number }
	_ = json.NewDecoder(r.Body).Decode(&order)
	a.mu.Lock()
	defer a.mu.Unlock()
	key := r.Header.Get("Idempotency-Key")
	if a.intents == nil {
		a.intents, a.attempts = map[string]int{}, map[string]int{}
	}
	if a.intents[key] == 0 {
		a.intents[key] = len(a.intents) + 1
	}
	a.attempts[key]++
	a.all++
	text := strings.NewReplacer("ALL", fmt.Sprint(a.all), "ASKED", order.N.String()).Replace(a.text(a.intents[key], a.attempts[key]))
	w.Header().Set("Content-Type", a.contentType)
	if !a.zip {
		_, _ = io.WriteString(w, text)
		return
	}
	var packed bytes.Buffer
	zip, _ := gzip.NewWriterLevel(&packed, 1+a.all%9)
	zip.Name = fmt.Sprint("attempt ", a.all)
	_, _ = io.WriteString(zip, text)
	_ = zip.Close()
	w.Header().Set("Content-Encoding", "gzip")
	_, _ = w.Write(packed.Bytes())
}

func TestSameBody(t *testing.T) {
	t.Parallel()
	const typeJSON = "application/json"
	for name, given := range map[string]struct {
		*answers
		ignore []string
		want   check.Verdict
		says   string // a part of the reason
	}{
		"the same bytes":           {&answers{contentType: typeJSON, text: func(i, _ int) string { return fmt.Sprintf(`{"id":%d}`, i) }}, nil, check.Pass, ""},
		"members in another order": {&answers{contentType: typeJSON, text: func(i, n int) string { return [...]string{`{"id":1,"b":2}`, `{"b":2, "id":1}`}[n-1] }}, nil, check.Pass, ""},
		"another id":               {&answers{contentType: typeJSON, text: func(int, int) string { return `{"id":ALL}` }}, nil, check.Fail, `/id was "3", and then "4"`},
		"an id of a request":       {&answers{contentType: typeJSON, text: func(i, _ int) string { return fmt.Sprintf(`{"id":%d,"request_id":"ALL"}`, i) }}, nil, check.Pass, "/request_id"},
		"an id in a list":          {&answers{contentType: typeJSON, text: func(int, int) string { return `{"items":[{"id":"ALL"}]}` }}, nil, check.Fail, "/items/0/id"},
		"a list ignored":           {&answers{contentType: typeJSON, text: func(int, int) string { return `{"items":[{"id":"ALL"}]}` }}, []string{"/items/*/id"}, check.Pass, ""},
		"another member ignored":   {&answers{contentType: typeJSON, text: func(int, int) string { return `{"items":[{"id":"ALL"}]}` }}, []string{"/items/*/name"}, check.Fail, "/items/0/id"},
		"a time that was made anew": {&answers{contentType: typeJSON, text: func(i, _ int) string {
			return fmt.Sprintf(`{"id":%d,"served":%q}`, i, time.Now().Format(time.RFC3339Nano))
		}}, nil, check.Pass, "/served"},
		"the record's own time": {&answers{contentType: typeJSON, text: func(i, _ int) string {
			return fmt.Sprintf(`{"id":%d,"created_at":%q}`, i, time.Now().Format(time.RFC3339Nano))
		}}, nil, check.Fail, "/created_at"},
		"a trace that intents share": {&answers{contentType: typeJSON, text: func(i, n int) string { return fmt.Sprintf(`{"id":%d,"traceId":"%d"}`, i, n) }}, nil, check.Fail, "/traceId"},
		"a link":                     {&answers{contentType: typeJSON, text: func(i, _ int) string { return `{"server":"https://example.com/ALL"}` }}, nil, check.Fail, "/server"},
		"a member is missing": {&answers{contentType: typeJSON, text: func(i, n int) string {
			return [...]string{`{"id":1,"requestId":"a"}`, `{"id":1}`}[n-1]
		}}, nil, check.Fail, "/requestId is missing in the repetition"},
		"a member more": {&answers{contentType: typeJSON, text: func(i, n int) string {
			return [...]string{`{"id":1}`, `{"a":1,"id":1}`}[n-1]
		}}, nil, check.Fail, "/a is only in the repetition"},
		"a text for a number": {&answers{contentType: typeJSON, text: func(i, n int) string { return [...]string{`{"n":1}`, `{"n":"1"}`}[n-1] }}, nil, check.Fail, "/n"},
		"the time, as a number": {&answers{contentType: typeJSON, text: func(i, _ int) string {
			return fmt.Sprintf(`{"id":%d,"now":%.6f,"served_at":%d}`, i, float64(time.Now().UnixMicro())/1e6, time.Now().UnixNano())
		}}, nil, check.Pass, "/now"},
		"an id made of the time": {&answers{contentType: typeJSON, text: func(i, _ int) string {
			return fmt.Sprintf(`{"n":%d,"id":%d}`, i, time.Now().UnixNano())
		}}, nil, check.Fail, "/id"},
		"a number": {&answers{contentType: typeJSON, text: func(i, _ int) string {
			return fmt.Sprintf(`{"id":%d,"sold_at":ALL}`, i)
		}}, nil, check.Fail, "/sold_at"},
		"a token of a page": {&answers{contentType: "text/html", text: func(i, _ int) string {
			return fmt.Sprintf(`<p>Order %d</p><form><input type=hidden name=csrfmiddlewaretoken value=ALL></form>`, i)
		}}, nil, check.Pass, "csrfmiddlewaretoken"},
		"a word of a page": {&answers{contentType: "text/html", text: func(i, _ int) string { return `<p>Order ALL</p>` }}, nil, check.Fail, "word"},
		"a field of a page": {&answers{contentType: "text/html", text: func(i, _ int) string {
			return `<input name=order value=ALL>`
		}}, nil, check.Fail, "input order"},
		"a word":            {&answers{contentType: "text/plain", text: func(int, int) string { return "order ALL" }}, nil, check.Fail, "word 2"},
		"packed otherwise":  {&answers{contentType: typeJSON, zip: true, text: func(i, _ int) string { return fmt.Sprintf(`{"id":%d}`, i) }}, nil, check.Pass, ""},
		"packed another id": {&answers{contentType: typeJSON, zip: true, text: func(int, int) string { return `{"id":ALL}` }}, nil, check.Fail, "/id"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := trial(t, given.answers)
			config.Only, config.Ignore = []string{"BASIC-04"}, given.ignore
			_, report := runTrial(t, config)
			if got := resultOf(t, report, "BASIC-04"); got.Verdict != given.want || !strings.Contains(got.Reason, given.says) {
				t.Errorf("got %s (%s), want %s (%s)", got.Verdict, got.Reason, given.want, given.says)
			}
		})
	}
}

// perIntent counts the orders with the {{n}} of an intent.
type perIntent struct {
	mu    sync.Mutex
	taken map[string]int64
}

func (o *perIntent) Name() string    { return "orders by n" }
func (o *perIntent) PerIntent() bool { return true }
func (o *perIntent) Count(_ context.Context, fill func(string) string) (int64, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.taken[fill("{{n}}")], nil
}

// watch counts the orders that pass, by the number in them.
func (o *perIntent) watch(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		var order struct{ N json.Number }
		if json.Unmarshal(body, &order) == nil && r.URL.Path == "/orders" && r.Method == http.MethodPost {
			o.mu.Lock()
			o.taken[order.N.String()]++
			o.mu.Unlock()
		}
		next.ServeHTTP(w, r)
	})
}

func TestCountsPerIntent(t *testing.T) {
	t.Parallel()
	for name, given := range map[string]struct {
		how  func(*desk)
		want string
	}{
		"right": {func(*desk) {}, ""},
		"executes a mismatch": {func(d *desk) {
			d.mismatch = func(http.ResponseWriter, map[string]*filed, string) bool { return true }
		}, "MIS-01 MIS-03 MIS-07 MIS-08 MIS-11"},
		"looks up by body alone": {func(d *desk) {
			d.lookUp = func(_, fingerprint string) string { return fingerprint }
		}, "BASIC-07 MIS-01 MIS-03 MIS-07 MIS-08 MIS-11"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, counter := newDesk(), &perIntent{taken: map[string]int64{}}
			given.how(d)
			d.app = counter.watch(&d.orders)
			expectBad(t, trial(t, d, counter), strings.Fields(given.want)...)
		})
	}
}
