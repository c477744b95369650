package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/memstore"
)

// anyFence is a store without the comparison of fences: every caller that
// settles or renews is taken for the holder.
type anyFence struct{ semel.Store }

func (s anyFence) Settle(ctx context.Context, d semel.Digest, f semel.Fence, v semel.Settlement) error {
	return s.Store.Settle(ctx, d, s.holder(ctx, d, f), v)
}

func (s anyFence) Renew(ctx context.Context, d semel.Digest, f semel.Fence, lease time.Duration) error {
	return s.Store.Renew(ctx, d, s.holder(ctx, d, f), lease)
}

func (s anyFence) holder(ctx context.Context, d semel.Digest, f semel.Fence) semel.Fence {
	if rec, err := s.Lookup(ctx, d); err == nil {
		return rec.Fence
	}
	return f
}

// ownFences is a store that counts fences for each intent.
type ownFences struct {
	semel.Store

	mu    *sync.Mutex // guards the fields below
	given map[semel.Digest]map[semel.Fence]semel.Fence
}

func (s ownFences) Claim(ctx context.Context, p semel.ClaimParams) (semel.Record, bool, error) {
	p.TakeOver = 0 // it knows others
	rec, won, err := s.Store.Claim(ctx, p)
	if err != nil {
		return rec, won, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.given[p.Digest]
	if of == nil {
		of = map[semel.Fence]semel.Fence{}
		s.given[p.Digest] = of
	}
	if of[rec.Fence] == 0 {
		of[rec.Fence] = semel.Fence(len(of) + 1)
	}
	rec.Fence = of[rec.Fence]
	return rec, won, nil
}

// impatient is a store that releases a claim before its lease has ended.
type impatient struct{ semel.Store }

func (s impatient) Claim(ctx context.Context, p semel.ClaimParams) (semel.Record, bool, error) {
	rec, won, err := s.Store.Claim(ctx, p)
	if err != nil || won || rec.State != semel.StateClaimed || rec.LeaseLeft() < 40*time.Millisecond {
		return rec, won, err
	}
	err = s.Settle(ctx, p.Digest, rec.Fence, semel.Settlement{State: semel.StateReleased})
	if errors.Is(err, semel.ErrLost) || errors.Is(err, semel.ErrSettled) {
		return rec, false, nil // its holder was faster
	}
	return s.Store.Claim(ctx, p)
}

// forgetful is a store whose Lookup misses completed records.
type forgetful struct{ semel.Store }

func (s forgetful) Lookup(ctx context.Context, d semel.Digest) (semel.Record, error) {
	rec, err := s.Store.Lookup(ctx, d)
	if err == nil && rec.State == semel.StateCompleted {
		return semel.Record{}, semel.ErrNotFound
	}
	return rec, err
}

// writeTwice is a store that lets a settlement be changed.
type writeTwice struct{ semel.Store }

func (s writeTwice) Settle(ctx context.Context, d semel.Digest, f semel.Fence, v semel.Settlement) error {
	if err := s.Store.Settle(ctx, d, f, v); !errors.Is(err, semel.ErrSettled) {
		return err
	}
	return nil
}

// interview lets goroutines ask a store for a while and judges the answers.
func interview(t *testing.T, store semel.Store, long time.Duration) result {
	t.Helper()
	dir := t.TempDir()
	events, err := newRecorder[call, reply](dir)
	noError(t, err)
	c := &clocks{offsets: [2]int64{wallOffset()}}
	ctx, cancel := context.WithTimeout(t.Context(), long)
	defer cancel()
	began := monotonic()
	var wg sync.WaitGroup
	for client := range children * hands {
		h := &historian{
			store: store, events: events, client: client, run: t.Name(), began: began, known: map[int]*acquaintance{},
			random: rand.New(rand.NewPCG(rand.Uint64(), uint64(client))),
			terms:  scenario{kind: kindStore}.terms(),
		}
		wg.Go(func() {
			if err := h.work(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	c.offsets[1] = wallOffset()
	steps, err := readSteps[call, reply](dir)
	noError(t, err)
	var j result
	noError(t, judge(&j, steps, c, dir))
	return j
}

// A store that keeps its promises passes, and one that breaks one does not.
func TestInterview(t *testing.T) {
	t.Parallel()
	honest := memstore.New(nil)
	if j := interview(t, honest, time.Second); len(j.violations) > 0 || j.undecided > 0 || j.operations == 0 {
		t.Errorf("an honest store: %+v", j)
	}
	if err := honest.Close(); err != nil {
		t.Error(err)
	}
	for name, breakIt := range map[string]func(semel.Store) semel.Store{
		"any fence will do": func(s semel.Store) semel.Store { return anyFence{s} },
		"fences by intent": func(s semel.Store) semel.Store {
			return ownFences{s, &sync.Mutex{}, map[semel.Digest]map[semel.Fence]semel.Fence{}}
		},
		"impatient":     func(s semel.Store) semel.Store { return impatient{s} },
		"forgetful":     func(s semel.Store) semel.Store { return forgetful{s} },
		"settled twice": func(s semel.Store) semel.Store { return writeTwice{s} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := memstore.New(nil)
			defer func() { _ = store.Close() }() // nothing is kept
			const rounds = 20                    // the first finds it, unless the machine is very busy
			for range rounds {
				if j := interview(t, breakIt(store), 500*time.Millisecond); len(j.violations) > 0 {
					return
				}
			}
			t.Error("not noticed")
		})
	}
}
