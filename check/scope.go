package check

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/semel-dev/semel/check/internal/place"
	"github.com/semel-dev/semel/internal/waiting"
)

const scopeAdvice = "Look the key up together with the caller's account, which only the service knows, and the operation."

func scopes() []Check {
	return []Check{
		row("SCOPE-01", LevelMust, byAnswer, "Another user with the same key and body does not get the first one's answer.",
			"draft -07 §5; Semel promise 5", scopeAdvice, sends(5), wantsOther, othersSeeNothing),
		row("SCOPE-02", LevelMust, byCount, "Another user with the same key is not refused: their request is executed for them.",
			"draft -07 §5; Semel promise 5", scopeAdvice, sends(4), wantsOtherKey, othersAreServed),
		row("SCOPE-03", LevelMust, byAnswer, "A caller who is logged out does not get the stored answer.",
			"draft -07 §5; Semel promise 5", "Authenticate and authorise the caller before the key is looked up.", sends(4), always,
			withIntent(loggedOutSeesNothing)),
		row("SCOPE-04", LevelMust, byAnswer, "A repetition does not set the cookies of the first answer again.",
			"Semel promise 5", "Leave Set-Cookie out of what is stored.", sends(2), always, withAttempt(cookiesAreNotRepeated)),
		row("SCOPE-05", LevelMust, byAnswer, "Another user with the same key is not blocked while the first one's request is running.",
			"draft -07 §5; Semel promise 5", scopeAdvice, sends(4), wantsOtherAtOnce, othersAreNotBlocked),
	}
}

func wantsOther(c *Config) string {
	return cmp.Or(unless(c.Other != nil, "no other user was given"), wantsKey(c))
}

func wantsOtherKey(c *Config) string {
	return cmp.Or(wantsOther(c), unless(c.Key.In != keyInTemplate, "the key is the id of the created resource, which all users share"))
}

func wantsOtherAtOnce(c *Config) string {
	return cmp.Or(wantsOtherKey(c), wantsParallel(c))
}

// othersOwn sends an intent of the other user's own, so that a user without rights, or one with the same credentials,
// is not judged.
func (p *probe) othersOwn(ctx context.Context) (*intent, finding) {
	since := p.before(ctx)
	own, err := p.run.newIntent(ctx, p.run.other)
	if err != nil {
		return nil, incomplete("%v", err)
	}
	mine, err := p.request(p.run.as(own, p.run.user))
	if err != nil {
		return nil, incomplete("%v", err)
	}
	got := p.send(ctx, "the other user", own)
	if got.request != nil && slices.Equal(got.request.Header, mine.Header) && got.request.URL.String() == mine.URL.String() &&
		slices.Equal(got.request.Body, mine.Body) {
		return nil, incomplete("both users send the same credentials")
	}
	if !got.fine() {
		return nil, incomplete("the other user is answered %s, with a key of their own too", got)
	}
	if len(p.run.config.Counters) == 0 {
		return own, passed()
	}
	if f := p.once(ctx, since, own); !f.ok() {
		return nil, incomplete("the other user's requests are not counted as they should be: %s", f.reason)
	}
	return own, passed()
}

func othersSeeNothing(ctx context.Context, p *probe) finding {
	if _, f := p.othersOwn(ctx); !f.ok() {
		return f
	}
	a, f := p.executed(ctx)
	if !f.ok() {
		return f
	}
	return p.keepsSecret(ctx, a, p.run.as(a.in, p.run.other))
}

// keepsSecret sends the intent as the stranger, another user, and judges whether the answer reveals the first one.
func (p *probe) keepsSecret(ctx context.Context, a attempt, stranger *intent) finding {
	got := p.send(ctx, "another user, same key", stranger)
	if f := got.judged(); !f.ok() {
		return f
	}
	why := p.reveals(a.first, got)
	if why.what == "" && got.fine() && !p.marks(a.first).empty() {
		var f finding
		if why, f = p.unlikeReplay(ctx, a, got, p.reveals); !f.ok() {
			return f.after("another user with the same key: ")
		}
	}
	switch {
	case why.what == "" && (!got.fine() || !p.marks(a.first).empty()):
		return passed()
	case why.what == "":
		// Answers have nothing of their own: was it a new one?
		f := p.effects(ctx, a.since, 2, 2, a.in, stranger)
		if f.verdict == Incomplete {
			return incomplete("the answers of all intents are alike, so this one cannot be attributed to either user, and %s", f.reason)
		}
		return f
	}
	given := failed("%s", why.what)
	if got.fine() { // a refusal that reveals the first answer was not executed
		given = p.isGiven(ctx, why, a.since, a.in, stranger)
	}
	if given.verdict == Fail && wantsKey(p.run.config) == "" {
		twin, err := p.likeness(ctx, stranger)
		if err != nil {
			return incomplete("%v", err)
		}
		since := p.before(ctx, twin)
		alike := p.reveals(a.first, p.send(ctx, "another user, another key", twin))
		if alike.what != "" && (!alike.weak || p.counted(ctx, since, 0, 0, twin).ok()) {
			return skipped("the application returns the existing record, whatever the key")
		}
	}
	if given.ok() {
		return given
	}
	return given.after(fmt.Sprintf("another user with the same key was answered %s, and ", got))
}

