package natsstore

import (
	"context"
	"crypto/rand"
	"errors"
	"strconv"
	"sync"

	"github.com/nats-io/nats.go"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/internal/verb"
)

const (
	// mostTogether and mostBytes bound the messages of one atomic publish. The server takes
	// a thousand, and keeps them aside until the last one has come.
	mostTogether = 256
	mostBytes    = 4 << 20
	// leastTogether messages pay for the files in which a server keeps a batch aside; fewer
	// are published side by side.
	leastTogether = 16

	headerBatch  = "Nats-Batch-Id"
	headerNumber = "Nats-Batch-Sequence"
	headerCommit = "Nats-Batch-Commit"
)

var _ semel.Batcher = (*Store)(nil)

// Batch implements [semel.Batcher]: one atomic publish stores the messages of all steps,
// and the server syncs once. When another message came before one of them, none is
// stored, and each step is taken by its own verb. A few steps are stored side by side.
func (s *Store) Batch(
	ctx context.Context, claims []semel.ClaimParams, settles []semel.SettleParams,
) ([]semel.ClaimAnswer, []error, error) {
	if err := s.enter(ctx, "batch", verb.Writes); err != nil {
		return nil, nil, err
	}
	defer s.gate.Leave()
	won, settled := make([]semel.ClaimAnswer, len(claims)), make([]error, len(settles))
	steps := make([]batchStep, 0, len(claims)+len(settles))
	for i := range claims {
		steps = append(steps, s.claimStep(&claims[i], &won[i]))
	}
	for i := range settles {
		steps = append(steps, s.settleStep(&settles[i], &settled[i]))
	}
	var all sync.WaitGroup
	for i := range steps {
		all.Go(func() { steps[i].found, steps[i].next = steps[i].decide(ctx) })
	}
	all.Wait()
	for len(steps) > 0 {
		var err error
		if steps, err = s.storeSome(ctx, steps); err != nil {
			return nil, nil, s.translate("batch", err)
		}
	}
	return won, settled, nil
}

// batchStep is one claim or settlement of a batch.
type batchStep struct {
	// decide reads, and gives the answer where there is nothing to store: next is nil then.
	decide func(ctx context.Context) (f found, next *semel.Record)
	found  found
	next   *semel.Record
	// stored gives the answer when next was stored.
	stored func(next *semel.Record, sequence uint64)
	// failed gives an error as the answer.
	failed func(err error)
	// alone takes the step by its own verb.
	alone func(ctx context.Context)
}

func (s *Store) claimStep(p *semel.ClaimParams, a *semel.ClaimAnswer) batchStep {
	return batchStep{
		decide: func(ctx context.Context) (f found, next *semel.Record) {
			if a.Err = p.Validate(); a.Err != nil {
				return f, nil
			}
			f, err := s.read(ctx, p.Digest)
			if err != nil {
				a.Err = s.translate("claim", err)
				return f, nil
			}
			if next = f.claim(p); next == nil {
				a.Record, a.Won = *f.rec, verb.Repeated(f.rec, p)
			}
			return f, next
		},
		stored: func(next *semel.Record, sequence uint64) { a.Record, a.Won = *s.won(next, sequence), true },
		failed: func(err error) { a.Err = s.translate("claim", err) },
		alone:  func(ctx context.Context) { a.Record, a.Won, a.Err = s.Claim(ctx, *p) },
	}
}

func (s *Store) settleStep(p *semel.SettleParams, answer *error) batchStep {
	v := p.Settlement
	return batchStep{
		decide: func(ctx context.Context) (f found, next *semel.Record) {
			if *answer = verb.Settlement("natsstore", &v, s.maxOutcome(), hintPayload); *answer != nil {
				return f, nil
			}
			f, err := s.readHeld(ctx, p.Digest, p.Fence)
			if err == nil {
				next, err = f.settle(p.Fence, &v)
			}
			if next == nil && f.remembered {
				if f, err = s.read(ctx, p.Digest); err == nil {
					next, err = f.settle(p.Fence, &v)
				}
			}
			*answer = s.translateUnlessVerdict("settle", err)
			return f, next
		},
		stored: func(*semel.Record, uint64) {},
		failed: func(err error) { *answer = s.translate("settle", err) },
		alone:  func(ctx context.Context) { *answer = s.Settle(ctx, p.Digest, p.Fence, p.Settlement) },
	}
}

// translateUnlessVerdict leaves the contract's own errors as they are.
func (s *Store) translateUnlessVerdict(act string, err error) error {
	if err == nil || errors.Is(err, semel.ErrLost) || errors.Is(err, semel.ErrSettled) {
		return err
	}
	return s.translate(act, err)
}

// storeSome stores what one publish takes, and returns the other steps. Two steps on one
// intent do not go together.
func (s *Store) storeSome(ctx context.Context, steps []batchStep) (others []batchStep, err error) {
	var some []*batchStep
	taken := map[semel.Digest]bool{}
	bytes := 0
	for i := range steps {
		st := &steps[i]
		switch {
		case st.next == nil:
		case taken[st.next.Digest], len(some) == mostTogether, bytes > mostBytes:
			others = append(others, *st)
		default:
			taken[st.next.Digest] = true
			bytes += maxHead + len(st.next.Outcome)
			some = append(some, st)
		}
	}
	if len(some) == 0 {
		return others, nil
	}
	if len(some) < leastTogether {
		each(some, func(st *batchStep) { s.storeOne(ctx, st) })
		return others, nil
	}
	sequence, err := s.publishTogether(ctx, some)
	if _, answered := errors.AsType[*apiError](err); answered {
		each(some, func(st *batchStep) { st.alone(ctx) })
		return others, nil
	}
	if err != nil {
		return nil, err
	}
	for i, st := range some {
		st.stored(st.next, sequence-uint64(len(some)-1-i)) //nolint:gosec // positive.
	}
	return others, nil
}

// each does something for all steps, side by side.
func each(steps []*batchStep, do func(*batchStep)) {
	var all sync.WaitGroup
	for _, st := range steps {
		all.Go(func() { do(st) })
	}
	all.Wait()
}

// storeOne stores the message of one step.
func (s *Store) storeOne(ctx context.Context, st *batchStep) {
	sequence, ok, err := s.write(ctx, &st.found, st.next)
	switch {
	case err != nil:
		st.failed(err)
	case ok:
		st.stored(st.next, sequence)
	default:
		st.alone(ctx)
	}
}

// publishTogether stores the messages of all steps, or none, and returns the sequence of
// the last one; the others have those before it.
func (s *Store) publishTogether(ctx context.Context, steps []*batchStep) (sequence uint64, err error) {
	batch := rand.Text()
	for i, st := range steps {
		w := s.replacing(&st.found, st.next)
		m := w.message(s.opts.Stream)
		m.Header[headerBatch], m.Header[headerNumber] = []string{batch}, []string{strconv.Itoa(i + 1)}
		if i == len(steps)-1 {
			m.Header[headerCommit] = []string{"1"}
			return s.link.store(ctx, m)
		}
		if err := s.link.nc.PublishMsg(m); err != nil {
			return 0, err // what came before is forgotten by the server
		}
	}
	return 0, nats.ErrInvalidArg
}
