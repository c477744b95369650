package outbox

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"time"
)

// The states of a hold.
const (
	stateWaiting = "waiting" // to be tried again
	stateStopped = "stopped" // given up: the key waits for an operator
	stateSkipped = "skipped" // given up: kept for a while
)

const (
	maxErrorBytes = 1000
	maxHolds      = 16 // that are read in one pass, for each partition
)

// errOvertaken: another relay has taken the partition.
var errOvertaken = errors.New("another relay has taken the partition")

// hold keeps the messages of a key, or one message, out of its partition: their column part
// is minus its number, which is made of the seq of the message that failed: twice that for a
// key, one more for a message.
type hold struct {
	number   int64
	key      string // of a key's hold
	state    string
	attempts int64
	due      time.Time // of a waiting one
	text     string    // of the last error, where an operator asks
	proven   bool      // its first message went through: the others follow
}

func (h *hold) single() bool { return h.number%2 != 0 }

func holdOf(m *row) int64 {
	if m.Key == "" {
		return 2*m.seq + 1
	}
	return 2 * m.seq
}

// due returns the holds to be read now.
func (p *part) due(limit int) (all []*source) {
	now := time.Now()
	take := func(h *hold) {
		if h.state == stateWaiting && !h.due.After(now) && len(all) < maxHolds {
			s := &source{part: p, hold: h, limit: 1}
			if h.proven {
				s.limit = limit
			}
			all = append(all, s)
		}
	}
	for _, h := range p.holds {
		take(h)
	}
	for _, h := range p.singles {
		take(h)
	}
	return all
}

// own begins an epoch of the partition: what former owners still write about holds is
// refused from now on.
func (l *lane) own(ctx context.Context, p *part) error {
	o := l.r.out
	err := o.tx(ctx, func(tx *sql.Tx) (err error) {
		if err := o.names.query("UPDATE {{meta}} SET value = value + 1 WHERE name = ").arg(epochOf(p)).exec(ctx, tx); err != nil {
			return err
		}
		if p.epoch, err = o.names.query("SELECT value FROM {{meta}} WHERE name = ").arg(epochOf(p)).number(ctx, tx); err != nil {
			return err
		}
		return l.load(ctx, tx, p)
	})
	if err != nil {
		p.epoch = 0
		return fmt.Errorf("own partition %d: %w", p.number, err)
	}
	return nil
}

func epochOf(p *part) string { return "epoch-" + strconv.FormatInt(p.number, 10) }

// load reads the holds of a partition.
func (l *lane) load(ctx context.Context, e execer, p *part) error {
	q := l.r.out.names.query("SELECT hold, message_key, state, attempts, next_ms - {{now}} FROM {{hold}} WHERE part = ").int(p.number)
	found, err := e.QueryContext(ctx, q.text.String(), q.args...)
	if err != nil {
		return err
	}
	defer func() { _ = found.Close() }()
	p.holds, p.singles = map[string]*hold{}, nil
	for found.Next() {
		h, left := &hold{}, int64(0)
		if err := found.Scan(&h.number, &h.key, &h.state, &h.attempts, &left); err != nil {
			return err
		}
		// A clock that was set back prolongs no pause beyond the longest one.
		h.due = time.Now().Add(min(time.Duration(max(left, 0))*time.Millisecond, l.r.o.MaxPause))
		p.keep(h)
	}
	return found.Err()
}

func (p *part) keep(h *hold) {
	if h.single() {
		p.singles = append(p.singles, h)
	} else {
		p.holds[h.key] = h
	}
}

