package mysqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"slices"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/internal/verb"
)

// alike are settlements that differ in nothing but claim and outcome.
type alike struct {
	state       semel.State
	kept        bool
	note        string
	retentionMS int64
}

func (s *Store) settleBatch(ctx context.Context, ss []semel.SettleParams) ([]error, error) {
	answers := make([]error, len(ss))
	ss = slices.Clone(ss) // their settlements are brought into another form
	groups := map[alike][]int{}
	var order []alike
	for i := range ss {
		v := &ss[i].Settlement
		if answers[i] = s.checkSettlement(v); answers[i] != nil {
			continue
		}
		a := alike{state: v.State}
		if v.State != semel.StateReleased {
			a = alike{v.State, v.Kept, v.Note, v.Retention.Milliseconds()}
		}
		if groups[a] == nil {
			order = append(order, a)
		}
		groups[a] = append(groups[a], i)
	}
	for _, a := range order {
		group := groups[a]
		slices.SortFunc(group, func(i, j int) int { return cmp.Compare(ss[i].Fence, ss[j].Fence) })
		for len(group) > 0 {
			n := chunkOf(ss, group)
			if err := s.settleChunk(ctx, a, ss, group[:n], answers); err != nil {
				return nil, err
			}
			group = group[n:]
		}
	}
	return answers, nil
}

// chunkOf returns how many of the steps fit into one statement, at least one.
func chunkOf(ss []semel.SettleParams, group []int) int {
	size := 0
	for n, i := range group[:min(len(group), maxBatch)] {
		size += len(ss[i].Settlement.Outcome)
		if n > 0 && size > maxBatchBytes {
			return n
		}
	}
	return min(len(group), maxBatch)
}

// settleChunk settles in one statement. When it changed fewer rows than there
// are steps, the records as they are then decide each; what they leave open goes alone.
func (s *Store) settleChunk(ctx context.Context, a alike, ss []semel.SettleParams, chunk []int, answers []error) error {
	if len(chunk) == 1 {
		p := &ss[chunk[0]]
		answers[chunk[0]] = s.settle(ctx, p.Digest, p.Fence, &p.Settlement)
		return nil
	}
	found, err := s.settleMany(ctx, a, ss, chunk)
	if err != nil {
		return translate("settle", err)
	}
	if found == nil {
		return nil
	}
	for _, i := range chunk {
		p := &ss[i]
		rec := found[p.Digest] // absent where there is none
		done, err := verb.Settle(&rec, p.Fence, &p.Settlement)
		if !done && err == nil {
			err = s.settle(ctx, p.Digest, p.Fence, &p.Settlement)
		}
		answers[i] = err
	}
	return nil
}

// settleMany changes the rows of a chunk, and returns those of all its steps
// when it did not change every one, otherwise nil.
//
// A record that is released or unknown can be claimed again at once, and then
// nothing shows that this statement had changed it. So both are read in the
// transaction that changes them, while no other caller can claim them.
func (s *Store) settleMany(ctx context.Context, a alike, ss []semel.SettleParams, chunk []int) (found map[semel.Digest]semel.Record, err error) {
	name, args := settleArgs(a, ss, chunk)
	n := batchSize(len(chunk))
	digests := make([]semel.Digest, len(chunk))
	for k, i := range chunk {
		digests[k] = ss[i].Digest
	}
	if a.state == semel.StateCompleted || a.state == semel.StateCancelled {
		changed, err := s.change(ctx, name, n, args...)
		if err != nil || int(changed) == len(chunk) {
			return nil, err
		}
		return s.findMany(ctx, nil, digests)
	}
	if err := s.stmts.ready(ctx, statement{name, n}, statement{"find", n}); err != nil {
		return nil, err
	}
	err = retry(ctx, func() error {
		found = nil
		return s.inTransaction(ctx, func(tx *sql.Tx) error {
			res, err := s.stmts.exec(ctx, tx, name, n, args...)
			if err != nil {
				return err
			}
			changed, err := res.RowsAffected()
			if err != nil || int(changed) == len(chunk) {
				return err
			}
			found, err = s.findMany(ctx, tx, digests)
			return err
		})
	})
	return found, err
}

// settleArgs are the arguments of settle_many.sql or release.sql, filled up
// with repetitions of the last step.
func settleArgs(a alike, ss []semel.SettleParams, chunk []int) (name string, args []any) {
	n := batchSize(len(chunk))
	args = make([]any, 0, 5*n+5)
	each := func(add func(p *semel.SettleParams)) {
		for k := range n {
			add(&ss[chunk[min(k, len(chunk)-1)]])
		}
	}
	name = "release"
	if a.state == semel.StateReleased {
		args = append(args, graceMS, graceMS)
	} else {
		name = "settle_many"
		args = append(args, a.state.String(), a.kept)
		each(func(p *semel.SettleParams) { args = append(args, uint64(p.Fence), p.Settlement.Outcome) })
		args = append(args, []byte(a.note), a.retentionMS, a.retentionMS)
	}
	each(func(p *semel.SettleParams) { args = append(args, uint64(p.Fence)) })
	each(func(p *semel.SettleParams) { args = append(args, uint64(p.Fence), p.Digest[:]) })
	return name, args
}
