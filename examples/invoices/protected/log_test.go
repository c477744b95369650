package protected_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel/examples/invoices/protected"
	"github.com/semel-dev/semel/examples/invoices/tallybook"
	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/rules/expression"
	"github.com/semel-dev/semel/rules"
)

// TestLog: the log distinguishes what a person did from what was only sent again, and what was
// sent is not told.
func TestLog(t *testing.T) {
	t.Parallel()
	read, write := io.Pipe()
	app, err := protected.Open("", &protected.Options{Logger: slog.New(slog.NewJSONHandler(write, nil))})
	must(t, err)
	at := serve(t, app)
	lines := make(chan map[string]any, 100)
	go func() {
		defer close(lines)
		for in := json.NewDecoder(read); ; {
			var line map[string]any
			if in.Decode(&line) != nil {
				return
			}
			if create, ok := line["create"].(map[string]any); ok {
				lines <- create
			}
		}
	}()

	program := at.visitor(t)
	atOnce(t, callers, func(ctx context.Context, _ int) (*reply, error) {
		return program.call(ctx, "/api/invoices", "secret-wish", invoiceJSON)
	})
	program.mustCall(t, "/api/invoices/1/payments", "p1", `{"amount_cents":100,"reference":"secret 1"}`)
	program.mustCall(t, "/api/invoices/1/payments", "p2", `{"amount_cents":100,"reference":"secret 1"}`)
	program.mustCall(t, "/api/customers", "c1", `{"name":"secret","email":"accounts@ada-bakery.example"}`)
	at.visitor(t).fill(t, "/customers", map[string][]string{"name": {"secret"}, "email": {"accounts@ada-bakery.example"}}).send(t)

	told, deadline := map[string]int{}, time.After(time.Minute)
	for range callers + 4 {
		var line map[string]any
		select {
		case line = <-lines:
		case <-deadline:
			t.Fatalf("only these were logged: %v", told)
		}
		outcome, _ := line["outcome"].(string)
		if outcome == "merged" { // or replayed: that is up to the scheduler
			outcome = "replayed"
		}
		rule, _ := line["rule"].(string)
		route, _ := line["route"].(string)
		told[strings.TrimSpace(route+" "+outcome+" "+rule)]++
		if text := fmt.Sprint(line); strings.Contains(text, "secret") || strings.Contains(text, "bakery") {
			t.Errorf("the log tells what was sent: %s", text)
		}
	}
	expected := map[string]int{
		"api created": 2, "api replayed": callers - 1,
		"api returned-existing one_payment_per_reference": 1,
		"api rejected one_customer_per_email":             1,
		"forms rejected one_customer_per_email":           1,
	}
	if diff := cmp.Diff(told, expected); diff != "" {
		t.Errorf("outcomes (-got +want):\n%s", diff)
	}
	must(t, write.Close())
	for range lines { // until the reader has ended
	}
}

// TestPolicy: what callers may rely on is published, where refusals link to.
func TestPolicy(t *testing.T) {
	t.Parallel()
	program := open(t).visitor(t)
	refused := program.mustCall(t, "/api/invoices", "", invoiceJSON)
	link := refused.Header.Get("Link")
	if refused.StatusCode != http.StatusBadRequest || !strings.Contains(link, `rel="describedby"`) {
		t.Fatalf("got %d, link %q", refused.StatusCode, link)
	}
	_, rest, _ := strings.Cut(link, "<")
	path, _, _ := strings.Cut(rest, ">")
	published := program.get(t, path)
	if published.member(t, "required") != true || published.member(t, "retention_seconds") != 3*24*3600.0 {
		t.Errorf("published: %s", published.text)
	}
}

// TestSchemaKeepsTheRules: every rule of semel.yaml has its unique index, over
// what the rule says.
func TestSchemaKeepsTheRules(t *testing.T) {
	t.Parallel()
	file, err := rules.Load("semel.yaml")
	must(t, err)
	db, err := tallybook.OpenDatabase(filepath.Join(t.TempDir(), "invoices.db"), string(read(t, "sql/schema.sql")))
	must(t, err)
	defer db.Close()
	squeeze := strings.NewReplacer(" ", "", `"`, "", "\n", "")
	for _, rule := range file.Unique {
		var terms []string
		for _, term := range rule.Terms() {
			parsed, err := expression.Parse(term.Text)
			must(t, err)
			text, err := parsed.Render(dialect.SQLite, nil)
			must(t, err)
			terms = append(terms, text)
		}
		var ddl string
		err := db.QueryRowContext(t.Context(), "SELECT sql FROM sqlite_master WHERE type = 'index' AND name = ?", rule.Name).Scan(&ddl)
		if err != nil {
			t.Fatalf("%s has no index: %v", rule.Name, err)
		}
		if ddl = squeeze.Replace(ddl); !strings.HasPrefix(ddl, "CREATEUNIQUEINDEX") || !strings.HasSuffix(ddl, squeeze.Replace("("+strings.Join(terms, ",")+")")) {
			t.Errorf("%s: the index is %s, the rule says %q", rule.Name, ddl, terms)
		}
	}
}
