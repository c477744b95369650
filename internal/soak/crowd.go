package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/semel-dev/semel/internal/waiting"
)

const (
	callers = 64
	// patience bounds how long a caller comes again for an answer: well within
	// the retention, after which a retry would be a new intent.
	patience    = retention / 2
	requestTime = 10 * time.Second
)

// crowd are the callers.
type crowd struct {
	fronts []string
	client *http.Client
	serial atomic.Int64
	every  atomic.Int64 // nanoseconds between two requests of one caller; 0: at once

	served                             atomic.Int64 // requests
	unknown, vanished, refused, gaveUp atomic.Int64

	mu     sync.Mutex // guards unlike
	unlike []string   // intents whose callers heard different answers
}

func newCrowd(fronts []string, rate float64) *crowd {
	c := &crowd{fronts: fronts, client: &http.Client{
		Transport: &http.Transport{MaxIdleConnsPerHost: callers}, Timeout: requestTime,
	}}
	c.pace(rate)
	return c
}

// pace sets the rate of requests a second, of all callers together.
func (c *crowd) pace(rate float64) {
	if rate > 0 {
		c.every.Store(int64(callers / rate * float64(time.Second)))
	}
}

func (c *crowd) rate() float64 { return callers / time.Duration(c.every.Load()).Seconds() }

// measure returns how many requests a second are answered.
func (c *crowd) measure(ctx context.Context, long time.Duration) float64 {
	ctx, cancel := context.WithTimeout(ctx, long)
	defer cancel()
	before, began := c.served.Load(), time.Now()
	c.ask(ctx)
	return float64(c.served.Load()-before) / time.Since(began).Seconds()
}

// ask sends requests until the time is over.
func (c *crowd) ask(ctx context.Context) {
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			random := rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())) //nolint:gosec // instants, not secrets.
			next := time.Now().Add(time.Duration(random.Int64N(c.every.Load() + 1)))
			for waiting.Sleep(ctx, time.Until(next)) {
				sent := c.wish(ctx, random)
				next = next.Add(time.Duration(c.every.Load() * int64(sent)))
				if late := time.Since(next); late > time.Second {
					next = time.Now() // what it could not send in time is not made up for
				}
			}
		})
	}
	all.Wait()
	c.client.CloseIdleConnections()
}

// wish takes one intent to its answer in one of the ways of callers, and returns
// how many requests that took.
func (c *crowd) wish(ctx context.Context, random *rand.Rand) (sent int) {
	intent := "soak-" + strconv.FormatInt(c.serial.Add(1), 10)
	way := random.IntN(100)
	switch {
	case way < 10: // looks
		_, _, _ = c.send(ctx, random, http.MethodGet, "")
		return 1
	case way < 15: // clicks twice
		var answers [2]string
		var both sync.WaitGroup
		for i := range answers {
			both.Go(func() { answers[i] = c.insist(ctx, rand.New(rand.NewPCG(rand.Uint64(), 0)), intent) }) //nolint:gosec // instants.
		}
		both.Wait()
		c.compare(intent, answers[0], answers[1])
		return 2
	case way < 20: // vanishes, and comes back
		hasty, cancel := context.WithTimeout(ctx, time.Duration(random.Int64N(int64(20*time.Millisecond))))
		_, _, _ = c.send(hasty, random, http.MethodPost, intent)
		cancel()
		c.vanished.Add(1)
		c.insist(ctx, random, intent)
		return 2
	case way < 35: // asks again after the answer
		first := c.insist(ctx, random, intent)
		c.compare(intent, first, c.insist(ctx, random, intent))
		return 2
	}
	c.insist(ctx, random, intent)
	return 1
}

// insist sends the intent until the answer is definite, and returns the body of
// a 201 or an empty text.
func (c *crowd) insist(ctx context.Context, random *rand.Rand, intent string) string {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		status, body, err := c.send(ctx, random, http.MethodPost, intent)
		switch {
		case err == nil && status == http.StatusCreated:
			return body
		case err == nil && strings.Contains(body, "outcome-unknown"):
			c.unknown.Add(1)
			return ""
		}
		c.refused.Add(1)
		if !waiting.Sleep(ctx, time.Duration(random.Int64N(int64(500*time.Millisecond)))) {
			c.gaveUp.Add(1)
			return ""
		}
	}
}

// compare notes the intent when two callers with a 201 heard different bodies.
func (c *crowd) compare(intent, one, other string) {
	if one == "" || other == "" || one == other {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unlike = append(c.unlike, fmt.Sprintf("%s: %q and %q", intent, one, other))
}

// send makes one request of one gateway.
func (c *crowd) send(ctx context.Context, random *rand.Rand, method, intent string) (status int, body string, err error) {
	front := c.fronts[random.IntN(len(c.fronts))]
	r, err := http.NewRequestWithContext(ctx, method, "http://"+front+"/things", strings.NewReader(intent))
	if err != nil {
		return 0, "", err
	}
	r.Host = "soak.test" // the same for every gateway: it is part of the scope
	if method == http.MethodPost {
		r.Header["idempotency-key"] = []string{intent} // net/http repeats a request with the canonical name on its own
	}
	res, err := c.client.Do(r)
	if err != nil {
		return 0, "", err
	}
	answer, err := io.ReadAll(io.LimitReader(res.Body, 1<<16))
	if err := errors.Join(err, res.Body.Close()); err != nil {
		return 0, "", err
	}
	c.served.Add(1)
	return res.StatusCode, string(answer), nil
}
