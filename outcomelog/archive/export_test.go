package archive

import (
	"context"
	"time"

	"github.com/semel-dev/semel/outcomelog"
)

// Forget removes what is too old or too much.
func Forget(ctx context.Context, a *Archive) { a.forget(ctx, forgetSteps) }

// Insert writes events as a batch of this number.
func Insert(ctx context.Context, a *Archive, number int64, repeated bool, events ...outcomelog.Event) error {
	batch := make([]arrived, len(events))
	for i := range events {
		batch[i] = arrived{events[i], time.Now()}
	}
	return a.insert(ctx, batch, number, repeated)
}

// QueueEvents bounds the events that wait.
const QueueEvents = queueEvents
