package check

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/semel-dev/semel/internal/check/wire"
)

func lostAnswers() []Check {
	lost := func(id, says, source, advice string, run func(context.Context, *probe) finding) Check {
		return Check{
			ID: id, Group: groupLost, Level: LevelMust, NeedsCount: true,
			Says: says, Source: source, Advice: advice,
			requests: sends(1 + settledTries), unfit: always, run: afterSample(run),
		}
	}
	const (
		claimLate  = "Take the key when the whole request has arrived, and release it when it never does."
		detach     = "Finish the work, and record its outcome, also when the client is gone: the request's context must not end it halfway. Or roll all of it back."
		storeFirst = "Record the answer before its first byte goes out, in one transaction with the effect."
		serialise  = "Take the key in one atomic step, such as an insert under a unique index, when the body is there; let a second attempt wait for the first, or refuse it by 409."
	)
	all := []Check{
		lost("LOST-01", "A request whose head was cut is executed once, by its retry.",
			"RFC 9112 §8; Semel promise 3", claimLate, retried(wire.Manner{Fault: wire.CutInHead})),
		lost("LOST-02", "A request whose body was cut is executed once by its retry, which is not refused for ever.",
			"RFC 9112 §8; Semel promise 3", claimLate, needsBody(retried(wire.Manner{Fault: wire.CutInBody}))),
		lost("LOST-03", "A client that hangs up when all is sent, and tries again, has one effect, and hears of it.",
			"draft -07 §1; Semel promise 3", detach, retried(wire.Manner{Fault: wire.HangUp})),
		lost("LOST-04", "After an answer that was cut there is one effect, and the retry hears of it.",
			"draft -07 §1; Semel promises 2 and 7", storeFirst, retried(wire.Manner{Fault: wire.CutInAnswer})),
		lost("LOST-05", "Where the answer is lost after the service gave it, a retry gets that very answer.",
			"draft -07 §2.6; Semel promises 2 and 7", storeFirst, getsTheLostAnswer),
		lost("LOST-06", "After a connection that a proxy reset when the service had answered there is one effect, and the retry hears of it.",
			"RFC 9110 §9.2.2; Semel promises 2 and 7", storeFirst, retriedAfterReset),
		lost("LOST-07", "A client that gives up waiting, and tries again at once and later, has one effect and then the answer.",
			"draft -07 §2.6; Semel promises 1 and 2", detach, retriedImpatiently),
		lost("LOST-08", "A slow upload beside a fast retry of the same intent has one effect, and both get one answer.",
			"draft -07 §2.6; Semel promise 1", serialise, needsBody(slowBesideFast)),
		lost("LOST-09", "Where a proxy answers 408 because the body came too slowly, and drops its connection to the service, the intent is executed once, and a retry hears of it.",
			"RFC 9110 §15.5.9; Semel promise 3", claimLate, needsBody(retried(wire.Manner{Fault: wire.CutInBody, Pieces: slowPieces, Pause: slowPause}))),
		lost("LOST-10", "Where a proxy answers 504 while the service is still at work, there is one effect, and a retry gets the answer.",
			"RFC 9110 §15.6.5; Semel promise 1", serialise, retriedBesideProxy),
	}
	for i := range all {
		if all[i].ID == "LOST-07" {
			all[i].requests = sends(2 + settledTries)
		}
	}
	return all
}

const (
	// slowPieces and slowPause are how a slow body goes out.
	slowPieces = 8
	slowPause  = 60 * time.Millisecond
	// noticed is how long a service has to see what was cut, and do wrong by it,
	// before the retry comes.
	noticed = 100 * time.Millisecond
	// impatience is the part of its usual time after which a client gives up.
	impatience = 4
	// leastPatience is the shortest wait that is still a wait; below it, the
	// client hangs up instead.
	leastPatience = 2 * time.Millisecond
)

// needsBody skips requests without a body: there is nothing to cut or slow down.
func needsBody(run func(context.Context, *probe) finding) func(context.Context, *probe) finding {
	return func(ctx context.Context, p *probe) finding {
		r, err := p.request(p.run.sample.a)
		switch {
		case err != nil:
			return incomplete("%v", err)
		case len(r.Body) < 2:
			return skipped("the request has no body")
		}
		return run(ctx, p)
	}
}

// retried loses an attempt in that manner, and tries again when the service has
// had the time to see that: what overtakes it is LOST-07's question.
func retried(m wire.Manner) func(context.Context, *probe) finding {
	return func(ctx context.Context, p *probe) finding {
		in, err := p.intent(ctx)
		if err != nil {
			return incomplete("%v", err)
		}
		since := p.before(ctx)
		p.sendIn(ctx, "lost", m, in)
		if !pause(ctx, min(p.usual()+noticed, p.run.config.Settle)) {
			return incomplete("%v", ctx.Err())
		}
		return p.executedOnce(ctx, since, in, p.untilSettled(ctx, "retry", in))
	}
}

