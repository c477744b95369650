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
func want(t *testing.T, at *place, naive, one tallybook.Counts) {
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
			inBothCopies(t, func(t *testing.T, at *place) {
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
	inBothCopies(t, func(t *testing.T, at *place) {
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
	inBothCopies(t, func(t *testing.T, at *place) {
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

// TestBackAndEdit: another content is another wish; the same one is not.
func TestBackAndEdit(t *testing.T) {
	t.Parallel()
	inBothCopies(t, func(t *testing.T, at *place) {
		form := at.visitor(t).fill(t, "/invoices/new", invoiceForm())
		first := form.send(t).where()
		edited := form.with(url.Values{"amount": {"151.00"}}).send(t).where()
		if first == edited {
			t.Errorf("the edited form led to the first invoice, %s", first)
		}
		if back := form.send(t).where(); at.protected != (back == first) {
			t.Errorf("the first form again led to %s, the first time to %s", back, first)
		}
		want(t, at, tallybook.Counts{Invoices: 3, Customers: 3, Emails: 3},
			tallybook.Counts{Invoices: 2, Customers: 3, Emails: 2},
		)
	})
}

// TestTwoTabs: two renderings of a form are two wishes; a duplicated tab is one.
func TestTwoTabs(t *testing.T) {
	t.Parallel()
	inBothCopies(t, func(t *testing.T, at *place) {
		person := at.visitor(t)
		left := person.fill(t, "/invoices/new", invoiceForm())
		right := person.fill(t, "/invoices/new", invoiceForm())
		tabs := []*filled{left, left, right}
		atOnce(t, len(tabs), func(ctx context.Context, i int) (*reply, error) { return tabs[i].press(ctx) })
		want(t, at, tallybook.Counts{Invoices: 3, Customers: 3, Emails: 3},
			tallybook.Counts{Invoices: 2, Customers: 3, Emails: 2},
		)
	})
}

// TestRefusedFormAgain: a form with something wrong in it can be fixed and
// sent; what was wrong stays so.
func TestRefusedFormAgain(t *testing.T) {
	t.Parallel()
	at := open(t)
	form := at.visitor(t).fill(t, "/invoices/new", invoiceForm())
	wrong := form.with(url.Values{"amount": {"much"}})
	for range 2 {
		if got := wrong.send(t); got.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(got.text, `value="much"`) {
			t.Errorf("got %d: %s", got.StatusCode, got.text)
		}
	}
	if got := form.send(t); got.StatusCode != http.StatusSeeOther {
		t.Errorf("fixed: got %d: %s", got.StatusCode, got.text)
	}
	want(t, at, tallybook.Counts{}, tallybook.Counts{Invoices: 1, Customers: 3, Emails: 1})
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

// TestAPI: sixteen at once, a late retry, another payload, and no key.
func TestAPI(t *testing.T) {
	t.Parallel()
	inBothCopies(t, func(t *testing.T, at *place) {
		program := at.visitor(t)
		numbers := map[any]bool{}
		for _, got := range atOnce(t, callers, func(ctx context.Context, _ int) (*reply, error) {
			return program.call(ctx, "/api/invoices", "one-wish", invoiceJSON)
		}) {
			numbers[got.member(t, "number")] = true
		}
		late := program.mustCall(t, "/api/invoices", "one-wish", invoiceJSON)
		numbers[late.member(t, "number")] = true
		if late.StatusCode != http.StatusCreated || at.protected != (late.Header.Get("Idempotent-Replayed") == "true") {
			t.Errorf("late: got %d %v", late.StatusCode, late.Header)
		}
		if at.protected != (len(numbers) == 1) {
			t.Errorf("%d invoices were announced: %v", len(numbers), numbers)
		}
		refusals := map[string]int{"one-wish": http.StatusUnprocessableEntity, "": http.StatusBadRequest}
		for key, status := range refusals {
			if !at.protected {
				status = http.StatusCreated
			}
			if got := program.mustCall(t, "/api/invoices", key, `{"customer_id":2,"amount_cents":1}`); got.StatusCode != status {
				t.Errorf("key %q with another payload: got %d, want %d: %s", key, got.StatusCode, status, got.text)
			}
		}
		want(t, at, tallybook.Counts{Invoices: callers + 3, Customers: 3, Emails: callers + 3},
			tallybook.Counts{Invoices: 1, Customers: 3, Emails: 1},
		)
	})
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
