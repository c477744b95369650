package invoices_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAPIRefusals(t *testing.T) {
	t.Parallel()
	const good = `{"customer_id":1,"amount_cents":100}`
	long := strings.Repeat("é", 2001)
	tests := []struct {
		name, method, path, media, body string
		status                          int
		fields                          []string
	}{
		{"not json", "POST", "/api/invoices", jsonMedia, `{"customer_id":`, 400, nil},
		{"empty", "POST", "/api/invoices", jsonMedia, ``, 400, nil},
		{"unknown field", "POST", "/api/invoices", jsonMedia, `{"customer_id":1,"amount_cents":1,"vat":25}`, 400, nil},
		{"two values", "POST", "/api/invoices", jsonMedia, good + good, 400, nil},
		{"rubbish after", "POST", "/api/invoices", jsonMedia, good + `]`, 400, nil},
		{"fraction", "POST", "/api/invoices", jsonMedia, `{"customer_id":1,"amount_cents":1.5}`, 400, nil},
		{"beyond int64", "POST", "/api/invoices", jsonMedia, `{"customer_id":1,"amount_cents":9223372036854775808}`, 400, nil},
		{"media type", "POST", "/api/invoices", "text/plain", good, 415, nil},
		{"no media type", "POST", "/api/invoices", "", good, 415, nil},
		{"unknown customer", "POST", "/api/invoices", jsonMedia, `{"customer_id":99,"amount_cents":1}`, 422, []string{"customer_id"}},
		{"nothing given", "POST", "/api/invoices", jsonMedia, `{}`, 422, []string{"customer_id", "amount_cents"}},
		{"negative", "POST", "/api/invoices", jsonMedia, `{"customer_id":1,"amount_cents":-1}`, 422, []string{"amount_cents"}},
		{"largest", "POST", "/api/invoices", jsonMedia, `{"customer_id":1,"amount_cents":100000000000}`, 201, nil},
		{"too large", "POST", "/api/invoices", jsonMedia, `{"customer_id":1,"amount_cents":100000000001}`, 422, []string{"amount_cents"}},
		{"currency", "POST", "/api/invoices", jsonMedia, `{"customer_id":1,"amount_cents":1,"currency":"XXX"}`, 422, []string{"currency"}},
		{"note", "POST", "/api/invoices", jsonMedia, `{"customer_id":1,"amount_cents":1,"note":"` + long + `"}`, 422, []string{"note"}},
		{"note control", "POST", "/api/invoices", jsonMedia, `{"customer_id":1,"amount_cents":1,"note":"\u0000"}`, 422, []string{"note"}},
		{"body too large", "POST", "/api/invoices", jsonMedia, `{"note":"` + strings.Repeat("x", 1<<20) + `"}`, 413, nil},
		{"unknown invoice", "GET", "/api/invoices/99", "", "", 404, nil},
		{"no number", "GET", "/api/invoices/abc", "", "", 404, nil},
		{"huge number", "GET", "/api/invoices/99999999999999999999", "", "", 404, nil},
		{"payment of nothing", "POST", "/api/invoices/99/payments", jsonMedia, `{"amount_cents":1}`, 404, nil},
		{"payment amount", "POST", "/api/invoices/1/payments", jsonMedia, `{"method":"barter"}`, 422, []string{"amount_cents", "method"}},
		{"customer", "POST", "/api/customers", jsonMedia, `{"name":" ","email":"nobody"}`, 422, []string{"name", "email"}},
		{"named address", "POST", "/api/customers", jsonMedia, `{"name":"E","email":"E <e@example.com>"}`, 422, []string{"email"}},
		{"header injection", "POST", "/api/customers", jsonMedia, `{"name":"E\r\nBcc: x","email":"e@example.com"}`, 422, []string{"name"}},
		{"unknown path", "GET", "/api/nothing", "", "", 404, nil},
		{"method", "DELETE", "/api/invoices", "", "", 405, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			app := open(t)
			before := counts(t, app)
			w := send(t, app, tt.method, tt.path, tt.media, tt.body)
			if w.Code != tt.status {
				t.Fatalf("got %d, want %d: %s", w.Code, tt.status, w.Body)
			}
			if tt.status == http.StatusCreated {
				return
			}
			if diff := cmp.Diff(counts(t, app), before); diff != "" {
				t.Errorf("a refused request stored something (-got +want):\n%s", diff)
			}
			checkProblem(t, w.Header(), w.Body.Bytes(), tt.status, tt.fields)
		})
	}
}

