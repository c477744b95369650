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
	"github.com/semel-dev/semel/internal/cli/openstore"
	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/internal/waiting"
	"github.com/semel-dev/semel/store/logstore"
	"github.com/semel-dev/semel/store/sqlitestore"
)

const (
	childWord = "child"
	kindApp   = "app" // of an errand: the application behind the gateways
	hands     = 2     // goroutines of one child, where several share the store
)

// errand is the task of a child, as JSON in its one argument.
type errand struct {
	Kind    string // of the scenario, or kindApp
	Store   string
	DSN     string
	Clock   string // the file of [hostClock]; empty for the host's own clock
	Jumps   bool   // the store's clock does
	Dir     string // of the events
	Witness string // the file of the effects, where they are not rows
	Address string // of the application
	Run     string // the scope of all keys
	Began   int64
	Seed    uint64
	Index   int // of the child
	Hands   int // its goroutines
	Terms   terms
}

// runErrand does an errand until its input ends.
func runErrand(ctx context.Context, args []string, stderr io.Writer) int {
	var e errand
	if len(args) != 1 || json.Unmarshal([]byte(args[0]), &e) != nil {
		say(stderr, "usage: prove %s ERRAND (prove starts it; run it without arguments)\n", childWord)
		return 2
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { // lives as long as the input
		_, _ = io.Copy(io.Discard, os.Stdin) // only its end matters
		cancel()
	}()
	do := e.askStore
	switch e.Kind {
	case kindGuard:
		do = e.askGuard
	case kindTransaction:
		do = e.askTransactions
	case kindApp:
		do = e.serve
	}
	if err := do(ctx); err != nil {
		say(stderr, "child %d: %v\n", e.Index, err)
		return 3
	}
	return 0
}

// askStore takes random verbs on the store.
func (e *errand) askStore(ctx context.Context) (err error) {
	store, err := patiently(ctx, e.open)
	if err != nil || store == nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	events, err := newRecorder[call, reply](e.Dir)
	if err != nil {
		return err
	}
	return e.each(e.Hands, func(client int, random *rand.Rand) error {
		h := &historian{
			store: store, events: events, random: random, client: client, run: e.Run, began: e.Began,
			terms: e.Terms, known: map[int]*acquaintance{},
		}
		return h.work(ctx)
	})
}

// each lets n hands work. Owners must differ between two lives of a child, so
// its process is part of the seed.
func (e *errand) each(n int, work func(client int, random *rand.Rand) error) error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for hand := range n {
		random := rand.New(rand.NewPCG(e.Seed, uint64(os.Getpid()*n+hand))) //nolint:gosec // steps, not secrets.
		wg.Go(func() { errs[hand] = work(e.Index*n+hand, random) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// patiently opens a store, whose server may be down right now, and announces it; it returns the
// zero value when ctx ends first.
func patiently[T any](ctx context.Context, open func(context.Context) (T, error)) (opened T, err error) {
	for ctx.Err() == nil {
		limited, cancel := context.WithTimeout(ctx, verbLimit)
		opened, err = open(limited)
		cancel()
		if err == nil {
			_, err = os.Stdout.WriteString("open\n") // see announcement
			return opened, err
		}
		if errors.Is(err, openstore.ErrDSN) {
			return opened, err
		}
		waiting.Sleep(ctx, 50*time.Millisecond)
	}
	var none T
	return none, nil
}

// open opens the store as one of the processes that may share it: bare, with
// shared commits, or with outcomes in memory in addition. A memory of outcomes
// measures by the process's clock, so it cannot know that the store's jumped.
func (e *errand) open(ctx context.Context) (semel.Store, error) {
	switch scheme, path, _ := strings.Cut(e.DSN, ":"); {
	case scheme == sqlite && e.Clock != "":
		return sqlitestore.Open(ctx, path, &sqlitestore.Options{Now: hostClock{e.Clock}.now})
	case scheme == logged && e.Clock != "":
		return logstore.Open(ctx, path, &logstore.Options{Now: hostClock{e.Clock}.now})
	case scheme == sqlite || scheme == logged:
		return openstore.Open(ctx, e.DSN, nil)
	}
	dsn, err := url.Parse(e.DSN)
	if err != nil {
		return nil, err
	}
	query := dsn.Query()
	if e.Index%3 == 0 && dsn.Scheme != redis { // its client always shares
		query.Set("semel_group_commit", "off")
	}
	if e.Index%3 != 2 || e.Jumps {
		query.Set("semel_cache", "off")
	}
	dsn.RawQuery = query.Encode()
	return openstore.Open(ctx, dsn.String(), nil)
}

// hostClock is the clock of a store without a server: the host's, moved by the
// duration in a file.
type hostClock struct{ file string }

// set moves the clock to this much ahead of the host's.
func (c hostClock) set(ahead time.Duration) error {
	next := c.file + ".next"
	return errors.Join(os.WriteFile(next, []byte(ahead.String()), 0o600), os.Rename(next, c.file))
}

// now panics when the file cannot be read: then the store's clock would lie.
func (c hostClock) now() time.Time {
	text, err := os.ReadFile(c.file)
	must.Succeed(err, "the file of a clock exists until its readers have ended")
	ahead, err := time.ParseDuration(string(text))
	must.Succeed(err, "the file of a clock holds a duration")
	return time.Now().Add(ahead)
}
