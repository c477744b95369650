package check

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/semel-dev/semel/check/wire"
	"github.com/semel-dev/semel/internal/waiting"
)

func lostAnswers() []Check {
	lost := func(id, says, source, advice string, run checkFunc) Check {
		return row(id, LevelMust, byCount, says, source, advice, sends(1+settledTries), always, run)
	}
	const (
		claimLate  = "Take the key when the whole request has arrived, and release it if the rest never arrives."
		detach     = "Finish the work and record its outcome even if the client is gone: the request's context must not end it halfway. Or roll all of it back."
		storeFirst = "Record the answer before its first byte goes out, in one transaction with the effect."
		serialise  = "Take the key in one atomic step, such as an insert under a unique index, once the body is there; let a second attempt wait for the first, or refuse it by 409."
	)
	return []Check{
		lost("LOST-01", "A request whose head was cut is executed once, by its retry.",
			"RFC 9112 §8; Semel promise 3", claimLate, retried(wire.Manner{Fault: wire.CutInHead})),
		lost("LOST-02", "A request whose body was cut is executed once by its retry, which is not refused for ever.",
			"RFC 9112 §8; Semel promise 3", claimLate, needsBody(retried(wire.Manner{Fault: wire.CutInBody}))),
		lost("LOST-03", "A client that hangs up after sending everything, and tries again, has one effect, and learns of it.",
			"draft -07 §1; Semel promise 3", detach, retried(wire.Manner{Fault: wire.HangUp})),
		lost("LOST-04", "After an answer that was cut there is one effect, and the retry learns of it.",
			"draft -07 §1; Semel promises 2 and 7", storeFirst, retried(wire.Manner{Fault: wire.CutInAnswer})),
		lost("LOST-05", "If the answer is lost after the service gave it, a retry gets that same answer.",
			"draft -07 §2.6; Semel promises 2 and 7", storeFirst, withIntent(getsTheLostAnswer)),
		lost("LOST-06", "If a proxy resets the connection after the service answered, there is one effect, and the retry learns of it.",
			"RFC 9110 §9.2.2; Semel promises 2 and 7", storeFirst, withIntent(retriedAfterReset)),
		row("LOST-07", LevelMust, byCount, "A client that gives up waiting, and tries again at once and later, has one effect and then the answer.",
			"draft -07 §2.6; Semel promises 1 and 2", detach, sends(2+settledTries), always, withIntent(retriedImpatiently)),
		lost("LOST-08", "A slow upload that overlaps a fast retry of the same intent has one effect, and both get one answer.",
			"draft -07 §2.6; Semel promise 1", serialise, needsBody(withIntent(slowOverFast))),
		lost("LOST-09", "If a proxy answers 408 because the body came too slowly, and drops its connection to the service, the intent is executed once, and a retry learns of it.",
			"RFC 9110 §15.5.9; Semel promise 3", claimLate, needsBody(retried(wire.Manner{Fault: wire.CutInBody, Pieces: slowPieces, Pause: slowPause}))),
		lost("LOST-10", "If a proxy answers 504 while the service is still working, there is one effect, and a retry gets the answer.",
			"RFC 9110 §15.6.5; Semel promise 1", serialise, withIntent(retriedPastProxy)),
	}
}

const (
	// A slow body goes out in slowPieces, with slowPause between them.
	slowPieces = 8
	slowPause  = 60 * time.Millisecond
	// noticed is the time that a service has, before the retry comes, to notice a cut request and mishandle it.
	noticed = 100 * time.Millisecond
	// impatience is the part of the service's shortest time after which a client gives up.
	impatience = 4
	// leastPatience is the shortest wait; below it, the client hangs up instead.
	leastPatience = 2 * time.Millisecond
)

