package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/semel-dev/semel/check/wire"
)

// longKeys returns the lengths that KEY-06 tries, in bytes. They are common limits of columns and indexes.
func longKeys() []int { return []int{64, 128, 255, 256, 300} }

const (
	draftKey = 255  // bytes; a common limit
	hugeKey  = 8192 // bytes, more than any key needs
)

// Advice of several checks.
const (
	compareBytes = "Compare keys byte for byte: use a binary column (VARBINARY, bytea), or a digest of the key."
	parseOnce    = "Read the header as a String of RFC 8941, in one place, before anything else is done."
)

// keys returns the checks of how a key is spelled. They mean nothing if the usual spelling does not succeed.
func keys() []Check {
	return []Check{
		row("KEY-01", LevelShould, byCount, "A request without a key is executed, or refused without an effect.",
			"draft -07 §2.7", "Answer a missing key by 400 and a problem document, before anything is done; do not take something else for the key.", sends(2), wantsHeader,
			withIntent(takesNoKey)),
		row("KEY-02", LevelMust, byAnswer, "An empty key is not one key that all callers share.",
			"draft -07 §2.1; Semel promise 5", "Refuse an empty key, or treat it as none.", sends(4), wantsChosenKey, takesNoEmptyKey),
		row("KEY-03", LevelShould, byAnswer, `"abc" and abc are the same key.`,
			"RFC 8941 §3.3.3; docs/http.md", parseOnce, sends(2), wantsQuoted, withIntent(spelledTwice("%s", `"%s"`, true))),
		row("KEY-04", LevelShould, byCount, "A request with two keys is refused without an effect.",
			"draft -07 §2.1; RFC 8941 §4.2", "Read all lines of the header, not just the first.", sends(cutTries), wantsUnsigned,
			refusesKey("two header lines", inTwoLines)),
		row("KEY-05", LevelMust, byAnswer, "A key of 255 bytes works like any other, or is refused each time.",
			"docs/http.md", "Check the length before anything is done.", sends(2*cutTries), wantsChosenKey, takesLongKey(draftKey)),
		row("KEY-06", LevelMust, byAnswer, "Long keys that differ only at their end are refused, or are two keys.",
			"Semel promise 5", "Never truncate a key: refuse one that is too long, or keep its digest.", sends(2*len(longKeys())),
			wantsChosenKey, cutsNoKey),
		row("KEY-07", LevelShould, byAnswer, "A key of 8192 bytes is refused by 4xx, or works.",
			"RFC 9110 §5.4; Semel promise 8", "Check the length before anything is done, and answer 400.", sends(2*cutTries),
			wantsHeader, takesLongKey(hugeKey)),
		row("KEY-08", LevelShould, byCount, "A key with a control byte is refused by 4xx, without an effect.",
			"RFC 8941 §3.3.3; RFC 9110 §5.5", parseOnce, sends(cutTries), wantsHeader, refusesKey("a control byte in the key", withControlByte)),
		row("KEY-09", LevelMust, byCount, "Keys that differ only in an accent are refused, or are two keys.",
			"RFC 8941 §3.3.3; Semel promise 5", compareBytes, sends(3), wantsChosenKey,
			lookalikes(false, func(key string) (string, string) { return key + "-é", key + "-e" })),
		row("KEY-10", LevelMust, byCount, "Keys that differ only in case are refused, or are two keys.",
			"Semel promise 5", compareBytes, sends(3), wantsChosenKey,
			lookalikes(false, func(key string) (string, string) { return strings.ToUpper(key), strings.ToLower(key) })),
		row("KEY-11", LevelMust, byCount, "Quoted keys that differ only in a trailing space are refused, or are two keys.",
			"RFC 8941 §3.3.3; Semel promise 5", compareBytes, sends(3), wantsChosenKey,
			lookalikes(true, func(key string) (string, string) { return key + " ", key })),
		row("KEY-12", LevelStrict, byAnswer, "A malformed structured value is refused by 400.",
			"draft -07 §2.1; RFC 8941 §4.2", parseOnce, sends(2*cutTries), wantsQuoted, refusesMalformed),
		row("KEY-13", LevelShould, byAnswer, "Parameters after a quoted key are ignored.",
			"RFC 8941 §3.1.2", parseOnce, sends(2), wantsQuoted, withIntent(spelledTwice(`"%s"`, `"%s";v=1`, false))),
		row("KEY-14", LevelStrict, byAnswer, "A refusal of a key is a problem document, or links to the policy.",
			"draft -07 §2.7; RFC 9457", "Answer with application/problem+json, or with Link: rel=\"describedby\".", sends(3), wantsHeader,
			explainsKeys),
	}
}

