package services

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/semel-dev/semel"
	natsjs "github.com/semel-dev/semel/adapters/nats"
	"github.com/semel-dev/semel/flow"
	"github.com/semel-dev/semel/inbox"
	"github.com/semel-dev/semel/outbox"
	"github.com/semel-dev/semel/semelhttp"
	"github.com/semel-dev/semel/store/pgstore"
	"github.com/semel-dev/semel/store/sqlitestore"
	"github.com/semel-dev/semel/store/sqlitestore/sqlitetx"
	"github.com/semel-dev/semel/webhook"
)

const (
	// lease is short, so that people who kill processes do not wait. The default is 30 s.
	lease = time.Second

	// logisticsRemembers is the time for which the shipments' guard remembers a key.
	logisticsRemembers = 7 * 24 * time.Hour
)

// scope is for callers of one kind, whose keys are random.
func scope(name string) func(*http.Request) (string, error) {
	return func(*http.Request) (string, error) { return name, nil }
}

// records are a guard, and the transactions of the database that holds its records.
type records struct {
	guard      *semel.Guard
	store      semel.Store
	transactor semel.Transactor
	tx         func(context.Context) *sql.Tx
}

// openRecords keeps the records next to the business rows of db.
func openRecords(ctx context.Context, db *sql.DB, dsn string, retention time.Duration) (*records, error) {
	r := &records{}
	if dsn == "" {
		s, err := sqlitetx.Open(ctx, db, nil)
		if err != nil {
			return nil, err
		}
		r.store, r.transactor, r.tx = s, s.Transactor(), sqlitetx.TxFrom
	} else {
		s, err := pgstore.Open(ctx, dsn, nil)
		if err != nil {
			return nil, err
		}
		r.store, r.transactor, r.tx = s, s.Transactor(&pgstore.TxOptions{DB: db}), pgstore.SQLTxFrom
	}
	var err error
	if r.guard, err = semel.New(r.store, &semel.Options{Policy: semel.Policy{Lease: lease, Retention: retention}}); err != nil {
		return nil, errors.Join(err, r.store.Close())
	}
	return r, nil
}

func (r *records) close() error { return errors.Join(r.guard.Close(), r.store.Close()) }

// orders places orders and hears of payments.
type orders struct {
	*service
	*records
	config *fleetConfig
	out    *outbox.Outbox
	relay  *outbox.Relay
	flows  *flow.Flows
	paid   *flow.Definition[charge, string]
}

func protectOrders(ctx context.Context, s *service, c *fleetConfig, js jetstream.JetStream, end func() error) (*part, error) {
	r, err := openRecords(ctx, s.db, c.OrdersDSN, 0)
	if err != nil {
		return nil, errors.Join(err, end())
	}
	end = func() error { return errors.Join(r.close(), end()) } //nolint:contextcheck // closing is not the caller's to cancel
	o := &orders{service: s, records: r, config: c}
	p, err := o.openPart(ctx, js)
	if err != nil {
		return nil, errors.Join(err, end())
	}
	p.close = end
	return p, nil
}

func (o *orders) openPart(ctx context.Context, js jetstream.JetStream) (*part, error) {
	var err error
	if o.out, err = outbox.Open(ctx, o.db, nil); err != nil {
		return nil, err
	}
	publisher, err := natsjs.NewPublisher(js.Conn(), nil)
	if err != nil {
		return nil, err
	}
	if o.relay, err = outbox.NewRelay(o.out, o.guard, &breakable{publisher, o.faults}, &outbox.RelayOptions{Lease: lease}); err != nil {
		return nil, err
	}
	o.paid = flow.Define("order paid", o.orderPaid)
	if o.flows, err = flow.New(o.guard, &flow.Options{Transactor: o.transactor}, o.paid); err != nil { //nolint:contextcheck // New bounds its own lookups
		return nil, err
	}
	handler, err := o.routes() //nolint:contextcheck // logging at the start needs none
	return &part{handler: handler, work: []func(context.Context) error{o.relay.Run}}, err
}

