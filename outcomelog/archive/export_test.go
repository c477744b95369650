package archive

import (
	"context"
	"math"
	"time"

	"github.com/semel-dev/semel/outcomelog"
)

// Forget removes what is too old or too much.
func Forget(ctx context.Context, a *Archive) { a.forget(ctx, forgetSteps) }

// WriteRepeats writes the keys that were repeated since the last time.
func WriteRepeats(ctx context.Context, a *Archive) { a.writeRepeats(ctx) }

// RepeatsOf returns the repetitions of a key.
func RepeatsOf(ctx context.Context, a *Archive, digest string) (outcomelog.Repetitions, error) {
	return a.repeatsOf(ctx, digest)
}

// ForgetRepeats removes repetitions that are too old or too many.
func ForgetRepeats(ctx context.Context, a *Archive) { a.forgetRepeats(ctx) }

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

// Read returns how many entries the database returns to a search that finds no limit.
func Read(ctx context.Context, a *Archive, q Query) (page Page, err error) {
	where, args, _ := a.compared(&q)
	page, _, err = a.read(ctx, &Query{}, where, append(args, int64(math.MaxInt64), int64(0), MaxExamined), maxLimit, MaxExamined)
	return page, err
}
