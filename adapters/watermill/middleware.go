package semelwatermill

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/inbox"
	"github.com/semel-dev/semel/internal/waiting"
)

// maxWait bounds how long a message that is to be delivered again later holds its subscription.
const maxWait = 30 * time.Second

// Handle runs a handler for a message and says how to go on: Handle of an [inbox.Inbox], or a function that calls its
// HandleTx, for effects that are rows in the database of the inbox.
type Handle func(ctx context.Context, m inbox.Message, fn inbox.Handler) inbox.Verdict

// Options are the settings of [Middleware]. A nil *Options is complete.
type Options struct {
	// ID names a message: the same at every delivery, and given by the wish, not by the sending. Nil for its UUID. A message for which
	// it returns "" is quarantined.
	ID func(*message.Message) string
}

// Middleware returns a middleware for Router.AddMiddleware or Handler.AddMiddleware, inside of Watermill's Recoverer and Retry, and
// outside of its Timeout. A Retry inside of it repeats the handler within one attempt. A middleware inside of it that recovers panics
// hides that something may have happened, unless its error is recognised, as that of the Recoverer is. The handler's context,
// msg.Context(), is that of the claim, or carries the transaction.
//
// A message that was handled, now or earlier, or that the inbox keeps in quarantine, is acknowledged. One that is to be
// delivered again is not, after the wait that the inbox asks for, at most 30 s, in which the subscription waits.
//
// A handler that returns messages is refused, and its message quarantined, because they would be lost by a crash between its
// record and their publication. Use AddConsumerHandler, and publish through package outbox.
func Middleware(handle Handle, o *Options) message.HandlerMiddleware {
	o = cmp.Or(o, &Options{})
	id := o.ID
	if id == nil {
		id = func(msg *message.Message) string { return msg.UUID }
	}
	return func(h message.HandlerFunc) message.HandlerFunc {
		return func(msg *message.Message) ([]*message.Message, error) {
			outer := msg.Context()
			v := handle(outer, received(msg, id(msg)), func(ctx context.Context, _ inbox.Message) error {
				msg.SetContext(ctx)
				defer msg.SetContext(outer)
				produced, err := h(msg)
				if err == nil && len(produced) > 0 {
					err = semel.MarkUnknown(fmt.Errorf(
						"semelwatermill: the handler returned %d messages, which a crash would lose (publish through package outbox)", len(produced)))
				}
				return err
			})
			if v.Act != inbox.Retry {
				return nil, nil
			}
			waiting.Sleep(outer, min(v.After, maxWait))
			return nil, fmt.Errorf("semelwatermill: %s: %w", v.Reason, cmp.Or(v.Err, errAgain))
		}
	}
}

var errAgain = errors.New("deliver it again")

// received returns the message as the inbox takes it.
func received(msg *message.Message, id string) inbox.Message {
	return inbox.Message{ID: id, Subject: message.SubscribeTopicFromCtx(msg.Context()), Body: msg.Payload, Header: msg.Metadata}
}
