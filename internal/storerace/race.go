package storerace

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/waiting"
)

const (
	lease     = 10 * time.Minute // longer than any race
	retention = 30 * time.Minute
	// maxRepeats bounds how often one verb is repeated after an error that
	// does not say whether it was taken.
	maxRepeats = 256
	// keysAtOnce bounds the keys that are waited for at the same time, and so
	// the load on a live database.
	keysAtOnce = 16
	// maxWait is the longest pause between two claims of a waiter.
	maxWait = 50 * time.Millisecond
	// maxViolations bounds the report.
	maxViolations = 100
)

// Options say how hard to race. The zero value and nil are complete.
type Options struct {
	Stores  int // opened side by side; 0 means 4
	Keys    int // raced for; 0 means 64
	Claims  int // at once, for every key; 0 means 8
	Waiters int // that wait for every key in the second race; 0 means 4
}

// Report is the result of a race. A Report without violations is not a proof.
type Report struct {
	Stores  int           `json:"stores"`
	Keys    int           `json:"keys"`
	Claims  int           `json:"claims"`  // answered
	Wins    int           `json:"wins"`    // of them
	Repeats int           `json:"repeats"` // verbs repeated after an error such as a deadlock
	Elapsed time.Duration `json:"elapsed_ns"`
	// Violations say in plain words what must not have happened; at most 100.
	Violations []string `json:"violations"`
}

// Run opens the store several times and races: first many claim every key at
// once, and exactly one may win each; then the winners release while others
// wait, and every waiter must get its turn, alone; and all the while fences
// must grow. It returns an error, and the report so far, when a store cannot be
// opened, answers something the contract does not name again and again, or the
// context ends. Violations are not an error.
func Run(ctx context.Context, open func() (semel.Store, error), o *Options) (Report, error) {
	r := newRacer(o)
	started := time.Now()
	err := r.open(open)
	if err == nil {
		err = r.doubleClaim(ctx)
	}
	if err == nil {
		err = r.releaseWithWaiters(ctx)
	}
	r.checkFences()
	for _, store := range r.stores {
		err = errors.Join(err, store.Close())
	}
	r.report.Elapsed = time.Since(started)
	r.report.Repeats = int(r.repeats.Load())
	return r.report, err
}

// win is one won claim; a counter orders the wins in time.
type win struct {
	fence          semel.Fence
	digest         semel.Digest
	called, gotten int64
}

type racer struct {
	opts    Options
	stores  []semel.Store
	keys    []semel.Key
	ticks   atomic.Int64
	repeats atomic.Int64

	mu     sync.Mutex // guards the fields below
	wins   []win
	report Report
}

func newRacer(o *Options) *racer {
	r := &racer{}
	if o != nil {
		r.opts = *o
	}
	for field, otherwise := range map[*int]int{&r.opts.Stores: 4, &r.opts.Keys: 64, &r.opts.Claims: 8, &r.opts.Waiters: 4} {
		if *field <= 0 {
			*field = otherwise
		}
	}
	// A scope of its own, so that a live database's keys are not touched.
	scope := "semel race " + rand.Text()
	for i := range r.opts.Keys {
		r.keys = append(r.keys, semel.Key{Scope: scope, Name: fmt.Sprint("key ", i)})
	}
	r.report.Keys = len(r.keys)
	return r
}

func (r *racer) open(open func() (semel.Store, error)) error {
	for range r.opts.Stores {
		store, err := open()
		if err != nil {
			return fmt.Errorf("open store %d of %d: %w", len(r.stores)+1, r.opts.Stores, err)
		}
		r.stores = append(r.stores, store)
		r.report.Stores++
	}
	return nil
}

// params are those of one attempt, with an owner of its own.
func (r *racer) params(key int) semel.ClaimParams {
	p := semel.ClaimParams{
		Digest: r.keys[key].Digest(), Scope: r.keys[key].Scope, Name: r.keys[key].Name,
		Lease: lease, Retention: retention,
	}
	rand.Read(p.Owner[:])
	return p
}

