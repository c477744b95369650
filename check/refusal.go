package check

import (
	"context"

	"github.com/semel-dev/semel/check/wire"
)

func refusals() []Check {
	return []Check{
		{
			ID: "ERR-01", Group: Failures, Level: LevelMust, NeedsOracle: true,
			Says:   "A request that was refused, sent again as it is, is refused again, and has no effect.",
			Source: "draft -07 §2.7", Advice: "Store the refusal, or judge the request anew; never take a record without an answer for a success.",
			requests: sends(2),
			unfit:    canBeBroken, run: afterSample(refusedAgain),
		},
		{
			ID: "ERR-02", Group: Failures, Level: LevelMust, NeedsOracle: true,
			Says:   "A refused request that is mended, under the same key, is refused, or executed once.",
			Source: "draft -07 §2.7; Semel promise 6", Advice: "Release the key of a refused request, or refuse the mended one; a success has to have an effect.",
			requests: sends(2),
			unfit:    canBeBroken, run: afterSample(mendedIsHonest),
		},
		{
			ID: "ERR-05", Group: Failures, Level: LevelMust, NeedsOracle: true,
			Says:   "That the caller was not logged in is not remembered: with credentials, the same key is executed.",
			Source: "Semel promise 5; RFC 9110 §15.5.2", Advice: "Ask who the caller is before the key is claimed, or release the key after 401 and 403.",
			requests: sends(1 + settledTries),
			unfit:    always, run: afterSample(loginIsEnough),
		},
	}
}

// canBeBroken is for checks that need a request which is refused.
func canBeBroken(c *Config) string {
	if c.Invalid == nil && len(c.Template.Body) < 2 {
		return "the request has no body that could be broken, and no invalid request was given"
	}
	return ""
}

// broken renders an attempt of the intent that the service should refuse.
func (p *probe) broken(in *intent) (*wire.Request, error) {
	config := p.run.config
	if config.Invalid != nil {
		return p.requestOf(config.Invalid, in)
	}
	t := config.Template
	switch config.Key.In {
	case KeyInJSON: // it has to remain an object that has the key
		t.Body = []byte("{}")
	case KeyInForm:
		t.Body = nil
	case KeyInHeader, KeyInQuery, KeyInTemplate, KeyNowhere:
		t.Body = t.Body[:len(t.Body)/2]
	}
	return p.requestOf(&t, in)
}

// refuse sends a request that should be refused. Not ok: there is nothing to
// judge.
func (p *probe) refuse(ctx context.Context, in *intent) (reply, finding) {
	r, err := p.broken(in)
	if err != nil {
		return reply{}, incomplete("%v", err)
	}
	got := p.deliver(ctx, "invalid", r, &wire.Manner{})
	switch {
	case !got.answered():
		return got, incomplete("the invalid request got %s", got)
	case got.fine():
		return got, skipped("what should be invalid is answered %s: give an invalid request", got)
	case got.Status >= 500:
		return got, incomplete("the invalid request is not refused, but answered %s: give another one", got)
	}
	return got, passed()
}

func refusedAgain(ctx context.Context, p *probe) finding {
	in, err := p.intent(ctx)
	if err != nil {
		return incomplete("%v", err)
	}
	since := p.before(ctx)
	first, f := p.refuse(ctx, in)
	if !f.ok() {
		return f
	}
	r, err := p.broken(in)
	if err != nil {
		return incomplete("%v", err)
	}
	again := p.deliver(ctx, "invalid again", r, &wire.Manner{})
	switch {
	case !again.answered():
		return failed("refused by %s at first, and then there was %s", first, again)
	case again.Status < 400 || again.Status >= 500:
		return failed("refused by %s at first, and then answered %s", first, again)
	}
	return p.effects(ctx, since, 0, 0, in)
}

func mendedIsHonest(ctx context.Context, p *probe) finding {
	in, err := p.intent(ctx)
	if err != nil {
		return incomplete("%v", err)
	}
	since := p.before(ctx)
	first, f := p.refuse(ctx, in)
	if !f.ok() {
		return f
	}
	mended := p.send(ctx, "mended", in)
	switch {
	case !mended.answered(), mended.Status >= 500:
		return failed("refused by %s at first; mended, the request was answered %s", first, mended)
	case mended.fine():
		f = p.once(ctx, since, in)
	default:
		f = p.effects(ctx, since, 0, 0, in)
	}
	if f.verdict == Fail {
		f.reason = "the mended request was answered " + mended.String() + ", and had " + f.reason
	}
	return f
}

func loginIsEnough(ctx context.Context, p *probe) finding {
	in, err := p.intent(ctx)
	if err != nil {
		return incomplete("%v", err)
	}
	out, differs := p.out(in)
	if !differs {
		return skipped("the request says nowhere in its head who the caller is")
	}
	since := p.before(ctx)
	refused := p.send(ctx, "logged out", out)
	switch {
	case !refused.answered(), refused.Status >= 500:
		return incomplete("logged out, the request was answered %s", refused)
	case refused.Status < 300:
		return skipped("the service asks for no credentials: %s", refused)
	case refused.Status < 400 && p.effects(ctx, since, 0, 0, in).verdict == Fail: // it did not lead to the log-in
		return skipped("the service asks for no credentials: %s, with an effect", refused)
	}
	if got := p.untilSettled(ctx, "logged in", in); !got.fine() {
		return failed("refused by %s at first, and with credentials by %s", refused, got)
	}
	return p.once(ctx, since, in)
}
