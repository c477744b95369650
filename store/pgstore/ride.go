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
	// of its calls of [Run], and togetherTrip for an answer of the server.
	togetherWork = 100 * time.Millisecond
	togetherTrip = 10 * time.Second
)

var (
	_ semel.Tx = (*ride)(nil)

	errRunQueries = fmt.Errorf("pgstore: want 1 to %d statements", maxRunQueries)
)

// parties lets calls of [Run] share transactions, see [Options].Together.
type parties struct {
	together.Queue[*ride]

	store *Store
	work  time.Duration // the longest that a transaction waits for the functions of its calls
}

// guest is a call of [Run] in the queue.
type guest = together.Rider[*ride]

// newParties must follow what makes the store.
func (s *Store) newParties() *parties {
	g := &parties{store: s, work: togetherWork}
	g.Go, g.Trip = s.lane, trip(s, &g.Queue, g.travel)
	return g
}

// shares reports whether a call of [Run] may share a transaction.
func (s *Store) shares(queries []Query) bool {
	g := s.parties
	if g == nil || s.plain || s.tx.isolation != "" || s.transactions().lock.name == "" {
		return false
	}
	texts := make([]string, len(queries))
	for i, q := range queries {
		if texts[i] = q.SQL; !sharable(q.SQL) {
			return false
		}
	}
	return g.Sociable(texts...)
}

// sharable reports whether a statement can neither end a transaction nor change
// its settings, which those it travels with would find.
func sharable(sql string) bool {
	if strings.Contains(strings.ToLower(sql), "set_config") {
		return false
	}
	return slices.Contains([]string{"insert", "update", "delete", "merge", "select", "with", "values"}, together.Begins(sql))
}

// ride is a transaction that is shared with other calls of [Run], or, after
// [errAlone], one of its own.
type ride struct {
	*transaction

	seat *guest // nil when it goes alone
}

func (s *Store) ride(from *starter) (*ride, error) {
	if err := s.gate.Enter("begin a transaction", verb.Writes); err != nil {
		return nil, err
	}
	r := &ride{transaction: newTransaction(s, "")}
	r.first = &first{starter: from}
	return r, nil
}

