package check

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/semel-dev/semel/internal/waiting"
)

// settledTries is the most requests that [probe.untilSettled] sends.
const settledTries = 7

// untilSettled retries after something went wrong, when the service may still be working on an earlier attempt. As long
// as the service says so, the retry is repeated after the pause that the answer asks for, or one that doubles each
// time, until the pauses add up to the longest exchange. That makes at most settledTries requests. The reply is the
// last one; [probe.inFlight] tells whether the service still says the same.
func (p *probe) untilSettled(ctx context.Context, label string, in *intent) reply {
	return p.insist(ctx, p.inFlight, func() reply { return p.send(ctx, label, in) })
}

// insist sends as long as open reports true, with the pauses and the bound of [probe.untilSettled].
func (p *probe) insist(ctx context.Context, open func(reply) bool, send func() reply) reply {
	wait := p.run.config.Timeout >> (settledTries - 1)
	for range settledTries - 1 {
		got := send()
		if !open(got) || !waiting.Sleep(ctx, max(wait, comeAgain(got))) {
			return got
		}
		wait *= 2
	}
	return send()
}

// inFlight reports whether an answer only says "not now": an earlier attempt is running, or the service is busy. If a
// profile refuses a settled duplicate with the same status, the answer means that instead.
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

// settled reports whether the sender of an intent may stop: after a success, or after the profile's answer to a
// duplicate whose original was one.
func (p *probe) settled(got reply) bool { return got.fine() || p.refusedDuplicate(got) }

// rightRepeat judges whether again is the profile's answer to a repetition of first.
func (p *probe) rightRepeat(first, again reply) finding {
	switch {
	case p.refusedDuplicate(again):
		return passed()
	case p.run.config.Profile.Repeat == repeatAccepted && again.taken():
		return passed()
	}
	return p.alikeBut(first, again)
}

// comeAgain returns the pause that an answer asks for, as far as it is waited out; zero if it asks for none.
func comeAgain(got reply) time.Duration {
	if !got.answered() {
		return 0
	}
	wait, _ := retryAfter(got.Header)
	return min(wait, maxRetryAfter)
}

// maxRetryAfter is the longest Retry-After that is waited out.
const maxRetryAfter = 10 * time.Second

// retryAfter returns the wait that an answer asks for, in seconds or as a date (RFC 9110 §10.2.3); false if it asks for
// none. A date is compared with the service's own clock.
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

// usual returns the longest time that the service took for an undisturbed request: by then, another one is over.
func (p *probe) usual() time.Duration { return p.took(slices.Max) }

// shortest returns the shortest time that the service took for an undisturbed request: until then, another one is under way.
func (p *probe) shortest() time.Duration { return p.took(slices.Min) }

// took returns the one of the times of undisturbed requests that the function chooses, or 0 if nothing was answered.
func (p *probe) took(choose func([]time.Duration) time.Duration) time.Duration {
	var all []time.Duration
	for _, r := range p.run.sample.replies() {
		if r.answered() {
			all = append(all, r.Took)
		}
	}
	if len(all) == 0 {
		return 0
	}
	return choose(all)
}
