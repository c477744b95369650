package natsjs_test

import (
	"context"
	"fmt"
	"log"
	"os/signal"
	"syscall"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/semel-dev/semel"
	natsjs "github.com/semel-dev/semel/adapters/nats"
	"github.com/semel-dev/semel/inbox"
	"github.com/semel-dev/semel/outbox"
	"github.com/semel-dev/semel/store/memstore"
)

// A consumer that ships each order once, until the process gets a signal.
func ExampleConsume() { //nolint:testableexamples // it needs a server.
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	conn, err := nats.Connect(nats.DefaultURL, nats.MaxReconnects(-1))
	if err != nil {
		log.Panic(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		log.Panic(err)
	}
	guard, err := semel.New(memstore.New(nil), nil) // a store in a database, in production
	if err != nil {
		log.Panic(err)
	}
	in, err := inbox.New(guard, &inbox.Options{Consumer: "shipping"})
	if err != nil {
		log.Panic(err)
	}
	ship := func(_ context.Context, m inbox.Message) error {
		fmt.Println("ship", string(m.Body))
		return nil
	}
	source := natsjs.Source{JetStream: js, Stream: "orders", Consumer: "shipping"}
	err = natsjs.Consume(ctx, source, func(ctx context.Context, m inbox.Message) inbox.Verdict {
		return in.Handle(ctx, m, ship)
	}, nil)
	fmt.Println("ended", err)
}

// A relay calls Publish; a program rarely does.
func ExampleNewPublisher() { //nolint:testableexamples // it needs a server.
	conn, err := nats.Connect(nats.DefaultURL, nats.MaxReconnects(-1))
	if err != nil {
		log.Panic(err)
	}
	defer conn.Close()
	p, err := natsjs.NewPublisher(conn, nil)
	if err != nil {
		log.Panic(err)
	}
	errs := p.Publish(context.Background(), []outbox.Message{{ID: "order-1", Topic: "orders.paid", Body: []byte("3 books")}})
	fmt.Println("stored", errs == nil)
}
