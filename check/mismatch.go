package check

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/semel-dev/semel/check/internal/place"
	"github.com/semel-dev/semel/check/wire"
)

const fingerprintIt = "Record a fingerprint of the request along with its key (method, path, query, content type, body), and refuse a known key that comes with another one with 422."

func mismatches() []Check {
	return []Check{
		row("MIS-01", LevelMust, byCount, "A known key with another body is not executed.",
			"draft -07 §2.7; Semel promise 6", fingerprintIt, sends(2), onePerKey, withAttempt(otherBodyIsNotExecuted)),
		row("MIS-02", LevelMust, byAnswer, "A known key with another body does not get the stored answer.",
			"draft -07 §2.7; Semel promise 6", fingerprintIt, sends(3), comparesPayload, mismatched(otherBody, keepsAnswer)),
		row("MIS-03", LevelShould, byAnswer, "A known key with another body is refused with the right status.",
			"draft -07 §2.7", "Answer 422 and a problem document, so that the caller sees the mistake.", sends(2), comparesPayload,
			mismatched(otherBody, refusesByStatus)),
		row("MIS-04", LevelShould, byAnswer, "A known key with another query does not get the stored answer.",
			"draft -07 §2.4; Semel promise 6", fingerprintIt, sends(3), comparesTarget, mismatched(otherQuery, keepsAnswer)),
		row("MIS-05", LevelMust, byAnswer, "A known key on another path does not get the stored answer.",
			"draft -07 §2.4; Semel promise 5", "Make method and path part of the key's scope or fingerprint.", sends(3), comparesTarget,
			mismatched(otherPath, keepsAnswer)),
		row("MIS-06", LevelMust, byCount, "A known key with another method does not get the stored answer, and what is refused has no effect.",
			"draft -07 §2.4; Semel promise 5", "Make method and path part of the key's scope or fingerprint.", sends(7), comparesTarget,
			withAttempt(otherMethods)),
		row("MIS-07", LevelShould, byAnswer, "The same bytes as another content type are refused.",
			"draft -07 §2.4; RFC 9110 §8.3", "The content type is part of the request: include it in the fingerprint.", sends(2),
			comparesType, mismatched(otherType, refusesType)),
		row("MIS-08", LevelMust, byCount, "The same JSON in another order and with other white space has no second effect.",
			"draft -07 §2.4; RFC 8259 §4", "Replay it or refuse it; a new spelling of a known key's request is not a new intent.",
			sends(2), onePerKey, mismatched(otherSpelling, nothing)),
		row("MIS-09", LevelMust, byCount, "The same form data with another multipart boundary has no second effect.",
			"draft -07 §2.4; RFC 2046 §5.1.1",
			"A browser makes a new boundary for every attempt: leave it out of the fingerprint, or refuse.", sends(2), onePerKey,
			mismatched(otherBoundary, nothing)),
		row("MIS-10", LevelMust, byAnswer, "After such a mistake, the first answer is still available.",
			"Semel promise 2", "A mismatch must not change or remove the record.", sends(3), comparesPayload,
			withAttempt(survivesMismatch)),
		row("MIS-11", LevelMust, byCount, "Another body is not executed under a key whose first request is still running.",
			"draft -07 §2.6 and §2.7; Semel promises 1 and 6", "Record the fingerprint together with the claim, before the work begins.",
			sends(2), onePerKey, withIntent(otherBodyMeanwhile)),
		row("MIS-12", LevelStrict, byAnswer, "The refusal is a problem document, or links to the policy.",
			"draft -07 §2.7; RFC 9457", "Answer with application/problem+json, or with Link: rel=\"describedby\".", sends(2),
			comparesPayload, mismatched(otherBody, explainsMismatch)),
	}
}

func onePerKey(c *Config) string {
	return cmp.Or(unless(!c.Profile.MismatchNew, "another request is an intent of its own with this profile, even under a known key"), wantsKey(c))
}

func comparesPayload(c *Config) string {
	return cmp.Or(unless(!c.Profile.MismatchIgnored, "only the key counts with this profile"), onePerKey(c))
}

// comparesTarget requires a key that is not in the URL, for checks that change the target.
func comparesTarget(c *Config) string {
	if c.Key.In == keyInTemplate && slices.ContainsFunc(place.Names(c.Template.URL), func(name string) bool { return name == "key" || name == "minted" }) {
		return "the key is a part of the URL: with another one it is another key"
	}
	return comparesPayload(c)
}

