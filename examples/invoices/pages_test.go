package invoices_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/semel-dev/semel/examples/invoices"
)

func TestPages(t *testing.T) {
	t.Parallel()
	app := open(t)
	send(t, app, http.MethodPost, "/invoices", formMedia, invoiceForm().Encode())
	tests := []struct {
		method, path, body string
		status             int
		title              string
	}{
		{"GET", "/invoices", "", 200, "Invoices"},
		{"GET", "/invoices/new", "", 200, "New invoice"},
		{"GET", "/invoices/1", "", 200, "Invoice INV-"},
		{"GET", "/quick", "", 200, "Quick invoice"},
		{"GET", "/customers", "", 200, "Customers"},
		{"GET", "/outbox", "", 200, "Outbox"},
		{"GET", "/invoices/2", "", 404, "Not Found"},
		{"GET", "/invoices/-1", "", 404, "Not Found"},
		{"GET", "/invoices/first", "", 404, "Not Found"},
		{"POST", "/invoices/2/payments", "amount=1&method=card", 404, "Not Found"},
		{"GET", "/nothing", "", 404, "Not Found"},
		{"POST", "/outbox", "", 405, "Method Not Allowed"},
		{"POST", "/invoices", "note=" + strings.Repeat("x", 1<<20), 413, "Request Entity Too Large"},
		{"POST", "/invoices", "note=%zz", 400, "Bad Request"},
		{"POST", "/invoices", "amount=%ff", 422, "Error: New invoice"},
		{"POST", "/invoices/1/payments", "amount=&method=barter", 422, "Error: Invoice INV-"},
		{"POST", "/customers", "name=&email=nobody", 422, "Error: Customers"},
	}
	for _, tt := range tests {
		t.Run(tt.method+tt.path+" "+tt.title, func(t *testing.T) {
			t.Parallel()
			w := send(t, app, tt.method, tt.path, formMedia, tt.body)
			if w.Code != tt.status {
				t.Fatalf("got %d, want %d:\n%s", w.Code, tt.status, w.Body)
			}
			if !strings.Contains(w.Body.String(), "<title>"+tt.title) {
				t.Errorf("title is not %q:\n%s", tt.title, w.Body)
			}
			if !strings.HasPrefix(w.Header().Get("Content-Security-Policy"), "default-src 'self'") {
				t.Errorf("policy: %q", w.Header().Get("Content-Security-Policy"))
			}
			checkPage(t, w.Body.String())
		})
	}
	if w := send(t, app, http.MethodGet, "/", "", ""); w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/invoices" {
		t.Errorf("/: got %d to %q", w.Code, w.Header().Get("Location"))
	}
}

// checkPage reads the page as assistive technology does: unique ids, every
// field labelled, every reference resolved, nothing from elsewhere, no script.
func checkPage(t *testing.T, page string) {
	t.Helper()
	root, err := html.Parse(strings.NewReader(page))
	must(t, err)
	ids, labels, seen := map[string]bool{}, map[string]bool{}, map[string]int{}
	var fields, references []string
	for node := range root.Descendants() {
		if node.Type != html.ElementNode {
			continue
		}
		seen[node.Data]++
		attributes := map[string]string{}
		for _, a := range node.Attr {
			attributes[a.Key] = a.Val
		}
		if id := attributes["id"]; id != "" && ids[id] {
			t.Errorf("id %q is there twice", id)
		}
		ids[attributes["id"]] = true
		switch node.Data {
		case "label":
			labels[attributes["for"]] = true
		case "input", "select", "textarea":
			fields = append(fields, attributes["id"])
			if attributes["aria-invalid"] == "true" && !strings.Contains(attributes["aria-describedby"], "-error") {
				t.Errorf("field %s does not point at its error", attributes["id"])
			}
		}
		references = append(references, strings.Fields(attributes["aria-describedby"]+" "+attributes["aria-labelledby"])...)
		for _, key := range []string{"href", "src", "action"} {
			if at, fragment := strings.CutPrefix(attributes[key], "#"); fragment {
				references = append(references, at)
			} else if attributes[key] != "" && !strings.HasPrefix(attributes[key], "/") {
				t.Errorf("%s leads elsewhere: %q", key, attributes[key])
			}
		}
		if node.Data == "html" && attributes["lang"] != "en" {
			t.Error("the page does not say its language")
		}
	}
	for _, field := range fields {
		if !labels[field] {
			t.Errorf("field %q has no label", field)
		}
	}
	for _, id := range references {
		if id != "" && !ids[id] {
			t.Errorf("nothing has the id %q", id)
		}
	}
	if strings.Contains(page, `<script src="/static/quick.js"></script>`) { // of the page that works by a script
		seen["script"]--
	}
	if seen["script"] > 0 || seen["style"] > 0 {
		t.Error("scripts and inline styles are not wanted")
	}
	for _, once := range []string{"main", "header", "nav", "footer", "h1"} {
		if seen[once] != 1 {
			t.Errorf("%d of <%s>, want 1", seen[once], once)
		}
	}
	if seen["caption"] != seen["table"] {
		t.Error("a table lacks its caption")
	}
}

func TestPagesEscapeWhatPeopleType(t *testing.T) {
	t.Parallel()
	const attack = `</textarea></p><script>alert(1)</script>"'&`
	app := openWith(t, "", &invoices.Options{Latency: -1, Title: attack, Banner: attack})
	send(t, app, http.MethodPost, "/customers", formMedia,
		url.Values{"name": {attack}, "email": {"eve@example.com"}}.Encode())
	form := invoiceForm()
	form.Set("customer_id", "4")
	form.Set("note", attack)
	send(t, app, http.MethodPost, "/invoices", formMedia, form.Encode())
	if got := counts(t, app); got.Invoices != 1 || got.Customers != 4 {
		t.Fatalf("not stored: %+v", got)
	}
	form.Set("amount", attack)
	pages := []string{
		send(t, app, http.MethodPost, "/invoices", formMedia, form.Encode()).Body.String(),
		send(t, app, http.MethodGet, "/invoices/1", "", "").Body.String(),
		send(t, app, http.MethodGet, "/invoices", "", "").Body.String(),
		send(t, app, http.MethodGet, "/customers", "", "").Body.String(),
	}
	for _, page := range pages {
		if !strings.Contains(page, "&lt;script&gt;") {
			t.Errorf("the text is not on the page:\n%s", page)
		}
		checkPage(t, page)
	}
}

// TestGuard: one script tag on every page and an attribute on every form, and
// the script is served; without the option there is neither.
func TestGuard(t *testing.T) {
	t.Parallel()
	for _, guard := range []bool{false, true} {
		app := openWith(t, "", &invoices.Options{Latency: -1, Guard: guard})
		send(t, app, http.MethodPost, "/invoices", formMedia, invoiceForm().Encode())
		want := 0
		if guard {
			want = 1
		}
		for _, path := range []string{"/invoices/new", "/invoices/1", "/customers"} {
			page := send(t, app, http.MethodGet, path, "", "").Body.String()
			if got := strings.Count(page, `<script defer src="/semel/guard.js"></script>`); got != want {
				t.Errorf("guard %v: %s has %d scripts, want %d", guard, path, got, want)
			}
			if got := strings.Count(page, " novalidate data-semel>"); got != want {
				t.Errorf("guard %v: %s has %d marked forms, want %d", guard, path, got, want)
			}
		}
		status := http.StatusNotFound
		if guard {
			status = http.StatusOK
		}
		if got := send(t, app, http.MethodGet, "/semel/guard.js", "", "").Code; got != status {
			t.Errorf("guard %v: the script answered %d, want %d", guard, got, status)
		}
	}
}
