package pocketbase_test

import (
	"bufio"
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel/proof/integration/apps"
)

const (
	invoices = "/api/collections/invoices/records"
	payments = "/api/collections/payments/records"
)

// first reports answers that are not 200, or not that of the first.
func first(t *testing.T, d apps.Door, answers []*apps.Answer) {
	t.Helper()
	bodies := make(map[string]bool)
	for i, a := range answers {
		if a.Status != http.StatusOK {
			t.Errorf("answer %d: got %d, want 200: %s", i+1, a.Status, a.Body)
		}
		bodies[string(a.Body)] = true
	}
	if got, want := len(bodies), d.Want(len(answers), 1); got != want {
		t.Errorf("got %d different answers, want %d", got, want)
	}
}

// The same record two times is one, by a key that is derived from it.
func TestDerivedKey(t *testing.T) {
	t.Parallel()
	apps.BothDoors(t, func(t *testing.T, d apps.Door) {
		server, person, _ := open(t, d)
		sent := encoded(invoices, map[string]any{"customer": "Emmy", "amount": 12.5})
		first(t, d, []*apps.Answer{person.Send(sent), person.Send(sent)})
		if got, want := len(server.records("invoices")), d.Want(2, 1); got != want {
			t.Errorf("got %d records, want %d", got, want)
		}
		post(person, invoices, map[string]any{"customer": "Emmy", "amount": 13})
		if got, want := len(server.records("invoices")), d.Want(3, 2); got != want {
			t.Errorf("got %d records after another one, want %d", got, want)
		}
		sent = encoded(invoices, map[string]any{"customer": "Sofya"})
		first(t, d, person.SendAtOnce(sent, 4))
		if got, want := len(server.records("invoices")), d.Want(7, 3); got != want {
			t.Errorf("got %d records after four at once, want %d", got, want)
		}
	})
}

// The same file two times is one, although browsers draw another boundary for
// each submission.
func TestUpload(t *testing.T) {
	t.Parallel()
	apps.BothDoors(t, func(t *testing.T, d apps.Door) {
		server, person, _ := open(t, d)
		content := strings.Repeat("two\r\n--lines\r\n", 5_000)
		var answers []*apps.Answer
		for _, boundary := range []string{"first-boundary", "second-boundary"} {
			part := func(header, value string) string {
				return "--" + boundary + "\r\nContent-Disposition: form-data; " + header + "\r\n\r\n" + value + "\r\n"
			}
			body := part(`name="customer"`, "Emmy") + part(`name="scan"; filename="scan.txt"`, content) + "--" + boundary + "--\r\n"
			answers = append(answers, person.Do(http.MethodPost, invoices, "multipart/form-data; boundary="+boundary, []byte(body)))
		}
		first(t, d, answers)
		files := server.files()
		if got, want := len(files), d.Want(2, 1); got != want {
			t.Fatalf("got %d files, want %d", got, want)
		}
		if got, err := os.ReadFile(files[0]); err != nil || string(got) != content {
			t.Errorf("got a file of %d bytes and error %v, want the %d that were sent", len(got), err, len(content))
		}
		var record struct{ ID, Scan string }
		if err := json.Unmarshal(answers[1].Body, &record); err != nil {
			t.Fatal(err)
		}
		if got := person.Get("/api/files/invoices/" + record.ID + "/" + record.Scan); string(got.Body) != content {
			t.Errorf("got %d and %d bytes, want the file", got.Status, len(got.Body))
		}
	})
}

// A key in the header is PocketBase's to ignore, and Semel's to keep; what it
// refuses is remembered too, and another key is another intent.
func TestHeader(t *testing.T) {
	t.Parallel()
	apps.BothDoors(t, func(t *testing.T, d apps.Door) {
		server, person, _ := open(t, d)
		sent := encoded(payments, map[string]any{"customer": "Emmy", "amount": 5}, "Idempotency-Key", `"8e03978e"`)
		first(t, d, []*apps.Answer{person.Send(sent), person.Send(sent)})
		if got, want := len(server.records("payments")), d.Want(2, 1); got != want {
			t.Errorf("got %d records, want %d", got, want)
		}
		sent.Headers = []string{"Idempotency-Key", `"another"`}
		first(t, d, person.SendAtOnce(sent, 3))
		if got, want := len(server.records("payments")), d.Want(5, 2); got != want {
			t.Errorf("got %d records, want %d", got, want)
		}
	})
}

