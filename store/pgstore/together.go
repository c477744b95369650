package pgstore

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/semel-dev/semel/store/internal/together"
)

const (
	// togetherBytes bounds the arguments of one transaction, so that they fit into
	// the buffers of a connection: they are all sent before an answer is read.
	togetherBytes = 32 << 10
	// togetherWait is the longest that a shared transaction waits for a lock, and
	// togetherRun the longest that one of its statements runs, in milliseconds.
	togetherWait = "50"
	togetherRun  = "1000"
)

// convoys lets statements of [Exec] share transactions, see [Options].Together:
// those that wait while the lanes are busy leave in one round trip and one
// commit. Each is the statement that it would be alone, record included, so the
// unique index decides between duplicates as ever.
type convoys struct {
	together.Queue[*solo]

	store *Store
}

// fellow is a statement of [Exec] in the queue.
type fellow = together.Rider[*solo]

// newConvoys must follow what makes the store.
func (s *Store) newConvoys() *convoys {
	g := &convoys{store: s}
	g.Go, g.Trip = s.lane, trip(s, &g.Queue, g.travel)
	return g
}

// lane runs a lane of shared transactions, which Close waits for.
func (s *Store) lane(drive func()) error {
	s.background.Go(drive)
	return nil
}

// trip makes one shared transaction, or refuses it without a connection.
func trip[C any](s *Store, q *together.Queue[C], travel func(conn *pgx.Conn, riders []*together.Rider[C])) func() {
	return func() {
		conn, err := s.pool.Acquire(s.life)
		riders := q.Leave()
		if err != nil {
			together.Answer(riders, together.ErrAlone) // each finds out what is wrong
			return
		}
		defer conn.Release()
		if len(riders) > 0 {
			travel(conn.Conn(), riders)
		}
	}
}

// takes reports whether the text may travel with others.
func (g *convoys) takes(text string) bool { return g != nil && g.Sociable(text) }

// part sends the text alone for a while.
func (g *convoys) part(text string) {
	if g != nil {
		g.Part(text)
	}
}

// commit makes the row and the record in a transaction with others. After
// [together.ErrAlone] nothing happened.
func (g *convoys) commit(ctx context.Context, t *solo, kept time.Duration) error {
	t.kept = kept
	return g.Board(together.NewRider(ctx, t))
}

// travel sends the statements in one round trip.
func (g *convoys) travel(conn *pgx.Conn, fellows []*fellow) {
	ctx, cancel := longest(fellows)
	defer cancel()
	c := &convoy{at: -1}
	w := &wire{conn: conn, known: knownOf(conn), into: c}
	rest := c.load(ctx, w, fellows)
	if len(rest) > 0 {
		g.Back(rest)
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
			g.part(c.fellows[i].Call.text)
		}
		err = together.ErrAlone
	}
	together.Answer(c.fellows, err)
}

// longest returns a context that ends when that of the last fellow does.
func longest(fellows []*fellow) (context.Context, context.CancelFunc) {
	ctx := context.WithoutCancel(fellows[0].Context())
	var last time.Time
	for _, f := range fellows {
		until, ok := f.Context().Deadline()
		if !ok {
			return ctx, func() {}
		}
		if until.After(last) {
			last = until
		}
	}
	return context.WithDeadline(ctx, last)
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
		if late := f.Late(); late != nil {
			f.Answer(late)
			continue
		}
		b, err := c.bind(ctx, w, f)
		if err != nil || b.size() > togetherBytes {
			f.Answer(together.ErrAlone)
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
	b, err := bindQuery(ctx, w, f.Call.text, f.Call.args(f.Call.kept))
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
		c.fellows[c.at].Call.row(s, values)
	}
}

func (c *convoy) done(*statement, []byte) { c.at++ }
