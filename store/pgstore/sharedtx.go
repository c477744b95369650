package pgstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/internal/together"
	"github.com/semel-dev/semel/store/internal/verb"
)

const (
	// togetherWork is the longest that a shared transaction waits for the functions
	// of its calls of [Run], and togetherTimeout for an answer of the server.
	togetherWork    = 100 * time.Millisecond
	togetherTimeout = 10 * time.Second
)

var (
	_ semel.Tx = (*sharedTx)(nil)

	errRunQueries = fmt.Errorf("pgstore: want 1 to %d statements", maxRunQueries)
)

// runQueue lets calls of [Run] share transactions, see [Options].Together.
type runQueue struct {
	together.Queue[*sharedTx]

	store *Store
	work  time.Duration // the longest that a transaction waits for the functions of its calls
}

// runMember is a call of [Run] in the queue.
type runMember = together.Member[*sharedTx]

// newRunQueue must follow what makes the store.
func (s *Store) newRunQueue() *runQueue {
	g := &runQueue{store: s, work: togetherWork}
	g.Go, g.Transact = s.lane, transact(s, &g.Queue, g.execute)
	return g
}

// shares reports whether a call of [Run] may share a transaction.
func (s *Store) shares(queries []Query) bool {
	g := s.runs
	if g == nil || s.plain || s.tx.isolation != "" || s.transactions().lock.name == "" {
		return false
	}
	texts := make([]string, len(queries))
	for i, q := range queries {
		if texts[i] = q.SQL; !sharable(q.SQL) {
			return false
		}
	}
	return g.MayShare(texts...)
}

// sharable reports whether a statement can neither end a transaction nor change
// its settings, which the other members would find.
func sharable(sql string) bool {
	if strings.Contains(strings.ToLower(sql), "set_config") {
		return false
	}
	return slices.Contains([]string{"insert", "update", "delete", "merge", "select", "with", "values"}, together.Begins(sql))
}

// sharedTx is a transaction that is shared with other calls of [Run], or, after
// [errAlone], one of its own.
type sharedTx struct {
	*transaction

	member *runMember // nil when it goes alone
}

func (s *Store) sharedTx(from *starter) (*sharedTx, error) {
	if err := s.gate.Enter("begin a transaction", verb.Writes); err != nil {
		return nil, err
	}
	r := &sharedTx{transaction: newTransaction(s, "")}
	r.first = &first{starter: from}
	return r, nil
}

// Claim implements [semel.Tx].
func (r *sharedTx) Claim(ctx context.Context, p semel.ClaimParams, wait time.Duration) (semel.Record, bool, error) {
	if err := validate(&p); err != nil {
		return semel.Record{}, false, err
	}
	if err := r.first.belongs(p.Digest); err != nil {
		return semel.Record{}, false, translate("claim", err)
	}
	r.params = p
	if r.store.seen.Has(p.Digest) { // a twin or a record would undo the whole transaction
		return r.alone(ctx, p, wait)
	}
	r.member = together.NewMember(ctx, r)
	switch err := r.store.runs.Join(r.member); {
	case err == nil:
		r.first.sent, r.won = true, true
		return claimedRecord(&p, r.fence, r.claimedMS), true, nil
	case !errors.Is(err, together.ErrAlone):
		r.member = nil
		return semel.Record{}, false, translate("claim", err)
	}
	r.member = nil
	return r.alone(ctx, p, wait)
}

// alone claims in a transaction of its own.
func (r *sharedTx) alone(ctx context.Context, p semel.ClaimParams, wait time.Duration) (semel.Record, bool, error) {
	if err := r.connect(ctx); err != nil {
		return semel.Record{}, false, translate("begin a transaction", err)
	}
	return r.transaction.Claim(ctx, p, wait)
}

// Commit implements [semel.Tx].
func (r *sharedTx) Commit(ctx context.Context, v semel.Settlement) error {
	if r.member == nil {
		return r.transaction.Commit(ctx, v)
	}
	r.tried = true
	if err := cmp.Or(r.unread(), normalize(&v)); err != nil {
		return fmt.Errorf("%w: pgstore: commit: %w", semel.ErrRolledBack, err)
	}
	m := r.member
	r.member = nil // it has voted
	err := m.Commit(ctx, &v)
	switch {
	case errors.Is(err, together.ErrAlone):
		err = fmt.Errorf("%w: pgstore: commit: %w", semel.ErrRolledBack, err)
	case err != nil:
		err = translate("commit", err) // the outcome is unknown
	}
	return err
}

// Conflict implements [semel.Tx].
func (r *sharedTx) Conflict(err error) bool {
	return errors.Is(err, together.ErrAlone) || r.transaction.Conflict(err)
}

// Rollback implements [semel.Tx].
func (r *sharedTx) Rollback() error {
	if r.member != nil {
		r.member.Refuse()
		r.member = nil
	}
	return r.transaction.Rollback()
}

