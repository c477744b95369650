package services

import (
	"context"
	"encoding/json"
	"io"
	"net/http"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/semel-dev/semel/examples/internal/sqlite"
)

// The naive shop: the same changes, calls and messages as in the protected
// one, each made as soon as it is due.

// naiveOrders places orders and hears of payments.
type naiveOrders struct {
	*service
	config *fleetConfig
	js     jetstream.JetStream
}

func (o *naiveOrders) routes() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("POST /orders", o.faults.loses("orders/answer", answering(o.create)))
	mux.Handle("POST /callbacks/payment", http.HandlerFunc(o.callback))
	return mux
}

func (o *naiveOrders) create(r *http.Request) (int, any, error) {
	wanted, err := placed(r)
	if err != nil {
		return 0, nil, err
	}
	if err := o.place(r.Context(), o.db, &wanted); err != nil {
		return 0, nil, err
	}
	o.faults.die("orders/written")
	o.faults.die("orders/publish")
	_, err = o.js.Publish(r.Context(), ordersTopic, payload(&wanted))
	o.faults.die("orders/published")
	return http.StatusCreated, wanted, err
}

// callback hears of a payment: it is booked, the shipment is ordered, and the e-mail asked for.
func (o *naiveOrders) callback(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err == nil {
		err = o.paid(r.Context(), body)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	o.faults.die("orders/callback")
}

func (o *naiveOrders) paid(ctx context.Context, body []byte) error {
	c, err := paid(body)
	if err != nil {
		return err
	}
	if err := o.book(ctx, o.db, &c); err != nil {
		return err
	}
	o.faults.die("orders/paid")
	if err := o.post(ctx, o.config.url(roleLogistics, "/shipments"), "", &c); err != nil {
		return err
	}
	o.faults.die("orders/shipped")
	_, err = o.js.Publish(ctx, mailsTopic, payload(&c))
	return err
}

// naiveConsumer acknowledges a message when its work is done.
func (s *service) naiveConsumer(js jetstream.JetStream, name, topic, role string, work func(context.Context, []byte) error) func(context.Context) error {
	return func(ctx context.Context) error {
		consumer, err := durable(ctx, js, name, topic)
		if err != nil {
			return err
		}
		messages, err := consumer.Messages(jetstream.PullMaxMessages(1))
		if err != nil {
			return err
		}
		defer context.AfterFunc(ctx, messages.Stop)()
		for {
			m, err := messages.Next()
			if err != nil {
				return err
			}
			s.faults.die(role + "/begin")
			copies := 1
			if s.faults.consume(role + "/thrice") {
				copies = 3
			}
			for range copies {
				err = work(ctx, m.Data())
			}
			if err != nil {
				_ = m.Nak()
				continue
			}
			s.faults.die(role + "/ack")
			_ = m.Ack()
		}
	}
}

// naiveCharge charges the card for an order.
func (s *service) naiveCharge(c *fleetConfig) func(context.Context, []byte) error {
	return func(ctx context.Context, body []byte) error {
		var o order
		if err := json.Unmarshal(body, &o); err != nil {
			return err
		}
		err := s.post(ctx, c.url(roleProvider, "/charges"), "", &charge{Order: o.ID, Amount: price})
		if err == nil {
			s.faults.die("payment/charged")
		}
		return err
	}
}

// naiveMail sends the e-mail about a payment.
func (s *service) naiveMail(c *fleetConfig) func(context.Context, []byte) error {
	return func(ctx context.Context, body []byte) error {
		var paid charge
		if err := json.Unmarshal(body, &paid); err != nil {
			return err
		}
		err := s.post(ctx, c.url(roleProvider, "/mails"), "", &mail{Order: paid.Order})
		if err == nil {
			s.faults.die("mail/sent")
		}
		return err
	}
}

// naiveShipments writes shipments as they are ordered.
func (s *service) naiveShipments() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("POST /shipments", s.faults.loses("logistics/answer", answering(func(r *http.Request) (int, any, error) {
		return s.shipment(r, s.db)
	})))
	return mux
}

// shipment writes the shipment that a request asks for.
func (s *service) shipment(r *http.Request, h sqlite.Handle) (int, any, error) {
	var c charge
	if err := decode(r, &c); err != nil {
		return 0, nil, err
	}
	return http.StatusCreated, c, s.ship(r.Context(), h, c.Order)
}
