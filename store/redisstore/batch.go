package redisstore

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/redis/rueidis"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/internal/verb"
)

var _ semel.Batcher = (*Store)(nil)

// ClaimBatch implements [semel.Batcher]: one script takes all the steps, one
// after the other. The nodes of a cluster take one each: there it saves nothing.
func (s *Store) ClaimBatch(ctx context.Context, ps []semel.ClaimParams) ([]semel.ClaimAnswer, error) {
	if err := s.enter(ctx, "claim", verb.Writes); err != nil {
		return nil, err
	}
	answers := make([]semel.ClaimAnswer, len(ps))
	if s.draws != nil || len(ps) == 1 {
		each(len(ps), func(i int) {
			a := &answers[i]
			a.Record, a.Won, a.Err = s.Claim(ctx, ps[i])
		})
		return answers, nil
	}
	steps := newSteps(len(ps), 3)
	for i := range ps {
		if answers[i].Err = ps[i].Validate(); answers[i].Err == nil {
			key, args := s.claimArgs(&ps[i])
			steps.add(i, key, args[:3])
		}
	}
	err := s.runSteps(ctx, s.scripts.claimBatch, steps, s.fenceKey, func(i int, answer rueidis.RedisMessage) {
		a := &answers[i]
		var err error
		if a.Record, a.Won, err = claimAnswer(&ps[i], &answer); err != nil {
			a.Err = s.translate("claim", err)
		}
	})
	if err != nil {
		return nil, s.translate("claim together", err)
	}
	return answers, nil
}

// SettleBatch implements [semel.Batcher], as ClaimBatch does.
func (s *Store) SettleBatch(ctx context.Context, ss []semel.SettleParams) ([]error, error) {
	if err := s.enter(ctx, "settle", verb.Writes); err != nil {
		return nil, err
	}
	answers := make([]error, len(ss))
	if s.draws != nil || len(ss) == 1 {
		each(len(ss), func(i int) { answers[i] = s.Settle(ctx, ss[i].Digest, ss[i].Fence, ss[i].Settlement) })
		return answers, nil
	}
	steps := newSteps(len(ss), 5)
	for i := range ss {
		v := ss[i].Settlement
		if answers[i] = verb.Settlement("redisstore", &v, maxOutcomeBytes, ""); answers[i] == nil {
			key, args := s.settleArgs(&ss[i].Digest, ss[i].Fence, &v)
			steps.add(i, key, args[:])
		}
	}
	err := s.runSteps(ctx, s.scripts.settleBatch, steps, "", func(i int, answer rueidis.RedisMessage) {
		n, err := answer.AsInt64()
		answers[i] = s.verdict("settle", n, err)
	})
	if err != nil {
		return nil, s.translate("settle together", err)
	}
	for i := range ss {
		if errors.Is(answers[i], semel.ErrFull) && len(ss[i].Settlement.Outcome) == 0 {
			answers[i] = s.Settle(ctx, ss[i].Digest, ss[i].Fence, ss[i].Settlement) // it needs no room
		}
	}
	return answers, nil
}

// steps are the arguments of one script for many.
type steps struct {
	of         []int // the place in the batch of each step
	keys, args []string
}

func newSteps(n, args int) *steps {
	return &steps{of: make([]int, 0, n), keys: make([]string, 0, n+1), args: make([]string, 0, n*args+1)}
}

func (st *steps) add(i int, key string, args []string) {
	st.of = append(st.of, i)
	st.keys = append(st.keys, key)
	st.args = append(st.args, args...)
}

// runSteps runs the script for all steps, with one more key where the script
// wants it, and hands out the answers.
func (s *Store) runSteps(ctx context.Context, sc *script, st *steps, last string, give func(i int, answer rueidis.RedisMessage)) error {
	if len(st.of) == 0 {
		return nil
	}
	if last != "" {
		st.keys = append(st.keys, last)
	}
	all, err := s.run(ctx, sc, st.keys, st.args).ToArray()
	if err != nil {
		return err
	}
	if len(all) != len(st.of) {
		return fmt.Errorf("the server gave %d answers to %d steps", len(all), len(st.of))
	}
	for i, step := range st.of {
		give(step, all[i])
	}
	return nil
}

// each runs f for 0 to n-1 side by side, and waits.
func each(n int, f func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { f(i) })
	}
	wg.Wait()
}