func (o *orders) routes() (http.Handler, error) {
	byKey, err := semelhttp.New(o.guard, scope("shop"), &semelhttp.Options{Transactor: o.transactor})
	if err != nil {
		return nil, err
	}
	verifier, err := webhook.NewVerifier(&webhook.VerifierOptions{Secrets: []string{callbackSecret}})
	if err != nil {
		return nil, err
	}
	// A callback whose process died runs again: it only starts a flow, which goes on where it was.
	again := o.guard.Policy()
	again.OnUnknown = semel.Rerun
	reruns, err := o.guard.With(again)
	if err != nil {
		return nil, err
	}
	byEvent, err := verifier.Handler(reruns, roleProvider, http.HandlerFunc(o.callback), nil)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("POST /orders", o.faults.loses("orders/answer", o.wakes(byKey.Handler(answering(o.create)))))
	mux.Handle("POST /callbacks/payment", o.wakes(byEvent))
	return mux, nil
}

// wakes tells the relay of what was committed.
func (o *orders) wakes(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r)
		o.relay.Wake()
	})
}

// create works in the transaction that also records its answer: order, stock,
// coupon, points and message commit together, or not at all.
func (o *orders) create(r *http.Request) (int, any, error) {
	wanted, err := placed(r)
	if err != nil {
		return 0, nil, err
	}
	tx := o.tx(r.Context())
	if err := o.place(r.Context(), tx, &wanted); err != nil {
		return 0, nil, err
	}
	if err := o.out.Add(r.Context(), tx, outbox.Message{Topic: ordersTopic, Key: wanted.ID, Body: payload(&wanted)}); err != nil {
		return 0, nil, err
	}
	o.faults.die("orders/written")
	return http.StatusCreated, wanted, nil
}