// comparesType requires a key outside the body, for checks that change the content type.
func comparesType(c *Config) string {
	if c.Key.In == keyInJSON || c.Key.In == keyInForm || c.Key.In == keyInTemplate {
		return "a key in the body is found by the content type"
	}
	return comparesPayload(c)
}

// variant makes another request with the key of in; skipped if there is none.
type variant func(p *probe, in *intent) (*intent, change, finding)

// mismatched returns a check that sends an intent and then a variant of it, which must have no effect if it is refused
// or if the check needs a counter.
func mismatched(vary variant, judge func(ctx context.Context, p *probe, a attempt, other second) finding) checkFunc {
	return withAttempt(func(ctx context.Context, p *probe, a attempt) finding {
		in, change, f := vary(p, a.in)
		if !f.ok() {
			return f
		}
		other := second{p.send(ctx, "the known key with another request", in, change), in}
		if f := other.judged(); !f.ok() {
			return f
		}
		f = judge(ctx, p, a, other)
		if f.ok() && (other.refused() || p.check.NeedsCount) {
			if counted := p.counted(ctx, a.since, 1, 1, a.in, in); !counted.ok() {
				return counted
			}
		}
		return f
	})
}

// second is another request under a known key, and its answer.
type second struct {
	reply

	of *intent
}

func unchanged(*wire.Request) {}

func otherBody(p *probe, in *intent) (*intent, change, finding) {
	other, err := p.mutant(in)
	if err != nil {
		return nil, nil, skipped("%v", err)
	}
	return other, unchanged, passed()
}

func otherQuery(_ *probe, in *intent) (*intent, change, finding) {
	return in, func(r *wire.Request) {
		r.URL.RawQuery = strings.TrimPrefix(r.URL.RawQuery+"&semel-check=1", "&")
	}, passed()
}

func otherPath(_ *probe, in *intent) (*intent, change, finding) {
	return in, func(r *wire.Request) {
		r.URL.Path = strings.TrimSuffix(r.URL.Path, "/") + "-semel-check"
		if !strings.HasPrefix(r.URL.Path, "/") {
			r.URL.Path = "/" + r.URL.Path
		}
		if r.URL.RawPath != "" {
			r.URL.RawPath = strings.TrimSuffix(r.URL.RawPath, "/") + "-semel-check"
		}
	}, passed()
}

func otherType(p *probe, in *intent) (*intent, change, finding) {
	was, err := p.request(in)
	switch {
	case err != nil:
		return nil, nil, incomplete("%v", err)
	case len(was.Body) == 0:
		return nil, nil, skipped("%v", errNoBody)
	case strings.HasPrefix(was.Value("Content-Type"), "text/plain"):
		return in, withHeader("Content-Type", "application/octet-stream"), passed()
	}
	return in, withHeader("Content-Type", "text/plain"), passed()
}

func otherSpelling(p *probe, in *intent) (*intent, change, finding) {
	was, err := p.request(in)
	if err != nil {
		return nil, nil, incomplete("%v", err)
	}
	body, ok := reordered(was.Body)
	if !ok {
		return nil, nil, skipped("the body is not a JSON object")
	}
	return in, withBody(body), passed()
}

func otherBoundary(p *probe, in *intent) (*intent, change, finding) {
	was, err := p.request(in)
	if err != nil {
		return nil, nil, incomplete("%v", err)
	}
	media, parameters, _ := mime.ParseMediaType(was.Value("Content-Type"))
	boundary := parameters["boundary"]
	if !strings.HasPrefix(media, "multipart/") || boundary == "" {
		return nil, nil, skipped("the body is not multipart")
	}
	fresh := keyPrefix + random(12)
	return in, func(r *wire.Request) {
		r.Set("Content-Type", strings.ReplaceAll(r.Value("Content-Type"), boundary, fresh))
		r.Body = bytes.ReplaceAll(r.Body, []byte("--"+boundary), []byte("--"+fresh))
	}, passed()
}

// nothing leaves the judgement to the count of effects.
func nothing(context.Context, *probe, attempt, second) finding { return passed() }

