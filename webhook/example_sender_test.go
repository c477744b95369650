package webhook_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"time"

	"github.com/semel-dev/semel/outbox"
	"github.com/semel-dev/semel/webhook"
)

// A relay calls Publish; its messages were added to an outbox, one for each endpoint.
func ExampleSender() {
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		fmt.Println("arrived:", r.Header.Get("webhook-id") != "", r.Header.Get("webhook-signature")[:3])
	}))
	defer receiver.Close()
	sender, err := webhook.NewSender(func(_ context.Context, endpoint string) (webhook.Endpoint, error) { // from a table
		return webhook.Endpoint{URL: receiver.URL, Secrets: []string{"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}}, nil
	}, &webhook.SenderOptions{AllowHTTP: true, AllowNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}) // for this example only
	if err != nil {
		panic(err)
	}
	defer sender.Close()
	messages := webhook.Fan(outbox.Message{ID: "event-1", Key: "order-17", Body: []byte(`{"type":"order.paid"}`)}, "acme")
	fmt.Println(sender.Publish(context.Background(), messages))
	// Output:
	// arrived: true v1,
	// [<nil>]
}

// An event for two customers is two messages: each has an id, attempts and an order of its own, the same in every run.
func ExampleFan() {
	event := outbox.Message{ID: "event-1", Key: "order-17", Body: []byte(`{"type":"order.paid"}`)}
	messages := webhook.Fan(event, "acme", "globex") // then out.Add(ctx, tx, messages...)
	for _, m := range messages {
		fmt.Printf("%s: %s\n", m.Topic, m.Body)
	}
	again := webhook.Fan(event, "acme", "globex")
	fmt.Println(messages[0].ID == again[0].ID, messages[0].ID == messages[1].ID)
	// Output:
	// acme: {"type":"order.paid"}
	// globex: {"type":"order.paid"}
	// true false
}

// A shop that notifies a warehouse tries at least once an hour, and keeps the order of each key.
func ExampleRelayOptions() {
	o := webhook.RelayOptions()
	fmt.Println(o.MaxAttempts, o.MinPause, o.MaxPause, o.OnPoison == outbox.SkipMessage)
	o.MaxPause = time.Hour // between two attempts
	o.OnPoison = outbox.StopKey
	fmt.Println(o.MaxPause, o.OnPoison == outbox.StopKey) // for outbox.NewRelay(out, guard, sender, o)

	// Output:
	// 25 5s 6h0m0s true
	// 1h0m0s true
}
