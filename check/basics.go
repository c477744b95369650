package check

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// recordIt is the advice of most of these checks.
const recordIt = "Record the key and the outcome before answering, in one transaction with the effect, and answer from the record."

func basics() []Check {
	return []Check{
		row(sampleCheck, LevelMust, byCount, "A request with a new key is executed once.",
			"draft -07 §2.6; Semel promise 1", "Fix the request first: it has to succeed on its own before anything else can be judged.",
			sends(0), always, executesOnce), // the sample is announced apart,
		row("BASIC-02", LevelMust, byCount, "A request that is sent again has no second effect.",
			"draft -07 §2.6; RFC 9110 §9.2.2; Semel promise 2", recordIt, sends(2), always, withAttempt(repeatsWithoutEffect)),
		row("BASIC-03", LevelMust, byAnswer, "A request that is sent again gets the same status.",
			"draft -07 §2.6; Semel promise 2", recordIt, sends(2), notRefused, pair(repeatsStatus)),
		row("BASIC-04", LevelMust, byAnswer, "A request that is sent again gets the same body: the same record.",
			"draft -07 §2.6; Semel promise 2", recordIt, sends(2), repeatsSame, pair(repeatsBody)),
		row("BASIC-05", LevelMust, byAnswer, "A request that is sent again gets the same Location.",
			"draft -07 §2.6; RFC 9110 §10.2.2; Semel promise 2",
			"Record the headers of the answer along with its body, Location above all.", sends(2), repeatsSame, pair(repeatsLocation)),
		row("BASIC-06", LevelMust, byCount, "Two keys are two intents: there are two effects, and the second does not get the answer of the first.",
			"draft -07 §2.2; Semel promise 1", "Look records up by the whole key, and never by the payload or the caller alone.", sends(2),
			wantsKey, withAttempt(tellsKeysApart)),
		row("BASIC-07", LevelShould, byAnswer, "The same body under another key is an intent of its own.",
			"draft -07 §2.2", "A caller that sends another key means it: do not treat equal payloads as repetitions.", sends(2), wantsKey,
			withAttempt(tellsEqualBodiesApart)),
		row("BASIC-08", LevelStrict, byAnswer, "A replayed answer says that it is one.",
			"the IETF working group's issue 46; docs/http.md", "Send Idempotent-Replayed: true with answers from the record.", sends(3),
			repeatsSame, withAttempt(marksReplays)),
		row("BASIC-09", LevelMust, byAnswer, "The first answer does not say that it is a replay.",
			"docs/http.md", "Mark only answers that come from the record.", sends(0), always, leavesFirstUnmarked),
		row("BASIC-10", LevelMust, byCount, "A request that is sent six times has one effect, and all repetitions are answered alike.",
			"draft -07 §2.6; Semel promise 2", "A repetition must not change or remove the record.", sends(1+manyRepetitions), always,
			withAttempt(repeatsOften)),
		row("BASIC-11", LevelStrict, byAnswer, "The service publishes how its keys work and how long it remembers them.",
			"draft -07 §2.3 and §2.5",
			"Link refusals to the policy (Link: rel=\"describedby\"), or publish it at /.well-known/idempotency, with the retention.",
			sends(2), wantsPolicy, withAttempt(publishesPolicy)),
		row("BASIC-12", LevelShould, byAnswer, "A request that is sent again gets the same headers about the content.",
			"draft -07 §2.6; RFC 9110 §8; Semel promise 2", "Record the headers of the answer along with its body.", sends(2), repeatsSame,
			pair(repeatsHeaders)),
		row("BASIC-13", LevelMust, byAnswer, "The answer to a duplicate says that it is one.",
			"docs/http.md", "Refuse a duplicate with a status of its own, so that the caller knows that the first request arrived.",
			sends(2),
			func(c *Config) string {
				return unless(c.Profile.Repeat == repeatRefused, "the profile does not refuse duplicates")
			},
			pair((*probe).repeats)),
	}
}

// manyRepetitions is the number of repetitions in BASIC-10.
const manyRepetitions = 5

func repeatsSame(c *Config) string {
	return unless(c.Profile.Repeat == repeatSame, "repetitions do not get the first answer with this profile")
}

func notRefused(c *Config) string {
	return unless(c.Profile.Repeat != repeatRefused, "the profile refuses duplicates")
}

func executesOnce(ctx context.Context, p *probe) finding {
	if idle := p.run.sample.idle; idle != "" {
		return finding{verdict: Fail, reason: idle, off: fewerEffects}
	}
	for _, r := range p.run.sample.replies() {
		switch {
		case r.busy():
			return incomplete("even undisturbed, the request is answered %s: run again when the service is less busy, or with a lower --rate", r).saying(r)
		case !r.fine():
			return p.onTheWay(ctx, failed("the request is answered %s", r).saying(r), r)
		}
	}
	return p.run.sample.effects
}

func repeatsWithoutEffect(ctx context.Context, p *probe, a attempt) finding {
	again := p.send(ctx, "again", a.in)
	return p.onTheWay(ctx, p.once(ctx, a.since, a.in), again)
}

func repeatsStatus(p *probe, first, again reply) finding {
	if p.run.config.Profile.Repeat == repeatAccepted {
		return p.repeats(first, again)
	}
	return p.explains(first, again)
}