// execute makes the statements of calls of [Run] in one round trip, and their
// records with the COMMIT in another one. In between, each makes its outcome.
// Whatever keeps one of them from it undoes all, and each goes alone.
func (g *runQueue) execute(conn *pgx.Conn, members []*runMember) {
	p := &sharedRun{store: g.store, wire: wire{conn: conn, known: knownOf(conn)}}
	p.wire.into = p
	defer p.undo()
	ctx, cancel := context.WithTimeout(g.store.life, togetherTimeout)
	defer cancel()
	if len(members) == 1 {
		ctx = members[0].Context()
	}
	if level, err := p.wire.known.defaultIsolation(ctx, conn); err != nil || level != readCommitted {
		together.Answer(members, together.ErrAlone) // the lock is older than the snapshot under this level only
		return
	}
	if rest := p.load(ctx, members); len(rest) > 0 {
		g.Requeue(rest)
	}
	if len(p.members) == 0 {
		return
	}
	if err := p.begin(ctx); err != nil {
		g.blame(p, err)
		p.undo()
		together.Answer(p.members, together.ErrAlone)
		return
	}
	together.Answer(p.members, nil)
	err := together.ErrAlone
	if p.collect(g) {
		err = p.commit()
	}
	p.undo()
	for _, f := range p.members {
		f.End(err)
	}
}

// blame sends the text that failed alone for a while. A twin or a known record is not its fault.
func (g *runQueue) blame(p *sharedRun, err error) {
	failed, ok := errors.AsType[*failure](err)
	if !ok || failed.at == nil {
		return
	}
	if code(err) == codeNoStatement {
		p.wire.hangUp() // the driver does not know that it has lost it
	}
	for _, f := range p.members {
		if i := f.Call.first.of(failed.at); i >= 0 {
			g.Separate(f.Call.first.queries[i].SQL)
		}
	}
}

// sharedRun is one transaction that calls of [Run] share.
type sharedRun struct {
	store   *Store
	wire    wire
	members []*runMember
	votes   []*semel.Settlement

	owners    []*runMember // of the statements whose answers come, in order; nil for those of all
	at        int
	committed bool
}

// load encodes the statements. It answers those that cannot share one, and returns
// those for which no room is left.
func (p *sharedRun) load(ctx context.Context, members []*runMember) (rest []*runMember) {
	size := 0
	for i, f := range members {
		first := f.Call.first
		err := f.Context().Err()
		if err == nil {
			err = p.wire.ready(ctx)
		}
		if err == nil {
			err = first.bind(ctx, &p.wire)
		}
		if err != nil || first.size() > togetherBytes {
			f.Answer(together.ErrAlone)
			continue
		}
		if size += first.size(); size > togetherBytes {
			return members[i:]
		}
		own := p.wire.known.mapOf(len(p.members), p.wire.conn)
		for j := range first.rows { // they are read while others read theirs
			first.rows[j].typeMap, first.rows[j].conn = own, nil
		}
		p.members = append(p.members, f)
	}
	return nil
}

// queue notes whose statements fill queues.
func (p *sharedRun) queue(owner *runMember, fill func()) {
	before := len(p.wire.queued)
	fill()
	for range len(p.wire.queued) - before {
		p.owners = append(p.owners, owner)
	}
}

// begin claims for all, and makes their statements.
func (p *sharedRun) begin(ctx context.Context) error {
	sql := p.store.transactions()
	p.queue(nil, func() {
		p.wire.queue(sql.begin[""])
		if len(p.members) > 1 {
			p.wire.queue(sql.brief, []byte(togetherWait), []byte(togetherRun))
		}
	})
	for _, f := range p.members {
		p.queue(f, func() { f.Call.queueFirstQueries(&p.wire) })
	}
	return p.wire.roundTrip(ctx)
}

// collect waits for the outcomes.
func (p *sharedRun) collect(g *runQueue) bool {
	votes, without := together.Collect(p.members, g.work)
	if without != nil {
		p.wire.known.maps = nil // one may still be read with
		for _, q := range without.Call.first.queries {
			g.Separate(q.SQL)
		}
		return false
	}
	p.votes = votes
	return true
}

// commit records all outcomes.
func (p *sharedRun) commit() error {
	ctx, cancel := context.WithTimeout(context.Background(), togetherTimeout)
	defer cancel()
	p.owners, p.at = p.owners[:0], 0
	for i, f := range p.members {
		p.queue(f, func() { f.Call.queueRecord(&p.wire, p.votes[i]) })
	}
	p.queue(nil, func() { p.wire.queue(p.store.transactions().commit) })
	err := p.wire.roundTrip(ctx)
	switch {
	case p.committed: // and if the connection broke after that
		return nil
	case unsure(err, p.store.transactions().commit):
		return err // the outcome is unknown
	}
	return together.ErrAlone
}

// undo takes back what was not committed.
func (p *sharedRun) undo() {
	pg := p.wire.conn.PgConn()
	if pg.IsClosed() || !pg.IsBusy() && pg.TxStatus() == 'I' {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), undoTime)
	defer cancel()
	p.owners, p.at = p.owners[:0], 0
	err := p.wire.ready(ctx)
	if err == nil {
		p.queue(nil, func() { p.wire.queue(p.store.transactions().undo) })
		err = p.wire.roundTrip(ctx)
	}
	if err != nil {
		p.wire.stop()
	}
}

// owner is the transaction whose statement is answered, or nil.
func (p *sharedRun) owner() *transaction {
	if p.at >= len(p.owners) || p.owners[p.at] == nil {
		return nil
	}
	return p.owners[p.at].Call.transaction
}

func (p *sharedRun) described(s *statement, fields []pgproto3.FieldDescription) {
	if t := p.owner(); t != nil {
		t.described(s, fields)
	}
}

func (p *sharedRun) row(s *statement, values [][]byte) {
	if t := p.owner(); t != nil {
		t.row(s, values)
	}
}

func (p *sharedRun) done(s *statement, tag []byte) {
	if t := p.owner(); t != nil {
		t.done(s, tag)
	}
	p.committed = p.committed || s == p.store.transactions().commit && string(tag) == "COMMIT"
	p.at++
}
