package outbox

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/dialect"
)

const (
	idleFirst, idleMost     = 100 * time.Millisecond, time.Second
	outageFirst, outageMost = 100 * time.Millisecond, 5 * time.Second
	// busyPolls is the number of polls without a message after which they become rarer.
	busyPolls = 10

	// stopGrace bounds the work under way after the context of Run has ended, and
	// hangGrace the time in which a publisher returns after its own has.
	stopGrace = 5 * time.Second
	hangGrace = 5 * time.Second

	verdictsEvery = time.Second // the look for verdicts of operators
	sweepEvery    = time.Minute
)

// part is a partition that a lane owns. Its claim ends when the lease is lost.
type part struct {
	number  int64
	claim   *semel.Claim
	epoch   int64            // of its owner, in the table: 0 until it is read
	holds   map[string]*hold // of keys
	singles []*hold          // of messages
	full    bool             // it had more than was read
	failed  time.Time        // when its last batch failed; zero for one that went through
	sweptAt time.Time        // zero for one that was just claimed
}

func (p *part) lost() bool { return p.claim.Context().Err() != nil }

// lane reads and publishes the messages of its partitions, one batch after the other.
type lane struct {
	r    *Relay
	wake chan struct{}
	won  chan *part
	has  [partitions]atomic.Bool // claimed, or about to be

	// The fields below belong to the goroutine of run.
	parts  []*part
	acked  []*row // published, to be deleted
	limit  int    // of messages in one read: less than Batch while they are large
	turn   int    // which part is read first
	idle   int    // passes without a message
	outage int    // passes without an acknowledgement
	hung   <-chan struct{}

	verdicts   int64 // as last read
	verdictsAt time.Time
}

func newLane(r *Relay) *lane {
	return &lane{r: r, wake: make(chan struct{}, 1), won: make(chan *part, partitions), limit: r.o.Batch}
}

// run works until ctx ends.
func (l *lane) run(ctx context.Context) {
	defer l.stop(ctx)
	for ctx.Err() == nil {
		began := time.Now()
		pass := l.pass(ctx)
		pass.Err = dialect.Discreet(pass.Err)
		pass.Took = time.Since(began)
		l.r.o.Observe(pass)
		if pass.Err != nil && ctx.Err() == nil {
			l.r.log(ctx, slog.LevelWarn, "outbox: the database failed", slog.Any("error", pass.Err))
		}
		l.rest(ctx, &pass)
	}
}

// rest waits for the next pass.
func (l *lane) rest(ctx context.Context, pass *Pass) {
	wake := l.wake
	var pause time.Duration
	switch {
	case pass.Published > 0:
		l.idle, l.outage = 0, 0
		return
	case pass.Err != nil || pass.Failed > 0 && l.outage > 0:
		wake, pause = nil, min(outageFirst<<min(l.outage, 10), outageMost) //nolint:mnd // no overflow.
		if pass.Err != nil {
			l.outage++
		}
	case pass.Failed > 0:
		return
	default:
		l.outage = 0
		l.idle++
		pause = min(idleFirst<<min(max(0, l.idle-busyPolls), 10), idleMost) //nolint:mnd // no overflow.
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-wake:
		l.idle = 0
	case p := <-l.won:
		l.parts = append(l.parts, p)
	case <-l.hung:
		l.hung = nil
		for i := range l.has {
			l.has[i].Store(false)
		}
	}
}

// pass reads, publishes and deletes once.
func (l *lane) pass(ctx context.Context) (pass Pass) {
	if l.hung != nil {
		return pass
	}
	l.adopt(ctx, &pass)
	if len(l.parts) == 0 {
		return pass
	}
	if pass.Err = l.look(ctx); pass.Err != nil {
		return pass
	}
	sources := l.sources()
	rows, err := l.read(ctx, sources)
	if err != nil {
		pass.Err = err
		return pass
	}
	for _, m := range rows {
		pass.Oldest = max(pass.Oldest, m.age)
	}
	if err := l.free(ctx, sources); err != nil {
		pass.Err = err
		return pass
	}
	batch, err := l.keepBack(ctx, rows)
	if err != nil || len(batch) == 0 {
		pass.Err = err
		return pass
	}
	began := time.Now()
	errs := l.publish(ctx, batch)
	pass.Err = l.settle(ctx, batch, errs, began, &pass)
	return pass
}