// needsBody skips requests without a body: there is nothing to cut or slow down.
func needsBody(run checkFunc) checkFunc {
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

// retried loses an attempt in that manner, and retries after the service has had time to notice: retries that overtake
// the first attempt are left to LOST-07.
func retried(m wire.Manner) checkFunc {
	return withIntent(func(ctx context.Context, p *probe, in *intent) finding {
		since := p.before(ctx)
		p.sendIn(ctx, "lost", m, in)
		if !waiting.Sleep(ctx, min(p.usual()+noticed, p.run.config.Settle)) {
			return incomplete("%v", ctx.Err())
		}
		return p.executedOnce(ctx, since, in, p.untilSettled(ctx, "retry", in))
	})
}

// executedOnce judges an intent whose first attempt may have been lost: there must be one effect, and a last retry that
// says so.
func (p *probe) executedOnce(ctx context.Context, since tally, in *intent, retry reply) finding {
	if !waiting.Sleep(ctx, min(p.usual(), p.run.config.Settle)) { // a lost attempt may still be running
		return incomplete("%v", ctx.Err())
	}
	f := p.once(ctx, since, in)
	switch {
	case f.verdict == Fail:
		return f.because("%s; the retry was answered %s", f.reason, retry)
	case !f.ok():
		return f
	case p.inFlight(retry):
		return p.refusedAsBefore(failed("the retry is still refused by %s after %s (raise --timeout if the service holds keys for longer)", retry, p.run.config.Timeout).blaming(retry), retry)
	case !p.settled(retry):
		return p.refusedAsBefore(failedBy(retry, "it was executed once, but the retry was answered %s", retry).blaming(retry), retry)
	}
	return f
}

// getsTheLostAnswer compares the retry's answer with the one that the client never saw.
func getsTheLostAnswer(ctx context.Context, p *probe, in *intent) finding {
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
		return f.differing("the retry got another answer: ")
	}
	return passed()
}

// retriedAfterReset sends the first attempt through a relay that accepts the service's answer and resets the client's
// connection.
func retriedAfterReset(ctx context.Context, p *probe, in *intent) finding {
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
	p.deliverBy(ctx, &client, "lost in the relay", in, r, &wire.Manner{})
	return p.executedOnce(ctx, since, in, p.untilSettled(ctx, "retry", in))
}

// retriedImpatiently gives up after a part of the service's shortest time; if the service is too fast for that, it hangs
// up.
func retriedImpatiently(ctx context.Context, p *probe, in *intent) finding {
	m := wire.Manner{Fault: wire.HangUp}
	if wait := p.shortest() / impatience; wait >= leastPatience {
		m = wire.Manner{Fault: wire.LoseAnswer, Timeout: wait}
	}
	since := p.before(ctx)
	p.sendIn(ctx, "given up", m, in)
	soon := p.send(ctx, "at once", in)
	wait := p.run.config.Settle
	if keeps := p.run.config.Retention; keeps > 0 {
		wait = min(wait, keeps/2) // otherwise it would be a new intent
	}
	if !waiting.Sleep(ctx, wait) {
		return incomplete("%v", ctx.Err())
	}
	later := p.untilSettled(ctx, "later", in)
	if f := p.executedOnce(ctx, since, in, later); !f.ok() {
		return f
	}
	return p.alike(soon, later)
}

// alike fails if two attempts of one intent both succeeded with different answers.
func (p *probe) alike(one, other reply) finding {
	if !one.fine() || !other.fine() {
		return passed()
	}
	if f := p.sameAsEither(one, other); !f.ok() {
		return f.differing("two attempts of one intent got different answers: ")
	}
	return passed()
}

// slowOverFast starts an upload, and sends the same intent whole while the upload is running.
func slowOverFast(ctx context.Context, p *probe, in *intent) finding {
	upload := wire.Manner{Pieces: slowPieces, Pause: slowPause}
	return p.overlapping(ctx, in, "slow upload", upload, slowPieces*slowPause/2)
}

// retriedPastProxy leaves the first attempt's connection open, like a proxy that answered 504 for the service, and
// retries meanwhile.
func retriedPastProxy(ctx context.Context, p *probe, in *intent) finding {
	return p.overlapping(ctx, in, "behind a proxy", wire.Manner{Fault: wire.LoseAnswer}, p.shortest()/2)
}

// overlapping sends one attempt in that manner, and another after the delay.
func (p *probe) overlapping(ctx context.Context, in *intent, label string, m wire.Manner, later time.Duration) finding {
	since := p.before(ctx)
	both := p.together(2, func(i int) reply {
		if i == 0 {
			return p.sendIn(ctx, label, m, in)
		}
		if !waiting.Sleep(ctx, later) {
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