// look reads the holds again after an operator's verdict, and forgets what was skipped long ago.
func (l *lane) look(ctx context.Context) error {
	o, now := l.r.out, time.Now()
	if now.Sub(l.verdictsAt) >= verdictsEvery {
		n, err := o.names.query("SELECT value FROM {{meta}} WHERE name = 'verdicts'").number(ctx, o.db)
		if err != nil {
			return fmt.Errorf("look for verdicts: %w", err)
		}
		l.verdictsAt = now
		if n != l.verdicts {
			for _, p := range l.parts {
				if err := l.load(ctx, o.db, p); err != nil {
					return fmt.Errorf("look for verdicts: %w", err)
				}
			}
		}
		l.verdicts = n
	}
	for _, p := range l.parts {
		if p.epoch == 0 || now.Sub(p.sweptAt) < sweepEvery {
			continue
		}
		p.sweptAt = now
		if err := l.sweep(ctx, p); err != nil {
			return fmt.Errorf("forget skipped messages: %w", err)
		}
	}
	return nil
}

// sweep forgets messages that were skipped long ago.
func (l *lane) sweep(ctx context.Context, p *part) error {
	if !slices.ContainsFunc(p.singles, func(h *hold) bool { return h.state == stateSkipped }) {
		return nil
	}
	names := l.r.out.names
	return l.fenced(ctx, p, func(tx *sql.Tx) error {
		for _, h := range p.singles { // each by its part: MySQL would lock all messages on the way to those that are to be deleted
			if h.state != stateSkipped {
				continue
			}
			old, err := names.query("SELECT COUNT(*) FROM {{hold}} WHERE state = 'skipped' AND next_ms <= {{now}} AND hold = ").int(h.number).number(ctx, tx)
			if err != nil {
				return err
			}
			if old == 0 {
				continue
			}
			err = names.query("DELETE FROM {{table}} WHERE part = ").int(-h.number).exec(ctx, tx)
			if err == nil {
				err = names.query("DELETE FROM {{hold}} WHERE hold = ").int(h.number).exec(ctx, tx)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// fenced runs work in a transaction that is refused when another relay has taken the
// partition since.
func (l *lane) fenced(ctx context.Context, p *part, work func(tx *sql.Tx) error) error {
	o := l.r.out
	err := o.tx(ctx, func(tx *sql.Tx) error {
		// It locks the row, for which a relay that takes the partition waits.
		if err := o.names.query("UPDATE {{meta}} SET value = value WHERE name = ").arg(epochOf(p)).exec(ctx, tx); err != nil {
			return err
		}
		epoch, err := o.names.query("SELECT value FROM {{meta}} WHERE name = ").arg(epochOf(p)).number(ctx, tx)
		if err != nil {
			return err
		}
		if epoch != p.epoch {
			return errOvertaken
		}
		return work(tx)
	})
	if errors.Is(err, errOvertaken) {
		_ = p.claim.Release("the partition was overtaken") //nolint:contextcheck // it is lost in any case
	}
	return err
}

// free ends the holds of keys of which nothing is left.
func (l *lane) free(ctx context.Context, sources []*source) error {
	for _, s := range sources {
		h := s.hold
		if h == nil || s.rows > 0 {
			continue
		}
		err := l.fenced(ctx, s.part, func(tx *sql.Tx) error {
			return l.r.out.names.query("DELETE FROM {{hold}} WHERE hold = ").int(h.number).
				add(" AND NOT EXISTS (SELECT 1 FROM {{table}} WHERE part = ").int(-h.number).add(")").exec(ctx, tx)
		})
		if err != nil {
			return fmt.Errorf("end a hold: %w", err)
		}
		if err := l.load(ctx, l.r.out.db, s.part); err != nil {
			return fmt.Errorf("end a hold: %w", err)
		}
	}
	return nil
}

// keepBack puts messages whose key is held to the others of the key, and returns the rest with
// messages of one key next to each other.
func (l *lane) keepBack(ctx context.Context, rows []*row) (batch []*row, err error) {
	behind := map[*hold][]*row{}
	groups, at := [][]*row{}, map[string]int{}
	for _, m := range rows {
		if h := m.source.part.holds[m.Key]; h != nil && m.Key != "" && m.source.hold == nil {
			behind[h] = append(behind[h], m)
			continue
		}
		i, known := at[m.Key]
		if !known || m.Key == "" || m.source.hold != nil && m.source.hold.single() {
			i = len(groups)
			groups = append(groups, nil)
			at[m.Key] = i
		}
		groups[i] = append(groups[i], m)
	}
	for h, late := range behind {
		if err := l.fenced(ctx, late[0].source.part, func(tx *sql.Tx) error { return l.move(ctx, tx, late, h.number) }); err != nil {
			return nil, fmt.Errorf("keep messages back: %w", err)
		}
	}
	for _, group := range groups {
		batch = append(batch, group...)
	}
	return batch, nil
}

// move puts messages into a hold.
func (l *lane) move(ctx context.Context, tx *sql.Tx, rows []*row, hold int64) error {
	return l.r.out.names.query("UPDATE {{table}} SET part = ").int(-hold).add(" WHERE ").these(rows).
		add(" AND part = ").int(rows[0].source.place()).exec(ctx, tx)
}

// settle notes what was published, and holds back the keys of what was not.
func (l *lane) settle(ctx context.Context, batch []*row, errs []error, began time.Time, pass *Pass) error {
	for i, m := range batch {
		if errs[i] == nil {
			l.acked = append(l.acked, m)
			pass.Published++
			if h := m.source.hold; h != nil {
				h.proven = true
			}
		}
	}
	pass.Failed = len(batch) - pass.Published
	if pass.Published > 0 {
		l.r.took()
	}
	trusted := l.trusted(ctx, batch, errs, began, pass)
	var failed error
	for i := 0; i < len(batch); {
		end := i + 1
		for end < len(batch) && batch[i].Key != "" && batch[end].Key == batch[i].Key && batch[end].source == batch[i].source {
			end++
		}
		var left []*row // the first that failed, and those behind it
		var first error
		for ; i < end; i++ {
			if errs[i] != nil {
				left = append(left, batch[i])
				first = cmp.Or(first, errs[i])
			}
		}
		if len(left) > 0 && !left[0].source.part.lost() {
			failed = errors.Join(failed, l.fail(ctx, left, first, trusted[left[0].source.part]))
		}
	}
	return failed
}

// trusted returns the partitions in which a failure counts as one of its message: the
// publisher took another one, in this pass or since the partition's last failure. In an
// outage there are none.
func (l *lane) trusted(ctx context.Context, batch []*row, errs []error, began time.Time, pass *Pass) map[*part]bool {
	failed, trusted := map[*part]error{}, map[*part]bool{}
	for i, m := range batch {
		failed[m.source.part] = cmp.Or(failed[m.source.part], errs[i])
	}
	outage := pass.Published == 0
	for p, err := range failed {
		switch {
		case err == nil:
			p.failed = time.Time{}
		case pass.Published > 0 || !p.failed.IsZero() && l.r.tookSince(p.failed) || l.r.tookSince(began):
			trusted[p], p.failed, outage = true, time.Now(), false
		default:
			p.failed = time.Now()
		}
	}
	if outage {
		if l.outage++; l.outage == 1 {
			l.r.log(ctx, slog.LevelWarn, "outbox: the publisher takes no messages; trying again until it does", slog.Any("error", errs[0]))
		}
	}
	return trusted
}

// fail holds the key of messages back, the first of which failed. In an outage a message that can
// never be published is known alone.
func (l *lane) fail(ctx context.Context, rows []*row, failure error, trusted bool) error {
	m, o := rows[0], &l.r.o
	_, never := errors.AsType[*permanent](failure)
	if !never && !trusted {
		return nil
	}
	next := &hold{number: holdOf(m), key: m.Key, state: stateWaiting}
	if h := m.source.hold; h != nil {
		next = &hold{number: h.number, key: h.key, state: stateWaiting, attempts: h.attempts}
	}
	_, untried := errors.AsType[*postponed](failure)
	if !untried {
		next.attempts++
	}
	pause := o.pause(next.attempts, untried, failure)
	if never || next.attempts >= int64(o.MaxAttempts) {
		next.state = stateStopped
	}
	if !untried {
		l.r.log(ctx, slog.LevelWarn, "outbox: a message was not published", slog.String("id", m.ID), slog.String("topic", m.Topic), slog.Int64("attempt", next.attempts), slog.Bool("given_up", next.state == stateStopped), slog.Any("error", failure))
	}
	err := l.fenced(ctx, m.source.part, func(tx *sql.Tx) error {
		text := cut(failure.Error())
		if next.state == stateStopped && o.OnPoison == SkipMessage {
			return l.r.out.setAside(ctx, tx, m, &aside{stateSkipped, next.attempts, o.SkippedRetention, text, "", ""})
		}
		return l.writeHold(ctx, tx, rows, next, pause, text)
	})
	if err != nil {
		return fmt.Errorf("hold a message: %w", err)
	}
	return l.load(ctx, l.r.out.db, m.source.part)
}

// pause returns the wait after an attempt, which doubles, or is as long as the error asks for.
func (o *RelayOptions) pause(attempts int64, untried bool, failure error) time.Duration {
	pause := o.MinPause
	for n := int64(1); n < attempts && pause < o.MaxPause && !untried; n++ {
		pause *= 2
	}
	if e, ok := errors.AsType[interface {
		error
		RetryAfter() time.Duration
	}](failure); ok {
		pause = max(pause, e.RetryAfter())
	}
	return min(pause, o.MaxPause)
}

// writeHold writes the hold of messages, and puts them into it.
func (l *lane) writeHold(ctx context.Context, tx *sql.Tx, rows []*row, next *hold, pause time.Duration, text string) error {
	names := l.r.out.names
	if rows[0].source.hold != nil {
		return names.query("UPDATE {{hold}} SET state = ").arg(next.state).add(", attempts = ").int(next.attempts).
			add(", next_ms = {{now}} + ").int(pause.Milliseconds()).add(", error = ").arg(text).
			add(" WHERE hold = ").int(next.number).exec(ctx, tx)
	}
	if err := names.newHold(ctx, tx, rows[0], next.number, &aside{next.state, next.attempts, pause, text, "", ""}); err != nil {
		return err
	}
	return l.move(ctx, tx, rows, next.number)
}

// aside describes a message that is held back.
type aside struct {
	state            string
	attempts         int64
	pause            time.Duration
	text             string // of the last error
	operator, reason string // of a verdict
}

// newHold adds a hold.
func (n names) newHold(ctx context.Context, tx *sql.Tx, m *row, number int64, a *aside) error {
	return n.query("INSERT INTO {{hold}} (hold, part, message_key, state, attempts, since_ms, next_ms, error, operator, reason) VALUES (").
		int(number).add(", ").int(m.partition()).add(", ").arg(m.Key).add(", ").arg(a.state).add(", ").int(a.attempts).
		add(", {{now}}, {{now}} + ").int(a.pause.Milliseconds()).add(", ").arg(a.text).add(", ").arg(a.operator).add(", ").arg(a.reason).
		add(")").exec(ctx, tx)
}

// setAside puts one message into a hold of its own, and lets its key go on.
func (o *Outbox) setAside(ctx context.Context, tx *sql.Tx, m *row, a *aside) error {
	own, place := 2*m.seq+1, m.source.place()
	switch {
	case place == -own:
		return o.names.query("UPDATE {{hold}} SET state = ").arg(a.state).add(", attempts = ").int(a.attempts).
			add(", next_ms = {{now}} + ").int(a.pause.Milliseconds()).add(", error = ").arg(a.text).add(", operator = ").arg(a.operator).
			add(", reason = ").arg(a.reason).add(" WHERE hold = ").int(own).exec(ctx, tx)
	case place < 0:
		if err := o.names.query("UPDATE {{hold}} SET state = 'waiting', attempts = 0, next_ms = 0 WHERE hold = ").int(-place).exec(ctx, tx); err != nil {
			return err
		}
	}
	if err := o.names.newHold(ctx, tx, m, own, a); err != nil {
		return err
	}
	return o.names.query("UPDATE {{table}} SET part = ").int(-own).add(" WHERE ").these([]*row{m}).exec(ctx, tx)
}