// keepsAnswer reports whether the other request learned nothing of the first answer.
func keepsAnswer(ctx context.Context, p *probe, a attempt, other second) finding {
	first := a.first
	alike := p.resembles(first, other.reply)
	if alike.what == "" && other.fine() && !p.marks(first).empty() {
		var f finding
		if alike, f = p.unlikeReplay(ctx, a, other.reply, p.resembles); !f.ok() {
			return f
		}
	}
	given := failed("%s", alike.what)
	if other.fine() { // a refused request had no effect
		given = p.isGiven(ctx, alike, a.since, a.in, other.of)
	}
	if alike.what != "" && !given.ok() {
		return given.after(fmt.Sprintf("it is answered %s, and ", other))
	}
	told := len(first.Body) == 0 || len(other.Body) > 0 // of what could have leaked
	if other.fine() && told && p.marks(first).empty() && p.sameAnswer(first, other.reply) == "" {
		return incomplete("the answer has nothing that was not in the request, so it cannot be attributed to either intent")
	}
	return passed()
}

func refusesByStatus(_ context.Context, p *probe, _ attempt, other second) finding {
	wanted := p.run.config.Profile.Mismatch
	switch {
	case p.replaces(other.reply):
		return skipped("a PUT with another body replaces the existing resource (%s)", other)
	case other.in(wanted...), len(wanted) == 0 && other.refused():
		return passed()
	case len(wanted) == 0:
		return failed("it is answered %s, and not refused", other)
	}
	return failed("it is answered %s, and not refused by %s", other, statusList(wanted)).blaming(other.reply)
}

func refusesType(_ context.Context, _ *probe, _ attempt, other second) finding {
	if !other.refused() {
		return failed("it is answered %s, and not refused", other)
	}
	return passed()
}

func explainsMismatch(_ context.Context, _ *probe, _ attempt, other second) finding {
	switch {
	case !other.refused():
		return skipped("it is not refused (%s)", other)
	case !explained(other.reply):
		return failed("the refusal (%s) neither is a problem document nor links to the policy", other).blaming(other.reply)
	}
	return passed()
}

// otherBodyIsNotExecuted ignores the answer to the other request.
func otherBodyIsNotExecuted(ctx context.Context, p *probe, a attempt) finding {
	other, err := p.mutant(a.in)
	if err != nil {
		return skipped("%v", err)
	}
	if f := p.send(ctx, "other body", other).judged(); !f.ok() {
		return f
	}
	return p.effects(ctx, a.since, 1, 1, a.in, other)
}

func otherBodyMeanwhile(ctx context.Context, p *probe, in *intent) finding {
	other, err := p.mutant(in)
	if err != nil {
		return skipped("%v", err)
	}
	since := p.before(ctx)
	both := []*intent{in, other}
	replies := p.together(len(both), func(i int) reply {
		return p.send(ctx, []string{"one body", "another body meanwhile"}[i], both[i])
	})
	if !slices.ContainsFunc(replies, reply.fine) {
		return incomplete("neither was executed: they were answered %s and %s", replies[0], replies[1])
	}
	return p.effects(ctx, since, 1, 1, both...)
}

func survivesMismatch(ctx context.Context, p *probe, a attempt) finding {
	other, err := p.mutant(a.in)
	if err != nil {
		return skipped("%v", err)
	}
	p.send(ctx, "other body", other)
	return p.repetition(a.first, p.send(ctx, "again", a.in))
}

// otherMethods sends the same request with two other methods. A service may support and execute them; then they are
// requests of their own.
func otherMethods(ctx context.Context, p *probe, a attempt) finding {
	sent, refusals := 0, 0
	for _, method := range []string{http.MethodPut, http.MethodPatch, http.MethodPost} {
		if method == p.run.config.Template.Method || sent == 2 {
			continue
		}
		sent++
		other := p.send(ctx, "the known key with "+method, a.in, func(r *wire.Request) { r.Method = method })
		if f := other.judged(); !f.ok() {
			return f
		}
		if other.refused() {
			refusals++
		}
		f := keepsAnswer(ctx, p, a, second{other, a.in})
		if !f.ok() && (other.Status == a.first.Status || f.verdict == Fail && p.isReplay(ctx, a.in, other)) {
			return f.after(method + ": ")
		}
	}
	if refusals < sent {
		return passed()
	}
	return p.counted(ctx, a.since, 1, 1, a.in)
}
