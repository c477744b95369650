package mysqlstore

import (
	"bytes"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/internal/together"
	"github.com/semel-dev/semel/store/internal/txn"
)

const (
	// togetherBytes bounds the statements of one transaction, and each outcome.
	togetherBytes = 64 << 10
	// togetherRun is the longest that a statement of a shared transaction waits
	// for locks and runs, where the server can be told (MariaDB); on others it
	// waits a second for a lock.
	togetherRun = 100 * time.Millisecond
	// togetherWork is the longest that a shared transaction waits for the functions
	// of its calls, and togetherTimeout for an answer of the server.
	togetherWork    = 100 * time.Millisecond
	togetherTimeout = 10 * time.Second
	// maxChecked bounds how many texts are remembered.
	maxChecked = 512
)

// runQueue lets calls of [Run] share transactions, see [Options].Together:
//
//	SAVEPOINT, the statements of all ─▶ the functions ─▶ RELEASE, INSERT the records of all, COMMIT
//
// Each part is one text in one round trip. The unique key decides between
// duplicates at the end, without waiting. Whatever keeps one call from it undoes all,
// and each goes alone.
type runQueue struct {
	together.Queue[*sharedTx]

	store  *Store
	db     *sql.DB // connections that serve nothing else
	loc    *time.Location
	timely bool                     // times are sent as they are
	values driver.NamedValueChecker // makes values of arguments
	work   time.Duration            // the longest that a transaction waits for functions
	// now is the clock; record and row are tx_together.sql.
	now, record, row string

	mu      sync.Mutex // guards checked
	checked map[string]bool
}

// member is a call of [Run] in the queue.
type member = together.Member[*sharedTx]

// prepareTogether opens the lanes.
func (s *Store) prepareTogether(ctx context.Context, opts *Options) (err error) {
	if !opts.Together || opts.ReadOnly || !s.txOurs {
		return nil
	}
	var cfg *mysql.Config
	if err := onConn(ctx, s.txDB, func(c *conn) error {
		cfg = c.config.Clone()
		return nil
	}); err != nil {
		return err
	}
	g := &runQueue{store: s, loc: cfg.Loc, timely: !strings.Contains(cfg.FormatDSN(), "timeTruncate="), work: togetherWork}
	g.Go, g.Transact = func(lane func()) error { return s.gate.Go("share a transaction", lane) }, g.transact
	g.now = opts.now
	if g.row, err = s.dialect.sql("tx_together_row", 0); err != nil {
		return err
	}
	if g.record, err = s.dialect.sql("tx_together", 0); err != nil {
		return err
	}
	if !s.ways.bounded {
		cfg.Params = maps.Clone(cfg.Params)
		if cfg.Params == nil {
			cfg.Params = map[string]string{}
		}
		cfg.Params["innodb_lock_wait_timeout"] = "1"
	}
	few := *opts
	few.MaxConns = together.Lanes
	if g.db, err = openTxPool(cfg, &few); err != nil {
		return err
	}
	err = g.with(ctx, func(c *conn) error {
		g.values = c.driverConn
		return nil
	})
	if err != nil {
		return errors.Join(err, g.db.Close())
	}
	s.runs = g
	return nil
}

// valuesOf returns the values of the arguments, and whether the statements may share
// a transaction.
func (g *runQueue) valuesOf(queries []Query) (values [][]driver.Value, ok bool) {
	for _, q := range queries {
		if !slices.Contains([]string{"insert", "update", "delete", "replace"}, together.Begins(q.SQL)) || strings.Count(q.SQL, "?") != len(q.Args) || !g.MayShare(q.SQL) {
			return nil, false
		}
		row := make([]driver.Value, len(q.Args))
		for i, arg := range q.Args {
			nv := driver.NamedValue{Ordinal: i + 1, Value: arg}
			if g.values.CheckNamedValue(&nv) != nil {
				return nil, false // alone, the driver says why
			}
			if _, isTime := nv.Value.(time.Time); isTime && !g.timely {
				return nil, false
			}
			row[i] = nv.Value
		}
		values = append(values, row)
	}
	return values, true
}

// onConn runs f on a connection of this package.
func onConn(ctx context.Context, db *sql.DB, f func(c *conn) error) error {
	held, err := db.Conn(ctx)
	if err != nil {
		return translate("connect", err)
	}
	defer func() { _ = held.Close() }() // it only gives it back
	return held.Raw(func(driverConn any) error {
		c, ok := driverConn.(*conn)
		if !ok {
			return fmt.Errorf("mysqlstore: a connection of type %T", driverConn)
		}
		return f(c)
	})
}

