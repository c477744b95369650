package which_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/flow"
	"github.com/semel-dev/semel/internal/webhooksig"
	"github.com/semel-dev/semel/store/sqlitestore/sqlitetx"
	"github.com/semel-dev/semel/webhook"
)

// Payment is the body of a payment service's callback.
type Payment struct {
	Event string `json:"id"`
	Order int64  `json:"order"`
}

// paymentFlow sets the status of an order that is paid, sends the parcel and a mail.
func (s *shop) paymentFlow(logistics *service) *flow.Definition[Payment, string] {
	return flow.Define("order paid", func(r *flow.Run, in Payment) (string, error) {
		if _, err := flow.Tx(r, "order paid", in.Order, markPaid); err != nil {
			return "", err
		}
		parcel, err := flow.Call(r, "shipment", 1, logistics.post, flow.CalleeDedupes(20*time.Hour))
		if err != nil {
			return "", err
		}
		_, err = flow.Tx(r, "notify", parcel, mail)
		return parcel, err
	})
}

func markPaid(ctx context.Context, order int64) (int64, error) {
	return exec(ctx, sqlitetx.TxFrom(ctx), "UPDATE orders SET status = 'paid' WHERE id = ? AND status = 'open'", order)
}

// mail puts the mail into the table of a mailer, in the step's transaction.
func mail(ctx context.Context, parcel string) (int64, error) {
	return exec(ctx, sqlitetx.TxFrom(ctx), "INSERT INTO mails (text) VALUES (?)", "your parcel is "+parcel)
}

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// sign does as senders of Standard Webhooks do, at every call anew.
func sign(r *http.Request, body string) {
	key, err := webhooksig.DecodeSecret(secret)
	check(err)
	now := time.Now()
	r.Header.Set("Webhook-Id", "msg_2KWPBgLlAfxd")
	r.Header.Set("Webhook-Timestamp", strconv.FormatInt(now.Unix(), 10))
	r.Header.Set("Webhook-Signature", webhooksig.Sign(key, "msg_2KWPBgLlAfxd", now, []byte(body)))
}

// The payment service calls back until it hears 200: at first the warehouse is down, then our
// answer is lost, so it calls three times. The parcel leaves once.
func Example_paymentCallback() {
	ctx := context.Background()
	s, logistics := open(ctx), &service{down: true}
	defer s.close()
	_, err := s.db.ExecContext(ctx, "INSERT INTO orders (id, customer, item) VALUES (17, 'Ada', 'tea')")
	check(err)
	paid := s.paymentFlow(logistics)
	flows := s.flows(paid)

	verifier, err := webhook.NewVerifier(&webhook.VerifierOptions{Secrets: []string{secret}})
	check(err)
	callback, err := verifier.Handler(s.guard, "payments", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in Payment
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			http.Error(w, "not a payment", http.StatusBadRequest)
			return
		}
		key := semel.Key{Scope: "payment callbacks", Name: in.Event} // the same at every call
		if _, err := flow.Start(r.Context(), flows, paid, key, in); err != nil {
			http.Error(w, "call again", http.StatusServiceUnavailable) // the next call goes on where this one ended
		}
	}), nil)
	check(err)

	for range 3 {
		w := do(callback, http.MethodPost, "/payments", `{"id":"evt_93","order":17}`, sign)
		fmt.Println(w.Code)
		logistics.down = false
	}
	fmt.Println(do(callback, http.MethodPost, "/payments", `{"id":"evt_94","order":17}`).Code) // a stranger
	s.print(ctx, "paid", "SELECT COUNT(*) FROM orders WHERE status = 'paid'")
	fmt.Println(logistics.sum, "parcel")
	s.print(ctx, "mail", "SELECT COUNT(*) FROM mails")
	// Output:
	// 503
	// 200
	// 200
	// 401
	// 1 paid
	// 1 parcel
	// 1 mail
}
