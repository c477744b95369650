package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/redis/rueidis"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/internal/verb"
)

var _ semel.Batcher = (*Store)(nil)

// Batch implements [semel.Batcher]: one script takes all the steps, one
// after the other. The nodes of a cluster take one each: there it saves nothing.
func (s *Store) Batch(
	ctx context.Context, claims []semel.ClaimParams, settles []semel.SettleParams,
) ([]semel.ClaimAnswer, []error, error) {
	if err := s.enter(ctx, "batch", verb.Writes); err != nil {
		return nil, nil, err
	}
	won, settled := make([]semel.ClaimAnswer, len(claims)), make([]error, len(settles))
	if s.draws != nil || len(claims)+len(settles) == 1 {
		s.oneByOne(ctx, claims, settles, won, settled)
		return won, settled, nil
	}
	b := newBatch(len(claims), len(settles))
	var replays sync.WaitGroup
	defer replays.Wait()
	for i := range claims {
		at, mark := s.finished.place(&claims[i].Digest)
		if at.Load() == mark && s.opts.Replicas == 0 {
			replays.Go(func() { won[i].Record, won[i].Won, won[i].Err = s.Claim(ctx, claims[i]) })
		} else if won[i].Err = claims[i].Validate(); won[i].Err == nil {
			key, args := s.claimArgs(&claims[i])
			b.add(key, args[:3], func(answer *rueidis.RedisMessage) { won[i] = s.claimed(&claims[i], answer) })
		}
	}
	b.args[0] = strconv.Itoa(len(b.keys))
	for i := range settles {
		v := settles[i].Settlement
		if settled[i] = verb.Settlement("redisstore", &v, maxOutcomeBytes, ""); settled[i] == nil {
			key, args := s.settleArgs(&settles[i].Digest, settles[i].Fence, &v)
			b.add(key, args[:], func(answer *rueidis.RedisMessage) {
				n, err := answer.AsInt64()
				if settled[i] = s.verdict("settle", n, err); settled[i] == nil {
					s.finished.met(&settles[i].Digest, v.State)
				}
			})
		}
	}
	if err := s.runBatch(ctx, b); err != nil {
		return nil, nil, s.translate("batch", err)
	}
	for i := range settles {
		if errors.Is(settled[i], semel.ErrFull) && len(settles[i].Settlement.Outcome) == 0 {
			settled[i] = s.Settle(ctx, settles[i].Digest, settles[i].Fence, settles[i].Settlement) // it needs no room
		}
	}
	return won, settled, nil
}

// oneByOne takes each step by its own verb, side by side.
func (s *Store) oneByOne(ctx context.Context, claims []semel.ClaimParams, settles []semel.SettleParams, won []semel.ClaimAnswer, settled []error) {
	var all sync.WaitGroup
	for i := range claims {
		all.Go(func() { won[i].Record, won[i].Won, won[i].Err = s.Claim(ctx, claims[i]) })
	}
	for i, p := range settles {
		all.Go(func() { settled[i] = s.Settle(ctx, p.Digest, p.Fence, p.Settlement) })
	}
	all.Wait()
}

// claimed is the answer to one claim of a batch.
func (s *Store) claimed(p *semel.ClaimParams, answer *rueidis.RedisMessage) (a semel.ClaimAnswer) {
	var err error
	if a.Record, a.Won, err = claimAnswer(p, answer); err != nil {
		return semel.ClaimAnswer{Err: s.translate("claim", err)}
	}
	if !a.Won {
		s.finished.met(&p.Digest, a.Record.State)
	}
	return a
}

// batch holds the arguments of the script, and where its answers go.
type batch struct {
	keys, args []string
	give       []func(*rueidis.RedisMessage)
}

func newBatch(claims, settles int) *batch {
	n := claims + settles
	return &batch{
		keys: make([]string, 0, n+1), args: make([]string, 1, 3*claims+5*settles+2), give: make([]func(*rueidis.RedisMessage), 0, n),
	}
}

func (b *batch) add(key string, args []string, give func(*rueidis.RedisMessage)) {
	b.keys = append(b.keys, key)
	b.args = append(b.args, args...)
	b.give = append(b.give, give)
}

// runBatch runs the script, and hands out the answers.
func (s *Store) runBatch(ctx context.Context, b *batch) error {
	if len(b.keys) == 0 {
		return nil
	}
	all, err := s.runScript(ctx, s.scripts.batch, append(b.keys, s.fenceKey), b.args).ToArray()
	if err != nil {
		return err
	}
	if len(all) != len(b.give) {
		return fmt.Errorf("the server gave %d answers to %d steps", len(all), len(b.give))
	}
	for i, give := range b.give {
		give(&all[i])
	}
	return nil
}
