package check

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/semel-dev/semel/check/wire"
	"github.com/semel-dev/semel/internal/waiting"
)

// failures returns the checks of mistakes by callers and of failures of the service.
func failures() []Check {
	all := slices.Concat(refusals(), serverFailures())
	slices.SortFunc(all, func(a, b Check) int { return strings.Compare(a.ID, b.ID) })
	return all
}

func serverFailures() []Check {
	return []Check{
		row("ERR-03", LevelMust, byCount, "A request that failed with a 5xx fails the same way each time, or a retry executes it once.",
			"draft -07 §2.6; Semel promise 3",
			"Undo everything when a request fails, with one transaction, and release its key; or record the failure. Do not release the key if the effect may have happened.",
			sends(1+2*settledTries), wantsFailing, withIntent(failsHonestly)),
		row("ERR-04", LevelMust, byCount, "A request whose dependency failed is executed once by a retry, or the retry is refused; it is neither lost nor doubled.",
			"draft -07 §2.6; Semel promise 3",
			"Mark a key as done when the work is done, not when it begins; undo the work when a part of it fails.",
			sends(1+2*settledTries), wantsObserved, withIntent(survivesItsDependency)),
		row("ERR-06", LevelStrict, byAnswer, "After a failure, a retry under the same key can succeed.",
			"Semel, HTTP: 5xx answers are released",
			"Release the key of a request that failed and had no effect: a client that retries until it succeeds is stuck otherwise.",
			sends(2+settledTries), canRecover, withIntent(recovers)),
	}
}

func wantsFailing(c *Config) string {
	return unless(c.Failing != nil, "no request was given that the service answers with a 5xx")
}

func wantsObserved(c *Config) string {
	return unless(c.Observed != nil, "the service's dependency is not observed, so it cannot be made to fail")
}

func canRecover(c *Config) string {
	return cmp.Or(
		unless(c.Profile.Name != "stripe", "the profile repeats failures"),
		unless(c.Observed != nil || c.Failing != nil, "neither a failing request nor an observed dependency was given"),
	)
}

func failsHonestly(ctx context.Context, p *probe, in *intent) finding {
	since := p.before(ctx)
	first := p.sendOf(ctx, "failing", p.run.config.Failing, in)
	if !first.failure() {
		return incomplete("the request that should fail with a 5xx got %s: give another one", first)
	}
	retry := p.retryOf(ctx, "retry", p.run.config.Failing, in, first)
	again := p.retryOf(ctx, "once more", p.run.config.Failing, in, first)
	return p.honest(ctx, since, in, first, retry, again)
}

func survivesItsDependency(ctx context.Context, p *probe, in *intent) finding {
	since := p.before(ctx)
	first, f := p.withoutDependency(ctx, in)
	if !f.ok() {
		return f
	}
	template := &p.run.config.Template
	retry := p.retryOf(ctx, "retry", template, in, first)
	again := p.retryOf(ctx, "once more", template, in, first)
	f = p.honest(ctx, since, in, first, retry, again)
	if f.ok() && again.failure() && again.Status != first.Status {
		return failed("the dependency is back, but after %s a retry is answered %s", first, again)
	}
	return f
}

func recovers(ctx context.Context, p *probe, in *intent) finding {
	if p.run.config.Observed != nil {
		first, f := p.withoutDependency(ctx, in)
		switch {
		case !f.ok():
			return f
		case first.fine():
			return passedBut("the service handled the failure on its own")
		}
		return p.succeeds(first, p.retryOf(ctx, "retry", &p.run.config.Template, in, first))
	}
	failing := p.run.config.Failing
	first := p.sendOf(ctx, "failing", failing, in)
	if !first.failure() {
		return incomplete("the request that should fail with a 5xx got %s: give another one", first)
	}
	f := p.succeeds(first, p.retryOf(ctx, "retry", failing, in, first))
	if f.verdict != Fail {
		return f
	}
	if p.run.config.Key.In == keyNowhere {
		return incomplete("%s; without keys, the request may fail every time", f.reason)
	}
	twin, err := p.likeness(ctx, in)
	if err != nil {
		return incomplete("%v", err)
	}
	other := p.sendOf(ctx, "under another key", failing, twin)
	if !other.fine() {
		return skipped("the failing request fails every time: give one that fails once")
	}
	return f
}

