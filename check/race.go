package check

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/semel-dev/semel/check/wire"
	"github.com/semel-dev/semel/internal/waiting"
)

// The numbers of racers. Each is also bounded by [Config.Parallel].
const (
	racers        = 10
	manyKeys      = 20
	racersPerKey  = 5
	latecomers    = 3 // keys without a winner in RACE-04 that are tried once more
	refusalPause  = 250 * time.Millisecond
	raceAdvice    = "Claim the key in one atomic step, such as INSERT … ON CONFLICT DO NOTHING, before the work begins; a look-up followed by an insert lets two in."
	raceSource    = "draft -07 §2.6; Semel promise 1"
	refusedSource = "draft -07 §2.7; RFC 9110 §15.5.10"
)

func concurrency() []Check {
	rush := func(id, says string, n func(*Config) int) Check {
		most := func(c *Config) int { return n(c) + settledTries }
		return row(id, LevelMust, byCount, says, raceSource, raceAdvice, most, wantsParallel, oneEffect(n))
	}
	return []Check{
		rush("RACE-01", "Two attempts of one intent at once have one effect.", fixed(2)),
		rush("RACE-02", "Ten attempts of one intent at once have one effect.", fixed(racers)),
		rush("RACE-03", "As many attempts at once as are allowed have one effect.", func(c *Config) int { return c.Parallel }),
		row("RACE-04", LevelMust, byCount, "Twenty intents at once, each attempted five times, have one effect each.",
			raceSource, raceAdvice, sends(manyKeys*racersPerKey+latecomers*settledTries), wantsParallel, oneEffectEach),
		row("RACE-05", LevelMust, byCount, "Ten attempts at once as streams of one HTTP/2 connection have one effect.",
			raceSource+"; RFC 9113 §5", raceAdvice, sends(racers+settledTries), wantsParallel, withIntent(oneEffectOverH2)),
		row("RACE-06", LevelMust, byAnswer, "Every attempt of a race gets the first answer, or a clear refusal.",
			refusedSource,
			"Let the others wait for the first answer, or refuse them with 409 and Retry-After; a lost race is not a server error.",
			func(c *Config) int { return atOnce(c, racers) + settledTries }, wantsParallel, withIntent(racersAreTold)),
		row("RACE-07", LevelStrict, byAnswer, "A refusal of an attempt whose twin is running says when to retry.",
			"RFC 9110 §10.2.3", "Send Retry-After with the refusal, in seconds.", func(c *Config) int { return atOnce(c, racers) },
			wantsParallel, withIntent(refusalsSayWhen)),
		row("RACE-08", LevelMust, byCount, "Different intents at once do not refuse one another.",
			"draft -07 §2.6; Semel promise 5", "Lock the key, not the operation, the table or the caller.",
			func(c *Config) int { return 2 * atOnce(c, racers) }, wantsParallel, othersAreNotRefused),
		row("RACE-09", LevelMust, byAnswer, "An attempt that was refused in a race gets the first answer when it retries.",
			"draft -07 §2.6; Semel promise 2", "A refused attempt must leave the record of the running attempt alone.",
			func(c *Config) int { return 2*atOnce(c, racers) + 2*settledTries }, wantsParallel, withIntent(losersComeAgain)),
	}
}

// fixed returns n, bounded by the requests allowed at once.
func fixed(n int) func(*Config) int { return func(c *Config) int { return atOnce(c, n) } }

func (p *probe) race(ctx context.Context, in *intent, n int) []reply {
	return p.volley(ctx, "racer", slices.Repeat([]*intent{in}, n)...)
}

// outcomeOf returns the outcome of an intent: the first success among the replies, or the reply to a later attempt, as
// [probe.untilSettled] sends it.
func (p *probe) outcomeOf(ctx context.Context, in *intent, replies []reply) reply {
	if at := slices.IndexFunc(replies, reply.fine); at >= 0 {
		return replies[at]
	}
	return p.untilSettled(ctx, "again", in)
}