func checkProblem(t *testing.T, header http.Header, body []byte, status int, fields []string) {
	t.Helper()
	if got, want := header.Get("Content-Type"), "application/problem+json"; got != want {
		t.Errorf("content type: got %q, want %q", got, want)
	}
	var problem struct {
		Type, Title, Detail string
		Status              int
		Errors              []struct{ Field, Message string }
	}
	if err := json.Unmarshal(body, &problem); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	if problem.Status != status || problem.Type != "about:blank" || problem.Title == "" || problem.Detail == "" {
		t.Errorf("incomplete problem: %s", body)
	}
	var got []string
	for _, e := range problem.Errors {
		if e.Message == "" {
			t.Errorf("no message for %s", e.Field)
		}
		got = append(got, e.Field)
	}
	if diff := cmp.Diff(got, fields); diff != "" {
		t.Errorf("fields at fault (-got +want):\n%s", diff)
	}
}

func TestAPICreateAndRead(t *testing.T) {
	t.Parallel()
	app := open(t)
	w := send(t, app, http.MethodPost, "/api/invoices", "application/json; charset=utf-8",
		`{"customer_id":2,"amount_cents":125050,"currency":"SEK","note":" Bread\r\nand butter "}`)
	if w.Code != http.StatusCreated {
		t.Fatalf("got %d: %s", w.Code, w.Body)
	}
	if got, want := w.Header().Get("Location"), "/api/invoices/1"; got != want {
		t.Errorf("location: got %q, want %q", got, want)
	}
	created := object(t, w.Body.Bytes())
	number, _ := created["number"].(string)
	if !strings.HasPrefix(number, "INV-2") || !strings.HasSuffix(number, "-0001") {
		t.Errorf("number: got %q, want INV-<year>-0001", number)
	}
	delete(created, "number")
	delete(created, "created_at")
	want := map[string]any{
		"id": 1.0, "customer_id": 2.0, "customer": "Björk & Sons", "amount_cents": 125050.0,
		"currency": "SEK", "note": "Bread\nand butter", "paid_cents": 0.0,
	}
	if diff := cmp.Diff(created, want); diff != "" {
		t.Errorf("created (-got +want):\n%s", diff)
	}

	paid := send(t, app, http.MethodPost, "/api/invoices/1/payments", jsonMedia, `{"amount_cents":50,"method":"cash"}`)
	if paid.Code != http.StatusCreated {
		t.Fatalf("payment: got %d: %s", paid.Code, paid.Body)
	}
	read := object(t, send(t, app, http.MethodGet, w.Header().Get("Location"), "", "").Body.Bytes())
	if read["number"] != number || read["paid_cents"] != 50.0 {
		t.Errorf("read back: %v", read)
	}
	listed := object(t, send(t, app, http.MethodGet, "/api/invoices", "", "").Body.Bytes())
	if rows, _ := listed["invoices"].([]any); len(rows) != 1 {
		t.Errorf("listed: %v", listed)
	}
	customers := object(t, send(t, app, http.MethodGet, "/api/customers", "", "").Body.Bytes())
	if rows, _ := customers["customers"].([]any); len(rows) != 3 {
		t.Errorf("customers: %v", customers)
	}
}

func object(t *testing.T, text []byte) map[string]any {
	t.Helper()
	var got map[string]any
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return got
}