func (p *probe) succeeds(first, retry reply) finding {
	switch {
	case retry.fine():
		return passed()
	case !retry.answered():
		return incomplete("after %s the retry got %s", first, retry)
	case p.comesToNoEnd(retry) && retry.Status != first.Status:
		return incomplete("after %s, retries are still refused by %s: it is unknown whether that ends (raise --timeout)", first, retry)
	}
	return failed("after %s the retry is answered %s", first, retry)
}

// withoutDependency sends an attempt while one call of the service fails. It is not ok if the service made none.
func (p *probe) withoutDependency(ctx context.Context, in *intent) (reply, finding) {
	dependency := p.run.config.Observed
	dependency.FailNext(1, http.StatusServiceUnavailable)
	defer dependency.FailNext(0, 0)
	first := p.send(ctx, "dependency fails", in)
	counting, ok := dependency.(interface{ Pending() int })
	for waited := p.run.config.Settle; ok && counting.Pending() > 0; waited -= settleStep {
		if waited <= 0 {
			return first, skipped("the service got %s without calling its dependency", first)
		}
		if !waiting.Sleep(ctx, settleStep) {
			return first, incomplete("%v", ctx.Err())
		}
	}
	if !first.answered() {
		return first, incomplete("the first attempt got %s", first)
	}
	return first, passed()
}

// honest judges an intent whose first attempt failed: one effect if any caller got a success, and otherwise at most
// one.
func (p *probe) honest(ctx context.Context, since tally, in *intent, first, retry, again reply) finding {
	told, least := "", int64(0)
	for _, r := range []reply{first, retry, again} {
		if r.fine() {
			told, least = " although the answer was "+r.String(), 1
		}
	}
	f := p.effects(ctx, since, least, 1, in)
	switch {
	case f.verdict == Fail:
		return f.because("%s%s; the attempts were answered %s, %s and %s", f.reason, told, first, retry, again)
	case !f.ok():
		return f
	case !again.answered():
		return incomplete("after %s the retry got %s", first, again)
	case again.fine(), again.failure():
		return f
	case told == "" && (p.refusedDuplicate(again) || p.duplicateSeen(again)) && !saysUnknown(again):
		if p.once(ctx, since, in).verdict == Fail {
			return failed("after %s a retry is refused by %s as a duplicate of what never happened", first, again)
		}
		return f
	case p.comesToNoEnd(again):
		return incomplete("after %s, retries are still refused by %s: it is unknown whether that ends (raise --timeout)", first, again)
	}
	return passedBut("after %s, retries are refused by %s", first, again)
}

func (p *probe) sendOf(ctx context.Context, label string, t *Template, in *intent) reply {
	r, err := p.requestOf(t, in)
	if err != nil {
		return reply{err: err}
	}
	return p.deliver(ctx, label, in, r, &wire.Manner{})
}

// retryOf repeats a failed request until it is settled. A failure that is answered again is its end, whatever the
// status means elsewhere.
func (p *probe) retryOf(ctx context.Context, label string, t *Template, in *intent, first reply) reply {
	open := func(got reply) bool { return p.comesToNoEnd(got) && got.Status != first.Status }
	return p.insist(ctx, open, func() reply { return p.sendOf(ctx, label, t, in) })
}

// comesToNoEnd reports whether an answer leaves the sender waiting: a refusal for now that does not say it is final.
func (p *probe) comesToNoEnd(got reply) bool { return p.inFlight(got) && !refusedForGood(got) }

// saysUnknown reports whether a refusal does not imply a success: the outcome of the first attempt is unknown, or it is
// running.
func saysUnknown(got reply) bool {
	return got.Header.Get("Retry-After") != "" || bytes.Contains(bytes.ToLower(got.Body), []byte("unknown"))
}

// refusedForGood reports whether a problem document, such as those of Semel, says that retrying does not help.
func refusedForGood(got reply) bool {
	if !got.answered() {
		return false
	}
	var problem struct{ Retryable *bool }
	return json.Unmarshal(got.Body, &problem) == nil && problem.Retryable != nil && !*problem.Retryable
}
