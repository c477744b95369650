package main

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/semel-dev/semel/internal/waiting"
)

const (
	soakCallers = 64
	warmUp      = 10 * time.Second // in which the rate is measured
	// shortest bounds a scenario from below: before its third fifth records only
	// come, and PostgreSQL reuses nothing of its log until a checkpoint after five minutes.
	shortest = 15 * time.Minute
	// soakRetention is short, so that expired records are removed all the time:
	// sweeping too slowly shows in the store's size. Retries end much sooner.
	soakRetention = 2 * time.Minute
	// rotations are over in the first quarter, so that processes then live
	// long enough to show what grows.
	rotations = 3
	// pollsOfStart take ten seconds, which a gateway needs on a busy machine.
	pollsOfStart = 200
	// mostUnanswered bounds the wishes without an answer, of which a crash of the store can cost each caller one.
	mostUnanswered = 4 * soakCallers
)

// soak keeps gateways busy at half of the rate that they can serve.
type soak struct {
	gateways []*child
	admins   []string // their addresses
	digests  string   // the files of their secrets
	outcomes string
	keys     [2]string // former and next
	files    string    // of the store, without what follows in their names

	every  time.Duration // between two wishes; 0: at once
	last   atomic.Int64  // when the last wish was due, of CLOCK_MONOTONIC
	serial atomic.Int64  // of wishes
	series series
}

// flags returns the arguments of a gateway.
func (s *soak) flags(gateway int) []string {
	return []string{
		"--admin", s.admins[gateway], "--retention", soakRetention.String(), "--hide-keys",
		"--digest-secrets", s.digests, "--outcome-keys", s.outcomes,
	}
}

// ask sends wishes at the pace. Most are for new keys.
func (s *soak) ask(ctx context.Context, e errand, fronts []string) error {
	return e.askGateways(ctx, fronts, func(a *asker) {
		a.pause = s.pause
		a.newest = func() int { return int(s.serial.Add(1)) }
	})
}

// pause returns how long the next wish of any caller has to wait. What could not
// be sent in time is not made up for after a second.
func (s *soak) pause() time.Duration {
	for {
		now, last := monotonic(), s.last.Load()
		due := max(last+int64(s.every), now-int64(time.Second))
		if s.last.CompareAndSwap(last, due) {
			return time.Duration(due - now)
		}
	}
}

// measure finds the pace, at half of the rate.
func (s *soak) measure(ctx context.Context, e errand, fronts []string, long time.Duration) error {
	for i := range s.gateways {
		if err := s.ready(ctx, i); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, min(warmUp, long/2))
	defer cancel()
	began := time.Now()
	err := s.ask(ctx, e, fronts)
	s.every = 2 * time.Since(began) / time.Duration(s.serial.Load()+1)
	return err
}

// run asks, samples and replaces secrets until ctx ends.
func (s *soak) run(ctx context.Context, e errand, fronts []string, long time.Duration) error {
	errs := make([]error, 2)
	var all sync.WaitGroup
	all.Go(func() { errs[0] = s.ask(ctx, e, fronts) })
	all.Go(func() { errs[1] = s.rotate(ctx, long) })
	s.sample(ctx, long)
	all.Wait()
	return errors.Join(errs...)
}

// ready waits until the gateway serves. One whose store was down when it opened
// it has ended, and is started again.
func (s *soak) ready(ctx context.Context, gateway int) error {
	waited, cancel := context.WithTimeout(ctx, childEnd)
	defer cancel()
	for polls := 1; ; polls++ {
		_, err := page(waited, s.admins[gateway], "/readyz")
		if err == nil || !waiting.Sleep(waited, 50*time.Millisecond) {
			return err
		}
		if polls%pollsOfStart == 0 {
			s.gateways[gateway].kill()
			if err := s.gateways[gateway].up(ctx); err != nil {
				return err
			}
		}
	}
}

