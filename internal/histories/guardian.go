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
	"github.com/semel-dev/semel/internal/mayhem"
)

// wish is one call of [semel.Do], or of Cancel.
type wish struct {
	Key    string `json:"key"`
	Cancel bool   `json:"cancel,omitempty"`
}

// word is what came of a wish.
type word struct {
	Said  string `json:"said"`
	Value string `json:"value,omitempty"` // of wordDone
	Error string `json:"error,omitempty"`
}

// What is said of a wish.
const (
	wordDone      = "done"
	wordUnknown   = "unknown"
	wordCancelled = "cancelled" // the answer of Cancel, too
	wordNothing   = "nothing"   // no answer; a retry may have one
)

// guardLease is short, so that a stopped holder finds it lapsed.
const guardLease = 150 * time.Millisecond

// guardian wants things through a guard that refuses what is unknown, and lets
// every effect write a line.
type guardian struct {
	guard   *semel.Guard
	witness *os.File // takes a line in one call
	events  *guardTaker
	random  *rand.Rand
	client  int
	run     string
	began   int64
	effects int
}

func (e *errand) guard(ctx context.Context, store semel.Store) (err error) {
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
	events, err := newRecorder[wish, word](e.Dir)
	if err != nil {
		return err
	}
	return e.each(func(hand int, random *rand.Rand) error {
		g := &guardian{
			guard: guard, witness: witness, events: events, random: random, client: e.Index*hands + hand,
			run: e.Run, began: e.Began,
		}
		return g.work(ctx)
	})
}

// work goes on until ctx ends. The error is that of the file.
func (g *guardian) work(ctx context.Context) error {
	for mayhem.Sleep(ctx, mayhem.Around(g.random, thinking)) {
		newest := int(time.Duration(monotonic()-g.began) / guardKeyEvery)
		w := wish{
			Key:    strconv.Itoa(max(0, newest-g.random.IntN(guardKeys))),
			Cancel: g.random.IntN(50) == 0,
		}
		if _, err := g.events.record(g.client, w, func() word { return g.want(ctx, w) }); err != nil {
			return err
		}
	}
	return nil
}

const (
	guardKeyEvery = 15 * time.Millisecond
	guardKeys     = 40 // that are wanted at a time
)

func (g *guardian) want(ctx context.Context, w wish) word {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), verbLimit)
	defer cancel()
	key := semel.Key{Scope: scope, Name: g.run + "/" + w.Key}
	if w.Cancel {
		_, err := g.guard.Cancel(ctx, semel.Operator{Name: "histories"}, key, "histories")
		if err == nil {
			return word{Said: wordCancelled}
		}
		return word{Said: wordNothing, Error: err.Error()}
	}
	value, err := semel.Do(ctx, g.guard, key, semel.FingerprintOf(w.Key), func(ctx context.Context) (string, error) {
		return g.effect(ctx, w.Key)
	})
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

// effect writes a line and takes its time, at times longer than the lease. It
// does not care that it was told to stop: what it does has happened.
func (g *guardian) effect(ctx context.Context, key string) (string, error) {
	g.effects++
	value := fmt.Sprintf("%d-%d-%d", os.Getpid(), g.client, g.effects)
	if _, err := fmt.Fprintf(g.witness, "%s %s\n", key, value); err != nil {
		return "", semel.MarkUnknown(err)
	}
	mean := 5 * time.Millisecond
	if g.random.IntN(20) == 0 {
		mean = guardLease
	}
	mayhem.Sleep(context.WithoutCancel(ctx), mayhem.Around(g.random, mean))
	return value, nil
}
