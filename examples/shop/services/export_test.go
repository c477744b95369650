package services

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/inbox"
	"github.com/semel-dev/semel/operator"
	"github.com/semel-dev/semel/store/sqlitestore"
)

// still is the time without any change after which nothing more is expected.
const still = 20 * time.Second

// Settled returns the effects of so many orders when all are there, or nothing has changed for long.
func (f *Fleet) Settled(ctx context.Context, orders int) (e Effects, err error) {
	l, err := openLedgers(ctx, &f.config)
	if err != nil {
		return e, err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	for changed := time.Now(); time.Since(changed) < still; {
		now, err := l.count(ctx)
		if err == nil && now != e {
			e, changed = now, time.Now()
		}
		if e.Between(orders, orders) || !pause(ctx, lookPause) {
			return e, err
		}
	}
	return e, nil
}

// Between reports whether each effect happened least to most times.
func (e Effects) Between(least, most int) bool {
	list := e.List()
	return slices.Min(list) >= least && slices.Max(list) <= most
}

// Held counts the messages in the quarantine of a consumer.
func (f *Fleet) Held(ctx context.Context, consumer string) (n int, err error) {
	store, err := sqlitestore.Open(ctx, f.config.inboxFile(consumer), nil)
	if err != nil {
		return 0, err
	}
	guard, err := semel.New(store, nil)
	if err != nil {
		return 0, errors.Join(err, store.Close()) //nolint:contextcheck // closing is not the caller's to cancel
	}
	defer func() { err = errors.Join(err, guard.Close(), store.Close()) }() //nolint:contextcheck // closing is not the caller's to cancel
	_, err = inbox.List(ctx, guard, consumer, operator.Search{}, func(*inbox.Held) error {
		n++
		return nil
	})
	return n, err
}
