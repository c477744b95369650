package semel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/semel-dev/semel/internal/digest"
	"github.com/semel-dev/semel/internal/lease"
	"github.com/semel-dev/semel/internal/quota"
	"github.com/semel-dev/semel/internal/waiting"
)

// Options are the settings of a [Guard]. A nil *Options is complete. A negative
// bound is an error.
type Options struct {
	// Policy applies to every Begin of this guard; see [Guard.With].
	Policy Policy
	// Secrets, when set, key the digests (HMAC-SHA-256), so that a reader of the
	// store cannot confirm a guessed key. The first names new records, and records
	// of the others are still found, so a secret can be replaced while requests
	// arrive (docs/operations.md has the steps). Each has at least 16 bytes, there
	// are at most four, and an empty one counts as none. All guards of one store
	// need the same. More than one costs a Lookup or two for every Begin, and
	// refuses BeginTx; see [Guard.CheckTx].
	Secrets [][]byte
	// OutcomeKeys, when set, keep outcomes encrypted in the store (AES-256-GCM),
	// bound to their record. The first encrypts, all decrypt; outcomes recorded
	// without a key are still replayed. A zero key in the first place encrypts
	// nothing while the others decrypt, until every process has the new key. See
	// [OutcomeKey].
	OutcomeKeys []OutcomeKey
	// HideKeys keeps scope and name out of the store. Operators then find a
	// record by its digest only.
	HideKeys bool
	// WaitersPerKey, WaitersPerScope and Waiters bound how many attempts wait
	// for a running twin at a time; one more gets ErrInFlight at once. Defaults 64,
	// 1024 and 16384.
	WaitersPerKey, WaitersPerScope, Waiters int
	// LiveClaims bounds the claims held at a time; one more gets
	// ErrUnavailable with ErrBusy. Default 65536.
	LiveClaims int
	// LiveClaimsPerScope bounds those of one scope, so that no caller uses up the room of all; one more gets
	// ErrQuota. Default 16384.
	LiveClaimsPerScope int
	// RecordsPerScope bounds the records that this guard claims for one scope within one [Policy.Retention],
	// not counting those that are released or taken over; an intent beyond it gets ErrQuota. Where [Guard.With]
	// gives one scope several retentions, the longest counts. The store then holds at most that many records of
	// a scope for each process that shares it; a process that restarts counts from zero. Zero for no bound.
	RecordsPerScope int
	// StoreQueue bounds the attempts that wait at a time for the store to answer their claim; one more gets
	// ErrUnavailable at once, so that a store slower than its callers does not work for callers that gave up.
	// Default 4096.
	StoreQueue int
	// StoreTimeout bounds the time a verb of the store may take, retries
	// included. Default 5 s.
	StoreTimeout time.Duration
	// SweepEvery is the interval at which expired records are swept in the
	// background, where the store can. Default 10 s; negative for never.
	SweepEvery time.Duration
	// Trace, when set, observes what happens.
	Trace *Trace
}

// Guard makes an intent happen once. It is the one place that decides: whether
// an attempt executes, gets the recorded outcome, waits or is refused. All
// methods are safe for concurrent use. Make one with [New].
type Guard struct {
	core   *core
	policy Policy
}

// core is shared by all views of a guard.
type core struct {
	store     Store
	records   any                // the store below its wrappers, to compare with others; nil when that cannot be done
	notifier  Notifier           // nil when the store is not one
	recaller  recaller           // the same
	digesters []*digest.Digester // the second and later ones are of secrets that are being replaced; usually none
	sealer    outcomeKeys
	hideKeys  bool
	trace     Trace
	waiters   *waiting.Rooms
	timeout   time.Duration
	maxLive   int64
	maxQueue  int64

	quota *quota.Scopes

	owners    *lease.Owners
	live      atomic.Int64  // claims held, detached work included
	detached  atomic.Int64  // those of them whose work goes on after the settlement
	queue     atomic.Int64  // claims that wait for the store's answer
	giveBacks chan struct{} // seats of the goroutines that undo lost claims

	life   context.Context //nolint:containedctx // the guard's life, ended by Close.
	end    context.CancelFunc
	closed atomic.Bool
	drain  chan struct{} // closed when the guard takes no new intents

	idle       waiting.Gate // attempts and claims
	background waiting.Gate // heartbeats, sweeping, claims being undone

	abandoned waiting.Oldest[*Detached]

	open  waiting.Group[*Claim]
	beats lease.Beats  // of the claims
	solo  waiting.Solo // transactions that run
}