// adopt takes partitions that were won, and drops those that were lost.
func (l *lane) adopt(ctx context.Context, pass *Pass) {
	for more := true; more; {
		select {
		case p := <-l.won:
			l.parts = append(l.parts, p)
		default:
			more = false
		}
	}
	l.parts = slices.DeleteFunc(l.parts, func(p *part) bool {
		if p.lost() {
			l.r.log(ctx, slog.LevelWarn, "outbox: the lease of a partition was lost", slog.Int64("partition", p.number))
			l.has[p.number].Store(false)
			return true
		}
		return false
	})
	for _, p := range l.parts {
		if p.epoch == 0 {
			pass.Err = errors.Join(pass.Err, l.own(ctx, p))
		}
	}
}

// giveUp gives partitions back.
func (l *lane) giveUp(parts []*part, why string) {
	for _, p := range parts {
		_ = p.claim.Release(why) // otherwise the lease lapses
	}
}

// stop deletes what was published and gives the partitions back.
func (l *lane) stop(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopGrace)
	defer cancel()
	if _, err := l.read(ctx, nil); err != nil {
		l.r.log(ctx, slog.LevelWarn, "outbox: published messages are not deleted, and will be published again", slog.Any("error", err))
	}
	for more := true; more; {
		select {
		case p := <-l.won:
			l.parts = append(l.parts, p)
		default:
			more = false
		}
	}
	l.giveUp(l.parts, "the relay stopped") //nolint:contextcheck // a claim has a context of its own
	for i := range l.has {
		l.has[i].Store(false)
	}
	l.parts, l.acked = nil, nil
}

// source is one part of the table that is read: a partition, or a hold whose time has come.
type source struct {
	part  *part
	hold  *hold // nil for the partition itself
	limit int
	rows  int // that were read
}

// place is the value of the column part.
func (s *source) place() int64 {
	if s.hold != nil {
		return -s.hold.number
	}
	return s.part.number
}

// sources returns what to read: each partition, in turns, and the holds that are due.
func (l *lane) sources() []*source {
	var all []*source
	parts, full := 0, 0
	for _, p := range l.parts {
		if p.epoch != 0 {
			parts++
			if p.full {
				full++
			}
		}
	}
	for i := range l.parts {
		p := l.parts[(i+l.turn)%len(l.parts)]
		if p.epoch == 0 {
			continue
		}
		share := l.limit / parts
		if p.full {
			share = l.limit / full
		}
		all = append(all, &source{part: p, limit: max(1, share)})
		all = append(all, p.due(l.limit)...)
	}
	l.turn++
	return all
}

// publish publishes a batch within the bounds of time, while the leases hold.
func (l *lane) publish(ctx context.Context, batch []*row) []error {
	messages := make([]Message, len(batch))
	for i, m := range batch {
		messages[i] = m.Message
	}
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.r.o.PublishTimeout)
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(stopGrace, cancel) })()
	for _, m := range batch {
		if m.source.part.lost() {
			cancel()
		}
	}
	for _, p := range l.parts {
		if slices.ContainsFunc(batch, func(m *row) bool { return m.source.part == p }) {
			defer context.AfterFunc(p.claim.Context(), cancel)() //nolint:contextcheck // of the claim, not of the caller
		}
	}
	var errs []error
	done := make(chan struct{})
	go func() {
		defer close(done)
		errs = l.r.call(bounded, messages)
	}()
	select {
	case <-done:
		return errs
	case <-bounded.Done():
	}
	grace := time.NewTimer(hangGrace)
	defer grace.Stop()
	select {
	case <-done:
		return errs
	case <-grace.C:
	}
	// Others may go on. This lane does when the call has returned, so that it overtakes no message.
	l.r.log(ctx, slog.LevelError, "outbox: the publisher does not return although its context has ended; the partitions are given back")
	l.giveUp(l.parts, "the publisher hangs") //nolint:contextcheck // a claim has a context of its own
	l.parts, l.hung = nil, done
	return failAll(len(batch), context.DeadlineExceeded)
}

// call calls the publisher, whose answer may be anything.
func (r *Relay) call(ctx context.Context, batch []Message) (errs []error) {
	defer func() {
		if p := recover(); p != nil {
			r.log(ctx, slog.LevelError, "outbox: the publisher panicked", slog.Any("panic", p))
			errs = failAll(len(batch), errPanic)
		}
	}()
	if ctx.Err() != nil {
		return failAll(len(batch), ctx.Err())
	}
	switch errs = r.publisher.Publish(ctx, batch); len(errs) {
	case len(batch):
		for i, err := range errs {
			errs[i] = dialect.Discreet(err) // it is logged, and kept with the message
		}
		return errs
	case 0:
		return make([]error, len(batch))
	}
	return failAll(len(batch), errAnswer)
}

var (
	errPanic  = errors.New("the publisher panicked")
	errAnswer = errors.New("the publisher answered for another number of messages")
)

func failAll(n int, err error) []error {
	errs := make([]error, n)
	for i := range errs {
		errs[i] = err
	}
	return errs
}
