package check

import (
	"cmp"
	"context"
	"net/http"
)

func uniqueValues() []Check {
	const advice = "Treat a violation of a unique index as an answer of the application, not as a crash: refuse with 409 and name the existing record, or return it."
	const source = "Semel promise 2; RFC 9110 §15.5.10"
	return []Check{
		row("UNIQ-01", LevelMust, byAnswer, "The same business values under two keys cause no server error, one after the other or at once.",
			source, advice, sends(4), wantsKey, sameValuesCauseNoError),
		row("UNIQ-02", LevelMust, byCount, "The same business values under another key are executed, refused, or answered with the existing record.",
			source, "Do not answer with a success that names a record which does not exist.", sends(2), wantsKey, sameValuesAreAnswered),
		row("UNIQ-03", LevelMust, byCount, "The same business values sent at once have no more effects than one after the other.",
			source, "Let a unique index decide, and not a look-up before the insert.",
			func(c *Config) int { return 2 + atOnce(c, racers) }, wantsKeyAndParallel, sameValuesAtOnce),
		row("UNIQ-04", LevelShould, byAnswer, "A refusal of the same business values names the existing record.",
			"RFC 9110 §15.5.10; RFC 9457", "Refuse with 409 or 422, and a body that names the existing record.", sends(2), wantsKey,
			refusalSaysWhatIsThere),
	}
}

func wantsKeyAndParallel(c *Config) string {
	return cmp.Or(wantsKey(c), wantsParallel(c))
}

// likeness returns an intent with the same values under another key.
func (p *probe) likeness(ctx context.Context, in *intent) (*intent, error) {
	fresh, err := p.run.newIntent(ctx, in.user)
	if err != nil {
		return nil, err
	}
	return in.renamed(fresh.key), nil
}

func (p *probe) likenesses(ctx context.Context, n int) ([]*intent, error) {
	in, err := p.intent(ctx)
	if err != nil {
		return nil, err
	}
	all := []*intent{in}
	for range n - 1 {
		twin, err := p.likeness(ctx, in)
		if err != nil {
			return nil, err
		}
		all = append(all, twin)
	}
	return all, nil
}

// sameValues is two intents with the same values, sent one after the other.
type sameValues struct {
	since         tally
	intents       []*intent
	first, second reply
}

// sendPair sends two intents with the same values. It is not ok if the second shows nothing.
func (p *probe) sendPair(ctx context.Context) (sameValues, finding) {
	both, err := p.likenesses(ctx, 2)
	if err != nil {
		return sameValues{}, incomplete("%v", err)
	}
	one := sameValues{since: p.before(ctx), intents: both}
	if one.first = p.send(ctx, "one key", both[0]); !one.first.fine() {
		return one, incomplete("the first attempt was answered %s", one.first)
	}
	if one.second = p.send(ctx, "another key, same values", both[1]); !one.second.answered() {
		return one, incomplete("the same values under another key got %s", one.second)
	}
	return one, passed()
}

// isCrash reports whether the answer is a server error, other than that the service is busy.
func isCrash(r reply) bool {
	return r.failure() && (r.Status != http.StatusServiceUnavailable || r.Header.Get("Retry-After") == "")
}

func sameValuesCauseNoError(ctx context.Context, p *probe) finding {
	one, f := p.sendPair(ctx)
	if !f.ok() {
		return f
	}
	if isCrash(one.second) {
		return failed("the same values under another key were answered %s", one.second).blaming(one.second)
	}
	if wantsParallel(p.run.config) != "" {
		return passed()
	}
	both, err := p.likenesses(ctx, 2)
	if err != nil {
		return incomplete("%v", err)
	}
	replies := p.volley(ctx, "key", both...)
	for _, r := range replies {
		switch {
		case isCrash(r):
			return failed("the same values under two keys at once were answered %s", countReplies(replies))
		case !r.answered():
			return incomplete("the same values under two keys at once: %s", countReplies(replies))
		}
	}
	return passed()
}

func sameValuesAreAnswered(ctx context.Context, p *probe) finding {
	one, f := p.sendPair(ctx)
	if !f.ok() {
		return f
	}
	return p.pairEffects(ctx, one)
}

// pairEffects judges the outcome of the second of a pair.
func (p *probe) pairEffects(ctx context.Context, one sameValues) finding {
	if !one.second.fine() {
		return p.effects(ctx, one.since, 1, 1, one.intents...)
	}
	there := p.resembles(one.first, one.second)
	if there.what != "" || p.marks(one.first).empty() {
		return p.effects(ctx, one.since, 1, 2, one.intents...)
	}
	f := p.effects(ctx, one.since, 2, 2, one.intents...)
	if f.verdict == Fail {
		f.reason = "the second was answered " + one.second.String() + ", and not with the existing record; but there was " + f.reason
	}
	return f
}

func sameValuesAtOnce(ctx context.Context, p *probe) finding {
	one, f := p.sendPair(ctx)
	if !f.ok() {
		return f
	}
	if f := p.pairEffects(ctx, one); !f.ok() {
		return incomplete("one after the other already: %s", f.reason)
	}
	n := atOnce(p.run.config, racers)
	most := int64(n)
	if p.effects(ctx, one.since, 1, 1, one.intents...).ok() {
		most = 1 // the application accepts such values once
	}
	all, err := p.likenesses(ctx, n)
	if err != nil {
		return incomplete("%v", err)
	}
	since := p.before(ctx)
	replies := p.volley(ctx, "key", all...)
	return remark(p.effects(ctx, since, 1, most, all...), replies).blaming(one.second)
}

func refusalSaysWhatIsThere(ctx context.Context, p *probe) finding {
	one, f := p.sendPair(ctx)
	switch second := one.second; {
	case !f.ok():
		return f
	case second.fine():
		return skipped("the application accepts the same values twice, or returns the existing record")
	case isCrash(second):
		return skipped("it is not a refusal, but %s (see UNIQ-01)", second)
	case !second.in(http.StatusConflict, http.StatusUnprocessableEntity):
		return failed("the refusal is %s, and not 409 or 422", second).blaming(second)
	case len(second.Body) == 0:
		return failed("the refusal, %s, has no body", second).blaming(second)
	}
	return passed()
}
