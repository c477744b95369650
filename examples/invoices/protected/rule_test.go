package protected_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel/examples/invoices/tallybook"
)

// TestOneCustomerPerEmail: two wishes for the same customer are a conflict,
// with a message in the language of the caller.
func TestOneCustomerPerEmail(t *testing.T) {
	t.Parallel()
	said := map[string]string{
		"en": "There is a customer with this e-mail address already.",
		"sv": "Det finns redan en kund med den här e-postadressen.",
		"hi": "इस ई-मेल पते वाला ग्राहक पहले से मौजूद है।",
		"zh": "已有客户使用该电子邮箱。",
	}
	inBothCopies(t, func(t *testing.T, at *servedApp) {
		for language, sentence := range said {
			person := at.visitor(t)
			person.language = language
			status := http.StatusSeeOther
			if at.protected {
				status = http.StatusConflict
			}
			form := person.fill(t, "/customers", url.Values{"name": {"Ada"}, "email": {"Accounts@ADA-bakery.example"}})
			got := form.send(t)
			if got.StatusCode != status {
				t.Fatalf("form in %s: got %d, want %d: %s", language, got.StatusCode, status, got.text)
			}
			if told := fmt.Sprintf(` lang=%q>%s`, language, sentence); at.protected && strings.Count(got.text, told) != 2 {
				t.Errorf("want %s in the summary and at the field:\n%s", told, got.text)
			}
			if again := form.send(t); at.protected && again.text != got.text {
				t.Error("the conflict is not replayed")
			}
			answer := person.mustCall(t, "/api/customers", "key-"+language, `{"name":"Ada","email":"accounts@ada-bakery.EXAMPLE"}`)
			if !at.protected {
				continue
			}
			told := map[string]any{}
			for _, member := range []string{"type", "status", "rule", "fields", "detail"} {
				told[member] = answer.member(t, member)
			}
			expected := map[string]any{
				"type": "urn:semel:problem:already-exists", "status": 409.0, "rule": "one_customer_per_email",
				"fields": []any{"email"}, "detail": sentence,
			}
			if diff := cmp.Diff(told, expected); diff != "" || answer.Header.Get("Content-Language") != language {
				t.Errorf("program in %s: %v (-got +want):\n%s", language, answer.Header, diff)
			}
			if strings.Contains(strings.ToLower(answer.text), "ada-bakery") {
				t.Errorf("the problem repeats an e-mail address: %s", answer.text)
			}
		}
		want(t, at, tallybook.Counts{Customers: 3 + 3*len(said)}, tallybook.Counts{Customers: 3})
	})
}

// TestManyAddOneCustomer: sixteen people at once, each with a wish of their own.
func TestManyAddOneCustomer(t *testing.T) {
	t.Parallel()
	inBothCopies(t, func(t *testing.T, at *servedApp) {
		program := at.visitor(t)
		created := 0
		for _, got := range atOnce(t, callers, func(ctx context.Context, i int) (*reply, error) {
			return program.call(ctx, "/api/customers", fmt.Sprint("wish-", i), `{"name":"Eve","email":"eve@example.com"}`)
		}) {
			if got.StatusCode == http.StatusCreated {
				created++
			}
		}
		if at.protected && created != 1 {
			t.Errorf("%d callers got the answer that they created the customer, want 1", created)
		}
		want(t, at, tallybook.Counts{Customers: 3 + callers}, tallybook.Counts{Customers: 4})
	})
}

// TestOnePaymentPerReference: a bank statement is imported again, under other keys.
func TestOnePaymentPerReference(t *testing.T) {
	t.Parallel()
	inBothCopies(t, func(t *testing.T, at *servedApp) {
		program := at.visitor(t)
		program.language = "sv"
		program.mustCall(t, "/api/invoices", "invoice", invoiceJSON)
		ids := map[any]bool{}
		for _, got := range atOnce(t, callers, func(ctx context.Context, i int) (*reply, error) {
			return program.call(ctx, "/api/invoices/1/payments", fmt.Sprint("import-", i), `{"amount_cents":10000,"reference":"OCR 4711"}`)
		}) {
			if got.StatusCode != http.StatusCreated {
				t.Errorf("got %d: %s", got.StatusCode, got.text)
			}
			ids[got.member(t, "id")] = true
		}
		if at.protected != (len(ids) == 1) {
			t.Errorf("%d payments were announced", len(ids))
		}
		other := program.mustCall(t, "/api/invoices/1/payments", "other", `{"amount_cents":1,"reference":"OCR 4711"}`)
		if at.protected && (other.StatusCode != http.StatusConflict || !strings.Contains(other.text, "betalning med den här referensen")) {
			t.Errorf("another amount: got %d: %s", other.StatusCode, other.text)
		}
		want(t, at, tallybook.Counts{Invoices: 1, Payments: callers + 1, Customers: 3, Emails: callers + 2},
			tallybook.Counts{Invoices: 1, Payments: 1, Customers: 3, Emails: 2},
		)
	})
}

// TestNothingOverpays: 150 are due, and sixteen people pay 100 at once.
func TestNothingOverpays(t *testing.T) {
	t.Parallel()
	inBothCopies(t, func(t *testing.T, at *servedApp) {
		program := at.visitor(t)
		program.mustCall(t, "/api/invoices", "invoice", invoiceJSON)
		statuses := map[int]int{}
		for _, got := range atOnce(t, callers, func(ctx context.Context, i int) (*reply, error) {
			return program.call(ctx, "/api/invoices/1/payments", fmt.Sprint("payment-", i), `{"amount_cents":10000}`)
		}) {
			statuses[got.StatusCode]++
		}
		expected := map[int]int{http.StatusCreated: callers}
		if at.protected {
			expected = map[int]int{http.StatusCreated: 1, http.StatusUnprocessableEntity: callers - 1}
		}
		if diff := cmp.Diff(statuses, expected); diff != "" {
			t.Errorf("statuses (-got +want):\n%s", diff)
		}
		if rest := program.mustCall(t, "/api/invoices/1/payments", "rest", `{"amount_cents":5000}`); rest.StatusCode != http.StatusCreated {
			t.Errorf("the rest: got %d: %s", rest.StatusCode, rest.text)
		}
		overpaid := strings.Contains(program.get(t, "/invoices/1").text, ">overpaid<")
		if overpaid == at.protected {
			t.Errorf("overpaid: %v", overpaid)
		}
	})
}
