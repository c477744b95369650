package together

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/semel-dev/semel"
)

// Member is one call in the queue.
type Member[C any] struct {
	Call C

	ctx   context.Context        //nolint:containedctx // that of one call, which waits.
	done  chan error             // the answer to Join
	vote  chan *semel.Settlement // how the function ended; nil for not at all
	ended chan error             // how the transaction ended
}

// NewMember returns a member whose context limits how long it waits.
func NewMember[C any](ctx context.Context, call C) *Member[C] {
	return &Member[C]{
		Call: call, ctx: ctx,
		done: make(chan error, 1), vote: make(chan *semel.Settlement, 1), ended: make(chan error, 1),
	}
}

// Context is the context of the call.
func (m *Member[C]) Context() context.Context { return m.ctx }

// Late returns why the call is not to be made any more: its context has ended.
func (m *Member[C]) Late() error {
	if m.ctx.Err() == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", semel.ErrRolledBack, context.Cause(m.ctx))
}

// orLate returns, in the place of [ErrAlone], why the call can no longer be made alone.
func (m *Member[C]) orLate(err error) error {
	if errors.Is(err, ErrAlone) {
		return cmp.Or(m.Late(), err)
	}
	return err
}

// Answer is the answer to Join. A member is answered once.
func (m *Member[C]) Answer(err error) { m.done <- err }

// Answer answers all of them.
func Answer[C any](members []*Member[C], err error) {
	for _, m := range members {
		m.Answer(err)
	}
}

// Commit hands over what a member's function made, and waits for the end of the
// transaction. After [ErrAlone] and [semel.ErrRolledBack] nothing happened; the end of ctx leaves it open.
func (m *Member[C]) Commit(ctx context.Context, v *semel.Settlement) error {
	m.vote <- v
	select {
	case err := <-m.ended:
		return m.orLate(err)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Refuse ends the transaction for all: the function made nothing.
func (m *Member[C]) Refuse() { m.vote <- nil }

// Collect waits for what the functions of the members make. It returns the member
// that refused, or made nothing in time, or nil.
func Collect[C any](members []*Member[C], most time.Duration) (votes []*semel.Settlement, without *Member[C]) {
	late := time.NewTimer(most)
	defer late.Stop()
	for _, m := range members {
		var vote *semel.Settlement
		select {
		case vote = <-m.vote:
		case <-late.C:
		}
		if vote == nil {
			return nil, m
		}
		votes = append(votes, vote)
	}
	return votes, nil
}

// End tells a member how the transaction ended.
func (m *Member[C]) End(err error) { m.ended <- err }

// Begins returns the first word of a statement, in lower case.
func Begins(sql string) string {
	sql = strings.TrimSpace(sql)
	if end := strings.IndexAny(sql, " \t\r\n("); end >= 0 {
		sql = sql[:end]
	}
	return strings.ToLower(sql)
}
