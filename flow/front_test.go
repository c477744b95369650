package flow_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/flow"
	"github.com/semel-dev/semel/inbox"
	"github.com/semel-dev/semel/semelhttp"
)

// front receives orders for a shop, by handlers that work in transactions.
type front struct {
	*shop

	messages *inbox.Inbox
	web      *semelhttp.Middleware
}

func openFront(s *shop) (*front, error) {
	messages, err := inbox.New(s.guard, &inbox.Options{Consumer: "front", Redelivery: time.Hour})
	if err != nil {
		return nil, err
	}
	web, err := semelhttp.New(s.guard, semelhttp.ScopeBy(func(*http.Request) string { return "front" }), &semelhttp.Options{Transactor: s.store.Transactor()})
	return &front{s, messages, web}, err
}

// serve receives an order, then starts its flow, and that of its payment.
func (f *front) serve(ctx context.Context, i int) error {
	if err := f.receive(ctx, i); err != nil {
		return err
	}
	for _, def := range []*flow.Definition[order, receipt]{f.order, f.payment} {
		if _, err := flow.Start(ctx, f.flows, def, numbered(i), ada); err != nil {
			return err
		}
	}
	return nil
}

// receive notes the order, by one of three doors.
func (f *front) receive(ctx context.Context, i int) error {
	key := strconv.Itoa(i)
	switch i % 3 {
	case 0:
		_, err := semel.DoTx(ctx, f.guard, f.store.Transactor(), semel.Key{Scope: "front", Name: key}, semel.Fingerprint{},
			func(ctx context.Context) (int, error) { return i, f.insertMail(ctx, i) })
		return err
	case 1:
		v := f.messages.HandleTx(ctx, f.store.Transactor(), inbox.Message{ID: key, Deliveries: 1}, func(ctx context.Context, _ inbox.Message) error { return f.insertMail(ctx, i) })
		if v.Act != inbox.Ack {
			return fmt.Errorf("%v: %w", v.Reason, v.Err)
		}
		return nil
	}
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/", http.NoBody)
	r.Header.Set("Idempotency-Key", key)
	answer := httptest.NewRecorder()
	f.web.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if f.insertMail(r.Context(), i) != nil {
			w.WriteHeader(http.StatusInternalServerError)
		}
	})).ServeHTTP(answer, r)
	if answer.Code != http.StatusOK {
		return fmt.Errorf("status %d", answer.Code)
	}
	return nil
}

// insertMail writes the row of the handler, in whose transaction no flow starts.
func (f *front) insertMail(ctx context.Context, i int) error {
	if _, err := flow.Start(ctx, f.flows, f.order, numbered(i), ada); err == nil {
		return errors.New("a flow ran in a transaction")
	}
	_, err := f.insert("mails", 1)(ctx, ada)
	return err
}
