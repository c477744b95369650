package check

import "context"

func basics() []Check {
	return []Check{
		{
			ID: "BASIC-01", Group: Basics, Level: LevelMust,
			Says:     "A request with a new key is executed once.",
			Source:   "draft -07 §2.6; Semel promise 1",
			Advice:   "Look at the request: it has to succeed by itself before anything else can be judged.",
			requests: sends(0), // the sample is announced apart
			unfit:    always, run: executesOnce,
		},
		{
			ID: "BASIC-02", Group: Basics, Level: LevelMust, NeedsOracle: true,
			Says:     "A request that is sent again has no second effect.",
			Source:   "draft -07 §2.6; RFC 9110 §9.2.2; Semel promise 2",
			Advice:   "Record the key and the outcome before answering, in one transaction with the effect, and answer from the record.",
			requests: sends(2),
			unfit:    always, run: repeatsWithoutEffect,
		},
	}
}

func executesOnce(_ context.Context, p *probe) finding {
	s := p.run.sample
	for _, r := range []reply{s.first, s.other} {
		if !r.fine() {
			return failed("the request is answered %s", r)
		}
	}
	return s.effects
}

func repeatsWithoutEffect(ctx context.Context, p *probe) finding {
	in, err := p.intent(ctx)
	if err != nil {
		return incomplete("%v", err)
	}
	since := p.before(ctx)
	if first := p.send(ctx, "first", in); !first.fine() {
		return incomplete("the first attempt was answered %s", first)
	}
	p.send(ctx, "again", in)
	return p.once(ctx, since, in)
}