// executedOnce judges what came of an intent whose first attempt may have been
// lost: one effect, and a last retry that says so.
func (p *probe) executedOnce(ctx context.Context, since tally, in *intent, retry reply) finding {
	if !pause(ctx, min(p.usual(), p.run.config.Settle)) { // a lost attempt may still be running
		return incomplete("%v", ctx.Err())
	}
	f := p.once(ctx, since, in)
	switch {
	case f.verdict == Fail:
		return failed("%s; the retry was answered %s", f.reason, retry)
	case !f.ok():
		return f
	case p.inFlight(retry):
		return p.refusedAsBefore(failed("the retry is still refused by %s after %s (raise --timeout if the service holds keys for longer)", retry, p.run.config.Timeout), retry)
	case !p.settled(retry):
		return p.refusedAsBefore(failedBy(retry, "it was executed once, but the retry was answered %s", retry), retry)
	}
	return f
}

// getsTheLostAnswer compares the retry's answer to what the service gave, and
// the client never saw.
func getsTheLostAnswer(ctx context.Context, p *probe) finding {
	in, err := p.intent(ctx)
	if err != nil {
		return incomplete("%v", err)
	}
	since := p.before(ctx)
	lost := p.sendIn(ctx, "lost", wire.Manner{Fault: wire.LoseAnswer}, in)
	given := reply{Answer: lost.Answer}
	if !given.fine() {
		return incomplete("the first attempt got %s", lost)
	}
	retry := p.untilSettled(ctx, "retry", in)
	if f := p.executedOnce(ctx, since, in, retry); !f.ok() {
		return f
	}
	if f := p.rightRepeat(given, retry); !f.ok() {
		return f.after("the retry got another answer: ")
	}
	return passed()
}

// retriedAfterReset sends the first attempt through a relay that takes the
// service's answer, and resets the client's connection.
func retriedAfterReset(ctx context.Context, p *probe) finding {
	in, err := p.intent(ctx)
	if err != nil {
		return incomplete("%v", err)
	}
	r, err := p.request(in)
	if err != nil {
		return incomplete("%v", err)
	}
	var connected atomic.Bool
	relay, err := wire.OpenRelay(ctx, wire.Address(r.URL), connected.Load)
	if err != nil {
		return incomplete("%v", err)
	}
	defer func() { _ = relay.Close() }()
	client := p.run.client
	client.Dial, client.Connected = relay.Dial, func() { connected.Store(true) }
	since := p.before(ctx)
	p.deliverBy(ctx, &client, "lost in the relay", r, &wire.Manner{})
	return p.executedOnce(ctx, since, in, p.untilSettled(ctx, "retry", in))
}

// retriedImpatiently gives up after a part of the time that the service usually
// takes; a service too fast for that is hung up on.
func retriedImpatiently(ctx context.Context, p *probe) finding {
	in, err := p.intent(ctx)
	if err != nil {
		return incomplete("%v", err)
	}
	m := wire.Manner{Fault: wire.HangUp}
	if wait := p.usual() / impatience; wait >= leastPatience {
		m = wire.Manner{Fault: wire.LoseAnswer, Timeout: wait}
	}
	since := p.before(ctx)
	p.sendIn(ctx, "given up", m, in)
	soon := p.send(ctx, "at once", in)
	wait := p.run.config.Settle
	if keeps := p.run.config.Retention; keeps > 0 {
		wait = min(wait, keeps/2) // or else it would be a new intent
	}
	if !pause(ctx, wait) {
		return incomplete("%v", ctx.Err())
	}
	later := p.untilSettled(ctx, "later", in)
	if f := p.executedOnce(ctx, since, in, later); !f.ok() {
		return f
	}
	return p.alike(soon, later)
}

// alike fails where two attempts of one intent both succeeded, by different
// answers.
func (p *probe) alike(one, other reply) finding {
	if !one.fine() || !other.fine() {
		return passed()
	}
	if f := p.sameAsEither(one, other); !f.ok() {
		return f.after("two attempts of one intent got different answers: ")
	}
	return passed()
}

// slowBesideFast starts an upload, and sends the same intent whole while that
// goes on.
func slowBesideFast(ctx context.Context, p *probe) finding {
	upload := wire.Manner{Pieces: slowPieces, Pause: slowPause}
	return p.beside(ctx, "slow upload", upload, slowPieces*slowPause/2)
}

// retriedBesideProxy leaves the first attempt's connection open, as a proxy does
// that answered 504 for the service, and tries again beside it.
func retriedBesideProxy(ctx context.Context, p *probe) finding {
	return p.beside(ctx, "behind a proxy", wire.Manner{Fault: wire.LoseAnswer}, p.usual()/2)
}

// beside sends one attempt in that manner, and another that much later.
func (p *probe) beside(ctx context.Context, label string, m wire.Manner, later time.Duration) finding {
	in, err := p.intent(ctx)
	if err != nil {
		return incomplete("%v", err)
	}
	since := p.before(ctx)
	both := p.together(2, func(i int) reply {
		if i == 0 {
			return p.sendIn(ctx, label, m, in)
		}
		if !pause(ctx, later) {
			return reply{err: fmt.Errorf("retry: %w", ctx.Err())}
		}
		return p.untilSettled(ctx, "retry", in)
	})
	first, retry := both[0], both[1]
	if m.Fault != wire.None {
		first.err = nil // the checker saw what the client did not
	}
	if f := p.executedOnce(ctx, since, in, retry); !f.ok() {
		return f
	}
	return p.alike(first, retry)
}
