package protected_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel/examples/invoices/tallybook"
)

const callers = 16

// want compares what is stored: so many of it in the naive copy, one in the
// protected one.
func want(t *testing.T, at *servedApp, naive, one tallybook.Counts) {
	t.Helper()
	expected := naive
	if at.protected {
		expected = one
	}
	if diff := cmp.Diff(at.counts(t), expected); diff != "" {
		t.Errorf("stored (-got +want):\n%s", diff)
	}
}

// TestManyClicks: sixteen presses of one button at once (promises 1, 2, 4).
func TestManyClicks(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, page string
		typed      url.Values
		naive, one tallybook.Counts
	}{
		{
			"invoice", "/invoices/new", invoiceForm(),
			tallybook.Counts{Invoices: callers, Customers: 3, Emails: callers},
			tallybook.Counts{Invoices: 1, Customers: 3, Emails: 1},
		},
		{
			"customer", "/customers",
			url.Values{"name": {"Eve"}, "email": {"eve@example.com"}},
			tallybook.Counts{Customers: 3 + callers},
			tallybook.Counts{Customers: 4},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			inBothCopies(t, func(t *testing.T, at *servedApp) {
				form := at.visitor(t).fill(t, tt.page, tt.typed)
				places := map[string]bool{}
				for _, got := range atOnce(t, callers, func(ctx context.Context, _ int) (*reply, error) { return form.press(ctx) }) {
					if got.StatusCode != http.StatusSeeOther {
						t.Errorf("got %d, want 303: %s", got.StatusCode, got.text)
					}
					places[got.where()] = true
				}
				if at.protected && len(places) != 1 {
					t.Errorf("led to %d places, want 1: %v", len(places), places)
				}
				want(t, at, tt.naive, tt.one)
			})
		})
	}
}

// TestManyClicksOnAPayment: the payment is made once, and its receipt is sent once.
func TestManyClicksOnAPayment(t *testing.T) {
	t.Parallel()
	inBothCopies(t, func(t *testing.T, at *servedApp) {
		person := at.visitor(t)
		invoice := person.fill(t, "/invoices/new", invoiceForm()).send(t).where()
		form := person.fill(t, invoice, url.Values{"amount": {"50"}, "method": {"card"}})
		atOnce(t, callers, func(ctx context.Context, _ int) (*reply, error) { return form.press(ctx) })
		want(t, at, tallybook.Counts{Invoices: 1, Payments: callers, Customers: 3, Emails: 1 + callers},
			tallybook.Counts{Invoices: 1, Payments: 1, Customers: 3, Emails: 2},
		)
	})
}

// TestReload: the answer of a form is reloaded, and the page says so.
func TestReload(t *testing.T) {
	t.Parallel()
	said := map[string]string{
		"":               "You sent this more than once; it was saved only once.",
		"sv-SE,sv;q=0.9": "Du skickade det här mer än en gång, men det sparades bara en gång.",
		"hi":             "आपने इसे एक से अधिक बार भेजा; यह केवल एक बार सहेजा गया।",
		"zh-CN":          "您多次提交了此表单，但只保存了一次。",
	}
	inBothCopies(t, func(t *testing.T, at *servedApp) {
		for language, sentence := range said {
			person := at.visitor(t)
			person.language = language
			form := person.fill(t, "/invoices/new", invoiceForm())
			first := form.send(t).where()
			if page := person.get(t, first).text; !strings.Contains(page, "created.") {
				t.Errorf("the first answer says nothing:\n%s", page)
			}
			again := form.send(t).where()
			if at.protected != (first == again) {
				t.Errorf("sent twice: %s and %s", first, again)
			}
			if page := person.get(t, again).text; at.protected != strings.Contains(page, sentence) {
				t.Errorf("language %q: %q on the page is %v, want %v", language, sentence, !at.protected, at.protected)
			}
		}
		want(t, at, tallybook.Counts{Invoices: 8, Customers: 3, Emails: 8},
			tallybook.Counts{Invoices: 4, Customers: 3, Emails: 4},
		)
	})
}

// TestFormsOfOthers: a token is worth something to its reader only, and a form
// without one is refused.
func TestFormsOfOthers(t *testing.T) {
	t.Parallel()
	at := open(t)
	form := at.visitor(t).fill(t, "/invoices/new", invoiceForm())
	form.by = at.visitor(t)
	form.by.get(t, "/invoices")
	if got := form.send(t); got.StatusCode != http.StatusConflict || got.member(t, "type") != "urn:semel:problem:form-stale" {
		t.Errorf("in another session: got %d: %s", got.StatusCode, got.text)
	}
	form.content.Del("_semel")
	if got := form.send(t); got.StatusCode != http.StatusConflict {
		t.Errorf("without a token: got %d", got.StatusCode)
	}
	want(t, at, tallybook.Counts{}, tallybook.Counts{Customers: 3})
}

// TestWithoutCookies: a browser that takes no cookies can send the form, once; no page
// of another site can have a browser send it.
func TestWithoutCookies(t *testing.T) {
	t.Parallel()
	at := open(t)
	form := at.visitor(t).fill(t, "/invoices/new", invoiceForm())
	bare := at.visitor(t)
	send := func(header ...string) *reply {
		bare.client.Jar = nil
		got, err := bare.do(t.Context(), http.MethodPost, form.action, "application/x-www-form-urlencoded", strings.NewReader(form.content.Encode()), header...)
		must(t, err)
		return got
	}
	if got := send("Sec-Fetch-Site", "cross-site"); got.StatusCode != http.StatusConflict {
		t.Errorf("from another site: got %d: %s", got.StatusCode, got.text)
	}
	first, second := send(), send()
	for _, got := range []*reply{first, second, form.send(t)} {
		if got.StatusCode != http.StatusSeeOther || got.where() != first.where() {
			t.Errorf("got %d to %q, want 303 to %q: %s", got.StatusCode, got.where(), first.where(), got.text)
		}
	}
	want(t, at, tallybook.Counts{}, tallybook.Counts{Invoices: 1, Customers: 3, Emails: 1})
}

// TestOtherCallersKeys: one key of two callers is two intents (promise 5).
func TestOtherCallersKeys(t *testing.T) {
	t.Parallel()
	at := open(t)
	program := at.visitor(t)
	for _, who := range []string{"Bearer ann", "Bearer bob", "Bearer ann"} {
		_, err := program.do(t.Context(), http.MethodPost, "/api/invoices", "application/json", strings.NewReader(invoiceJSON),
			"idempotency-key", "one-wish", "Authorization", who)
		must(t, err)
	}
	want(t, at, tallybook.Counts{}, tallybook.Counts{Invoices: 2, Customers: 3, Emails: 2})
}
