package webhook_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"

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
