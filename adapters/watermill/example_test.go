package semelwatermill_test

import (
	"context"
	"fmt"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/semel-dev/semel"
	semelwatermill "github.com/semel-dev/semel/adapters/watermill"
	"github.com/semel-dev/semel/inbox"
	"github.com/semel-dev/semel/store/memstore"
)

func ExampleMiddleware() {
	store := memstore.New(nil)
	defer store.Close()
	guard, err := semel.New(store, nil)
	if err != nil {
		panic(err)
	}
	defer guard.Close()
	in, err := inbox.New(guard, &inbox.Options{Consumer: "billing"})
	if err != nil {
		panic(err)
	}
	once := semelwatermill.Middleware(in.Handle, nil) // router.AddMiddleware(once)

	handler := once(func(msg *message.Message) ([]*message.Message, error) {
		fmt.Println("charge", string(msg.Payload))
		return nil, nil
	})
	for range 3 { // delivered three times
		if _, err := handler(message.NewMessageWithContext(context.Background(), "8e03978e", []byte("order 17"))); err != nil {
			panic(err)
		}
	}
	// Output: charge order 17
}