// New returns a guard over the store. The guard does not own the store: close
// the guard first, the store after it. opts may be nil.
func New(store Store, opts *Options) (*Guard, error) {
	if store == nil {
		return nil, errors.New("semel: new guard: store is nil")
	}
	if opts == nil {
		opts = &Options{}
	}
	policy, err := opts.Policy.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := opts.check(); err != nil {
		return nil, err
	}
	sealer := outcomeKeys(slices.Clone(opts.OutcomeKeys))
	if err := sealer.validate(); err != nil {
		return nil, err
	}
	digesters, err := digest.Digesters(opts.Secrets)
	if err != nil {
		return nil, fmt.Errorf("semel: new guard: %w", err)
	}
	c := &core{
		store:     store,
		digesters: digesters,
		sealer:    sealer,
		hideKeys:  opts.HideKeys,
		waiters: waiting.NewRooms(
			cmp.Or(opts.WaitersPerKey, 64),
			cmp.Or(opts.WaitersPerScope, 1024),
			cmp.Or(opts.Waiters, 16384)),
		timeout:   cmp.Or(opts.StoreTimeout, 5*time.Second),
		maxLive:   int64(cmp.Or(opts.LiveClaims, 65536)),
		maxQueue:  int64(cmp.Or(opts.StoreQueue, 4096)),
		giveBacks: make(chan struct{}, maxGiveBacks),
		drain:     make(chan struct{}),
		abandoned: waiting.Oldest[*Detached]{Most: maxAbandoned, Cut: (*Detached).cutOff},
		owners:    lease.NewOwners(),
		quota:     quota.New(cmp.Or(opts.LiveClaimsPerScope, 16384), opts.RecordsPerScope),
	}
	c.records = bottom(store)
	c.notifier, _ = StoreAs[Notifier](store)
	c.recaller, _ = StoreAs[recaller](store)
	if opts.Trace != nil {
		c.trace = *opts.Trace
	}
	c.life, c.end = context.WithCancel(context.Background())
	c.startSweeping(opts.SweepEvery)
	return &Guard{core: c, policy: policy}, nil
}

// check refuses negative bounds.
func (o *Options) check() error {
	for _, bound := range []struct {
		name  string
		value int64
	}{
		{"WaitersPerKey", int64(o.WaitersPerKey)},
		{"WaitersPerScope", int64(o.WaitersPerScope)},
		{"Waiters", int64(o.Waiters)},
		{"LiveClaims", int64(o.LiveClaims)},
		{"LiveClaimsPerScope", int64(o.LiveClaimsPerScope)},
		{"RecordsPerScope", int64(o.RecordsPerScope)},
		{"StoreQueue", int64(o.StoreQueue)},
		{"StoreTimeout", int64(o.StoreTimeout)},
	} {
		if bound.value < 0 {
			return fmt.Errorf("semel: new guard: %s is negative (leave it out for the default)", bound.name)
		}
	}
	return nil
}

// With returns a view of the guard that applies another policy. It shares
// everything else; closing either closes both.
func (g *Guard) With(p Policy) (*Guard, error) {
	p, err := p.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Guard{core: g.core, policy: p}, nil
}

// HidesKeys reports whether the guard keeps scopes and names out of the store.
func (g *Guard) HidesKeys() bool { return g.core.hideKeys }

// Policy returns the policy in force, defaults filled in.
func (g *Guard) Policy() Policy { return g.policy }

// Store returns the store that was given to [New].
func (g *Guard) Store() Store { return g.core.store }

// Digest returns the identity under which the store knows the key; while
// secrets are replaced, that of a new record.
func (g *Guard) Digest(k Key) Digest { return g.core.digest(k) }

// LiveClaims returns the number of claims this guard holds now. One whose work
// is detached counts until the work has ended.
func (g *Guard) LiveClaims() int { return int(g.core.live.Load()) }

// Detached returns the number of claims whose work goes on, or may go on, after
// they were settled: see [Claim.Detach].
func (g *Guard) Detached() int { return int(g.core.detached.Load()) }

// Waiting returns the number of attempts that wait for a running twin now.
func (g *Guard) Waiting() int { return g.core.waiters.Count() }

// Shutdown stops the guard in order: new intents and waiters get [ErrClosed] at
// once, and detached work that is abandoned is cut off; then it waits until
// every claim is settled or ctx ends, then it stops. Claims still open when ctx
// ends are lost, and recorded as unknown within [Options.StoreTimeout]; work that
// ends afterwards settles its claim while the store is open. Open transactions
// roll back. Detached work that is not abandoned goes on. The error is ctx's, when
// it ended first, and names how many claims were cut off. Shutdown waits at most
// [Options.StoreTimeout] for a call of the store that ignores its context.
func (g *Guard) Shutdown(ctx context.Context) error {
	c := g.core
	if !c.closed.Swap(true) {
		close(c.drain)
		c.abandoned.Close()
	}
	err := c.idle.Wait(ctx)
	patience, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.timeout)
	defer cancel()
	recording, done := context.WithTimeout(patience, c.timeout-c.timeout/10) // its calls end before the patience does
	defer done()
	cut := c.cutOff(recording)
	c.end()
	if bgErr := c.background.Wait(patience); bgErr != nil {
		return fmt.Errorf("semel: shut down: the store does not end a call whose context has ended: %w", bgErr)
	}
	if err != nil {
		return fmt.Errorf("semel: shut down: running claims cut off: %d (their outcomes are unknown): %w", cut, err)
	}
	return nil
}

// Close is [Guard.Shutdown] without patience: open claims are cut off.
func (g *Guard) Close() error {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	err := g.Shutdown(ctx)
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