// callback hears of a payment. The provider calls again until it hears 200.
func (o *orders) callback(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	c, err := paid(body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	key := semel.Key{Scope: roleProvider, Name: c.Order}
	if _, err := flow.Start(r.Context(), o.flows, o.paid, key, c); err != nil {
		o.log.WarnContext(r.Context(), "go on with a paid order", slog.Any("error", err))
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	o.faults.die("orders/callback")
}

// orderPaid books a payment and asks for the e-mail in one transaction, and orders the
// shipment at another service.
func (o *orders) orderPaid(r *flow.Run, c charge) (string, error) {
	_, err := flow.Tx(r, "book the payment", c, func(ctx context.Context, c charge) (string, error) {
		tx := o.tx(ctx)
		err := o.book(ctx, tx, &c)
		if err == nil {
			err = o.out.Add(ctx, tx, outbox.Message{Topic: mailsTopic, Key: c.Order, Body: payload(&c)})
		}
		return c.Order, err
	})
	if err != nil {
		return "", err
	}
	o.faults.die("orders/paid")
	return flow.Call(r, "order the shipment", c, func(ctx context.Context, c charge) (string, error) {
		err := o.post(ctx, o.config.url(roleLogistics, "/shipments"), `"`+flow.KeyFrom(ctx)+`"`, &c)
		if err == nil {
			o.faults.die("orders/shipped")
		}
		return c.Order, err
	}, flow.CalleeDedupes(logisticsRemembers))
}

// breakable dies before or after it publishes.
type breakable struct {
	next   outbox.Publisher
	faults faults
}

func (b *breakable) Publish(ctx context.Context, batch []outbox.Message) []error {
	b.faults.die("orders/publish")
	errs := b.next.Publish(ctx, batch)
	b.faults.die("orders/published")
	return errs
}

// openInbox opens an inbox whose records lie in a file of their own, next to
// the databases of the service.
func (s *service) openInbox(ctx context.Context, c *fleetConfig, consumer string, ask func(context.Context, inbox.Message) error) (*inbox.Inbox, func() error, error) {
	store, err := sqlitestore.Open(ctx, c.inboxFile(consumer), nil)
	if err != nil {
		return nil, nil, err
	}
	guard, err := semel.New(store, &semel.Options{Policy: semel.Policy{Lease: lease}})
	if err != nil {
		return nil, nil, errors.Join(err, store.Close()) //nolint:contextcheck // closing is not the caller's to cancel
	}
	end := func() error { return errors.Join(guard.Close(), store.Close()) } //nolint:contextcheck // closing is not the caller's to cancel
	in, err := inbox.New(guard, &inbox.Options{
		Consumer: consumer, Logger: s.log, Pause: ackWait / 4,
		Ask: func(ctx context.Context, _ semel.Record, m inbox.Message) (semel.Reconciliation, error) {
			switch err := ask(ctx, m); {
			case err == nil:
				return semel.Reconciliation{Verdict: semel.Happened}, nil
			case errors.Is(err, sql.ErrNoRows):
				return semel.Reconciliation{Verdict: semel.NotHappened}, nil
			default:
				return semel.Reconciliation{}, err
			}
		},
	})
	if err != nil {
		return nil, nil, errors.Join(err, end())
	}
	return in, end, nil
}

// consumes handles the messages of a topic through an inbox.
func (s *service) consumes(js jetstream.JetStream, in *inbox.Inbox, name, topic string, work inbox.Handler) func(context.Context) error {
	return func(ctx context.Context) error {
		if _, err := durable(ctx, js, name, topic); err != nil {
			return err
		}
		return natsjs.Consume(ctx, natsjs.Source{JetStream: js, Stream: stream, Consumer: name}, func(ctx context.Context, m inbox.Message) inbox.Verdict {
			s.faults.die(name + "/begin")
			verdicts := make(chan inbox.Verdict, 3)
			copies := 1
			if s.faults.consume(name + "/thrice") {
				copies = 3
			}
			for range copies {
				go func() { verdicts <- in.Handle(ctx, m, work) }()
			}
			v := <-verdicts
			for range copies - 1 {
				if other := <-verdicts; other.Act != inbox.Ack {
					v = other // the broker delivers it once more
				}
			}
			if v.Act == inbox.Ack {
				s.faults.die(name + "/ack")
			}
			return v
		}, nil)
	}
}

func protectPayment(ctx context.Context, s *service, c *fleetConfig, js jetstream.JetStream, end func() error) (*part, error) {
	in, closeInbox, err := s.openInbox(ctx, c, rolePayment, func(ctx context.Context, m inbox.Message) error {
		return s.get(ctx, c.url(roleProvider, "/charges/"+m.ID))
	})
	if err != nil {
		return nil, errors.Join(err, end())
	}
	charges := s.consumes(js, in, rolePayment, ordersTopic, func(ctx context.Context, m inbox.Message) error {
		var o order
		if err := json.Unmarshal(m.Body, &o); err != nil {
			return semel.MarkFinal(err)
		}
		err := s.post(ctx, c.url(roleProvider, "/charges"), m.ID, &charge{Order: o.ID, Amount: price})
		if err == nil {
			s.faults.die("payment/charged")
		}
		return err // the provider recognises the key, so trying again is safe
	})
	return &part{work: []func(context.Context) error{charges}, close: func() error { return errors.Join(closeInbox(), end()) }}, nil
}

func protectLogistics(ctx context.Context, s *service, c *fleetConfig, js jetstream.JetStream, end func() error) (*part, error) {
	r, err := openRecords(ctx, s.db, "", logisticsRemembers)
	if err != nil {
		return nil, errors.Join(err, end())
	}
	end = func() error { return errors.Join(r.close(), end()) } //nolint:contextcheck // closing is not the caller's to cancel
	door, err := semelhttp.New(r.guard, scope(roleOrders), &semelhttp.Options{Transactor: r.transactor})
	if err != nil {
		return nil, errors.Join(err, end())
	}
	in, closeInbox, err := s.openInbox(ctx, c, "mail", func(ctx context.Context, m inbox.Message) error {
		return s.get(ctx, c.url(roleProvider, "/mails/"+m.ID))
	})
	if err != nil {
		return nil, errors.Join(err, end())
	}
	mails := s.consumes(js, in, "mail", mailsTopic, func(ctx context.Context, m inbox.Message) error {
		var paid charge
		if err := json.Unmarshal(m.Body, &paid); err != nil {
			return semel.MarkFinal(err)
		}
		err := s.post(ctx, c.url(roleProvider, "/mails"), "", &mail{Reference: m.ID, Order: paid.Order})
		if err != nil {
			return semel.MarkUnknown(err) // the mail server recognises nothing, but can be asked
		}
		s.faults.die("mail/sent")
		return nil
	})
	mux := http.NewServeMux()
	mux.Handle("POST /shipments", s.faults.loses("logistics/answer", door.Handler(answering(func(req *http.Request) (int, any, error) {
		return s.shipment(req, r.tx(req.Context()))
	}))))
	return &part{handler: mux, work: []func(context.Context) error{mails}, close: func() error { return errors.Join(closeInbox(), end()) }}, nil
}
