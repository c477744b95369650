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
	"github.com/semel-dev/semel/store/internal/verb"
)

const (
	// togetherWork is the longest that a shared transaction waits for the functions
	// of its calls of [Run], and togetherTrip for an answer of the server.
	togetherWork = 100 * time.Millisecond
	togetherTrip = 10 * time.Second
)

var (
	_ semel.Tx = (*ride)(nil)

	errRunQueries = fmt.Errorf("pgstore: want 1 to %d statements", maxRunQueries)
)

// shares reports whether a call of [Run] may share a transaction.
func (s *Store) shares(queries []Query) bool {
	g := s.rides
	if g == nil || s.plain || s.tx.isolation != "" || s.transactions().lock.name == "" {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return !slices.ContainsFunc(queries, func(q Query) bool { return !sharable(q.SQL) || !g.sociable(q.SQL) })
}

// sharable reports whether a statement can neither end a transaction nor change
// its settings, which those it travels with would find.
func sharable(sql string) bool {
	sql = strings.ToLower(strings.TrimSpace(sql))
	if strings.Contains(sql, "set_config") {
		return false
	}
	word, _, _ := strings.Cut(strings.ReplaceAll(sql, "\n", " "), " ")
	return slices.Contains([]string{"insert", "update", "delete", "merge", "select", "with", "values"}, word)
}

// ride is a transaction that is shared with other calls of [Run], or, after
// [errAlone], one of its own.
type ride struct {
	*transaction

	seat *fellow // nil when it goes alone
}

func (s *Store) ride(queries []Query) (*ride, error) {
	if err := s.gate.Enter("begin a transaction", verb.Writes); err != nil {
		return nil, err
	}
	r := &ride{transaction: newTransaction(s, "")}
	r.first = &first{queries: queries}
	return r, nil
}

// Claim implements [semel.Tx].
func (r *ride) Claim(ctx context.Context, p semel.ClaimParams, wait time.Duration) (semel.Record, bool, error) {
	if err := validate(&p); err != nil {
		return semel.Record{}, false, err
	}
	r.params = p
	if r.store.seen.Has(p.Digest) { // a twin or a record would undo what it travels with
		return r.alone(ctx, p, wait)
	}
	r.seat = &fellow{ride: r, ctx: ctx, done: make(chan error, 1), vote: make(chan *semel.Settlement, 1), ended: make(chan error, 1)}
	switch err := r.store.rides.board(r.seat); {
	case err == nil:
		r.first.sent, r.won = true, true
		return claimedRecord(&p, r.fence, r.claimedMS), true, nil
	case !errors.Is(err, errAlone):
		r.seat = nil
		return semel.Record{}, false, translate("claim", err)
	}
	r.seat = nil
	return r.alone(ctx, p, wait)
}

// alone claims in a transaction of its own.
func (r *ride) alone(ctx context.Context, p semel.ClaimParams, wait time.Duration) (semel.Record, bool, error) {
	if err := r.connect(ctx); err != nil {
		return semel.Record{}, false, translate("begin a transaction", err)
	}
	return r.transaction.Claim(ctx, p, wait)
}

// Commit implements [semel.Tx].
func (r *ride) Commit(ctx context.Context, v semel.Settlement) error {
	if r.seat == nil {
		return r.transaction.Commit(ctx, v)
	}
	r.tried = true
	if err := cmp.Or(r.unread(), normalize(&v)); err != nil {
		return fmt.Errorf("%w: pgstore: commit: %w", semel.ErrRolledBack, err)
	}
	seat := r.seat
	seat.vote <- &v
	r.seat = nil // it has voted
	select {
	case err := <-seat.ended:
		if errors.Is(err, errAlone) {
			err = fmt.Errorf("%w: pgstore: commit: %w", semel.ErrRolledBack, err)
		}
		return err
	case <-ctx.Done():
		return translate("commit", context.Cause(ctx)) // the outcome is unknown
	}
}

// Conflict implements [semel.Tx].
func (r *ride) Conflict(err error) bool {
	return errors.Is(err, errAlone) || r.transaction.Conflict(err)
}

// Rollback implements [semel.Tx].
func (r *ride) Rollback() error {
	if r.seat != nil {
		r.seat.vote <- nil
		r.seat = nil
	}
	return r.transaction.Rollback()
}

// travelTwice makes the statements of calls of [Run] in one round trip, and their
// records with the COMMIT in another one. In between, each makes its outcome.
// Whatever keeps one of them from it undoes all, and each goes alone.
func (g *together) travelTwice(conn *pgx.Conn, fellows []*fellow) {
	p := &party{store: g.store, wire: wire{conn: conn, known: knownOf(conn)}}
	p.wire.into = p
	defer p.undo()
	ctx, cancel := context.WithTimeout(g.store.life, togetherTrip)
	defer cancel()
	if len(fellows) == 1 {
		ctx = fellows[0].ctx
	}
	if level, err := p.wire.known.defaultIsolation(ctx, conn); err != nil || level != readCommitted {
		answer(fellows, errAlone) // the lock is older than the snapshot under this level only
		return
	}
	if rest := p.load(ctx, fellows); len(rest) > 0 {
		g.back(rest)
	}
	if len(p.fellows) == 0 {
		return
	}
	if err := p.begin(ctx); err != nil {
		g.blame(p, err)
		p.undo()
		answer(p.fellows, errAlone)
		return
	}
	answer(p.fellows, nil)
	err := errAlone
	if p.collect(g) {
		err = p.commit()
	}
	p.undo()
	for _, f := range p.fellows {
		f.ended <- err
	}
}

// blame sends the text that failed alone for a while. A twin or a known record is not its fault.
func (g *together) blame(p *party, err error) {
	failed, ok := errors.AsType[*failure](err)
	if !ok || failed.at == nil {
		return
	}
	if code(err) == codeNoStatement {
		p.wire.hangUp() // the driver does not know that it has lost it
	}
	for _, f := range p.fellows {
		if i := f.ride.first.of(failed.at); i >= 0 {
			g.part(f.ride.first.queries[i].SQL)
		}
	}
}

// party is one transaction that calls of [Run] share.
type party struct {
	store   *Store
	wire    wire
	fellows []*fellow
	votes   []*semel.Settlement

	owners    []*fellow // of the statements whose answers come, in order; nil for those of all
	at        int
	committed bool
}

// load encodes the statements. It answers those that cannot travel, and returns
// those for which no room is left.
func (p *party) load(ctx context.Context, fellows []*fellow) (rest []*fellow) {
	size := 0
	for i, f := range fellows {
		first := f.ride.first
		err := f.ctx.Err()
		if err == nil {
			err = p.wire.ready(ctx)
		}
		if err == nil {
			err = first.bind(ctx, &p.wire)
		}
		if err != nil || first.size() > togetherBytes {
			f.done <- errAlone
			continue
		}
		if size += first.size(); size > togetherBytes {
			return fellows[i:]
		}
		own := p.wire.known.mapOf(len(p.fellows), p.wire.conn)
		for j := range first.rows { // they are read while others read theirs
			first.rows[j].typeMap, first.rows[j].conn = own, nil
		}
		p.fellows = append(p.fellows, f)
	}
	return nil
}

// queue notes whose statements fill queues.
func (p *party) queue(owner *fellow, fill func()) {
	before := len(p.wire.queued)
	fill()
	for range len(p.wire.queued) - before {
		p.owners = append(p.owners, owner)
	}
}

// begin claims for all, and makes their statements.
func (p *party) begin(ctx context.Context) error {
	sql := p.store.transactions()
	p.queue(nil, func() {
		p.wire.queue(sql.begin[""])
		if len(p.fellows) > 1 {
			p.wire.queue(sql.brief, []byte(togetherWait), []byte(togetherRun))
		}
	})
	for _, f := range p.fellows {
		p.queue(f, func() { f.ride.queueFirstQueries(&p.wire) })
	}
	return p.wire.run(ctx)
}

// collect waits for the outcomes.
func (p *party) collect(g *together) bool {
	late := time.NewTimer(g.work)
	defer late.Stop()
	for _, f := range p.fellows {
		var vote *semel.Settlement
		select {
		case vote = <-f.vote:
		case <-late.C:
		}
		if vote == nil {
			p.wire.known.maps = nil // one may still be read with
			for _, q := range f.ride.first.queries {
				g.part(q.SQL)
			}
			return false
		}
		p.votes = append(p.votes, vote)
	}
	return true
}

// commit records all outcomes.
func (p *party) commit() error {
	ctx, cancel := context.WithTimeout(context.Background(), togetherTrip)
	defer cancel()
	p.owners, p.at = p.owners[:0], 0
	for i, f := range p.fellows {
		p.queue(f, func() { f.ride.queueRecord(&p.wire, p.votes[i]) })
	}
	p.queue(nil, func() { p.wire.queue(p.store.transactions().commit) })
	err := p.wire.run(ctx)
	failed, ok := errors.AsType[*failure](err)
	switch {
	case p.committed: // and if the connection broke after that
		return nil
	case ok && failed.at == nil:
		return translate("commit", err) // the outcome is unknown
	}
	return errAlone
}

// undo takes back what was not committed.
func (p *party) undo() {
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
		err = p.wire.run(ctx)
	}
	if err != nil {
		p.wire.hangUp()
	}
}

// owner is the transaction whose statement is answered, or nil.
func (p *party) owner() *transaction {
	if p.at >= len(p.owners) || p.owners[p.at] == nil {
		return nil
	}
	return p.owners[p.at].ride.transaction
}

func (p *party) described(s *statement, fields []pgproto3.FieldDescription) {
	if t := p.owner(); t != nil {
		t.described(s, fields)
	}
}

func (p *party) row(s *statement, values [][]byte) {
	if t := p.owner(); t != nil {
		t.row(s, values)
	}
}

func (p *party) done(s *statement, tag []byte) {
	if t := p.owner(); t != nil {
		t.done(s, tag)
	}
	p.committed = p.committed || s == p.store.transactions().commit && string(tag) == "COMMIT"
	p.at++
}