// A caller who is not logged in gets PocketBase's own refusal where no rule
// wants more; a wrong password is not an outcome to be remembered; one user's
// record is not another's.
func TestWho(t *testing.T) {
	t.Parallel()
	server, person, address := open(t, apps.Door{Protected: true})
	stranger := apps.NewPerson(t, address)
	if got := post(stranger, payments, map[string]any{"customer": "x"}); got.Status != http.StatusBadRequest {
		t.Errorf("got %d, want PocketBase's 400: %s", got.Status, got.Body)
	}
	if got := post(stranger, invoices, map[string]any{"customer": "x"}); got.Status/100 != 4 || len(server.records("invoices")) != 0 {
		t.Errorf("got %d, want a refusal: %s", got.Status, got.Body)
	}
	for range 2 {
		wrong := post(stranger, "/api/collections/users/auth-with-password", map[string]any{"identity": user, "password": "wrong"})
		if wrong.Status != http.StatusBadRequest {
			t.Errorf("got %d, want 400: %s", wrong.Status, wrong.Body)
		}
	}
	other := logIn(t, address, "_superusers", operator)
	sent := encoded(invoices, map[string]any{"customer": "Emmy"})
	person.Send(sent)
	other.Send(sent)
	if got := len(server.records("invoices")); got != 2 {
		t.Errorf("got %d records, want one of each person", got)
	}
}

// A subscriber is notified of every record: with Semel, of one.
func TestRealtime(t *testing.T) {
	t.Parallel()
	apps.BothDoors(t, func(t *testing.T, d apps.Door) {
		_, person, address := open(t, d)
		events := listen(t, address)
		var hello struct{ ClientID string }
		if err := json.Unmarshal([]byte(events.next("PB_CONNECT")), &hello); err != nil {
			t.Fatal(err)
		}
		subscribed := post(person, "/api/realtime", map[string]any{"clientId": hello.ClientID, "subscriptions": []string{"invoices/*"}})
		if subscribed.Status != http.StatusNoContent {
			t.Fatalf("got %d, want 204: %s", subscribed.Status, subscribed.Body)
		}
		for _, customer := range []string{"Emmy", "Emmy", "Sofya"} {
			post(person, invoices, map[string]any{"customer": customer})
		}
		var heard []string
		for len(heard) == 0 || heard[len(heard)-1] != "Sofya" {
			var event struct {
				Action string
				Record struct{ Customer string }
			}
			if err := json.Unmarshal([]byte(events.next("invoices/*")), &event); err != nil {
				t.Fatal(err)
			}
			heard = append(heard, event.Record.Customer)
		}
		want := []string{"Emmy", "Emmy", "Sofya"}[d.Want(0, 1):]
		if diff := cmp.Diff(heard, want); diff != "" {
			t.Errorf("got (-) and want (+):\n%s", diff)
		}
	})
}

// stream is a stream of server-sent events.
type stream struct {
	t     *testing.T
	lines *bufio.Scanner
}

// listen connects to PocketBase's realtime until the end of the test.
func listen(t *testing.T, address string) *stream {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/api/realtime", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "text/event-stream")
	client := &http.Client{Transport: &http.Transport{}, Timeout: time.Minute} // the end of a test that waits for what never comes
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = res.Body.Close()
		client.CloseIdleConnections()
	})
	return &stream{t: t, lines: bufio.NewScanner(res.Body)}
}

// next waits for the next event of a name, and returns its data.
func (s *stream) next(name string) (data string) {
	s.t.Helper()
	event := ""
	for s.lines.Scan() {
		field, value, _ := strings.Cut(s.lines.Text(), ":")
		switch {
		case field == "event":
			event = value
		case field == "data" && event == name:
			return value
		}
	}
	s.t.Fatalf("got the end of the stream (%v), want an event %s", s.lines.Err(), name)
	return ""
}

// The dashboard and its parts, and whatever else PocketBase answers to a GET,
// are the same byte for byte.
func TestTour(t *testing.T) {
	t.Parallel()
	server := start(t)
	address := apps.Protect(t, server.address, rules)
	through := logIn(t, address, "_superusers", operator)
	for _, customer := range []string{"Emmy", "Sofya"} {
		server.must(invoices, map[string]any{"customer": customer, "amount": 1})
	}
	tour := &apps.Tour{
		Direct: server.operator, Through: through, Limit: 200,
		From: []string{
			"/_/", "/_", "/", "/api/health", "/api/collections", "/api/settings", "/api/logs/stats", "/nowhere",
			invoices, invoices + "?perPage=1&page=2&expand=none", invoices + "/" + server.records("invoices")[0], "/api/collections/nowhere/records",
		},
		Leave: func(string) bool { return false },
	}
	seen := tour.Walk(t)
	t.Logf("%+v", seen)
	if seen.Answers < 20 || seen.Pages < 1 || seen.Inserted != 0 {
		t.Errorf("got %+v, want a tour that is worth it, and no insertions", seen)
	}
}
