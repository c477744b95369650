package pgstore

import (
	"context"
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

// execQueue lets statements of [Exec] share transactions, see [Options].Together:
// those that wait while the lanes are busy go in one round trip and one
// commit. Each is the statement that it would be alone, record included, so the
// unique index decides between duplicates as ever.
type execQueue struct {
	together.Queue[*solo]

	store *Store
}

// execMember is a statement of [Exec] in the queue.
type execMember = together.Member[*solo]

// newExecQueue must follow what makes the store.
func (s *Store) newExecQueue() *execQueue {
	g := &execQueue{store: s}
	g.Go, g.Transact = s.lane, transact(s, &g.Queue, g.execute)
	return g
}

// lane runs a lane of shared transactions, which Close waits for.
func (s *Store) lane(drive func()) error {
	s.background.Go(drive)
	return nil
}

// transact makes one shared transaction, or refuses it without a connection.
func transact[C any](s *Store, q *together.Queue[C], execute func(conn *pgx.Conn, members []*together.Member[C])) func() {
	return func() {
		conn, err := s.pool.Acquire(s.life)
		members := q.Next()
		if err != nil {
			together.Answer(members, together.ErrAlone) // each finds out what is wrong
			return
		}
		defer conn.Release()
		if len(members) > 0 {
			execute(conn.Conn(), members)
		}
	}
}

// takes reports whether the text may share a transaction.
func (g *execQueue) takes(text string) bool { return g != nil && g.MayShare(text) }

// separate has the text go alone for a while.
func (g *execQueue) separate(text string) {
	if g != nil {
		g.Separate(text)
	}
}

// commit makes the row and the record in a transaction with others. After
// [together.ErrAlone] nothing happened.
func (g *execQueue) commit(ctx context.Context, t *solo, kept time.Duration) error {
	t.kept = kept
	return g.Join(together.NewMember(ctx, t))
}

// execute sends the statements in one round trip.
func (g *execQueue) execute(conn *pgx.Conn, members []*execMember) {
	ctx, cancel := longest(members)
	defer cancel()
	c := &sharedExec{at: -1}
	w := &wire{conn: conn, known: knownOf(conn), into: c}
	rest := c.load(ctx, w, members)
	if len(rest) > 0 {
		g.Requeue(rest)
	}
	if len(c.members) == 0 {
		return
	}
	err := c.execute(ctx, w, g.store.transactions().brief)
	switch {
	case err == nil:
	case unsure(err, nil):
		err = translate("exec", err) // the outcome is unknown
	default:
		if code(err) == codeNoStatement {
			w.hangUp() // the driver does not know that it has lost it
		}
		if i := c.at; i >= 0 && i < len(c.members) && !lost(err, g.store.schema) {
			g.separate(c.members[i].Call.text)
		}
		err = together.ErrAlone
	}
	together.Answer(c.members, err)
}

// longest returns a context that ends when that of the last member does.
func longest(members []*execMember) (context.Context, context.CancelFunc) {
	ctx := context.WithoutCancel(members[0].Context())
	var last time.Time
	for _, f := range members {
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

// sharedExec is one shared transaction.
type sharedExec struct {
	members []*execMember
	bound   []*boundQuery
	at      int // whose answer comes next; -1 for the bounds of time
}

// load encodes the statements. It answers those that cannot share one, and returns
// those for which no room is left.
func (c *sharedExec) load(ctx context.Context, w *wire, members []*execMember) (rest []*execMember) {
	size := 0
	for i, f := range members {
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
			return members[i:]
		}
		c.members, c.bound = append(c.members, f), append(c.bound, b)
	}
	return nil
}

func (*sharedExec) bind(ctx context.Context, w *wire, f *execMember) (*boundQuery, error) {
	if err := w.ready(ctx); err != nil {
		return nil, err
	}
	b, err := bindQuery(ctx, w, f.Call.text, f.Call.args(f.Call.kept))
	if err == nil {
		b.statement.describe = false
	}
	return b, err
}

// execute sends what is loaded. PostgreSQL takes all up to one Sync as a transaction.
func (c *sharedExec) execute(ctx context.Context, w *wire, brief *statement) error {
	if len(c.members) > 1 {
		w.queue(brief, []byte(togetherWait), []byte(togetherRun))
	} else {
		c.at = 0
	}
	for _, b := range c.bound {
		w.queueBind(b.statement, &b.bind)
	}
	return w.roundTrip(ctx)
}

func (*sharedExec) described(*statement, []pgproto3.FieldDescription) {}

func (c *sharedExec) row(s *statement, values [][]byte) {
	if c.at >= 0 {
		c.members[c.at].Call.row(s, values)
	}
}

func (c *sharedExec) done(*statement, []byte) { c.at++ }
