package logstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/claimtest"
)

const (
	powerWorkers = 6
	powerKeys    = 4 // of each worker
	powerRounds  = 6
	powerSegment = 16 << 10
)

// powerTest loses power again and again, and compares the store with what it acknowledged.
type powerTest struct {
	t     *testing.T
	seed  uint64
	rng   *rand.Rand
	clock jumpy
	disk  *powerDisk

	mu     sync.Mutex // guards the fields below
	keys   map[string]*powerKey
	fences map[semel.Fence]string
	latest time.Time // the store's clock when something was acknowledged
}

// powerKey holds what is known of an intent: what was acknowledged, and what may have followed.
type powerKey struct {
	acked   semel.Record // the zero Record: absent
	pending func(semel.Record) bool
	story   []string
	ends    time.Time // what is pending expires then at the earliest
	// ghosts were seen to have expired, which nothing recorded: a clock that is set back while the power is off may show
	// one of them again.
	ghosts []func(semel.Record) bool
}

// jumpy is a clock that every reading moves on, and that jumps.
type jumpy struct{ ns atomic.Int64 }

func (j *jumpy) Now() time.Time { return time.Unix(1_700_000_000, j.ns.Add(int64(time.Millisecond))) }

// Promises 1, 2, 3, 7 and 9: what was acknowledged is there after a loss of power, what was not is there whole or not at
// all, no fence is given twice, and the clock goes on.
func TestPowerCut(t *testing.T) {
	t.Parallel()
	base := rand.Uint64()
	for i := range claimtest.Times(6, 400, 2000) {
		runPower(t, base+uint64(i))
		if t.Failed() {
			t.Logf("seed %d", base+uint64(i))
			return
		}
	}
}

