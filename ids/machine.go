package ids

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"github.com/semel-dev/semel"
)

const (
	defaultMachineScope = "ids machine"
	defaultMachines     = 1 << defaultMachineBits

	// forever is the MaxRun of a claim that lives as long as its process.
	forever = 100 * 365 * 24 * time.Hour
)

// MachineOptions are the settings of [LeaseMachine]. A nil *MachineOptions is
// complete.
type MachineOptions struct {
	// Scope separates fleets that share a store but have ids of their own. Default
	// "ids machine".
	Scope string
	// Machines is the number of machine numbers, from 0: at most 65536. Default
	// 1024.
	Machines int
	// Lease is the time for which a number stays taken after its holder crashed, or
	// after it was given back. The holder renews it every third of it, and refuses
	// to make ids when it could not. Default semel.DefaultLease.
	Lease time.Duration
}

// Machine is a number that no other process has: see the package documentation.
// Its methods are safe for concurrent use.
type Machine struct {
	guard  *semel.Guard
	key    semel.Key
	number int
	claim  *semel.Claim
	every  time.Duration

	stop    context.CancelFunc
	stopped chan struct{} // closed when the watch has ended

	mu     sync.Mutex // guards the fields below
	term   term
	given  bool // to a generator
	closed bool
}

// term is the lease as last read, in the store's clock, which it continues.
type term struct {
	at    time.Time     // of this process, monotonic
	store time.Duration // the latest that the store's clock may have shown then, since 1970
	until time.Duration // the end of the lease, since 1970
}

// now continues the store's clock.
func (t *term) now(at time.Time) time.Duration { return t.store + at.Sub(t.at) }

// LeaseMachine claims the first free number from a random one on, and holds it
// until [Machine.Close]. Close the machine before the guard. It asks the store
// once for every number that is taken. The error is [ErrNoMachine], or that of
// [semel.Guard.Begin] when the store cannot be asked: then nothing is held. ctx
// bounds the call alone.
//
// A guard with a quota of records or live claims for each scope counts numbers
// as it counts other intents.
func LeaseMachine(ctx context.Context, guard *semel.Guard, o *MachineOptions) (*Machine, error) {
	if o == nil {
		o = &MachineOptions{}
	}
	scope, count, lease := cmp.Or(o.Scope, defaultMachineScope), cmp.Or(o.Machines, defaultMachines), cmp.Or(o.Lease, semel.DefaultLease)
	if count < 1 || count > 1<<maxMachineBits {
		return nil, fmt.Errorf("ids: lease a machine: %d machines (1 to %d are possible)", count, 1<<maxMachineBits)
	}
	// A number that was given back rests for one lease: no id has a later time
	// than the end of the lease under which it was made. One that lapsed can be
	// taken over, because the holder knows when to stop.
	guard, err := guard.With(semel.Policy{
		Lease: lease, MaxRun: forever, Wait: semel.NoWait, Retention: lease, OnUnknown: semel.Rerun,
	})
	if err != nil {
		return nil, fmt.Errorf("ids: lease a machine: %w", err)
	}
	first := rand.IntN(count) //nolint:gosec // it only spreads callers.
	for i := range count {
		number := (first + i) % count
		key := semel.Key{Scope: scope, Name: "machine-" + strconv.Itoa(number)}
		claim, _, err := guard.Begin(ctx, key, semel.Fingerprint{})
		switch {
		case claim != nil:
			return holdMachine(ctx, &Machine{guard: guard, key: key, number: number, claim: claim, every: lease / 3})
		case err != nil && !taken(err):
			return nil, fmt.Errorf("ids: lease a machine: %w", err)
		}
	}
	return nil, ErrNoMachine
}

// taken reports whether another process has, or had, the number.
func taken(err error) bool {
	return errors.Is(err, semel.ErrInFlight) || errors.Is(err, semel.ErrCancelled) ||
		errors.Is(err, semel.ErrNotKept) || errors.Is(err, semel.ErrMismatch)
}

// holdMachine reads the lease that was won, and keeps reading it.
func holdMachine(ctx context.Context, m *Machine) (*Machine, error) {
	if err := m.read(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("ids: lease a machine: %w", err), m.claim.Complete(nil, nil)) //nolint:contextcheck // a claim is settled even if ctx has ended.
	}
	watch, stop := context.WithCancel(m.claim.Context())
	m.stop, m.stopped = stop, make(chan struct{})
	go m.watch(watch) //nolint:contextcheck // ctx bounds the call, the claim's life the watch.
	return m, nil
}

// watch reads the lease again after every renewal, until the claim is lost or
// closed. A failed read is repeated later: meanwhile the term runs out.
func (m *Machine) watch(ctx context.Context) {
	defer close(m.stopped)
	ticker := time.NewTicker(m.every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			_ = m.read(ctx) // the term runs out on its own
		}
	}
}

// read learns when the lease ends, and what the store's clock shows.
func (m *Machine) read(ctx context.Context) error {
	asked := time.Now()
	rec, err := m.guard.Lookup(ctx, m.key)
	answered := time.Now()
	switch {
	case err != nil:
		return err
	case rec.State != semel.StateClaimed || rec.Fence != m.claim.Fence():
		return ErrMachineLost
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.term = m.term.follow(asked, answered, sinceEpoch(rec.ReadAt), sinceEpoch(rec.LeaseUntil))
	return nil
}

// follow returns the term after the store was read between asked and answered.
// The clock continues as far as the reading allows, so that slow readings do
// not set it back.
func (t *term) follow(asked, answered time.Time, read, until time.Duration) term {
	store := read
	if !t.at.IsZero() {
		store = min(max(t.now(answered), read), read+answered.Sub(asked))
	}
	return term{at: answered, store: store, until: until}
}

func sinceEpoch(t time.Time) time.Duration { return time.Duration(t.UnixMilli()) * time.Millisecond }

// milli is the clock of generators: the store's, in milliseconds, while it is
// within the lease.
func (m *Machine) milli() (int64, error) {
	at := time.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.term.now(at)
	if m.closed || m.claim.Context().Err() != nil || now >= m.term.until {
		return 0, ErrMachineLost
	}
	return now.Milliseconds(), nil
}

// Number is the machine's number.
func (m *Machine) Number() int { return m.number }

// Fence returns the fence of the claim on the number: greater than that of
// every earlier holder.
func (m *Machine) Fence() semel.Fence { return m.claim.Fence() }

// Lost is closed when the number is lost for good or given back. To go on making
// ids, lease another one.
func (m *Machine) Lost() <-chan struct{} { return m.claim.Context().Done() }

// Snowflakes returns the one generator with this number and the store's clock; a
// second call is an error, because two generators would make the same ids. The
// generator refuses with [ErrMachineLost] as soon as the number may be lost.
func (m *Machine) Snowflakes(o *SnowflakeOptions) (*Snowflakes, error) {
	if o == nil {
		o = &SnowflakeOptions{}
	}
	s, err := newSnowflakes(m.number, o, m.milli)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.given {
		return nil, errors.New("ids: the machine has a generator already: share that one")
	}
	m.given = true
	return s, nil
}

// Close gives the number back: generators refuse from now on, and others get the
// number one lease later. A second call does nothing.
func (m *Machine) Close() error {
	m.mu.Lock()
	closed := m.closed
	m.closed = true
	m.mu.Unlock()
	if closed {
		return nil
	}
	m.stop()
	<-m.stopped
	if err := m.claim.Complete(nil, nil); err != nil {
		return fmt.Errorf("ids: give the machine's number back: %w", err)
	}
	return nil
}