// wantsChosenKey requires keys that the client may choose freely, which excludes keys in a path.
func wantsChosenKey(c *Config) string {
	return cmp.Or(
		unless(c.Key.In != keyInTemplate, "the key is a part of the request itself"),
		unless(!c.Template.Has("minted"), "the service hands out its keys"),
		wantsKey(c),
	)
}

// wantsUnsigned requires a header to which lines can be added, which a signing sender never does.
func wantsUnsigned(c *Config) string {
	return cmp.Or(unless(!c.Profile.Webhook, "a delivery has the one id that its sender signed"), wantsHeader(c))
}

func wantsQuoted(c *Config) string {
	return cmp.Or(wantsHeader(c), unless(c.Key.Quoted, "keys are raw with this profile"))
}

func (p *probe) spelled(value string) change { return withHeader(p.run.config.Key.Name, value) }

// refusedWell reports whether a request was refused with 4xx and had no effect.
func (p *probe) refusedWell(ctx context.Context, since tally, r reply, in *intent) finding {
	switch {
	case errors.Is(r.err, wire.ErrCut):
		return failed("the connection was closed without an answer %d times", cutTries)
	case !r.judged().ok():
		return r.judged()
	case !r.refused():
		return failedBy(r, "it is answered %s", r)
	}
	return p.counted(ctx, since, 0, 0, in)
}

// cutTries limits how often a request is sent that may be refused before it is read.
const cutTries = 3

// sendPastCuts sends a request that a service may refuse before it has read it all. A server that answers early and
// then closes may lose its answer to a TCP reset (RFC 9112 §9.6), so a request without an answer is sent again.
func (p *probe) sendPastCuts(ctx context.Context, label string, in *intent, changes ...change) reply {
	var r reply
	for range cutTries {
		if r = p.send(ctx, label, in, changes...); !errors.Is(r.err, wire.ErrCut) {
			break
		}
	}
	return r
}

// expectRefusal sends a new intent with a change to its key that must be refused.
func (p *probe) expectRefusal(ctx context.Context, label string, spell spelling) (reply, finding) {
	in, err := p.intent(ctx)
	if err != nil {
		return reply{}, incomplete("%v", err)
	}
	since := p.before(ctx)
	r := p.sendPastCuts(ctx, label, in, spell(p, in))
	return r, p.refusedWell(ctx, since, r, in)
}

// spelling spells the key of an intent.
type spelling func(*probe, *intent) change

func inTwoLines(p *probe, in *intent) change {
	key := p.run.config.Key
	return func(r *wire.Request) { r.Add(key.Name, key.spell(in.key+"-2")) }
}

func withControlByte(p *probe, in *intent) change {
	return p.spelled(p.run.config.Key.spell(in.key + "\x01"))
}

func refusesKey(label string, spell spelling) checkFunc {
	return func(ctx context.Context, p *probe) finding {
		_, f := p.expectRefusal(ctx, label, spell)
		return f
	}
}

func takesNoKey(ctx context.Context, p *probe, in *intent) finding {
	since := p.before(ctx)
	r := p.send(ctx, "without a key", in, withoutHeader(p.run.config.Key.Name))
	missing := p.run.config.Profile.Missing
	switch {
	case r.fine():
		return p.keylessApart(ctx, since, in, r)
	case r.refused() && len(missing) > 0 && !r.in(missing...):
		return failed("a missing key is refused by %s, and not by %s", r, statusList(missing))
	}
	return p.refusedWell(ctx, since, r, in)
}

// keylessApart sends another intent without a key after the first was accepted: the two must not be one. Counters may
// look for the key.
func (p *probe) keylessApart(ctx context.Context, since tally, in *intent, first reply) finding {
	other, err := p.intent(ctx)
	if err != nil {
		return incomplete("%v", err)
	}
	second := p.send(ctx, "another intent without a key", other, withoutHeader(p.run.config.Key.Name))
	if f := second.judged(); !f.ok() {
		return f
	}
	if !second.fine() {
		return failedBy(second, "without a key, one intent is answered %s and another %s", first, second)
	}
	least := int64(0)
	if seesAll(p.run.config.Counters) {
		least = 2
	}
	if given := p.isGiven(ctx, p.resembles(first, second), since, in, other); given.verdict == Fail {
		return given.after("without keys, the second intent gets the answer of the first: ")
	}
	return p.counted(ctx, since, least, 2, in, other)
}

