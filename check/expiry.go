package check

import (
	"context"
	"time"

	"github.com/semel-dev/semel/internal/waiting"
)

const (
	// expiryRounds limits how often a check asks whether a record has expired: some are swept later.
	expiryRounds = 3
	// expiryMargin is the least wait beyond the retention.
	expiryMargin = 250 * time.Millisecond
)

func expiries() []Check {
	all := []Check{
		row("EXP-01", LevelMust, byCount, "Until the retention has passed, a repetition gets the first answer.",
			"draft -07 §2.3; Semel promise 2",
			"Keep the record for as long as the published policy says, counted from the end of the request.", sends(2), wantsRetention,
			withIntent(remembers)),
		row("EXP-02", LevelMust, byCount, "After the retention, a repetition is executed anew, or refused clearly; the old answer does not hide a new effect.",
			"draft -07 §2.3", "Let claim and answer expire together, in one step.", sends(1+expiryRounds), wantsRetention,
			withAttempt(expires)),
	}
	all[0].waits = func(c *Config) time.Duration { return c.Retention / 2 }
	all[1].waits = untilExpired
	return all
}

func wantsRetention(c *Config) string {
	return unless(c.Retention > 0, "the retention was not given (it has to be short for this check)")
}

// untilExpired returns the time after which a record should be gone.
func untilExpired(c *Config) time.Duration {
	return c.Retention + max(c.Retention/4, expiryMargin)
}

func remembers(ctx context.Context, p *probe, in *intent) finding {
	since, retention := p.before(ctx), p.run.config.Retention
	began := time.Now()
	first := p.send(ctx, "first", in)
	if !first.fine() {
		return incomplete("the first attempt was answered %s", first)
	}
	if !waiting.Sleep(ctx, retention/2) {
		return incomplete("%v", ctx.Err())
	}
	again := p.send(ctx, "within the retention", in)
	if took := time.Since(began); took >= retention {
		return incomplete("the two attempts took %s, longer than the retention: make that longer", took.Round(time.Millisecond))
	}
	if f := p.once(ctx, since, in); !f.ok() {
		return f
	}
	return p.repeats(first, again)
}

func expires(ctx context.Context, p *probe, a attempt) finding {
	began, last := time.Now(), a.first
	for range expiryRounds {
		if !waiting.Sleep(ctx, untilExpired(p.run.config)) {
			return incomplete("%v", ctx.Err())
		}
		last = p.send(ctx, "after the retention", a.in)
		if f, remembered := p.expired(ctx, a, last); !remembered {
			return f
		}
	}
	return incomplete("after %s the first attempt is still remembered (the answer is %s): is the retention really %s?",
		time.Since(began).Round(time.Millisecond), last, p.run.config.Retention)
}

// expired judges one attempt after the retention; remembered means that it shows nothing, because the record still
// exists.
func (p *probe) expired(ctx context.Context, a attempt, again reply) (f finding, remembered bool) {
	refused := p.refusedDuplicate(again)
	switch {
	case !again.answered():
		return incomplete("the repetition after the retention got %s", again), false
	case again.failure():
		return failed("the repetition after the retention is answered %s", again).blaming(again), false
	case !again.fine() && !refused:
		if f = p.once(ctx, a.since, a.in); !f.ok() {
			return f, false
		}
		return passedBut("the repetition after the retention is refused by %s", again), false
	}
	anew := p.effects(ctx, a.since, 2, 2, a.in)
	switch {
	case anew.verdict == Incomplete:
		return anew, false
	case anew.ok() && refused:
		return failed("the repetition after the retention is refused by %s, but was executed", again), false
	case anew.ok() && p.run.config.Profile.Repeat != repeatAccepted:
		if old := p.resembles(a.first, again); old.what != "" && !old.weak {
			return failed("the repetition after the retention was executed, but got the old answer: %s", old.what), false
		}
		return anew, false
	case anew.ok():
		return anew, false
	}
	if f = p.once(ctx, a.since, a.in); !f.ok() {
		return f, false
	}
	if again.fine() && p.rightRepeat(a.first, again).verdict == Fail {
		return passedBut("the repetition after the retention is answered %s, and finds the existing resource", again), false
	}
	return f, true
}
