package semelhttp_test

import (
	"net/http"
	"testing"

	"github.com/semel-dev/semel/semelhttp"
)

// TestLetterCase (promise 2): a name that an application may take for a field that
// makes the key, and Semel for another, is refused: two requests that differ in
// what the application acts on are never one intent.
func TestLetterCase(t *testing.T) {
	t.Parallel()
	const js, form = "application/json", "application/x-www-form-urlencoded"
	multi, multiBody := multipartForm(t, "b0undary", "amount", "9", "who[]", "b")
	fields := semelhttp.Derived(semelhttp.DerivedKey{Fields: []string{"amount", "who"}})
	deep := semelhttp.Derived(semelhttp.DerivedKey{Fields: []string{"/pay/amount"}})
	for name, tt := range map[string]struct {
		key               semelhttp.KeySource
		contentType, body string
		refused           bool
	}{
		"JSON, as chosen":            {fields, js, `{"amount":9,"who":"a"}`, false},
		"JSON, some of the fields":   {fields, js, `{"who":"a"}`, false},
		"JSON, other case":           {fields, js, `{"AMOUNT":11,"who":"a"}`, true},
		"JSON, both":                 {fields, js, `{"amount":9,"Amount":11,"who":"a"}`, true},
		"JSON, folded by Unicode":    {semelhttp.Derived(semelhttp.DerivedKey{Fields: []string{"kind"}}), js, "{\"\u212aind\":1,\"kind\":2}", true},
		"JSON, elsewhere":            {fields, js, `{"amount":9,"who":"a","x":{"Amount":1}}`, false},
		"JSON, on the way":           {deep, js, `{"Pay":{"amount":1},"pay":{"amount":2}}`, true},
		"JSON, at the end":           {deep, js, `{"pay":{"amount":2,"Amount":1}}`, true},
		"form, as chosen":            {fields, form, `amount=9&who=a`, false},
		"form, other case":           {fields, form, `AMOUNT=11&who=a`, true},
		"form, both":                 {fields, form, `amount=9&Amount=11&who=a`, true},
		"JSON pointer, other case":   {semelhttp.FromJSONPointer("/id"), js, `{"ID":"a"}`, true},
		"JSON pointer, both":         {semelhttp.FromJSONPointer("/id"), js, `{"id":"a","Id":"b"}`, true},
		"JSON, an array by its name": {fields, js, `{"amount":9,"who":"a","who[]":"b"}`, true},
		"JSON, a space in front":     {fields, js, `{"amount":9," who":"b"}`, true},
		"JSON, cut off at a NUL":     {fields, js, `{"amount":9,"who\u0000x":"b"}`, true},
		"JSON, only begins alike":    {fields, js, `{"amount":9,"who_else":"b","my who":1,"x[who]":1}`, false},
		"form, an array by its name": {fields, form, `amount=9&who=a&who%5B%5D=b`, true},
		"form, only the array":       {fields, form, `amount=9&who[]=b`, true},
		"form, a part of it":         {fields, form, `amount=9&who[name]=b`, true},
		"form, brackets in front":    {fields, form, `amount=9&[who]=b`, true},
		"form, a space in front":     {fields, form, `amount=9&+who=b`, true},
		"form, cut off at a NUL":     {fields, form, `amount=9&who%00x=b`, true},
		"form, a dot":                {semelhttp.Derived(semelhttp.DerivedKey{Fields: []string{"to_whom"}}), form, `to.whom=b`, true},
		"form, part of another":      {fields, form, `amount=9&x[who]=b&who_else=1&whom[]=2`, false},
		"form, both are chosen":      {semelhttp.Derived(semelhttp.DerivedKey{Fields: []string{"who", "who[]"}}), form, `who=a&who[]=b`, false},
		"form, another part":         {semelhttp.Derived(semelhttp.DerivedKey{Fields: []string{"to[street]"}}), form, `to[street]=a&to[city]=b&to=c`, false},
		"multipart, the array":       {fields, multi, multiBody, true},
		"field of a form, array":     {semelhttp.FromFormField("token"), form, `token=a&token[]=b`, true},
		"field of a form, both":      {semelhttp.FromFormField("token"), form, `token=a&Token=b`, true},
		"field of a form, as chosen": {semelhttp.FromFormField("token"), form, `token=a&tokens=b`, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var invoices counter
			d := newDoor(t, doorOptions{Options: semelhttp.Options{Key: tt.key}})
			answer := handle(t, d.Handler(http.HandlerFunc(invoices.create)), "/invoices", tt.body, "Content-Type", tt.contentType)
			want, runs := http.StatusCreated, int64(1)
			if tt.refused {
				want, runs = http.StatusBadRequest, 0
			}
			if answer.Code != want {
				t.Errorf("got %d %s, want %d", answer.Code, answer.Body, want)
			}
			invoices.wantRan(t, "promise 2", runs)
		})
	}
}
