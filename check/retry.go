package check

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// settledTries is the most that [probe.untilSettled] sends.
const settledTries = 7

// untilSettled is a retry after something went wrong: the service may still be
// at work on an earlier attempt. Where it says so, the retry is sent again after
// the pause that it asks for, or one that doubles each time, until the pauses
// together are as long as the longest exchange may take. That makes settledTries
// requests at most. The reply is the last one; [probe.inFlight] tells whether
// the service still says the same.
func (p *probe) untilSettled(ctx context.Context, label string, in *intent) reply {
	return p.insist(ctx, p.inFlight, func() reply { return p.send(ctx, label, in) })
}

// insist sends as long as the answer is one of those that are no end, with the
// pauses and the bound of [probe.untilSettled].
func (p *probe) insist(ctx context.Context, open func(reply) bool, send func() reply) reply {
	wait := p.run.config.Timeout >> (settledTries - 1)
	for range settledTries - 1 {
		got := send()
		if !open(got) || !pause(ctx, max(wait, comeAgain(got))) {
			return got
		}
		wait *= 2
	}
	return send()
}

// inFlight reports whether an answer says no more than "not now": an earlier
// attempt is running, or the service is busy. Where a profile refuses a settled
// duplicate by the same status, that is what it means.
func (p *probe) inFlight(got reply) bool {
	profile := &p.run.config.Profile
	if p.refusedDuplicate(got) {
		return false
	}
	return got.in(http.StatusTooEarly, http.StatusTooManyRequests, http.StatusServiceUnavailable) ||
		got.in(profile.InFlight...)
}

// refusedDuplicate reports whether a profile that only stops duplicates says so.
func (p *probe) refusedDuplicate(got reply) bool {
	profile := &p.run.config.Profile
	return profile.Repeat == repeatRefused && got.in(profile.Refused...)
}

// settled reports whether the sender of an intent may take this for the end of
// it: a success, or what the profile answers a duplicate whose original was one.
func (p *probe) settled(got reply) bool { return got.fine() || p.refusedDuplicate(got) }

// rightRepeat says whether again is what the profile gives a repetition of first.
func (p *probe) rightRepeat(first, again reply) finding {
	switch {
	case p.refusedDuplicate(again):
		return passed()
	case p.run.config.Profile.Repeat == repeatAccepted && again.taken():
		return passed()
	}
	return p.alikeBut(first, again)
}

// comeAgain is the pause that an answer asks for, as far as it is waited out;
// zero if it asks for none.
func comeAgain(got reply) time.Duration {
	if !got.answered() {
		return 0
	}
	wait, _ := retryAfter(got.Header)
	return min(wait, maxRetryAfter)
}

// maxRetryAfter is the longest Retry-After that is waited out.
const maxRetryAfter = 10 * time.Second

// retryAfter is how long to wait before asking again, as an answer says it in
// seconds or by a date (RFC 9110 §10.2.3); false if it does not. A date is taken
// by the service's own clock.
func retryAfter(header http.Header) (wait time.Duration, ok bool) {
	text := header.Get("Retry-After")
	if seconds, err := strconv.ParseInt(text, 10, 32); err == nil {
		return time.Duration(seconds) * time.Second, seconds >= 0
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0, false
	}
	now, err := http.ParseTime(header.Get("Date"))
	if err != nil {
		now = time.Now()
	}
	return max(0, at.Sub(now)), true
}

// usual is how long the service took for an undisturbed request.
func (p *probe) usual() time.Duration {
	var took []time.Duration
	for _, r := range p.run.sample.replies() {
		if r.answered() {
			took = append(took, r.Took)
		}
	}
	if len(took) == 0 {
		return 0
	}
	return slices.Max(took)
}

// afterSample is for checks that mean nothing where the undisturbed request is
// no success.
func afterSample(run func(context.Context, *probe) finding) func(context.Context, *probe) finding {
	return func(ctx context.Context, p *probe) finding {
		for _, r := range p.run.sample.replies() {
			if !r.fine() {
				return incomplete("even undisturbed, the request is answered %s", r).saying(r)
			}
		}
		return run(ctx, p)
	}
}
