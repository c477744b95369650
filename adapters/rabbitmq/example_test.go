package rabbitmq_test

import (
	"context"
	"fmt"
	"log"
	"os/signal"
	"syscall"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/adapters/rabbitmq"
	"github.com/semel-dev/semel/inbox"
	"github.com/semel-dev/semel/outbox"
	"github.com/semel-dev/semel/store/memstore"
)

func connect() (*amqp.Connection, error) { return amqp.Dial("amqp://guest:guest@localhost/") }

// A consumer that ships each order once, until the process gets a signal.
func ExampleConsume() { //nolint:testableexamples // it needs a server.
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
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
	err = rabbitmq.Consume(ctx, rabbitmq.Source{Dial: connect, Queue: "orders"}, func(ctx context.Context, m inbox.Message) inbox.Verdict {
		return in.Handle(ctx, m, ship)
	}, nil)
	fmt.Println("ended", err)
}

// A relay calls Publish; a program rarely does.
func ExampleNewPublisher() { //nolint:testableexamples // it needs a server.
	p, err := rabbitmq.NewPublisher(connect, nil)
	if err != nil {
		log.Panic(err)
	}
	defer p.Close()
	errs := p.Publish(context.Background(), []outbox.Message{{ID: "order-1", Topic: "shop/orders.paid", Body: []byte("3 books")}})
	fmt.Println("stored", errs == nil)
}
