package outbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/verdict"
	"github.com/semel-dev/semel/internal/waiting"
)

const (
	defaultBatch          = 500
	maxBatch              = 10_000
	defaultParallel       = 2
	defaultLease          = 10 * time.Second
	defaultPublishTimeout = 30 * time.Second
	defaultMaxAttempts    = 20
	defaultMinPause       = time.Second
	defaultMaxPause       = 5 * time.Minute
	defaultSkipped        = 7 * 24 * time.Hour

	// maxClaimPause bounds the wait before free partitions are looked for again.
	maxClaimPause = 5 * time.Second
	// forever is the MaxRun of a claim that lives as long as its process.
	forever = 100 * 365 * 24 * time.Hour
)

// OnPoison says what happens to a message that is given up.
type OnPoison uint8

// What happens to a message that is given up.
const (
	// StopKey keeps the message and all later ones of its key back until an operator
	// releases or skips it.
	StopKey OnPoison = iota
	// SkipMessage puts the message aside for RelayOptions.SkippedRetention, and its key
	// goes on.
	SkipMessage
)

// RelayOptions are the settings of [NewRelay]. A nil *RelayOptions is complete.
type RelayOptions struct {
	// Batch is about the number of messages in one call of Publish: a call has at most
	// twice as many. Default 500, at most 10,000.
	Batch int
	// Parallel is the number of batches that are published at a time; no key is in two of
	// them. Default 2, at most 16.
	Parallel int
	// Lease is the time after which another relay takes the partitions of one that died.
	// Default 10 s.
	Lease time.Duration
	// PublishTimeout bounds one call of Publish. Default 30 s.
	PublishTimeout time.Duration
	// MaxAttempts is the number of attempts after which a message is given up. Those of an
	// outage, in which the publisher takes no message at all, do not count. Default 20.
	MaxAttempts int
	// MinPause and MaxPause bound the pause before a message that failed is tried again; it doubles
	// with each attempt, and is longer if an error asks for it. Defaults 1 s and 5 min.
	MinPause, MaxPause time.Duration
	// OnPoison is StopKey unless set. A message that failed with a [Permanent] error is
	// given up at once.
	OnPoison OnPoison
	// SkippedRetention is the time for which a skipped message is kept. Default 7 days.
	SkippedRetention time.Duration
	// Logger reports what goes wrong. Default [slog.Default].
	Logger *slog.Logger
	// Observe, when set, is called after every pass, from several goroutines; it must return
	// at once.
	Observe func(Pass)
}

// Pass describes one pass of a relay over some of its partitions: it reads, publishes
// and deletes. While there is nothing to do, passes are up to a second apart.
type Pass struct {
	Published int           // messages that were acknowledged
	Failed    int           // messages that were not
	Oldest    time.Duration // age of the oldest message that was read, by the database's clock
	Took      time.Duration
	Err       error // of the database
}

// Relay publishes the messages of an outbox. Make one with NewRelay.
type Relay struct {
	out       *Outbox
	guard     *semel.Guard
	publisher Publisher
	o         RelayOptions
	lanes     []*lane
	running   atomic.Bool
	tables    int64        // the identity of the outbox's tables: 0 until it is read
	acked     atomic.Int64 // the last time at which the publisher took a message, in Unix nanoseconds
}

// NewRelay returns a relay from o to the publisher. Its 16 partitions are leased as
// intents of the guard, whose store may be in another database: any number of relays of
// one outbox may run, in any process, and each partition has one of them at a time. All of them
// need guards of the same store, which other outboxes may use as well. opts may be nil.
func NewRelay(o *Outbox, guard *semel.Guard, p Publisher, opts *RelayOptions) (*Relay, error) {
	r := &Relay{out: o, publisher: p}
	if opts != nil {
		r.o = *opts
	}
	switch {
	case o == nil || guard == nil || p == nil:
		return nil, errors.New("outbox: NewRelay needs an outbox, a guard and a publisher")
	case r.o.Batch < 0 || r.o.Batch > maxBatch || r.o.Parallel < 0 || r.o.Parallel > partitions:
		return nil, fmt.Errorf("outbox: RelayOptions.Batch %d or Parallel %d is out of bounds (at most %d and %d)", r.o.Batch, r.o.Parallel, maxBatch, partitions)
	case min(r.o.Lease, r.o.PublishTimeout, r.o.MinPause, r.o.MaxPause, r.o.SkippedRetention) < 0 || r.o.MaxAttempts < 0:
		return nil, errors.New("outbox: a negative bound in RelayOptions")
	case r.o.OnPoison > SkipMessage:
		return nil, fmt.Errorf("outbox: RelayOptions.OnPoison %d is neither StopKey nor SkipMessage", r.o.OnPoison)
	}
	r.o.Batch = cmp.Or(r.o.Batch, defaultBatch)
	r.o.Parallel = cmp.Or(r.o.Parallel, defaultParallel)
	r.o.Lease = cmp.Or(r.o.Lease, defaultLease)
	r.o.PublishTimeout = cmp.Or(r.o.PublishTimeout, defaultPublishTimeout)
	r.o.MaxAttempts = cmp.Or(r.o.MaxAttempts, defaultMaxAttempts)
	r.o.MinPause = cmp.Or(r.o.MinPause, defaultMinPause)
	r.o.MaxPause = max(cmp.Or(r.o.MaxPause, defaultMaxPause), r.o.MinPause)
	r.o.SkippedRetention = cmp.Or(r.o.SkippedRetention, defaultSkipped)
	r.o.Logger = cmp.Or(r.o.Logger, slog.Default())
	if r.o.Observe == nil {
		r.o.Observe = func(Pass) {}
	}
	var err error
	r.guard, err = guard.With(semel.Policy{
		Lease: r.o.Lease, MaxRun: forever, Wait: semel.NoWait, Retention: r.o.Lease, OnUnknown: semel.Rerun,
	})
	if err != nil {
		return nil, fmt.Errorf("outbox: %w", err)
	}
	for range r.o.Parallel {
		r.lanes = append(r.lanes, newLane(r))
	}
	return r, nil
}

