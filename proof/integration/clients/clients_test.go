// Package clients tries other people's HTTP clients on the gateway: what they do when an answer is lost, is cut, or is a refusal.
package clients_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// retryAfter is longer than any client here waits on its own before its second attempt.
const retryAfter = 4 * time.Second

// ends of an attempt to create an order, as the page has them.
const (
	gets    = "repeats"
	givesUp = "gives up"
	half    = "**takes half**"
	waits   = "waits"
	early   = "too early"
)

// scenario is something that happens to the first attempt.
type scenario struct {
	name     string
	inFlight int
	trouble  trouble
}

func scenarios() []scenario {
	return []scenario{
		{"answer lost", http.StatusConflict, first(func(f *front, w http.ResponseWriter, r *request) { f.ask(r); drop(w) })},
		{"answer cut", http.StatusConflict, first(cut)},
		{"409 while it runs", http.StatusConflict, first(whileItRuns)},
		{"503 while it runs", http.StatusServiceUnavailable, first(whileItRuns)},
		{"502", http.StatusConflict, first(func(_ *front, w http.ResponseWriter, _ *request) { http.Error(w, "Bad Gateway", http.StatusBadGateway) })},
		{"503", http.StatusConflict, first(func(_ *front, w http.ResponseWriter, _ *request) {
			http.Error(w, "Service Unavailable", http.StatusServiceUnavailable)
		})},
		{"`Retry-After`", http.StatusConflict, first(func(_ *front, w http.ResponseWriter, _ *request) {
			w.Header().Set("Retry-After", fmt.Sprint(int(retryAfter.Seconds())))
			http.Error(w, "Service Unavailable", http.StatusServiceUnavailable)
		})},
	}
}

// first returns the trouble of the first attempt.
func first(meet func(*front, http.ResponseWriter, *request)) trouble {
	return func(f *front, w http.ResponseWriter, r *request, attempt int) bool {
		if attempt == 1 {
			meet(f, w, r)
		}
		return attempt == 1
	}
}

// cut sends the first half of the answer.
func cut(f *front, w http.ResponseWriter, r *request) {
	body := f.ask(r).Body.String()
	sendRaw(w, fmt.Sprintf("HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body[:len(body)/2]))
}

// whileItRuns has another attempt run until this one was refused.
func whileItRuns(f *front, w http.ResponseWriter, r *request) {
	key := r.Header.Get("Idempotency-Key")
	release := f.app.hold(key)
	var running sync.WaitGroup
	running.Go(func() { f.ask(r) })
	defer running.Wait()
	defer release()
	f.app.await(key)
	answer := f.ask(r)
	maps.Copy(w.Header(), answer.Header())
	w.WriteHeader(answer.Code)
	_, _ = io.WriteString(w, answer.Body.String()) // the client may have gone
}

// TestClients: whatever a client does, an order is created once, and the page on HTTP says what the program around the client
// learns.
func TestClients(t *testing.T) { //nolint:tparallel // the table needs the end of all.
	t.Parallel()
	fronts := map[int]*front{}
	for _, status := range []int{http.StatusConflict, http.StatusServiceUnavailable} {
		fronts[status] = newFront(t, status)
	}
	all, table := clients(), make([][]string, len(clients()))
	t.Run("all", func(t *testing.T) {
		for i, c := range all {
			table[i] = make([]string, len(scenarios()))
			for j, s := range scenarios() {
				t.Run(c.name+"/"+s.name, func(t *testing.T) {
					t.Parallel()
					table[i][j] = try(t, fronts[s.inFlight], &c, &s)
				})
			}
		}
	})
	if t.Failed() {
		return
	}
	page, err := os.ReadFile("../../../docs/http.md")
	noError(t, err)
	if want := render(all, table); !strings.Contains(string(page), want) {
		t.Errorf("docs/http.md does not have this table:\n%s", want)
	}
}

// try has a client create an order in a scenario, and returns what came of it.
func try(t *testing.T, f *front, c *client, s *scenario) string {
	t.Helper()
	key := strings.NewReplacer(" ", "-", "`", "", ",", "", ".", "-").Replace(c.name + "_" + s.name)
	f.meet(key, s.trouble)
	got := c.post(t, f.url, key)
	attempts := f.attempts(key)
	if n := f.app.created(key); n > 1 || (n == 0 && got.Status == http.StatusCreated) {
		t.Errorf("%d orders were created, and the client got %+v", n, got)
	}
	switch {
	case got.Status == http.StatusCreated && !isOrder(got.Body, key):
		if s.name != "answer cut" {
			t.Errorf("got %+v, want the order", got)
		}
		return half
	case got.Status != http.StatusCreated:
		t.Logf("after %d attempts: %+v", len(attempts), got)
		return givesUp
	case len(attempts) < 2:
		t.Errorf("the order came with the first attempt, which got no answer: %+v", got)
	case s.name == "`Retry-After`" && attempts[1].Sub(attempts[0]) < retryAfter:
		return early
	case s.name == "`Retry-After`":
		return waits
	}
	return gets
}

// isOrder reports whether a body is the answer to the one order with the key.
func isOrder(body, key string) bool {
	var got, want struct{ ID, Note string }
	return json.Unmarshal([]byte(body), &got) == nil && json.Unmarshal([]byte(order(key, 1)), &want) == nil && got == want
}

// render writes the table of the page.
func render(all []client, table [][]string) string {
	var out strings.Builder
	out.WriteString("| client | set to retry a POST by")
	for _, s := range scenarios() {
		out.WriteString(" | " + s.name)
	}
	out.WriteString(" |\n|" + strings.Repeat("---|", 2+len(scenarios())) + "\n")
	for i, row := range table {
		fmt.Fprintf(&out, "| %s | %s | %s |\n", all[i].name, all[i].set, strings.Join(row, " | "))
	}
	return out.String()
}
