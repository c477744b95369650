package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/mayhem"
	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/internal/openstore"
	"github.com/semel-dev/semel/store/sqlitestore"
)

const (
	childWord = "child"
	scope     = "histories"
	hands     = 2 // goroutines of one child
)

// errand is what a child is told to do, as JSON in its one argument.
type errand struct {
	DSN     string
	Clock   string // the file of [hostClock]; empty for the host's own clock
	Jumps   bool   // the store's clock does
	Dir     string // of the events
	Witness string // of effects; empty for a historian
	Run     string
	Began   int64
	Seed    uint64
	Index   int // of the child
	Terms   terms
}

// runChild does an errand until its input ends.
func runChild(ctx context.Context, args []string, stderr io.Writer) int {
	var e errand
	if len(args) != 1 || json.Unmarshal([]byte(args[0]), &e) != nil {
		say(stderr, "usage: histories %s ERRAND (histories starts it by itself)\n", childWord)
		return 2
	}
	ctx, cancel := mayhem.UntilEnd(ctx, os.Stdin)
	defer cancel()
	if err := e.do(ctx); err != nil {
		say(stderr, "child %d: %v\n", e.Index, err)
		return 3
	}
	return 0
}

func (e *errand) do(ctx context.Context) (err error) {
	store, err := e.openPatiently(ctx)
	if err != nil || store == nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if e.Witness != "" {
		return e.guard(ctx, store)
	}
	events, err := newRecorder[call, reply](e.Dir)
	if err != nil {
		return err
	}
	return e.each(func(hand int, random *rand.Rand) error {
		h := &historian{
			store: store, events: events, random: random, client: e.Index*hands + hand, run: e.Run, began: e.Began,
			terms: e.Terms, known: map[int]*acquaintance{},
		}
		return h.work(ctx)
	})
}

// each lets every hand work. Owners must differ between two lives of a child,
// so its process is part of the seed.
func (e *errand) each(work func(hand int, random *rand.Rand) error) error {
	errs := make([]error, hands)
	var wg sync.WaitGroup
	for hand := range hands {
		random := rand.New(rand.NewPCG(e.Seed, uint64(os.Getpid()*hands+hand))) //nolint:gosec // steps, not secrets.
		wg.Go(func() { errs[hand] = work(hand, random) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// openPatiently opens the store, which may be down right now; it returns nil
// when ctx ends first.
func (e *errand) openPatiently(ctx context.Context) (store semel.Store, err error) {
	for ctx.Err() == nil {
		open, cancel := context.WithTimeout(ctx, verbLimit)
		store, err = e.open(open)
		cancel()
		if err == nil || errors.Is(err, openstore.ErrDSN) {
			return store, err
		}
		mayhem.Sleep(ctx, 50*time.Millisecond)
	}
	return nil, nil
}

// open opens the store as one of those who may share it: bare, with shared
// commits, or with outcomes in memory too. A memory of outcomes measures by the
// process's clock, so it cannot know that the store's clock has jumped.
func (e *errand) open(ctx context.Context) (semel.Store, error) {
	if path, ok := strings.CutPrefix(e.DSN, "sqlite:"); ok && e.Clock != "" {
		return sqlitestore.Open(ctx, path, &sqlitestore.Options{Now: hostClock{e.Clock}.now})
	} else if ok {
		return openstore.Open(ctx, e.DSN, nil)
	}
	dsn, err := url.Parse(e.DSN)
	if err != nil {
		return nil, err
	}
	query := dsn.Query()
	if e.Index%3 == 0 && dsn.Scheme != "redis" { // its client always shares
		query.Set("semel_group_commit", "off")
	}
	if e.Index%3 != 2 || e.Jumps {
		query.Set("semel_cache", "off")
	}
	dsn.RawQuery = query.Encode()
	return openstore.Open(ctx, dsn.String(), nil)
}

// hostClock is the clock of a store that lives in its processes: the host's,
// moved by what a file says.
type hostClock struct{ file string }

// set moves the clock to this much ahead of the host's.
func (c hostClock) set(ahead time.Duration) error {
	next := c.file + ".next"
	return errors.Join(os.WriteFile(next, []byte(ahead.String()), 0o600), os.Rename(next, c.file))
}

// now panics when the file says nothing: then the store's clock would lie.
func (c hostClock) now() time.Time {
	text, err := os.ReadFile(c.file)
	must.Succeed(err, "the file of a clock is there until all who read it have ended")
	ahead, err := time.ParseDuration(string(text))
	must.Succeed(err, "the file of a clock holds a duration")
	return time.Now().Add(ahead)
}
