package pgstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/semel-dev/semel"
)

const (
	// togetherLanes bounds the transactions that are shared at a time, and
	// togetherMost the statements of one.
	togetherLanes = 2
	togetherMost  = 32
	// togetherBytes bounds the arguments of one transaction, so that they fit into
	// the buffers of a connection: they are all sent before an answer is read.
	togetherBytes = 32 << 10
	// togetherQueue bounds the statements that wait for a lane; the next ones go alone.
	togetherQueue = 1024
	// togetherWait is the longest that a shared transaction waits for a lock, and
	// togetherRun the longest that one of its statements runs, in milliseconds.
	togetherWait = "50"
	togetherRun  = "1000"
	// After a text failed, waited or ran long, it goes alone for aloneFor.
	aloneFor = time.Second
)

// errAlone: the statement did not happen, and is to be sent alone.
var errAlone = errors.New("not in company")

// together lets statements of [Exec] share transactions, see [Options].Together:
// those that wait while the lanes are busy leave in one round trip and one
// commit. Each is the statement that it would be alone, record included, so the
// unique index decides between duplicates as ever. Whatever keeps the transaction
// from being committed undoes it for all, and each goes alone.
type together struct {
	store  *Store
	travel func(conn *pgx.Conn, fellows []*fellow) // makes one transaction, and answers its callers
	work   time.Duration                           // the longest that it waits for their functions

	mu    sync.Mutex // guards the fields below
	queue []*fellow
	lanes int                  // at work
	alone map[string]time.Time // texts that go alone, until when
}

// fellow is one caller in the queue: a statement of [Exec], or a call of [Run].
type fellow struct {
	solo *solo // or
	ride *ride

	ctx  context.Context //nolint:containedctx // that of one call, which waits.
	kept time.Duration
	done chan error // has room for the answer

	// Of a ride: how the work ended, nil for not at all; and the end of the
	// transaction. Each has room for one.
	vote  chan *semel.Settlement
	ended chan error
}

// late is the error of a statement that was not sent in time.
func (f *fellow) late() error {
	return fmt.Errorf("%w: pgstore: exec: %w", semel.ErrRolledBack, context.Cause(f.ctx))
}

// takes reports whether the text may travel with others.
func (g *together) takes(text string) bool {
	if g == nil {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.sociable(text)
}

// sociable reports that the text is not to go alone. g.mu is held.
func (g *together) sociable(text string) bool {
	until, ok := g.alone[text]
	if ok && time.Now().After(until) {
		delete(g.alone, text)
		ok = false
	}
	return !ok
}

// part sends the text alone for a while.
func (g *together) part(text string) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.alone == nil || len(g.alone) >= maxTexts {
		g.alone = make(map[string]time.Time)
	}
	g.alone[text] = time.Now().Add(aloneFor)
}

// commit makes the row and the record in a transaction with others. After
// [errAlone] nothing happened.
func (g *together) commit(ctx context.Context, t *solo, kept time.Duration) error {
	return g.board(&fellow{solo: t, ctx: ctx, kept: kept, done: make(chan error, 1)})
}

// board waits in the queue for the answer.
func (g *together) board(f *fellow) error {
	if !g.join(f) {
		return errAlone
	}
	select {
	case err := <-f.done:
		return err
	case <-f.ctx.Done():
	}
	if g.withdraw(f) {
		return f.late()
	}
	return <-f.done // the shared transaction ends with the contexts of its fellows
}

// join takes a place in the queue, and opens a lane where one is free.
func (g *together) join(f *fellow) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.queue) >= togetherQueue {
		return false
	}
	g.queue = append(g.queue, f)
	if g.lanes < togetherLanes {
		g.lanes++
		g.store.background.Go(g.drive)
	}
	return true
}

// withdraw takes a statement out of the queue. It reports false when it has left.
func (g *together) withdraw(f *fellow) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.Index(g.queue, f)
	if i >= 0 {
		g.queue = slices.Delete(g.queue, i, i+1)
	}
	return i >= 0
}

// drive takes the queue to the database until it is empty.
func (g *together) drive() {
	for g.more() {
		conn, err := g.store.pool.Acquire(g.store.life)
		fellows := g.leave()
		if err != nil {
			answer(fellows, errAlone) // each finds out what is wrong
			continue
		}
		if len(fellows) > 0 {
			g.travel(conn.Conn(), fellows)
		}
		conn.Release()
	}
}

