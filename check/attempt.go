package check

import "context"

// attempt is an intent that was executed once, with the tally before it.
type attempt struct {
	in    *intent
	since tally
	first reply
}

func withIntent(run func(ctx context.Context, p *probe, in *intent) finding) checkFunc {
	return func(ctx context.Context, p *probe) finding {
		in, err := p.intent(ctx)
		if err != nil {
			return incomplete("%v", err)
		}
		return run(ctx, p, in)
	}
}

// executed sends a new intent. The finding is not a pass if the intent did not succeed.
func (p *probe) executed(ctx context.Context) (attempt, finding) {
	in, err := p.intent(ctx)
	if err != nil {
		return attempt{}, incomplete("%v", err)
	}
	a := attempt{in: in, since: p.before(ctx)}
	a.first = p.send(ctx, "first", in)
	if !a.first.fine() {
		p.run.hear(a.first)
		return a, incomplete("the first attempt was answered %s", a.first)
	}
	return a, passed()
}

func withAttempt(run func(ctx context.Context, p *probe, a attempt) finding) checkFunc {
	return func(ctx context.Context, p *probe) finding {
		a, f := p.executed(ctx)
		if !f.ok() {
			return f
		}
		return run(ctx, p, a)
	}
}

func pair(judge func(p *probe, first, again reply) finding) checkFunc {
	return withAttempt(func(ctx context.Context, p *probe, a attempt) finding {
		again := p.send(ctx, "again", a.in)
		if f := again.judged(); !f.ok() {
			return f
		}
		return judge(p, a.first, again)
	})
}

// oneIntent reports whether again was treated as a repetition of first: answered as one, with one effect. How the
// answers differ is left to the checks of answers.
func (p *probe) oneIntent(ctx context.Context, since tally, first, again reply, of ...*intent) finding {
	repeated := p.repetition(first, again)
	if !repeated.ok() && repeated.verdict != Echo {
		return repeated
	}
	if counted := p.counted(ctx, since, 1, 1, of...); !counted.ok() {
		return counted
	}
	if p.cannotTell(first) && !again.refused() || len(p.run.config.Counters) == 0 && p.run.config.Profile.Repeat == repeatAccepted {
		return incomplete("the answers do not tell whether it was executed again: say how effects are counted")
	}
	if repeated.verdict == Echo {
		return repeated
	}
	return passed()
}

// repetition is [probe.repeats] for answers that may be truncated or have the wrong status, which the checks of answers
// report. Where effects are counted anyway, the count shows what a service did that only has to accept or refuse.
func (p *probe) repetition(first, again reply) finding {
	f := p.repeats(first, again)
	switch profile := &p.run.config.Profile; {
	case f.verdict != Fail && f.verdict != Echo:
	case profile.Repeat == repeatSame:
		location := p.marks(first).location
		if again.fine() && (p.resembles(first, again).what != "" || location != "" && again.Header.Get("Location") == location) {
			return passed()
		}
	case len(p.run.config.Counters) > 0 && (again.fine() || again.in(profile.InFlight...)):
		return passed()
	}
	return f
}

// twoIntents reports whether second was treated as an intent of its own: it is executed and does not get the answer of
// first.
func (p *probe) twoIntents(ctx context.Context, since tally, first, second reply, of ...*intent) finding {
	if f := second.judged(); !f.ok() {
		return f
	}
	if !second.fine() {
		return failedBy(second, "the second intent is answered %s", second).blaming(second)
	}
	if given := p.isGiven(ctx, p.resembles(first, second), since, of...); !given.ok() {
		return given.after("the second intent gets the answer of the first: ")
	}
	if counted := p.counted(ctx, since, 2, 2, of...); !counted.ok() {
		return counted
	}
	if p.cannotTell(first) {
		return incomplete("the answers do not tell which intent they are for: say how effects are counted")
	}
	return passed()
}

// cannotTell reports whether neither counters nor the answer say what was executed.
func (p *probe) cannotTell(first reply) bool {
	return len(p.run.config.Counters) == 0 && p.marks(first).empty()
}
