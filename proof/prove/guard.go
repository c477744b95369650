package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/internal/waiting"
	"github.com/semel-dev/semel/operator"
)

// wish asks for an intent to be executed, or cancelled.
type wish struct {
	Key    string `json:"key"`
	Cancel bool   `json:"cancel,omitempty"`
}

// word is the answer to a wish.
type word struct {
	Said  string `json:"said"`
	Value string `json:"value,omitempty"` // of wordDone
	Error string `json:"error,omitempty"`
}

// The answers to a wish.
const (
	wordDone      = "done"
	wordUnknown   = "unknown"
	wordCancelled = "cancelled" // also the answer of Cancel
	wordNothing   = "nothing"   // no answer; a retry may have one
)

// wordFor returns the answer of a Do.
func wordFor(value string, err error) word {
	switch {
	case err == nil:
		return word{Said: wordDone, Value: value}
	case errors.Is(err, semel.ErrUnknown):
		return word{Said: wordUnknown}
	case errors.Is(err, semel.ErrCancelled):
		return word{Said: wordCancelled}
	}
	return word{Said: wordNothing, Error: err.Error()}
}

const (
	// A key begins every guardKeyEvery, and is one of the last guardKeys for a
	// while, so that most keys are asked for often.
	guardKeyEvery = 15 * time.Millisecond
	guardKeys     = 40
	// guardLease is short, so that a stopped holder finds it lapsed.
	guardLease = 150 * time.Millisecond
)

// asker sends wishes and records the answers. It is one goroutine.
type asker struct {
	events *guardTaker
	random *rand.Rand
	client int
	newest func() int           // of the keys, by number
	pause  func() time.Duration // before the next wish
	want   func(context.Context, *asker, wish) word

	effects int
}

// ask lets n askers work until ctx ends. The error is that of the file.
func (e *errand) ask(ctx context.Context, n int, want func(context.Context, *asker, wish) word, changes ...func(*asker)) error {
	events, err := newRecorder[wish, word](e.Dir)
	if err != nil {
		return err
	}
	return e.each(n, func(client int, random *rand.Rand) error {
		a := &asker{events: events, random: random, client: client, want: want}
		a.newest = func() int { return int(time.Duration(monotonic()-e.Began) / guardKeyEvery) }
		a.pause = func() time.Duration { return around(random, thinking) }
		for _, change := range changes {
			change(a)
		}
		for waiting.Sleep(ctx, a.pause()) {
			if err := a.next(ctx); err != nil {
				return err
			}
		}
		return nil
	})
}

// next sends one wish, which may outlive ctx.
func (a *asker) next(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	w := wish{Key: strconv.Itoa(max(0, a.newest()-a.random.IntN(guardKeys))), Cancel: a.random.IntN(50) == 0}
	_, err := a.events.record(a.client, w, func() word { return a.want(ctx, a, w) })
	return err
}

// value returns a value that no other effect has.
func (a *asker) value() string {
	a.effects++
	return fmt.Sprintf("%d-%d-%d", os.Getpid(), a.client, a.effects)
}

// askGuard wants things through a guard that refuses what is unknown. Every
// effect writes a line.
func (e *errand) askGuard(ctx context.Context) (err error) {
	store, err := patiently(ctx, e.open)
	if err != nil || store == nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	guard, err := semel.New(store, &semel.Options{
		Policy:       semel.Policy{Lease: guardLease, Wait: guardLease, OnUnknown: semel.Refuse},
		StoreTimeout: verbLimit,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, guard.Close()) }() //nolint:contextcheck // closing is not part of the work.
	witness, err := os.OpenFile(e.Witness, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, witness.Close()) }()
	return e.ask(ctx, e.Hands, func(ctx context.Context, a *asker, w wish) word {
		ctx, cancel := context.WithTimeout(ctx, verbLimit)
		defer cancel()
		key := semel.Key{Scope: e.Run, Name: w.Key}
		if w.Cancel {
			return cancelKey(ctx, guard, key)
		}
		return wordFor(semel.Do(ctx, guard, key, semel.FingerprintOf(w.Key), func(ctx context.Context) (string, error) {
			return a.effect(ctx, witness, w.Key)
		}))
	})
}

// effect writes a line, in one call, and takes its time, at times longer than
// the lease. It does not stop with ctx: it has happened.
func (a *asker) effect(ctx context.Context, witness *os.File, key string) (string, error) {
	value := a.value()
	if _, err := fmt.Fprintf(witness, "%s %s\n", key, value); err != nil {
		return "", semel.MarkUnknown(err)
	}
	mean := 5 * time.Millisecond
	if a.random.IntN(20) == 0 {
		mean = guardLease
	}
	waiting.Sleep(context.WithoutCancel(ctx), around(a.random, mean))
	return value, nil
}

func cancelKey(ctx context.Context, guard *semel.Guard, key semel.Key) word {
	seen, err := guard.Lookup(ctx, key)
	if errors.Is(err, semel.ErrNotFound) {
		err = nil // the zero fence means that there was none
	}
	if err == nil {
		_, err = must.Get(operator.New(guard, nil)).Cancel(ctx, operator.Identity{Name: "prove"}, key, seen.Fence, "prove")
	}
	if err == nil {
		return word{Said: wordCancelled}
	}
	return word{Said: wordNothing, Error: err.Error()}
}