// more closes the lane when the queue is empty.
func (g *together) more() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.queue) == 0 {
		g.lanes--
		return false
	}
	return true
}

// leave takes the statements of the next transaction from the queue.
func (g *together) leave() []*fellow {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := min(len(g.queue), togetherMost)
	fellows := slices.Clone(g.queue[:n])
	g.queue = slices.Delete(g.queue, 0, n)
	return fellows
}

// back puts statements back to the head of the queue, for the next transaction.
func (g *together) back(fellows []*fellow) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.queue = append(fellows, g.queue...)
}

// travelOnce sends the statements of [Exec] in one round trip.
func (g *together) travelOnce(conn *pgx.Conn, fellows []*fellow) {
	ctx, cancel := longest(fellows)
	defer cancel()
	c := &convoy{at: -1}
	w := &wire{conn: conn, known: knownOf(conn), into: c}
	rest := c.load(ctx, w, fellows)
	if len(rest) > 0 {
		g.back(rest)
	}
	if len(c.fellows) == 0 {
		return
	}
	err := c.run(ctx, w, g.store.transactions().brief)
	f, ok := errors.AsType[*failure](err)
	switch {
	case err == nil:
	case ok && f.at == nil:
		err = translate("exec", err) // the outcome is unknown
	default:
		if code(err) == codeNoStatement {
			w.hangUp() // the driver does not know that it has lost it
		}
		if i := c.at; i >= 0 && i < len(c.fellows) && !lost(err, g.store.schema) {
			g.part(c.fellows[i].solo.text)
		}
		err = errAlone
	}
	answer(c.fellows, err)
}

// longest returns a context that ends when that of the last fellow does.
func longest(fellows []*fellow) (context.Context, context.CancelFunc) {
	ctx := context.WithoutCancel(fellows[0].ctx)
	var last time.Time
	for _, f := range fellows {
		until, ok := f.ctx.Deadline()
		if !ok {
			return ctx, func() {}
		}
		if until.After(last) {
			last = until
		}
	}
	return context.WithDeadline(ctx, last)
}

func answer(fellows []*fellow, err error) {
	for _, f := range fellows {
		f.done <- err
	}
}

// convoy is one shared transaction.
type convoy struct {
	fellows []*fellow
	bound   []*boundQuery
	at      int // whose answer comes next; -1 for the bounds of time
}

// load encodes the statements. It answers those that cannot travel, and returns
// those for which no room is left.
func (c *convoy) load(ctx context.Context, w *wire, fellows []*fellow) (rest []*fellow) {
	size := 0
	for i, f := range fellows {
		if f.ctx.Err() != nil {
			f.done <- f.late()
			continue
		}
		b, err := c.bind(ctx, w, f)
		if err != nil || b.size() > togetherBytes {
			f.done <- errAlone
			continue
		}
		if size += b.size(); size > togetherBytes {
			return fellows[i:]
		}
		c.fellows, c.bound = append(c.fellows, f), append(c.bound, b)
	}
	return nil
}

func (*convoy) bind(ctx context.Context, w *wire, f *fellow) (*boundQuery, error) {
	if err := w.ready(ctx); err != nil {
		return nil, err
	}
	b, err := bindQuery(ctx, w, f.solo.text, f.solo.args(f.kept))
	if err == nil {
		b.statement.describe = false
	}
	return b, err
}

// run sends what is loaded. PostgreSQL takes all up to one Sync as a transaction.
func (c *convoy) run(ctx context.Context, w *wire, brief *statement) error {
	if len(c.fellows) > 1 {
		w.queue(brief, []byte(togetherWait), []byte(togetherRun))
	} else {
		c.at = 0
	}
	for _, b := range c.bound {
		w.queueBind(b.statement, &b.bind)
	}
	return w.run(ctx)
}

func (*convoy) described(*statement, []pgproto3.FieldDescription) {}

func (c *convoy) row(s *statement, values [][]byte) {
	if c.at >= 0 {
		c.fellows[c.at].solo.row(s, values)
	}
}

func (c *convoy) done(*statement, []byte) { c.at++ }