// Claim implements [semel.Tx].
func (r *ride) Claim(ctx context.Context, p semel.ClaimParams, wait time.Duration) (semel.Record, bool, error) {
	if err := validate(&p); err != nil {
		return semel.Record{}, false, err
	}
	if err := r.first.belongs(p.Digest); err != nil {
		return semel.Record{}, false, translate("claim", err)
	}
	r.params = p
	if r.store.seen.Has(p.Digest) { // a twin or a record would undo what it travels with
		return r.alone(ctx, p, wait)
	}
	r.seat = together.NewRider(ctx, r)
	switch err := r.store.parties.Board(r.seat); {
	case err == nil:
		r.first.sent, r.won = true, true
		return claimedRecord(&p, r.fence, r.claimedMS), true, nil
	case !errors.Is(err, together.ErrAlone):
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
	r.seat = nil // it has voted
	err := seat.Commit(ctx, &v)
	switch {
	case errors.Is(err, together.ErrAlone):
		err = fmt.Errorf("%w: pgstore: commit: %w", semel.ErrRolledBack, err)
	case err != nil:
		err = translate("commit", err) // the outcome is unknown
	}
	return err
}

// Conflict implements [semel.Tx].
func (r *ride) Conflict(err error) bool {
	return errors.Is(err, together.ErrAlone) || r.transaction.Conflict(err)
}

// Rollback implements [semel.Tx].
func (r *ride) Rollback() error {
	if r.seat != nil {
		r.seat.Refuse()
		r.seat = nil
	}
	return r.transaction.Rollback()
}

// travel makes the statements of calls of [Run] in one round trip, and their
// records with the COMMIT in another one. In between, each makes its outcome.
// Whatever keeps one of them from it undoes all, and each goes alone.
func (g *parties) travel(conn *pgx.Conn, guests []*guest) {
	p := &party{store: g.store, wire: wire{conn: conn, known: knownOf(conn)}}
	p.wire.into = p
	defer p.undo()
	ctx, cancel := context.WithTimeout(g.store.life, togetherTrip)
	defer cancel()
	if len(guests) == 1 {
		ctx = guests[0].Context()
	}
	if level, err := p.wire.known.defaultIsolation(ctx, conn); err != nil || level != readCommitted {
		together.Answer(guests, together.ErrAlone) // the lock is older than the snapshot under this level only
		return
	}
	if rest := p.load(ctx, guests); len(rest) > 0 {
		g.Back(rest)
	}
	if len(p.guests) == 0 {
		return
	}
	if err := p.begin(ctx); err != nil {
		g.blame(p, err)
		p.undo()
		together.Answer(p.guests, together.ErrAlone)
		return
	}
	together.Answer(p.guests, nil)
	err := together.ErrAlone
	if p.collect(g) {
		err = p.commit()
	}
	p.undo()
	for _, f := range p.guests {
		f.End(err)
	}
}

// blame sends the text that failed alone for a while. A twin or a known record is not its fault.
func (g *parties) blame(p *party, err error) {
	failed, ok := errors.AsType[*failure](err)
	if !ok || failed.at == nil {
		return
	}
	if code(err) == codeNoStatement {
		p.wire.hangUp() // the driver does not know that it has lost it
	}
	for _, f := range p.guests {
		if i := f.Call.first.of(failed.at); i >= 0 {
			g.Part(f.Call.first.queries[i].SQL)
		}
	}
}

// party is one transaction that calls of [Run] share.
type party struct {
	store  *Store
	wire   wire
	guests []*guest
	votes  []*semel.Settlement

	owners    []*guest // of the statements whose answers come, in order; nil for those of all
	at        int
	committed bool
}

// load encodes the statements. It answers those that cannot travel, and returns
// those for which no room is left.
func (p *party) load(ctx context.Context, guests []*guest) (rest []*guest) {
	size := 0
	for i, f := range guests {
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
			return guests[i:]
		}
		own := p.wire.known.mapOf(len(p.guests), p.wire.conn)
		for j := range first.rows { // they are read while others read theirs
			first.rows[j].typeMap, first.rows[j].conn = own, nil
		}
		p.guests = append(p.guests, f)
	}
	return nil
}

// queue notes whose statements fill queues.
func (p *party) queue(owner *guest, fill func()) {
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
		if len(p.guests) > 1 {
			p.wire.queue(sql.brief, []byte(togetherWait), []byte(togetherRun))
		}
	})
	for _, f := range p.guests {
		p.queue(f, func() { f.Call.queueFirstQueries(&p.wire) })
	}
	return p.wire.run(ctx)
}

// collect waits for the outcomes.
func (p *party) collect(g *parties) bool {
	votes, without := together.Collect(p.guests, g.work)
	if without != nil {
		p.wire.known.maps = nil // one may still be read with
		for _, q := range without.Call.first.queries {
			g.Part(q.SQL)
		}
		return false
	}
	p.votes = votes
	return true
}

// commit records all outcomes.
func (p *party) commit() error {
	ctx, cancel := context.WithTimeout(context.Background(), togetherTrip)
	defer cancel()
	p.owners, p.at = p.owners[:0], 0
	for i, f := range p.guests {
		p.queue(f, func() { f.Call.queueRecord(&p.wire, p.votes[i]) })
	}
	p.queue(nil, func() { p.wire.queue(p.store.transactions().commit) })
	err := p.wire.run(ctx)
	failed, ok := errors.AsType[*failure](err)
	switch {
	case p.committed: // and if the connection broke after that
		return nil
	case ok && failed.at == nil:
		return err // the outcome is unknown
	}
	return together.ErrAlone
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
	return p.owners[p.at].Call.transaction
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