// with runs f on a connection of the lanes.
func (g *runQueue) with(ctx context.Context, f func(c *conn) error) error {
	return onConn(ctx, g.db, func(c *conn) error {
		if err := c.ask(ctx, g.loc); err != nil {
			return err
		}
		if err := f(c); err != nil {
			return err
		}
		if !c.IsValid() {
			return driver.ErrBadConn
		}
		return nil
	})
}

// ask finds out, once for a connection, how to write values.
func (c *conn) ask(ctx context.Context, loc *time.Location) error {
	if c.facts != nil {
		return nil
	}
	rows, err := c.driverConn.QueryContext(ctx, sessionSQL, nil)
	if err != nil {
		return err
	}
	row := make([]driver.Value, len(rows.Columns()))
	if err := errors.Join(rows.Next(row), rows.Close()); err != nil {
		return err
	}
	c.facts = newConnFacts(row, loc)
	return nil
}

// transact makes one shared transaction.
func (g *runQueue) transact() {
	ctx, cancel := context.WithTimeout(context.Background(), togetherTimeout)
	defer cancel()
	var members []*member
	left := false
	_ = g.with(ctx, func(c *conn) error {
		left, members = true, g.Next()
		if len(members) > 0 {
			g.execute(ctx, c, members)
		}
		return nil
	})
	if !left { // no connection was to be opened: each finds out what is wrong
		together.Answer(g.Next(), together.ErrAlone)
	}
}

func (g *runQueue) execute(ctx context.Context, c *conn, members []*member) {
	p := &sharedRun{queue: g, conn: c}
	if rest := p.load(ctx, members); len(rest) > 0 {
		g.Requeue(rest)
	}
	if len(p.members) == 0 {
		return
	}
	if !p.begin(ctx) {
		if c.reset(ctx); !c.IsValid() {
			p.kill() //nolint:contextcheck // what runs here must not end with the context.
		}
		together.Answer(p.members, together.ErrAlone)
		return
	}
	err := together.ErrAlone
	if votes := p.collect(); votes != nil {
		err = p.commit(votes) //nolint:contextcheck // the same.
	}
	if err != nil {
		c.reset(ctx)
	}
	for _, r := range p.members {
		if r.Call.whole {
			r.Answer(err)
		} else {
			r.End(err)
		}
	}
}

// collect waits for the outcomes. It returns nil where one is missing.
func (p *sharedRun) collect() map[*member]*semel.Settlement {
	votes := make(map[*member]*semel.Settlement, len(p.members))
	var asked []*member
	for _, r := range p.members {
		if r.Call.whole {
			votes[r] = r.Call.vote()
			continue
		}
		r.Answer(nil)
		asked = append(asked, r)
	}
	made, without := together.Collect(asked, p.queue.work)
	if without != nil {
		without.Call.separate()
		return nil
	}
	for i, r := range asked {
		votes[r] = made[i]
	}
	return votes
}

// sharedRun is one shared transaction.
type sharedRun struct {
	queue   *runQueue
	conn    *conn
	members []*member
	text    strings.Builder // of the first part
	count   int             // of its statements
}

// load writes the statements of all. It answers those that cannot share one, and
// returns those for which no room is left.
func (p *sharedRun) load(ctx context.Context, members []*member) (rest []*member) {
	for _, r := range members {
		if late := r.Late(); late != nil {
			r.Answer(late)
			continue
		}
		var text strings.Builder
		n := p.queue.write(ctx, p.conn, &text, r.Call)
		switch {
		case n == 0 || text.Len() > togetherBytes:
			r.Answer(together.ErrAlone)
		case p.text.Len()+text.Len() > togetherBytes:
			rest = append(rest, r)
		default:
			p.text.WriteString(text.String())
			p.members, p.count = append(p.members, r), p.count+n
		}
	}
	return rest
}

// write writes the statements of a call, and returns how many they are; 0 when
// they cannot be sent so. The line break ends a comment.
func (g *runQueue) write(ctx context.Context, c *conn, b *strings.Builder, r *sharedTx) (n int) {
	if !c.facts.plain {
		return 0
	}
	for i, q := range r.queries {
		b.WriteString(";\n")
		if !g.check(ctx, c, q.SQL) || !c.facts.fill(b, bare(q.SQL), r.values[i]) {
			return 0
		}
		b.WriteByte('\n')
	}
	return len(r.queries)
}

