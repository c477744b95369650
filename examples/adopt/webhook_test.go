package adopt_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/memstore"
	"github.com/semel-dev/semel/webhook"
)

const secret = "whsec_of_the_endpoint"

// mountStripe lets each event of Stripe through once.
func mountStripe(guard *semel.Guard, orderPaid http.HandlerFunc) (http.Handler, error) {
	verifier, err := webhook.NewVerifier(&webhook.VerifierOptions{Scheme: webhook.Stripe, Secrets: []string{secret}})
	if err != nil {
		return nil, err
	}
	return verifier.Handler(guard, "stripe", orderPaid, nil)
}

// TestStripe: an event that Stripe delivers again, signed anew, is handled once; one that it did not sign, never.
func TestStripe(t *testing.T) {
	t.Parallel()
	store := memstore.New(nil)
	guard, err := semel.New(store, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = guard.Close(); _ = store.Close() })
	s := &shop{}
	handler, err := mountStripe(guard, s.create)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	deliver := func(secret, body string, at time.Time) reply {
		signature := hmac.New(sha256.New, []byte(secret))
		_, _ = fmt.Fprintf(signature, "%d.%s", at.Unix(), body)
		return post(t, server, "/", body, "Stripe-Signature", fmt.Sprintf("t=%d,v1=%s", at.Unix(), hex.EncodeToString(signature.Sum(nil))))
	}
	now := time.Now()
	for i, body := range []string{`{"id":"evt_1","pending_webhooks":2}`, `{"id":"evt_1","pending_webhooks":1}`} {
		if got := deliver(secret, body, now.Add(time.Duration(i)*time.Second)); got.Status != http.StatusCreated || got.Body != "order 1" {
			t.Errorf("delivery %d: %+v", i, got)
		}
	}
	atOnce(func() { deliver(secret, `{"id":"evt_2"}`, now) })
	if got := deliver("another", `{"id":"evt_3"}`, now); got.Status != http.StatusUnauthorized {
		t.Errorf("signed by another: %+v", got)
	}
	if got := s.orders.Load(); got != 2 {
		t.Errorf("%d orders, want 2", got)
	}
}
