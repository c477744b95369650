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

const (
	still   = 20 * time.Second // without any change, after which messages may be in quarantine
	stalled = 3 * time.Minute  // without any change, after which nothing more is expected: a starved machine needs a minute for a restart
)

// Settled returns the effects of so many orders, and how many messages the consumers hold in quarantine, when all effects
// are there that are not held, or nothing has changed for long.
func (f *Fleet) Settled(ctx context.Context, orders int, consumers ...string) (e Effects, held int, err error) {
	l, err := openLedgers(ctx, &f.config)
	if err != nil {
		return e, 0, err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	for changed, looked := time.Now(), time.Now(); time.Since(changed) < stalled; {
		now, err := l.count(ctx)
		if err == nil && now != e {
			e, changed = now, time.Now()
		}
		if e.Between(orders, orders) || !pause(ctx, lookPause) {
			return e, 0, err
		}
		if time.Since(changed) < still || time.Since(looked) < still {
			continue
		}
		looked, held = time.Now(), 0
		for _, consumer := range consumers {
			n, err := f.held(ctx, consumer)
			if err != nil {
				return e, 0, err
			}
			held += n
		}
		if e.Between(orders-held, orders) {
			return e, held, nil
		}
	}
	return e, held, nil
}

// Between reports whether each effect happened least to most times.
func (e Effects) Between(least, most int) bool {
	list := e.List()
	return slices.Min(list) >= least && slices.Max(list) <= most
}

// held counts the messages in the quarantine of a consumer.
func (f *Fleet) held(ctx context.Context, consumer string) (n int, err error) {
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
