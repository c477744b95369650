package redisstore

import (
	"context"
	"encoding/binary"
	"fmt"
	"strconv"

	"github.com/redis/rueidis"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/internal/verb"
)

// The length of an answer of claim.lua with a fence says which it is.
const (
	lateBytes  = 8  // the drawn fence came too late; the next must exceed this
	wonBytes   = 16 // fence and time
	takenBytes = 20 // the attempt too
)

// Claim implements [semel.Store].
func (s *Store) Claim(ctx context.Context, p semel.ClaimParams) (rec semel.Record, won bool, err error) {
	if err := p.Validate(); err != nil {
		return semel.Record{}, false, err
	}
	if err := s.enter(ctx, "claim", verb.Writes); err != nil {
		return semel.Record{}, false, err
	}
	rec, replayed, err := s.replay(ctx, &p.Digest)
	if err == nil && !replayed {
		rec, won, err = s.decide(ctx, &p)
	}
	if err != nil {
		return semel.Record{}, false, s.translate("claim", err)
	}
	return rec, won, nil
}

// decide has the server decide the claim.
func (s *Store) decide(ctx context.Context, p *semel.ClaimParams) (rec semel.Record, won bool, err error) {
	answer, err := s.claim(ctx, p)
	if err != nil {
		return semel.Record{}, false, err
	}
	rec, won, err = claimAnswer(p, &answer)
	if err == nil && !won {
		s.finished.met(&p.Digest, rec.State)
	}
	return rec, won, err
}

// claim runs the script; in a cluster with a drawn fence, again when that came
// too late.
func (s *Store) claim(ctx context.Context, p *semel.ClaimParams) (answer rueidis.RedisMessage, err error) {
	key, args := s.claimArgs(p)
	if s.draws == nil {
		return s.runScript(ctx, s.scripts.claim, []string{key, s.fenceKey}, args[:3]).ToMessage()
	}
	var floor semel.Fence
	for range maxDraws {
		fence, err := s.draws.draw(ctx, floor)
		if err != nil {
			return answer, fmt.Errorf("draw a fence: %w", err)
		}
		args[3] = strconv.FormatUint(uint64(fence), 10)
		answer, err = s.runScript(ctx, s.scripts.claim, []string{key}, args[:]).ToMessage()
		if err != nil || answer.IsArray() {
			return answer, err
		}
		late, err := answer.AsBytes()
		if err != nil || len(late) != lateBytes {
			return answer, err
		}
		floor = fenceOf(late)
	}
	return answer, fmt.Errorf("%d drawn fences came too late: %w", maxDraws, errSlow)
}

// claimArgs are the key and the arguments of claim.lua, without a drawn fence.
func (s *Store) claimArgs(p *semel.ClaimParams) (key string, args [4]string) {
	b := make([]byte, 0, 256+len(p.Scope)+len(p.Name)+len(s.opts.Prefix))
	b = s.appendKey(b, &p.Digest)
	rest := len(b)
	b = appendRest(b, p)
	ttl := len(b)
	b = strconv.AppendInt(b, p.Lease.Milliseconds()+p.Retention.Milliseconds()+s.slack.Milliseconds(), 10)
	former := len(b)
	if p.TakeOver != 0 {
		b = binary.BigEndian.AppendUint64(b, uint64(p.TakeOver))
	}
	all := rueidis.BinaryString(b)
	return all[:rest], [4]string{all[rest:ttl], all[ttl:former], all[former:]}
}

// claimAnswer reads what claim.lua answers.
func claimAnswer(p *semel.ClaimParams, answer *rueidis.RedisMessage) (rec semel.Record, won bool, err error) {
	if !answer.IsArray() {
		head, err := answer.AsBytes()
		switch {
		case err != nil:
			return semel.Record{}, false, err
		case len(head) == wonBytes:
			return wonBy(p, head, 1), true, nil
		case len(head) == takenBytes:
			return wonBy(p, head, int(binary.BigEndian.Uint32(head[wonBytes:]))), true, nil
		}
		return semel.Record{}, false, fmt.Errorf("the server answered %d bytes, want a fence and a time", len(head))
	}
	now, v, err := split(answer)
	if err != nil {
		return semel.Record{}, false, err
	}
	rec, err = read(p.Digest, now, v)
	if err != nil {
		return semel.Record{}, false, fmt.Errorf("read the record in the way: %w", err)
	}
	return rec, verb.Repeated(&rec, p), nil
}

// wonBy returns the record that claim.lua has written.
func wonBy(p *semel.ClaimParams, answer []byte, attempt int) semel.Record {
	return verb.Won(p, number(answer, 0), number(answer, 8), attempt)
}
