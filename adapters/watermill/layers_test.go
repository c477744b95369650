package semelwatermill_test

import (
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/message/router/middleware"
	"github.com/ThreeDotsLabs/watermill/pubsub/gochannel"

	"github.com/semel-dev/semel"
	semelwatermill "github.com/semel-dev/semel/adapters/watermill"
	"github.com/semel-dev/semel/inbox"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/store/memstore"
)

// TestLayers: promise 3: what may have happened is not handled again, whether Watermill's middlewares are inside of the inbox's or outside.
// Its Retry repeats the handler within one attempt when it is inside.
func TestLayers(t *testing.T) {
	t.Parallel()
	timeout := middleware.Timeout(time.Millisecond)
	retry := middleware.Retry{MaxRetries: 3, InitialInterval: time.Millisecond}.Middleware
	panics := func(*message.Message) error { panic("after the effect") }
	fails := func(*message.Message) error { return errors.New("no") }
	waits := func(msg *message.Message) error {
		<-msg.Context().Done()
		return msg.Context().Err()
	}
	type layers = []message.HandlerMiddleware
	for name, c := range map[string]struct {
		outside, inside layers
		handler         func(*message.Message) error
		ran             int32
		reason          inbox.Reason
	}{
		"recovery outside":                   {layers{middleware.Recoverer}, nil, panics, 1, "unknown"},
		"recovery inside":                    {nil, layers{middleware.Recoverer}, panics, 1, "unknown"},
		"time-out outside":                   {layers{middleware.Timeout(25 * time.Millisecond)}, nil, waits, 1, "unknown"},
		"time-out inside":                    {nil, layers{timeout}, waits, 1, "unknown"},
		"retry outside, an error":            {layers{retry}, nil, fails, 3, "attempts"},
		"retry outside, a panic":             {layers{retry}, nil, panics, 1, "unknown"},
		"retry outside, recovery inside":     {layers{retry}, layers{middleware.Recoverer}, panics, 1, "unknown"},
		"retry inside, an error":             {nil, layers{retry}, fails, 12, "attempts"},
		"retry inside, a panic":              {nil, layers{retry}, panics, 1, "unknown"},
		"retry inside, recovery inside it":   {nil, layers{retry, middleware.Recoverer}, panics, 4, "unknown"},
		"recovery inside, retry inside that": {nil, layers{middleware.Recoverer, retry}, panics, 1, "unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := memstore.New(nil)
			claimtest.Closes(t, store)
			guard, err := semel.New(store, &semel.Options{Policy: semel.Policy{MaxRun: 50 * time.Millisecond}})
			claimtest.NoError(t, err)
			claimtest.Closes(t, guard)
			ended := make(chan inbox.Verdict, 1)
			in, err := inbox.New(guard, &inbox.Options{
				Consumer: "billing", MaxAttempts: 3, Pause: time.Millisecond, Logger: slog.New(slog.DiscardHandler),
				Observe: func(_ inbox.Message, v inbox.Verdict, _ time.Duration) {
					if v.Act != inbox.Retry {
						ended <- v
					}
				},
			})
			claimtest.NoError(t, err)
			pubSub := gochannel.NewGoChannel(gochannel.Config{}, nil)
			router, err := message.NewRouter(message.RouterConfig{}, nil)
			claimtest.NoError(t, err)
			router.AddMiddleware(c.outside...)
			router.AddMiddleware(semelwatermill.Middleware(in.Handle, nil))
			router.AddMiddleware(c.inside...)
			var ran atomic.Int32
			router.AddConsumerHandler("charge", "orders.paid", pubSub, func(msg *message.Message) error {
				ran.Add(1)
				return c.handler(msg)
			})
			run(t, router)
			claimtest.Closes(t, pubSub)
			claimtest.NoError(t, pubSub.Publish("orders.paid", message.NewMessage("1", []byte("order 1"))))
			v := <-ended
			if v.Act != inbox.Quarantine || v.Reason != c.reason || ran.Load() != c.ran {
				t.Errorf("got %v %q after %d runs, want a quarantined message, %q after %d", v.Act, v.Reason, ran.Load(), c.reason, c.ran)
			}
		})
	}
}