// check reports whether a text is one statement in which each question mark is a
// placeholder. It asks the server, which prepares single statements only.
func (g *runQueue) check(ctx context.Context, c *conn, text string) bool {
	g.mu.Lock()
	good, known := g.checked[text]
	g.mu.Unlock()
	if known {
		return good
	}
	stmt, err := c.PrepareContext(ctx, bare(text))
	if err == nil {
		good = stmt.NumInput() == strings.Count(text, "?")
		err = stmt.Close()
	}
	if err != nil && number(err) == 0 {
		return false // the connection broke
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.checked == nil || len(g.checked) >= maxChecked {
		g.checked = make(map[string]bool)
	}
	g.checked[text] = good && err == nil
	return g.checked[text]
}

// begin makes the statements of all, and reports whether all of them were made.
func (p *sharedRun) begin(ctx context.Context) bool {
	bound := ""
	if p.queue.store.ways.bounded {
		bound = fmt.Sprintf("SET max_statement_time = %.3f", togetherRun.Seconds())
	}
	before := present(bound) + 1
	all, err := p.conn.send(ctx, oneText(bound, "SAVEPOINT "+savepointName)+p.text.String())
	if err != nil || len(all.AllRowsAffected()) != before+p.count { // a statement answered with rows
		return false
	}
	rows, ids := all.AllRowsAffected()[before:], all.AllLastInsertIds()[before:]
	for _, r := range p.members {
		results := make([]Result, len(r.Call.queries))
		for i := range results {
			results[i] = Result{LastInsertID: ids[i], RowsAffected: rows[i]}
		}
		r.Call.results, rows, ids = results, rows[len(results):], ids[len(results):]
	}
	return true
}

// send sends a text.
func (c *conn) send(ctx context.Context, text string) (mysql.Result, error) {
	res, err := c.driverConn.ExecContext(ctx, text, nil)
	if err != nil {
		return nil, err
	}
	all, ok := res.(mysql.Result)
	if !ok {
		return nil, fmt.Errorf("mysqlstore: the driver answered with a %T", res)
	}
	return all, nil
}

// commit records all outcomes.
func (p *sharedRun) commit(votes map[*member]*semel.Settlement) error {
	ctx, cancel := context.WithTimeout(context.Background(), togetherTimeout)
	defer cancel()
	s := p.queue.store
	order, records := p.records(votes)
	if len(records) > s.server.packetBytes-packetRoom {
		return together.ErrAlone
	}
	set, commit := "SET @semel_now = "+p.queue.now, "COMMIT"
	if s.ways.bounded {
		set += ", max_statement_time = 0" // a COMMIT must not be interrupted
	} else {
		commit = "" // the fences may have been drawn before a wait
	}
	began := time.Now()
	all, err := p.conn.send(ctx, oneText(set, "RELEASE SAVEPOINT "+savepointName, s.waiting(records, 0), commit))
	if err == nil && commit == "" {
		if time.Since(began) > s.slow {
			return together.ErrAlone
		}
		_, err = p.conn.send(ctx, "COMMIT")
	}
	if err != nil {
		return p.failed(err)
	}
	first := all.AllLastInsertIds()[2]
	for i, r := range order {
		r.Call.fence = semel.Fence(first + int64(i)*p.conn.facts.step) //nolint:gosec // fences are positive.
	}
	return nil
}

// records is the statement that records all outcomes, in the order of their
// digests, so that lanes lock in one order.
func (p *sharedRun) records(votes map[*member]*semel.Settlement) (order []*member, text string) {
	order = slices.SortedFunc(slices.Values(p.members), func(a, b *member) int {
		return bytes.Compare(a.Call.params.Digest[:], b.Call.params.Digest[:])
	})
	rows := make([]string, len(order))
	for i, r := range order {
		c, v := &r.Call.params, votes[r]
		retention := v.Retention.Milliseconds()
		rows[i] = filled(p.queue.row, c.Digest[:], v.State.String(), v.Kept, c.Owner[:], c.Fingerprint[:], retention, retention,
			[]byte(c.Scope), []byte(c.Name), []byte(v.Note), v.Outcome)
	}
	return order, strings.ReplaceAll(p.queue.record, "{{rows}}", strings.Join(rows, ", "))
}

// failed says what an error of the last part means. Where it leaves open whether the server
// committed, or still will, it ends the connection at the server, so that the callers, which ask
// next, get an answer that cannot change.
func (p *sharedRun) failed(err error) error {
	end, err := ending(err)
	if end == txn.RolledBack {
		return together.ErrAlone
	}
	p.kill()
	return err
}

// kill ends the connection at the server, with the locks that it holds.
func (p *sharedRun) kill() {
	ctx, cancel := context.WithTimeout(context.Background(), resetTimeout)
	defer cancel()
	_, _ = p.queue.store.db.ExecContext(ctx, fmt.Sprint("KILL ", p.conn.facts.id)) // it may be gone
}

// close closes the lanes' connections.
func (g *runQueue) close() {
	if g != nil {
		_ = g.db.Close()
	}
}