// rotate replaces both secrets in steps, on one gateway after the other.
func (s *soak) rotate(ctx context.Context, long time.Duration) error {
	for step := 1; step <= rotations && waiting.Sleep(ctx, long/(4*rotations)); step++ {
		if step == rotations && !waiting.Sleep(ctx, soakRetention) {
			return nil // the records of the former secret must have gone before it goes
		}
		if err := s.writeSecrets(step); err != nil {
			return err
		}
		for i, g := range s.gateways {
			if err := g.signal(func(p *os.Process) error { return p.Signal(syscall.SIGTERM) }); err != nil {
				return err
			}
			if err := g.end(); err != nil {
				return fmt.Errorf("a gateway after SIGTERM: %w", err)
			}
			if err := errors.Join(g.up(context.WithoutCancel(ctx)), s.ready(context.WithoutCancel(ctx), i)); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeSecrets writes the files of a step: the former one, it and the next, the
// next and it, the next one.
func (s *soak) writeSecrets(step int) error {
	var digests, outcomes strings.Builder
	for _, i := range [][]int{{0}, {0, 1}, {1, 0}, {1}}[step] {
		_, _ = fmt.Fprintln(&digests, s.keys[i]) // to memory
		_, _ = fmt.Fprintf(&outcomes, "k%d %s\n", i, s.keys[i])
	}
	return errors.Join(os.WriteFile(s.digests, []byte(digests.String()), 0o600), os.WriteFile(s.outcomes, []byte(outcomes.String()), 0o600))
}

// newSoak writes the first secrets.
func newSoak(dir, files string, admins []string) (*soak, error) {
	s := &soak{admins: admins, files: files, digests: filepath.Join(dir, "digest-secrets"), outcomes: filepath.Join(dir, "outcome-keys")}
	for i := range s.keys {
		var b [32]byte
		rand.Read(b[:])
		s.keys[i] = base64.StdEncoding.EncodeToString(b[:])
	}
	return s, s.writeSecrets(0)
}

const (
	// grown is by how much the last fifth of a run may exceed the third, in
	// which nothing was restarted any more.
	grown = 1.25
	few   = 8 // samples, of which a median can be taken
)

// judge adds what grew, and callers without an answer, to the violations.
func (s *soak) judge(r *result, long time.Duration) {
	if r.pending > mostUnanswered {
		r.violations = append(r.violations, fmt.Sprintf("%d wishes had no answer, at most %d may", r.pending, mostUnanswered))
	}
	if long < shortest && len(r.violations) == 0 {
		r.err = fmt.Errorf("less than %v shows nothing of what grows", shortest)
	}
	if long < shortest {
		return
	}
	n := len(s.series)
	r.notes = append(r.notes, fmt.Sprintf("%.0f wishes a second; in the third fifth and the last:", 1/s.every.Seconds()))
	for column, title := range titles() {
		early, late := s.series[n*2/5:n*3/5].median(column), s.series[n*4/5:].median(column)
		r.notes = append(r.notes, fmt.Sprintf("%s: %.0f, %.0f", title, early, late))
		// A column that was hardly ever seen proves nothing.
		if !(late <= max(early*grown, early+leeway(column))) {
			r.violations = append(r.violations, fmt.Sprintf("%s grow from %.0f to %.0f (promise 8)", title, early, late))
		}
	}
}

// leeway returns how much a column of any size may differ: a garbage
// collection later, a connection more, a segment that a server prepares.
func leeway(column int) float64 {
	return [columns]float64{memory: 16, goroutines: 64, descriptors: 32, files: 64}[column]
}

// median of a column, without the samples in which a gateway was down. It is
// not a number where hardly any is left.
func (s series) median(column int) float64 {
	var values []float64
	for _, one := range s {
		if !math.IsNaN(one.values[column]) {
			values = append(values, one.values[column])
		}
	}
	if len(values) < few {
		return math.NaN()
	}
	slices.Sort(values)
	return values[len(values)/2]
}