// doubleClaim lets many claim every key at once.
func (r *racer) doubleClaim(ctx context.Context) error {
	for key := range r.keys {
		recs := make([]semel.Record, r.opts.Claims)
		wons := make([]bool, r.opts.Claims)
		err := Together(r.opts.Claims, func(i int) (err error) {
			recs[i], wons[i], err = r.claim(ctx, i, r.params(key))
			return err
		})
		if err != nil {
			return fmt.Errorf("claim %q: %w", r.keys[key].Name, err)
		}
		r.checkClaims(key, recs, wons)
		for i, won := range wons {
			if !won {
				continue
			}
			if err := r.release(ctx, key, i, recs[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkClaims checks the answers to concurrent claims of one key.
func (r *racer) checkClaims(key int, recs []semel.Record, wons []bool) {
	winners := 0
	for i := range recs {
		if wons[i] {
			winners++
		}
		if recs[i].Fence != recs[0].Fence || recs[i].Owner != recs[0].Owner {
			r.violation("key %d: two claimers were shown different holders (fences %d and %d)", key, recs[0].Fence, recs[i].Fence)
		}
	}
	if winners != 1 {
		r.violation("key %d: %d of %d claimers won at once, want exactly 1", key, winners, len(recs))
	}
}

// release gives back the claims that were won, so that others can win them.
func (r *racer) release(ctx context.Context, key, turn int, rec semel.Record) error {
	err := r.settle(ctx, turn, rec)
	if errors.Is(err, semel.ErrLost) {
		r.violation("key %d: the holder of a live claim (fence %d) got the answer that it lost the claim", key, rec.Fence)
		return nil
	}
	if err != nil {
		return fmt.Errorf("release %q: %w", r.keys[key].Name, err)
	}
	return nil
}

// releaseWithWaiters lets many take turns on every key: the winner checks that
// it is alone, and releases while the others wait.
func (r *racer) releaseWithWaiters(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for first := 0; first < len(r.keys); first += keysAtOnce {
		keys := min(keysAtOnce, len(r.keys)-first)
		inside := make([]atomic.Int64, keys)
		err := Together(keys*r.opts.Waiters, func(i int) error {
			err := r.takeTurn(ctx, first+i%keys, i, &inside[i%keys])
			if err != nil {
				cancel() // a turn that failed may hold its key, and others would wait for it
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// takeTurn waits until it wins the key, and releases it.
func (r *racer) takeTurn(ctx context.Context, key, turn int, inside *atomic.Int64) error {
	p := r.params(key)
	for wait := time.Millisecond; ; wait = min(2*wait, maxWait) {
		rec, won, err := r.claim(ctx, turn, p)
		if err != nil {
			return fmt.Errorf("claim %q: %w", r.keys[key].Name, err)
		}
		if !won {
			waiting.Sleep(ctx, wait)
			if err := ctx.Err(); err != nil {
				return fmt.Errorf("wait for %q, held by fence %d: %w", r.keys[key].Name, rec.Fence, err)
			}
			continue
		}
		if n := inside.Add(1); n != 1 {
			r.violation("key %d: %d holders at the same time (one with fence %d)", key, n, rec.Fence)
		}
		err = r.lookBack(ctx, key, turn, rec)
		inside.Add(-1)
		if err != nil {
			return err
		}
		return r.release(ctx, key, turn, rec)
	}
}

// lookBack reads a held claim through another store.
func (r *racer) lookBack(ctx context.Context, key, turn int, rec semel.Record) error {
	var seen semel.Record
	err := r.repeat(ctx, func() (err error) {
		seen, err = r.stores[(turn+1)%len(r.stores)].Lookup(ctx, rec.Digest)
		return err
	})
	if err != nil && !errors.Is(err, semel.ErrNotFound) {
		return fmt.Errorf("look up %q: %w", r.keys[key].Name, err)
	}
	if err != nil || seen.Fence != rec.Fence || seen.Owner != rec.Owner {
		r.violation("key %d: another store sees fence %d while fence %d holds the claim", key, seen.Fence, rec.Fence)
	}
	return nil
}

// claim repeats until the answer is definite, and notes a win.
func (r *racer) claim(ctx context.Context, turn int, p semel.ClaimParams) (rec semel.Record, won bool, err error) {
	store := r.stores[turn%len(r.stores)]
	called := r.ticks.Add(1)
	err = r.repeat(ctx, func() (err error) {
		rec, won, err = store.Claim(ctx, p)
		return err
	})
	gotten := r.ticks.Add(1)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		return rec, won, err
	}
	r.report.Claims++
	if won {
		r.report.Wins++
		r.wins = append(r.wins, win{rec.Fence, rec.Digest, called, gotten})
	}
	return rec, won, nil
}

func (r *racer) settle(ctx context.Context, turn int, rec semel.Record) error {
	// Through another store than the one that claimed, where there is one.
	store := r.stores[(turn+1)%len(r.stores)]
	tries := 0
	err := r.repeat(ctx, func() error {
		tries++
		return store.Settle(ctx, rec.Digest, rec.Fence, semel.Settlement{State: semel.StateReleased})
	})
	if tries > 1 && errors.Is(err, semel.ErrLost) {
		return nil // released by a try whose reply was lost; another holds it by now
	}
	return err
}

// repeat asks until the answer is definite.
func (r *racer) repeat(ctx context.Context, verb func() error) error {
	for try := 1; ; try++ {
		err := verb()
		if err == nil || definite(err) || ctx.Err() != nil || try == maxRepeats {
			return err
		}
		r.repeats.Add(1)
		waiting.Sleep(ctx, time.Duration(min(try, 32))*time.Millisecond)
	}
}

func definite(err error) bool {
	for _, sentinel := range []error{semel.ErrLost, semel.ErrSettled, semel.ErrNotFound, semel.ErrFull, semel.ErrClosed, semel.ErrKeyInvalid} {
		if errors.Is(err, sentinel) {
			return true
		}
	}
	return false
}

// checkFences looks at all wins: no fence twice, and a claim that began when
// another had been won has the greater fence.
func (r *racer) checkFences() {
	seen := map[semel.Fence]semel.Digest{}
	for _, w := range r.wins {
		if w.fence == 0 {
			r.violation("a claim was won without a fence")
		}
		if _, twice := seen[w.fence]; twice {
			r.violation("fence %d was given twice", w.fence)
		}
		seen[w.fence] = w.digest
	}
	byCall := slices.SortedFunc(slices.Values(r.wins), func(a, b win) int { return int(a.called - b.called) })
	byGotten := slices.SortedFunc(slices.Values(r.wins), func(a, b win) int { return int(a.gotten - b.gotten) })
	var greatest semel.Fence // of the claims won before the one looked at began
	next := 0
	for _, w := range byCall {
		for ; next < len(byGotten) && byGotten[next].gotten < w.called; next++ {
			greatest = max(greatest, byGotten[next].fence)
		}
		if w.fence <= greatest {
			r.violation("fence %d was given after fence %d, want a greater one", w.fence, greatest)
		}
	}
}

func (r *racer) violation(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.report.Violations) < maxViolations {
		r.report.Violations = append(r.report.Violations, fmt.Sprintf(format, args...))
	}
}

// Together runs fn in goroutines that start at once, and waits for all.
func Together(n int, fn func(i int) error) error {
	var wg sync.WaitGroup
	start := make(chan struct{})
	errs := make([]error, n)
	for i := range n {
		wg.Go(func() {
			<-start
			errs[i] = fn(i)
		})
	}
	close(start)
	wg.Wait()
	return errors.Join(errs...)
}