func runPower(t *testing.T, seed uint64) {
	t.Helper()
	p := &powerTest{t: t, seed: seed, rng: rand.New(rand.NewPCG(seed, 1)), disk: newPowerDisk(), keys: map[string]*powerKey{}, fences: map[semel.Fence]string{}}
	for round := 0; round < powerRounds && !t.Failed(); round++ {
		p.disk.left = 5 + p.rng.IntN(300)
		if p.rng.IntN(4) == 0 {
			p.disk.left = p.rng.IntN(20) // while the log is being read or made
		}
		p.live(round)
		p.disk = p.disk.cut(p.rng)
		p.clock.ns.Add(p.rng.Int64N(int64(3*time.Second)) - int64(time.Second))
	}
	p.disk.left = -1
	if s := p.open(); s != nil {
		p.compare(s)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

func (p *powerTest) open() *Store {
	s, err := Open(p.t.Context(), "sim", &Options{Now: p.clock.Now, segment: powerSegment, disk: p.disk})
	if err != nil {
		if !errors.Is(err, errPower) {
			p.t.Errorf("open: %v", err)
		}
		return nil
	}
	return s
}

// live is one life of the store, until the power goes.
func (p *powerTest) live(round int) {
	s := p.open()
	if s == nil {
		return
	}
	p.compare(s)
	var wg sync.WaitGroup
	for w := range powerWorkers {
		rng := rand.New(rand.NewPCG(p.seed, uint64(round*powerWorkers+w)))
		wg.Go(func() {
			for i := 0; p.step(s, rng, fmt.Sprintf("%d/%d", w, rng.IntN(powerKeys))) && i < 200; i++ {
				if w == 0 && i%20 == 0 {
					select {
					case s.log.rolled <- struct{}{}:
					default:
					}
				}
			}
		})
	}
	wg.Wait()
	_ = s.Close()
}

// compare looks every intent up.
func (p *powerTest) compare(s *Store) {
	for name, k := range p.keys {
		digest := semel.Key{Scope: "power", Name: name}.Digest()
		rec, err := s.Lookup(p.t.Context(), digest)
		now := time.UnixMilli(s.clock.read()).UTC()
		if now.Before(p.latest) {
			p.t.Errorf("promise 9: the clock is %v, and something was acknowledged at %v", now, p.latest)
		}
		switch {
		case errors.Is(err, semel.ErrNotFound):
			k.tell("absent after a loss of power")
			rec = semel.Record{}
		case err != nil:
			p.t.Errorf("look up %s: %v", name, err)
			continue
		}
		k.tell("after a loss of power", rec.Fence, rec.State, now.UnixMilli())
		rec.ReadAt = time.Time{}
		gone := rec.Fence == 0 && (!now.Before(k.acked.ExpiresAt) || k.pending != nil && !now.Before(k.ends))
		if !gone && !same(k.acked)(rec) && !k.ghost(rec) && (k.pending == nil || !k.pending(rec)) {
			p.t.Errorf("promise 2: %s after a loss of power, pending %v (-acknowledged +there):\n%s%s", name, k.pending != nil, cmp.Diff(k.acked, rec), strings.Join(k.story, "\n"))
		}
		p.fence(rec.Fence, name+fmt.Sprint(rec.ClaimedAt.UnixNano()))
		if rec.Fence == 0 {
			k.ghosts = append(k.ghosts, same(k.acked))
			if k.pending != nil {
				k.ghosts = append(k.ghosts, k.pending)
			}
		}
		k.acked, k.pending = rec, nil
	}
}

// tell keeps the end of an intent's story, for a test that fails.
func (k *powerKey) tell(words ...any) {
	k.story = append(k.story, fmt.Sprintln(words...))
	k.story = k.story[max(0, len(k.story)-12):]
}

func same(want semel.Record) func(semel.Record) bool {
	return func(rec semel.Record) bool { return reflect.DeepEqual(rec, want) }
}

func (k *powerKey) ghost(rec semel.Record) bool {
	return slices.ContainsFunc(k.ghosts, func(was func(semel.Record) bool) bool { return was(rec) })
}

// fence notes a fence that was seen, and the claim that it was given to.
func (p *powerTest) fence(f semel.Fence, claim string) {
	if other, seen := p.fences[f]; f != 0 && seen && other != claim {
		p.t.Errorf("promise 1: fence %d was given to %s and to %s", f, other, claim)
	}
	p.fences[f] = claim
}

// step does something with an intent of the worker's own; false ends the life.
func (p *powerTest) step(s *Store, rng *rand.Rand, name string) bool {
	p.mu.Lock()
	k := p.keys[name]
	if k == nil {
		k = &powerKey{}
		p.keys[name] = k
	}
	p.mu.Unlock()
	ctx := p.t.Context()
	if k.acked.State == semel.StateAbsent || k.acked.State == semel.StateCompleted || k.acked.State == semel.StateCancelled || rng.IntN(4) == 0 {
		return p.claim(ctx, s, rng, name, k)
	}
	if k.acked.State == semel.StateClaimed && rng.IntN(3) == 0 {
		return p.renew(ctx, s, k)
	}
	return p.settle(ctx, s, rng, k)
}

func (p *powerTest) claim(ctx context.Context, s *Store, rng *rand.Rand, name string, k *powerKey) bool {
	key := semel.Key{Scope: "power", Name: name}
	params := semel.ClaimParams{
		Digest: key.Digest(), Scope: key.Scope, Name: name, Owner: semel.Owner{byte(rng.IntN(3))}, TakeOver: k.acked.Fence,
		Lease: time.Duration(1+rng.IntN(300)) * time.Millisecond, Retention: time.Duration(1+rng.IntN(2000)) * time.Millisecond,
	}
	before := k.acked
	k.ends = time.UnixMilli(s.clock.read()).Add(params.Lease + params.Retention)
	k.pending = func(rec semel.Record) bool { // the claim may be there
		return rec.State == semel.StateClaimed && rec.Fence > before.Fence && rec.Owner == params.Owner &&
			rec.LeaseUntil.Sub(rec.ClaimedAt) == params.Lease && rec.ExpiresAt.Sub(rec.LeaseUntil) == params.Retention
	}
	rec, won, err := s.Claim(ctx, params)
	k.tell("claim", rec.Fence, rec.State, rec.ReadAt.UnixMilli(), won, err)
	if err != nil {
		return false
	}
	now := rec.ReadAt
	rec.ReadAt = time.Time{}
	p.mu.Lock()
	defer p.mu.Unlock()
	if won && rec.ClaimedAt.After(p.latest) {
		p.latest = rec.ClaimedAt
	}
	if !won && !reflect.DeepEqual(rec, before) && !k.ghost(rec) {
		p.t.Errorf("promise 2: not won, at %v (-acknowledged +there):\n%s", now, cmp.Diff(before, rec))
	}
	if won && rec.Fence != before.Fence {
		p.fence(rec.Fence, name+fmt.Sprint(rec.ClaimedAt.UnixNano()))
	}
	k.acked, k.pending = rec, nil
	if won {
		k.ghosts = nil
	}
	return true
}

func (p *powerTest) renew(ctx context.Context, s *Store, k *powerKey) bool {
	const lease = 100 * time.Millisecond
	before := k.acked
	renewed := func(rec semel.Record) bool {
		moved := rec.LeaseUntil.Sub(before.LeaseUntil)
		want := before
		want.LeaseUntil, want.ExpiresAt = before.LeaseUntil.Add(moved), before.ExpiresAt.Add(moved)
		return reflect.DeepEqual(rec, want)
	}
	k.pending, k.ends = renewed, time.UnixMilli(s.clock.read()).Add(before.ExpiresAt.Sub(before.LeaseUntil))
	err := s.Renew(ctx, before.Digest, before.Fence, lease)
	if k.tell("renew", before.Fence, err); err != nil {
		return p.lost(err, k)
	}
	return p.after(ctx, s, k, renewed)
}

func (p *powerTest) settle(ctx context.Context, s *Store, rng *rand.Rand, k *powerKey) bool {
	before := k.acked
	v := semel.Settlement{State: semel.StateCompleted, Kept: true, Outcome: make([]byte, 1+rng.IntN(1500)), Retention: time.Duration(1+rng.IntN(4000)) * time.Millisecond}
	for i := range v.Outcome {
		v.Outcome[i] = byte(rng.Uint32())
	}
	switch rng.IntN(5) {
	case 0:
		v.State, v.Kept, v.Note = semel.StateUnknown, false, "why"
	case 1:
		v = semel.Settlement{State: semel.StateReleased}
	case 2:
		v.State, v.Kept, v.Outcome = semel.StateCancelled, false, nil
	}
	settled := func(rec semel.Record) bool {
		if v.State == semel.StateReleased {
			return rec.Fence == 0
		}
		want := before
		want.State, want.Outcome, want.Kept, want.Note = v.State, v.Outcome, v.Kept, v.Note
		want.SettledAt, want.ExpiresAt = rec.SettledAt, rec.SettledAt.Add(v.Retention)
		return reflect.DeepEqual(rec, want)
	}
	k.pending, k.ends = settled, time.UnixMilli(s.clock.read()).Add(v.Retention)
	err := s.Settle(ctx, before.Digest, before.Fence, v)
	if k.tell("settle", before.Fence, v.State, v.Retention, err); err != nil {
		return p.lost(err, k)
	}
	return p.after(ctx, s, k, settled)
}

// lost handles a refusal: the record had expired. Any other error is the end.
func (p *powerTest) lost(err error, k *powerKey) bool {
	if !errors.Is(err, semel.ErrLost) && !errors.Is(err, semel.ErrSettled) {
		return false
	}
	if k.pending = nil; errors.Is(err, semel.ErrLost) {
		k.acked, k.ghosts = semel.Record{}, append(k.ghosts, same(k.acked))
	}
	return true
}

// unwritten notes that a record may be seen again that had expired when it was released: nothing was written, and the
// clock may be set back.
func (*powerTest) unwritten(s *Store, k *powerKey, before semel.Record) {
	if now := s.clock.read(); now >= before.ExpiresAt.UnixMilli() {
		k.tell("expired at", now)
		k.ghosts = append(k.ghosts, same(before))
	}
}

// after looks up what a verb left.
func (p *powerTest) after(ctx context.Context, s *Store, k *powerKey, want func(semel.Record) bool) bool {
	before := k.acked
	rec, err := s.Lookup(ctx, before.Digest)
	k.tell("look up", rec.Fence, rec.State, rec.ReadAt.UnixMilli(), err)
	if err != nil && !errors.Is(err, semel.ErrNotFound) {
		k.acked, k.pending = semel.Record{}, func(rec semel.Record) bool { return want(rec) || rec.Fence == 0 }
		p.unwritten(s, k, before)
		return false
	}
	rec.ReadAt = time.Time{}
	if rec.Fence != 0 && !want(rec) {
		p.t.Errorf("promise 2: the record is not what was acknowledged (-before +there):\n%s", cmp.Diff(before, rec))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if rec.SettledAt.After(p.latest) {
		p.latest = rec.SettledAt
	}
	if rec.Fence == 0 {
		k.ghosts = append(k.ghosts, want)
		p.unwritten(s, k, before)
	}
	k.acked, k.pending = rec, nil
	return true
}
