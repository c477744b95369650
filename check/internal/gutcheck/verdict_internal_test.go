package gutcheck

import "testing"

// TestThing: an answer names its thing, not the customer, the port or a nonce.
func TestThing(t *testing.T) {
	t.Parallel()
	for _, one := range []struct{ target, body, want string }{
		{body: `{"id":1,"customer_id":7}`, want: "1"},
		{body: `{"number":"A-1","uuid":"f","customer_id":7}`, want: "f"},
		{body: `{"ID":12345678901234567890}`, want: "12345678901234567890"},
		{body: `{"id":null,"number":3}`, want: "3"},
		{body: `{"customer_id":7}`},
		{body: `[1]`},
		{target: "http://127.0.0.1:3000/orders"},
		{target: "/orders?notice=8f14e45fceea167a"},
		{target: "http://127.0.0.1:3000/orders/17?notice=2", want: "/orders/17"},
		{target: "/orders/17", body: `{"id":1}`, want: "/orders/17"},
	} {
		for range 20 { // maps have no order
			if got := (&sending{status: 200, target: one.target, body: []byte(one.body)}).thing(); got != one.want {
				t.Errorf("%s%s names %q, not %q", one.target, one.body, got, one.want)
				break
			}
		}
	}
}
