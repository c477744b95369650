package kafka_test

import (
	"context"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/semel-dev/semel/adapters/kafka"
	"github.com/semel-dev/semel/inbox"
)

// The examples share an inbox, over any store.
var billing *inbox.Inbox

func ExampleConsume() { //nolint:testableexamples // it needs a broker.
	source := kafka.Source{Group: "billing", Topics: []string{"orders"}, Client: []kgo.Opt{kgo.SeedBrokers("localhost:9092")}}
	err := kafka.Consume(context.Background(), source, func(ctx context.Context, m inbox.Message) inbox.Verdict {
		return billing.Handle(ctx, m, func(context.Context, inbox.Message) error {
			return nil // charge the order in m.Body
		})
	}, nil)
	if err != nil {
		panic(err)
	}
}

func ExampleNewPublisher() { //nolint:testableexamples // it needs a broker.
	client, err := kgo.NewClient(kgo.SeedBrokers("localhost:9092"))
	if err != nil {
		panic(err)
	}
	defer client.Close()
	if _, err := kafka.NewPublisher(client, nil); err != nil { // for outbox.NewRelay
		panic(err)
	}
}
