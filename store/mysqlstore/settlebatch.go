package mysqlstore

import (
	"cmp"
	"context"
	"slices"

	"github.com/semel-dev/semel"
)

// alike are settlements that differ in nothing but claim and outcome.
type alike struct {
	state       semel.State
	kept        bool
	note        string
	retentionMS int64
}

// SettleBatch implements [semel.Batcher]. Up to 64 settlements that differ in
// nothing but claim and outcome take one round trip and one commit, and one
// more to read when some of them met something else than an open claim.
func (s *Store) SettleBatch(ctx context.Context, ss []semel.SettleParams) ([]error, error) {
	if err := s.beginChange(); err != nil {
		return nil, err
	}
	defer s.end()
	answers := make([]error, len(ss))
	groups := map[alike][]int{}
	var order []alike
	for i := range ss {
		v := &ss[i].Settlement
		if answers[i] = s.checkSettlement(v); answers[i] != nil {
			continue
		}
		a := alike{state: v.State}
		if v.State != semel.StateReleased {
			a = alike{v.State, kept(v), v.Note, v.Retention.Milliseconds()}
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

// chunkOf is how many of the steps fit into one statement, at least one.
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
// are steps, what stands now decides each; what nothing decides goes alone.
func (s *Store) settleChunk(ctx context.Context, a alike, ss []semel.SettleParams, chunk []int, answers []error) error {
	if len(chunk) == 1 {
		p := &ss[chunk[0]]
		answers[chunk[0]] = s.settle(ctx, p.Digest, p.Fence, &p.Settlement)
		return nil
	}
	name, args := settleArgs(a, ss, chunk)
	changed, err := s.change(ctx, name, batchSize(len(chunk)), args...)
	if err != nil {
		return translate("settle", err)
	}
	if int(changed) == len(chunk) {
		return nil
	}
	digests := make([]semel.Digest, len(chunk))
	for k, i := range chunk {
		digests[k] = ss[i].Digest
	}
	found, err := s.findMany(ctx, digests)
	if err != nil {
		return err
	}
	for _, i := range chunk {
		p := &ss[i]
		rec, ok := found[p.Digest]
		done, err := settled(&rec, ok && !absent(&rec), p.Fence, &p.Settlement)
		if !done && err == nil {
			err = s.settle(ctx, p.Digest, p.Fence, &p.Settlement)
		}
		answers[i] = err
	}
	return nil
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
		each(func(p *semel.SettleParams) { args = append(args, uint64(p.Fence), outcome(&p.Settlement)) })
		args = append(args, []byte(a.note), a.retentionMS, a.retentionMS)
	}
	each(func(p *semel.SettleParams) { args = append(args, uint64(p.Fence)) })
	each(func(p *semel.SettleParams) { args = append(args, uint64(p.Fence), p.Digest[:]) })
	return name, args
}
