package redisstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/internal/verb"
)

const (
	// maxAsk bounds how long Await trusts the lease that it read.
	maxAsk = time.Hour
	// unsubscribeTimeout bounds what Close does for a client it does not own.
	unsubscribeTimeout = time.Second
)

var errDeaf = errors.New("the subscription has ended")

// Await implements [semel.Notifier]: it marks the claim, so that its
// settlement is published. It also returns nil when the lease ends.
func (s *Store) Await(ctx context.Context, d semel.Digest) error {
	if err := s.enter(ctx, "await", verb.Writes); err != nil {
		return err
	}
	key := s.key(&d)
	w, heard, err := s.news.join(key) //nolint:contextcheck // the subscription outlives this call.
	if err != nil {
		return fmt.Errorf("redisstore: await: %w", err)
	}
	defer s.news.leave(key, w)
	select {
	case <-heard.ready:
	case <-heard.ended:
		return s.translate("await", heard.err)
	case <-ctx.Done():
		return fmt.Errorf("redisstore: await: %w", ctx.Err())
	}
	for { // once for each lease, as it is renewed
		left, err := s.runScript(ctx, s.scripts.await, []string{key}, nil).AsInt64()
		if err != nil {
			return s.translate("await", err)
		}
		if left < 0 {
			return nil
		}
		lapse := time.NewTimer(min(maxAsk, time.Duration(left)*time.Millisecond))
		select {
		case <-lapse.C:
			continue
		case <-w.told:
		case <-heard.ended:
			err = s.translate("await", heard.err)
		case <-ctx.Done():
			err = fmt.Errorf("redisstore: await: %w", ctx.Err())
		}
		lapse.Stop()
		return err
	}
}

// news receives the settlements that callers in this process wait for. All
// processes share one channel, and a message is the key of a record.
type news struct {
	store *Store

	mu      sync.Mutex // guards the fields below
	heard   *heard     // the present subscription, or nil
	waiting map[string]map[*waiter]struct{}
}

type waiter struct{ told chan struct{} }

// heard is one subscription, from the first Await until it breaks or the store
// is closed.
type heard struct {
	ready chan struct{} // closed when the server has confirmed it
	ended chan struct{} // closed when err is set
	err   error
}

// join takes a seat before the key's record is looked at, so that no message
// is missed.
func (n *news) join(key string) (*waiter, *heard, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.heard == nil {
		h := &heard{ready: make(chan struct{}), ended: make(chan struct{})}
		if err := n.store.start(func() { n.listen(h) }); err != nil {
			return nil, nil, err
		}
		n.heard = h
	}
	w := &waiter{told: make(chan struct{}, 1)}
	if n.waiting[key] == nil {
		n.waiting[key] = map[*waiter]struct{}{}
	}
	n.waiting[key][w] = struct{}{}
	return w, n.heard, nil
}

func (n *news) leave(key string, w *waiter) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.waiting[key], w)
	if len(n.waiting[key]) == 0 {
		delete(n.waiting, key)
	}
}

// listen subscribes and passes messages on until the subscription ends.
func (n *news) listen(h *heard) {
	client := n.store.client
	subscribed := 0
	ctx := rueidis.WithOnSubscriptionHook(n.store.life, func(event rueidis.PubSubSubscription) {
		if event.Kind != "subscribe" {
			return
		}
		if subscribed++; subscribed == 1 {
			close(h.ready)
			return
		}
		n.tellAll() // the client has connected again; something may have been missed
	})
	err := client.Receive(ctx, client.B().Subscribe().Channel(n.store.channel).Build(), func(m rueidis.PubSubMessage) {
		n.tell(m.Message)
	})
	n.mu.Lock()
	n.heard = nil
	n.mu.Unlock()
	switch {
	case n.store.life.Err() != nil:
		h.err = semel.ErrClosed
	case err == nil:
		h.err = errDeaf
	default:
		h.err = fmt.Errorf("%w: %w", errDeaf, err)
	}
	close(h.ended)
	if n.store.life.Err() != nil && !n.store.owned {
		n.unsubscribe()
	}
}

// unsubscribe ends what the client would go on to receive: it forgets the
// channel when the context ends, the server does not.
func (n *news) unsubscribe() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(n.store.life), unsubscribeTimeout)
	defer cancel()
	for addr, node := range n.store.client.Nodes() {
		if err := node.Do(ctx, node.B().Unsubscribe().Channel(n.store.channel).Build()).Error(); err != nil {
			n.store.opts.Logger.LogAttrs(ctx, slog.LevelWarn, "the subscription could not be ended",
				slog.String("server", addr), slog.Any("error", err))
		}
	}
}

func (n *news) tell(key string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for w := range n.waiting[key] {
		w.tell()
	}
}

func (n *news) tellAll() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, all := range n.waiting {
		for w := range all {
			w.tell()
		}
	}
}

func (w *waiter) tell() {
	select {
	case w.told <- struct{}{}:
	default: // told before
	}
}