func takesNoEmptyKey(ctx context.Context, p *probe) finding {
	key := p.run.config.Key
	f := p.emptyKeys(ctx, func(r *wire.Request) {
		if key.In == keyInHeader {
			r.Set(key.Name, "")
		}
	})
	if f.ok() && key.In == keyInHeader && key.Quoted { // where keys are raw, these are two bytes like any other
		return p.emptyKeys(ctx, p.spelled(`""`))
	}
	return f
}

// emptyKeys sends two intents that share nothing but an empty key.
func (p *probe) emptyKeys(ctx context.Context, spell change) finding {
	both, err := p.intents(ctx, 2)
	if err != nil {
		return incomplete("%v", err)
	}
	a, b := both[0].renamed(""), both[1].renamed("")
	since := p.before(ctx)
	first := p.send(ctx, "an empty key", a, spell)
	second := p.send(ctx, "an empty key with another intent", b, spell)
	switch {
	case !first.judged().ok():
		return first.judged()
	case first.fine():
		return p.twoIntents(ctx, since, first, second, a, b)
	case first.refused() && second.refused():
		return p.counted(ctx, since, 0, 0, a, b)
	case !second.judged().ok():
		return second.judged()
	}
	return failed("with an empty key, one request is answered %s and another %s", first, second)
}

// spelledTwice returns a check that sends one intent with two spellings of the same key. If lenient, the second spelling
// may be refused.
func spelledTwice(one, other string, lenient bool) func(context.Context, *probe, *intent) finding {
	return func(ctx context.Context, p *probe, in *intent) finding {
		since := p.before(ctx)
		first := p.send(ctx, "first", in, p.spelled(fmt.Sprintf(one, in.key)))
		switch {
		case !first.judged().ok():
			return first.judged()
		case first.refused():
			return skipped("a key spelled as "+one+" is refused (%s)", "abc", first)
		case !first.fine():
			return failedBy(first, "a key spelled as "+one+" is answered %s", "abc", first)
		}
		again := p.send(ctx, "the same key in another spelling", in, p.spelled(fmt.Sprintf(other, in.key)))
		repeated := p.oneIntent(ctx, since, first, again, in)
		if lenient && again.refused() && repeated.verdict == Fail {
			if counted := p.counted(ctx, since, 1, 1, in); !counted.ok() {
				return counted
			}
			return skipped("a key spelled as "+other+" is refused (%s)", "abc", again)
		}
		return repeated
	}
}

func refusesMalformed(ctx context.Context, p *probe) finding {
	for _, text := range []string{`"%s`, `"%s", "b"`} {
		r, f := p.expectRefusal(ctx, "a malformed key", func(p *probe, in *intent) change {
			return p.spelled(fmt.Sprintf(text, in.key))
		})
		said := fmt.Sprintf(text, "abc")
		switch {
		case !f.ok():
			return f.after(said + ": ")
		case !r.in(400):
			return failed("%s is refused by %s, and not by 400", said, r)
		}
	}
	return passed()
}

// takesLongKey sends a key of that length twice.
func takesLongKey(length int) checkFunc {
	return withIntent(func(ctx context.Context, p *probe, in *intent) finding {
		in = in.renamed(stretched(in.key, length))
		since := p.before(ctx)
		first := p.sendPastCuts(ctx, "a long key", in)
		if !first.fine() {
			f := p.refusedWell(ctx, since, first, in)
			if f.ok() {
				f = p.refusedWell(ctx, since, p.sendPastCuts(ctx, "again", in), in)
			}
			if f.failure {
				f.cause = longKey
			}
			return f
		}
		again := p.sendPastCuts(ctx, "again", in)
		if errors.Is(again.err, wire.ErrCut) {
			return failed("the connection was closed without an answer")
		}
		return p.oneIntent(ctx, since, first, again, in)
	})
}

// stretched pads a key to that many bytes. Different keys stay different.
func stretched(key string, length int) string {
	return key + strings.Repeat("k", max(0, length-len(key)))
}

func explainsKeys(ctx context.Context, p *probe) finding {
	refusals := 0
	for _, one := range []struct {
		label string
		spell spelling
	}{
		{"an empty key", func(p *probe, _ *intent) change { return p.spelled("") }},
		{"without a key", func(p *probe, _ *intent) change { return withoutHeader(p.run.config.Key.Name) }},
		{"two header lines", inTwoLines},
	} {
		in, err := p.intent(ctx)
		if err != nil {
			return incomplete("%v", err)
		}
		r := p.send(ctx, one.label, in, one.spell(p, in))
		if !r.refused() {
			continue
		}
		refusals++
		if !explained(r) {
			return failed("%s: the refusal (%s) neither is a problem document nor links to the policy", one.label, r)
		}
	}
	if refusals == 0 {
		return skipped("no key is refused")
	}
	return passed()
}
