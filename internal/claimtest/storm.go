package claimtest

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/semel-dev/semel/internal/testserver"
)

const (
	stormWishes  = 400
	stormKills   = 12
	stormWorkers = 2
)

// Storm kills the workers of a job runner by kill -9, at random instants, until they have done what 400 wishes ask for.
type Storm struct {
	// Worker returns a worker of the runner, as a process of its own that has not started.
	Worker func() *exec.Cmd
	// Lost lets the runner give out again what a dead worker had, at once instead of after its own time. nil for a runner that does so soon.
	Lost func()
	// Effects returns the wish of each effect, as the workers wrote them.
	Effects func() []string
	// Ended returns how many wishes the runner has not ended, and those that it takes for done.
	Ended func() (open int, done []string)
}

// Wishes are the names of the wishes, to be enqueued before [Storm.Run].
func Wishes() []string {
	names := make([]string, stormWishes)
	for i := range names {
		names[i] = "wish-" + strconv.Itoa(i)
	}
	return names
}

// Run checks that each wish takes effect once, and that the runner takes each for done.
func (s *Storm) Run(t *testing.T) {
	t.Helper()
	workers := make([]*exec.Cmd, stormWorkers)
	for i := range workers {
		workers[i] = s.start(t)
	}
	kill := func(i int) {
		_ = workers[i].Process.Kill()
		_ = workers[i].Wait() // it was killed
	}
	for n := range stormKills {
		// The wishes are enough for all kills: one in each part of them.
		at := (n + 1) * stormWishes / (stormKills + 3)
		testserver.Eventually(t, fmt.Sprintf("%d effects", at), func() bool { return len(s.Effects()) >= at })
		Stumble(t.Context(), 20*time.Millisecond)
		i := rand.N(stormWorkers) //nolint:gosec // any worker will do.
		kill(i)
		if s.Lost != nil {
			s.Lost()
		}
		workers[i] = s.start(t)
	}
	var done []string
	testserver.Eventually(t, "the runner has ended all wishes", func() bool {
		var open int
		open, done = s.Ended()
		return open == 0
	})
	for i := range workers {
		kill(i)
	}
	s.judge(t, done)
}

func (s *Storm) start(t *testing.T) *exec.Cmd {
	t.Helper()
	cmd := s.Worker()
	NoError(t, cmd.Start())
	return cmd
}

// judge compares what the runner says with what has happened.
func (s *Storm) judge(t *testing.T, done []string) {
	t.Helper()
	effects := map[string]int{}
	for _, wish := range s.Effects() {
		effects[wish]++
	}
	for _, wish := range Wishes() {
		n, isDone := effects[wish], slices.Contains(done, wish)
		if n != 1 || !isDone {
			t.Errorf("%s took effect %d times (done, says the runner: %t), want once", wish, n, isDone)
		}
		delete(effects, wish)
	}
	if len(effects) > 0 {
		t.Errorf("effects of other wishes: %v", slices.Collect(maps.Keys(effects)))
	}
}

// Stumble waits for a random time, at most d, so that a kill meets a worker at any point of its work.
func Stumble(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(rand.N(d)): //nolint:gosec // any instant will do.
	case <-ctx.Done():
	}
}
