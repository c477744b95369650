package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/semel-dev/semel/internal/waiting"
)

// The kinds of faults.
const (
	faultKill  = "kill"
	faultPause = "pause"
	faultCut   = "cut"
	faultCrash = "crash"
	faultClock = "clock"
)

// pace returns the mean time between two faults of a kind on several processes.
func pace() map[string]time.Duration {
	return map[string]time.Duration{
		faultKill: 300 * time.Millisecond, faultPause: 200 * time.Millisecond, faultCut: 300 * time.Millisecond,
		faultCrash: 2500 * time.Millisecond, faultClock: 250 * time.Millisecond,
	}
}

// injector injects faults until its time has ended.
type injector struct {
	target   *target
	children []*child
	random   *rand.Rand
	rarely   bool // so that what grows has time to

	mu            sync.Mutex // guards the fields below
	injected      int
	killed        int           // of them: a process or a server by kill -9
	behind, ahead time.Duration // how far the store's clock was moved, at most
}

// injectFor injects the kinds side by side, each at random instants.
func (i *injector) injectFor(ctx context.Context, long time.Duration, kinds []string) error {
	ctx, cancel := context.WithTimeout(ctx, long)
	defer cancel()
	errs := make([]error, len(kinds)+1)
	var wg sync.WaitGroup
	for n, kind := range kinds {
		random := rand.New(rand.NewPCG(i.random.Uint64(), i.random.Uint64())) //nolint:gosec // instants, not secrets.
		wg.Go(func() {
			mean := min(i.mean(kind, long), long/2) // at least one is injected
			for errs[n] == nil && waiting.Sleep(ctx, around(random, mean)) {
				errs[n] = i.inject(context.WithoutCancel(ctx), kind, random)
				if len(i.children) == 1 {
					i.children[0].working(ctx) // only then a fault meets work that is done
				}
				i.mu.Lock()
				i.injected++
				if kind == faultKill || kind == faultCrash {
					i.killed++
				}
				i.mu.Unlock()
			}
		})
	}
	wg.Wait()
	if i.target.set != nil {
		errs[len(kinds)] = i.target.set(0)
	}
	return errors.Join(errs...)
}

// mean returns the mean time between two faults of a kind.
func (i *injector) mean(kind string, long time.Duration) time.Duration {
	switch mean := pace()[kind]; {
	case i.rarely:
		return max(10*mean, long/20)
	case len(i.children) == 1:
		return children * mean // a process that is alone gets no more than its share, and has time to answer
	default:
		return mean
	}
}

func (i *injector) inject(ctx context.Context, kind string, random *rand.Rand) error {
	c := oneOf(random, i.children)
	switch kind {
	case faultKill:
		c.kill()
		return c.up(ctx)
	case faultPause:
		err := c.signal(pause)
		waiting.Sleep(ctx, around(random, 2*longestLease)) // a kill may end it meanwhile
		return errors.Join(err, c.signal(resume))
	case faultCut:
		if random.IntN(2) == 0 {
			i.target.proxy.Cut()
			return nil
		}
		i.target.proxy.LoseReplies()
		waiting.Sleep(ctx, around(random, 20*time.Millisecond))
		i.target.proxy.Clear()
		return nil
	case faultCrash:
		return i.target.crash(ctx)
	}
	return i.jump(random)
}

// jump moves the store's clock to somewhere between an hour behind the
// machine's and three hours ahead of it. A store whose clock never goes back
// adds up all that it was moved ahead.
func (i *injector) jump(random *rand.Rand) error {
	to := time.Duration(random.Int64N(int64(4*time.Hour))) - time.Hour
	if random.IntN(3) == 0 {
		to = 0
	}
	i.mu.Lock()
	i.behind += time.Hour
	i.ahead += 4 * time.Hour
	i.mu.Unlock()
	return i.target.set(to)
}

// around returns a random duration between a fifth of the mean and nearly twice
// it. The mean is at least a microsecond.
func around(r *rand.Rand, mean time.Duration) time.Duration {
	return mean/5 + time.Duration(r.Int64N(int64(mean)*8/5))
}
