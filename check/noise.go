package check

import (
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Noise consists of the answers that plain requests with new keys get now and then instead of being carried out, such as
// 503. They say nothing about keys, so a failure that rests on one of them is not judged in the end.

// passing reports whether an answer may be another one a moment later: the service, or a proxy before it, is busy or
// away, or gave none.
func (r reply) passing() bool {
	return !r.answered() || r.busy() || r.in(http.StatusBadGateway, http.StatusGatewayTimeout) || r.isPage()
}

func (r reply) isPage() bool { return r.fine() && r.media() == "text/html" }

func (r reply) media() string {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		return strings.ToLower(r.Header.Get("Content-Type"))
	}
	return media
}

// kind returns a text that answers with one cause share.
func (r reply) kind() string {
	switch {
	case !r.answered():
		return "no answer"
	case r.fine():
		return strconv.Itoa(r.Status/100) + "xx " + r.media()
	}
	return strconv.Itoa(r.Status)
}

// isUsual reports whether a request was carried out as far as its answer tells: it is like those of the sample.
func (p *probe) isUsual(r reply) bool {
	return r.fine() && slices.ContainsFunc(p.run.sample.replies(), func(one reply) bool {
		return one.fine() && one.kind() == r.kind() && (p.detour(r) == "" || p.detour(one) != "")
	})
}

// isOdd reports whether an answer may have come from something that knows nothing of keys: the service is busy, a quota
// is used up, or a page took the place of the service. What the check itself lost does not count.
func (p *probe) isOdd(r reply) bool {
	switch {
	case r.manner.Fault != "" || r.manner.Timeout > 0 || r.lost:
		return false
	case r.in(http.StatusUnauthorized, http.StatusForbidden):
		return r.of != nil && !r.of.loggedOut
	case r.isPage():
		return !slices.ContainsFunc(p.run.sample.replies(), reply.isPage)
	}
	return r.passing()
}

// restsOn returns the answers on which a failure rests: the blamed ones, or any that could be the reason why effects are
// missing.
func (p *probe) restsOn(f *finding) []reply {
	if len(f.by) > 0 {
		return f.by
	}
	return p.replies
}

func (s *testRun) hear(r reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.noise == nil {
		s.noise = map[string]bool{}
	}
	s.noise[r.kind()] = true
}

// patience is the longest time that a run waits altogether because answers to plain requests say when to come again,
// and longestGrant the longest for one of them.
const (
	patience     = 2 * time.Minute
	longestGrant = time.Minute
)

// grant returns the wait that an answer asks for, as far as the run has patience.
func (s *testRun) grant(r reply) time.Duration {
	if !r.answered() {
		return 0
	}
	wait, _ := retryAfter(r.Header)
	if wait > min(longestGrant, patience-s.waited) {
		return 0
	}
	s.waited += wait
	return wait
}

// withdraw turns failures that rest on noise into results that are not judged.
func (s *testRun) withdraw(results []Result) {
	for i := range results {
		one := &results[i]
		at := slices.IndexFunc(one.rests, func(kind string) bool { return s.noise[kind] })
		if at < 0 || one.Verdict != Fail && one.Verdict != Known {
			continue
		}
		one.Verdict, one.Advice, one.Effects, one.ServerError = Incomplete, "", "", false
		one.Reason += "; but during the run, plain requests with new keys got " + one.rests[at] + " as well, which may be the reason: run again when the service is less busy, or with a lower --rate"
	}
}
