package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/semel-dev/semel/internal/mayhem"
)

// trouble kills, crashes and cuts until its time has ended.
type trouble struct {
	children []*mayhem.Child
	backend  backend
	random   *rand.Rand
	killsIn  time.Duration // the mean time between two kills of children

	kills, crashes, cuts int
}

// run makes trouble of all kinds side by side, each at random instants.
func (m *trouble) run(ctx context.Context, long time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, long)
	defer cancel()
	var wg sync.WaitGroup
	var killErr, crashErr error
	kill, crash, cut := m.source(), m.source(), m.source()
	wg.Go(func() {
		for killErr == nil && mayhem.Sleep(ctx, mayhem.Around(kill, m.killsIn)) {
			c := m.children[kill.IntN(len(m.children))]
			c.Kill()
			m.kills++
			killErr = c.Up(context.WithoutCancel(ctx))
		}
	})
	wg.Go(func() {
		for crashErr == nil && mayhem.Sleep(ctx, mayhem.Around(crash, 2500*time.Millisecond)) {
			done, err := m.backend.crash(context.WithoutCancel(ctx))
			crashErr = err
			if !done {
				return
			}
			m.crashes++
		}
	})
	wg.Go(func() {
		for mayhem.Sleep(ctx, mayhem.Around(cut, 400*time.Millisecond)) && m.backend.cut() {
			m.cuts++
		}
	})
	wg.Wait()
	return errors.Join(killErr, crashErr)
}

func (m *trouble) source() *rand.Rand {
	return rand.New(rand.NewPCG(m.random.Uint64(), m.random.Uint64())) //nolint:gosec // instants, not secrets.
}