func oneEffect(n func(*Config) int) checkFunc {
	return withIntent(func(ctx context.Context, p *probe, in *intent) finding {
		since := p.before(ctx)
		return p.cameToOne(ctx, since, in, p.race(ctx, in, n(p.run.config)))
	})
}

// cameToOne judges whether a race had exactly one effect. If no attempt was answered, even later, there may be none.
func (p *probe) cameToOne(ctx context.Context, since tally, in *intent, replies []reply) finding {
	last := p.outcomeOf(ctx, in, replies)
	if last.answered() {
		return remark(p.once(ctx, since, in), replies)
	}
	if f := p.effects(ctx, since, 0, 1, in); !f.ok() {
		return remark(f, replies)
	}
	return incomplete("no attempt was answered: %s, and later %s", countReplies(replies), last)
}

// remark adds the answers of the racers to a failure.
func remark(f finding, replies []reply) finding {
	if f.verdict == Fail {
		f.reason += "; the answers were " + countReplies(replies)
	}
	return f
}

func oneEffectEach(ctx context.Context, p *probe) finding {
	all, err := p.intents(ctx, manyKeys)
	if err != nil {
		return incomplete("%v", err)
	}
	since := p.before(ctx)
	each := atOnce(p.run.config, racersPerKey)
	var replies []reply
	late := 0
	for some := range slices.Chunk(all, max(1, p.run.config.Parallel/each)) {
		// The attempts of one intent are as far apart as possible.
		got := p.volley(ctx, "racer", slices.Repeat(some, each)...)
		replies = append(replies, got...)
		for i, in := range some {
			mine := everyNth(got, i, len(some))
			if slices.ContainsFunc(mine, p.settled) {
				continue
			}
			if late++; late > latecomers {
				return incomplete("more than %d of %d intents succeeded in none of their attempts: %s", latecomers, manyKeys, countReplies(replies))
			}
			p.untilSettled(ctx, "again", in)
		}
	}
	return remark(p.effectEach(ctx, since, all), replies)
}

// effectEach expects one effect for each intent, as exactly as the counters can tell.
func (p *probe) effectEach(ctx context.Context, since tally, all []*intent) finding {
	f := p.effects(ctx, since, int64(len(all)), int64(len(all)), all...)
	if seesAll(p.run.config.Counters) {
		return f
	}
	for _, in := range all {
		if f.ok() {
			f = p.once(ctx, since, in)
		}
	}
	return f
}

// everyNth returns the replies at first, first+n, first+2n and so on.
func everyNth(replies []reply, first, n int) []reply {
	var picked []reply
	for i := first; i < len(replies); i += n {
		picked = append(picked, replies[i])
	}
	return picked
}

func oneEffectOverH2(ctx context.Context, p *probe, in *intent) finding {
	r, err := p.request(in)
	if err != nil {
		return incomplete("%v", err)
	}
	over, err := wire.OpenH2(ctx, r.URL, p.run.config.TLS)
	switch {
	case errors.Is(err, wire.ErrNoH2):
		return skipped("%v", wire.ErrNoH2)
	case err != nil:
		return incomplete("%v", err)
	}
	defer func() { _ = over.Close() }()
	since := p.before(ctx)
	replies := make([]reply, atOnce(p.run.config, racers))
	each(len(replies), func(i int) { replies[i] = p.stream(ctx, over, in, r) })
	return p.cameToOne(ctx, since, in, replies)
}

// stream sends a request over HTTP/2, counts it, and keeps it as evidence.
func (p *probe) stream(ctx context.Context, over *wire.H2, in *intent, r *wire.Request) reply {
	if err := p.spend(); err != nil {
		return reply{err: err}
	}
	within, cancel := context.WithTimeout(ctx, p.run.config.Timeout)
	defer cancel()
	began := time.Now()
	answer, err := over.Do(within, r)
	got := reply{Answer: answer, err: err, request: r, of: in}
	p.keep("stream", began, got)
	return got
}