// Run publishes until ctx ends. It then finishes the batches under way, gives its
// partitions back and returns nil. A database, store or publisher that fails is
// tried again, with growing pauses. The error is [semel.ErrClosed] when the guard was shut
// down, or says that the relay runs already.
func (r *Relay) Run(ctx context.Context) error {
	if !r.running.CompareAndSwap(false, true) {
		return errors.New("outbox: the relay runs already")
	}
	defer r.running.Store(false)
	publishing, stop := context.WithCancel(context.WithoutCancel(ctx)) // it ends when no partition is claimed any more
	var lanes sync.WaitGroup
	for _, l := range r.lanes {
		lanes.Go(func() { l.run(publishing) })
	}
	err := r.claim(ctx)
	stop()
	lanes.Wait()
	return err
}

// log tells operators about the relay of this table.
func (r *Relay) log(ctx context.Context, level slog.Level, text string, attrs ...slog.Attr) {
	for i, a := range attrs {
		if err, ok := a.Value.Any().(error); ok {
			attrs[i].Value = slog.AnyValue(dialect.Discreet(err))
		}
	}
	r.o.Logger.LogAttrs(ctx, level, text, append(attrs, slog.String("table", r.out.names.table))...) //nolint:sloglint // callers give a constant
}

// Wake makes the relay look for messages now: call it after the commit of a transaction
// that added some. It never blocks. Relays in other processes find them by polling, within
// 100 ms while there is traffic, and within a second otherwise.
func (r *Relay) Wake() {
	for _, l := range r.lanes {
		signal(l.wake)
	}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default: // it is awake
	}
}

// claim claims partitions for the lanes until ctx ends.
func (r *Relay) claim(ctx context.Context) error {
	for {
		if err := r.claimFree(ctx); errors.Is(err, semel.ErrClosed) {
			return fmt.Errorf("outbox: %w", err)
		} else if err != nil && ctx.Err() == nil {
			r.log(ctx, slog.LevelWarn, "outbox: partitions cannot be claimed", slog.Any("error", err))
		}
		if !waiting.Sleep(ctx, min(r.o.Lease/2, maxClaimPause)) {
			return nil
		}
	}
}

// claimFree claims every partition that no relay holds.
func (r *Relay) claimFree(ctx context.Context) (err error) {
	if r.tables == 0 {
		if r.tables, err = r.out.identity(ctx); err != nil {
			return err
		}
	}
	for number := range partitions {
		l := r.lanes[number%len(r.lanes)]
		if l.has[number].Load() {
			continue
		}
		claim, _, err := r.guard.Begin(ctx, partitionKey(r.tables, number), semel.Fingerprint{})
		switch {
		case claim != nil:
			l.has[number].Store(true)
			l.won <- &part{number: int64(number), claim: claim}
		case !errors.Is(err, semel.ErrInFlight):
			return err
		}
	}
	return nil
}

// partitionKey is the key of a partition's lease. Its scope is that of the tables, whatever
// their database and name.
func partitionKey(tables int64, number int) semel.Key {
	return semel.Key{Scope: fmt.Sprintf("%soutbox:%016x", verdict.OwnScopes, tables), Name: "partition-" + strconv.Itoa(number)}
}

// took notes that the publisher takes messages.
func (r *Relay) took() { r.acked.Store(time.Now().UnixNano()) }

// tookSince reports whether it took one since then.
func (r *Relay) tookSince(t time.Time) bool { return r.acked.Load() > t.UnixNano() }
