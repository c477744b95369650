package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"
)

// mayhem kills, crashes and cuts until its time has ended.
type mayhem struct {
	children []*child
	backend  backend
	random   *rand.Rand
	killsIn  time.Duration // the mean time between two kills of children

	kills, crashes, cuts int
}

// run makes trouble of all kinds side by side, each at random instants.
func (m *mayhem) run(ctx context.Context, long time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, long)
	defer cancel()
	var wg sync.WaitGroup
	var killErr, crashErr error
	kill, crash, cut := m.source(), m.source(), m.source()
	wg.Go(func() {
		for killErr == nil && sleep(ctx, around(kill, m.killsIn)) {
			c := m.children[kill.IntN(len(m.children))]
			c.kill()
			m.kills++
			killErr = c.up(context.WithoutCancel(ctx))
		}
	})
	wg.Go(func() {
		for crashErr == nil && sleep(ctx, around(crash, 2500*time.Millisecond)) {
			done, err := m.backend.crash(context.WithoutCancel(ctx))
			crashErr = err
			if !done {
				return
			}
			m.crashes++
		}
	})
	wg.Go(func() {
		for sleep(ctx, around(cut, 400*time.Millisecond)) && m.backend.cut() {
			m.cuts++
		}
	})
	wg.Wait()
	return errors.Join(killErr, crashErr)
}

func (m *mayhem) source() *rand.Rand {
	return rand.New(rand.NewPCG(m.random.Uint64(), m.random.Uint64())) //nolint:gosec // instants, not secrets.
}

// around is a random duration between a fifth of the mean and nearly twice it.
func around(r *rand.Rand, mean time.Duration) time.Duration {
	return mean/5 + time.Duration(r.Int64N(int64(mean)*8/5))
}

// sleep waits and reports whether it did: false when ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