func racersAreTold(ctx context.Context, p *probe, in *intent) finding {
	replies := p.race(ctx, in, atOnce(p.run.config, racers))
	for _, r := range replies {
		switch {
		case r.fine() || p.clearRefusal(r):
		case errors.Is(r.err, wire.ErrUnreachable):
			return incomplete("%d connections at once were too many: %v", len(replies), r.err)
		default:
			return p.refusedAsBefore(failed("the answers were %s", countReplies(replies)).blaming(replies...), r)
		}
	}
	first := p.outcomeOf(ctx, in, replies)
	if !p.settled(first) {
		return incomplete("no attempt succeeded: %s, and then %s", countReplies(replies), first)
	}
	alike := passed()
	for _, r := range replies {
		if r.fine() {
			alike = worse(alike, p.sameAsEither(first, r).differing("two attempts were answered differently: "))
		}
	}
	return alike
}

func refusalsSayWhen(ctx context.Context, p *probe, in *intent) finding {
	replies := p.race(ctx, in, atOnce(p.run.config, racers))
	refused := 0
	for _, r := range replies {
		if !p.inFlight(r) {
			continue
		}
		refused++
		if r.Header.Get("Retry-After") == "" {
			return failed("%s without Retry-After", r).blaming(r)
		}
	}
	if refused == 0 {
		return skipped("no attempt was refused because its twin was running: %s", countReplies(replies))
	}
	return passed()
}

func othersAreNotRefused(ctx context.Context, p *probe) finding {
	n := atOnce(p.run.config, racers)
	all, err := p.intents(ctx, n)
	if err != nil {
		return incomplete("%v", err)
	}
	since := p.before(ctx)
	replies := p.volley(ctx, "intent", all...)
	for i, r := range replies {
		busy := r.busy() || errors.Is(r.err, wire.ErrUnreachable)
		switch {
		case r.fine():
			continue
		case !busy:
			return failed("%d different intents at once were answered %s", n, countReplies(replies)).blaming(replies...)
		case !waiting.Sleep(ctx, max(refusalPause, comeAgain(r))):
			return incomplete("%v", ctx.Err())
		}
		if again := p.send(ctx, "intent again", all[i]); !again.fine() {
			return incomplete("the service takes less than %d requests at once: %s, and later %s", n, countReplies(replies), again)
		}
	}
	return p.effects(ctx, since, int64(n), int64(n), all...)
}

func losersComeAgain(ctx context.Context, p *probe, in *intent) finding {
	since := p.before(ctx)
	all := slices.Repeat([]*intent{in}, atOnce(p.run.config, racers))
	later := make([]reply, len(all)) // of those that tried again
	comesAgain := func(i int, r reply) {
		if p.clearRefusal(r) && waiting.Sleep(ctx, p.returnsAfter(r)) {
			later[i] = p.send(ctx, "again", in)
		}
	}
	replies := p.volleyThen(ctx, "racer", comesAgain, all...)
	later = slices.DeleteFunc(later, func(r reply) bool { return r.request == nil })
	if len(later) == 0 {
		return skipped("no attempt was refused: %s", countReplies(replies))
	}
	last := p.untilSettled(ctx, "again", in)
	later = slices.Concat(later, []reply{last})
	switch {
	case last.busy():
		return incomplete("the service is busy: %s", last)
	case !p.settled(last):
		return p.refusedAsBefore(failed("the answers were %s, and to those that tried again %s", countReplies(replies), countReplies(later)).blaming(last), last)
	}
	first := p.outcomeOf(ctx, in, replies)
	alike := passed()
	for _, r := range later {
		if !p.clearRefusal(r) {
			alike = worse(alike, p.sameAsEither(first, r).differing("one that was refused and tried again got another answer: "))
		}
	}
	if alike.verdict == Fail || len(p.run.config.Counters) == 0 {
		return alike
	}
	return worse(remark(p.once(ctx, since, in), replies), alike)
}

// returnsAfter returns when a refused attempt is repeated: when the refusal says, or else soon enough that its twin may
// still be running.
func (p *probe) returnsAfter(r reply) time.Duration {
	if r.Header.Get("Retry-After") != "" {
		return comeAgain(r)
	}
	return min(refusalPause, p.shortest()/2)
}