func repeatsBody(p *probe, first, again reply) finding {
	c := p.compare(first, again)
	switch {
	case !c.same():
		return p.explains(first, again)
	case !p.comparedWhole(first, again).ok():
		return p.comparedWhole(first, again)
	}
	return passedBut("%s", c.remark())
}

func repeatsLocation(p *probe, first, again reply) finding {
	if first.Header.Get("Location") == "" {
		return skipped("the answer has no Location")
	}
	return p.explains(first, again)
}

// repeatsHeaders compares the headers about the content. It leaves out those about the exchange, the connection or the
// session: Date, Age, Via, Set-Cookie, Server-Timing, request ids, rate limits and the like.
func repeatsHeaders(p *probe, first, again reply) finding {
	for _, name := range []string{"Content-Type", "Content-Language", "Content-Location", "Content-Disposition", "ETag", "Last-Modified", "Link"} {
		a, b := headerText(first, name), headerText(again, name)
		if a != b && !p.ignoresHeader(name) {
			return failed("%s was %s, and then %s", name, quote(a, name), quote(b, name))
		}
	}
	return passed()
}

// headerText joins the lines of a header, and ignores that a compressing proxy made a validator weak.
func headerText(r reply, name string) string {
	return strings.TrimPrefix(strings.Join(r.Header.Values(name), ", "), "W/")
}

func tellsKeysApart(ctx context.Context, p *probe, a attempt) finding {
	other, err := p.intent(ctx)
	if err != nil {
		return incomplete("%v", err)
	}
	second := p.send(ctx, "another intent", other)
	return p.twoIntents(ctx, a.since, a.first, second, a.in, other)
}

func tellsEqualBodiesApart(ctx context.Context, p *probe, a attempt) finding {
	fresh, err := p.intent(ctx) // for its key, which may have to be minted
	if err != nil {
		return incomplete("%v", err)
	}
	other := a.in.renamed(fresh.key)
	second := p.send(ctx, "the same under another key", other)
	varies := p.run.config.Template.Varies()
	switch {
	case varies && second.refused() && !second.in(http.StatusTooManyRequests):
		if counted := p.counted(ctx, a.since, 1, 1, a.in, other); !counted.ok() {
			return counted
		}
		return skipped("the application refuses the same values twice (%s)", second)
	case varies && second.fine() && second.Status != a.first.Status && p.resembles(a.first, second).what != "":
		return skipped("the application finds what has the same values (%s)", second)
	}
	return p.twoIntents(ctx, a.since, a.first, second, a.in, other)
}

func marksReplays(ctx context.Context, p *probe, a attempt) finding {
	first, second := p.send(ctx, "again", a.in), p.send(ctx, "once more", a.in)
	for _, r := range []reply{first, second} {
		switch {
		case !r.judged().ok():
			return r.judged()
		case !r.fine() && !p.refusedDuplicate(r):
			return p.refusedAsBefore(failed("a repetition is answered %s: that is a refusal, and not a replay", r), r)
		}
	}
	if saysReplayed(first) && saysReplayed(second) {
		return passed()
	}
	for name := range first.Header {
		_, both := second.Header[name]
		_, before := a.first.Header[name]
		if both && !before && !aboutExchange(name) {
			return passedBut("marked by %s, which only replays have", name)
		}
	}
	return failed("no header of a replay says that it is one")
}

// aboutExchange reports whether a header may differ with every answer.
func aboutExchange(name string) bool {
	return slices.Contains([]string{
		"Age", "Connection", "Content-Length", "Date", "Keep-Alive", "Retry-After", "Server-Timing", "Set-Cookie", "Transfer-Encoding", "Vary", "Via",
	}, name) || strings.Contains(name, "Ratelimit") || strings.Contains(name, "Rate-Limit")
}

// saysReplayed reports whether the answer says, in one of the usual ways, that it is a replay.
func saysReplayed(r reply) bool {
	for _, name := range []string{"Idempotent-Replayed", "Idempotency-Replayed", "X-Idempotent-Replayed", "X-Idempotency-Replayed", "Idempotent-Replay"} {
		if value := strings.ToLower(r.Header.Get(name)); value == "true" || value == "1" || value == "?1" {
			return true
		}
	}
	return strings.EqualFold(r.Header.Get("Idempotency-Status"), "replayed")
}

func leavesFirstUnmarked(_ context.Context, p *probe) finding {
	for _, r := range p.run.sample.replies() {
		if !r.answered() {
			return incomplete("the sample was answered %s", r)
		}
		if saysReplayed(r) {
			return failed("the answer to a new intent is marked as a replay")
		}
	}
	return passed()
}

func repeatsOften(ctx context.Context, p *probe, a attempt) finding {
	repeated := passed()
	for i := range manyRepetitions {
		f := p.repeats(a.first, p.send(ctx, fmt.Sprintf("repetition %d", i+1), a.in))
		if f.ok() || f.verdict == Echo && !repeated.ok() {
			continue
		}
		if repeated = f.after(fmt.Sprintf("repetition %d: ", i+1)); f.verdict != Echo {
			break
		}
	}
	if counted := p.once(ctx, a.since, a.in); !counted.ok() {
		return counted
	}
	return repeated
}