func othersAreServed(ctx context.Context, p *probe) finding {
	if _, f := p.othersOwn(ctx); !f.ok() {
		return f
	}
	in, err := p.intent(ctx)
	if err != nil {
		return incomplete("%v", err)
	}
	since := p.before(ctx)
	if first := p.send(ctx, "one user", in); !first.fine() {
		return incomplete("the first attempt was answered %s", first)
	}
	// An application may refuse the same values from two users, whatever the key.
	theirs, err := p.run.newIntent(ctx, p.run.other)
	if err != nil {
		return incomplete("%v", err)
	}
	twin := p.run.as(in, p.run.other).renamed(theirs.key)
	effects := int64(2)
	if got := p.send(ctx, "the other user, same values, key of their own", twin); got.fine() {
		theirs = p.run.as(in, p.run.other)
		effects++
	} else {
		theirs = theirs.renamed(in.key)
	}
	got := p.send(ctx, "the other user, same key", theirs)
	if !got.fine() {
		return failed("the other user was answered %s", got).blaming(got)
	}
	return p.effects(ctx, since, effects, effects, in, twin, theirs)
}

func othersAreNotBlocked(ctx context.Context, p *probe) finding {
	theirs, f := p.othersOwn(ctx)
	if !f.ok() {
		return f
	}
	in, err := p.intent(ctx)
	if err == nil {
		theirs, err = p.run.newIntent(ctx, p.run.other)
	}
	if err != nil {
		return incomplete("%v", err)
	}
	theirs = theirs.renamed(in.key)
	since := p.before(ctx)
	both := []*intent{in, theirs}
	replies := p.together(len(both), func(i int) reply {
		if i == 1 && !waiting.Sleep(ctx, p.shortest()/2) { // two at one moment may both find that the key is free
			return reply{err: ctx.Err()}
		}
		return p.send(ctx, fmt.Sprintf("user %d", i+1), both[i])
	})
	for _, r := range replies {
		switch {
		case r.fine():
		case !r.answered(), r.busy():
			return incomplete("two users at once were answered %s", countReplies(replies))
		default:
			return failed("two users at once were answered %s", countReplies(replies)).blaming(replies...)
		}
	}
	given := p.isGiven(ctx, p.resembles(replies[0], replies[1]), since, in, theirs)
	if !given.ok() {
		return given.after("the other user was given the first one's answer: ")
	}
	return passed()
}

func loggedOutSeesNothing(ctx context.Context, p *probe, in *intent) finding {
	out, differs := p.out(in)
	if !differs {
		return skipped("no header of the request identifies the caller")
	}
	since := p.before(ctx)
	first := p.send(ctx, "logged in", in)
	if !first.fine() {
		return incomplete("the first attempt was answered %s", first)
	}
	f := p.keepsSecret(ctx, attempt{in, since, first}, out)
	t := &p.run.config.Template
	if f.verdict == Fail && slices.ContainsFunc(place.Names(t.URL, string(t.Body)), isVariable) {
		return incomplete("%s; but the URL or the body also contains a value from the log-in, which may let them in", f.reason)
	}
	return f
}

func cookiesAreNotRepeated(ctx context.Context, p *probe, a attempt) finding {
	own := p.ownCookies(a.first)
	if len(own) == 0 {
		return skipped("the first answer sets no cookie of its own")
	}
	again := p.send(ctx, "again", a.in)
	if !again.answered() {
		return incomplete("the repetition got %s", again)
	}
	for _, c := range setBy(again) {
		if own[c.Name] == c.Value && c.Value != "" {
			return failed("the repetition sets the cookie %s to the value of the first answer", c.Name)
		}
	}
	return passed()
}

// ownCookies returns the cookies of an answer whose value no other intent was given. A cookie that every answer sets to
// the same value is not part of a stored answer.
func (p *probe) ownCookies(r reply) map[string]string {
	own := map[string]string{}
	for _, c := range setBy(r) {
		own[c.Name] = c.Value
	}
	for _, other := range p.run.sample.replies() {
		for _, c := range setBy(other) {
			if own[c.Name] == c.Value {
				delete(own, c.Name)
			}
		}
	}
	return own
}

func setBy(r reply) []*http.Cookie {
	if !r.answered() {
		return nil
	}
	return (&http.Response{Header: r.Header}).Cookies()
}
