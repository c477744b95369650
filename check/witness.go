package check

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/semel-dev/semel/check/wire"
	"github.com/semel-dev/semel/internal/waiting"
)

// That a request is refused, fails or gets an odd answer says nothing about keys: a quota may be used
// up, a proxy may refuse large bodies, and a busy service answers 503. So no check accuses alone. Its finding
// goes through [Plan.confirm]:
//
//	a second effect ─────────────────────────────────────────────── speaks for itself
//	anything else ─ plain request carried out? ─ a request like the blamed one, new key? ─ seen again? ─ noise? ─ Fail
//	                 │ no                          │ no                                      │ no         │ yes (noise.go)
//	                 └─────────────────────────────┴──── not judged, with the reason ────────┴────────────┘

const (
	// plainTries is the most plain requests that are sent to see whether one is carried out, and plainPause precedes the
	// second of them.
	plainTries = 4
	plainPause = 100 * time.Millisecond
	// silentTries bounds those without an answer.
	silentTries = 2
	// witnesses is the most shapes of blamed requests that are tried for one check.
	witnesses = 2
	// controlRequests is the number of such requests that a run may send besides two for each of its checks.
	controlRequests = 40
	// finalRounds and passingRounds are the most checks in a row for which plain requests are not carried out: where the
	// answers are final, and where they may pass.
	finalRounds, passingRounds = 2, 12
	// rerunRequests is the number of requests that checks may send which run again.
	rerunRequests = 100
)

// noControls is the reason not to judge if the requests for controls are spent.
const noControls = "no requests are left that would confirm this: run it alone with --only"

// confirm returns what may be held against the service of what a check found. If again, the check should run once more,
// since what it saw may have been chance.
func (p *Plan) confirm(ctx context.Context, s *testRun, of *probe, f finding) (_ finding, again bool) {
	accuses := f.verdict == Fail && (f.off != moreEffects || len(f.by) > 0)
	odd := slices.ContainsFunc(of.replies, of.isOdd)
	if s.died != nil || ctx.Err() != nil || of.check.Group == groupOperation || len(of.replies) == 0 || !accuses && !odd && !of.less.Load() {
		return f, false
	}
	c := &probe{run: s, check: of.check, allowed: s.controls}
	defer func() {
		s.controls -= c.sent
		of.exchanges = append(of.exchanges, c.exchanges...)
	}()
	switch why := c.carriesPlain(ctx, accuses || of.less.Load()); {
	case s.died != nil:
		return incomplete("the service stopped answering: %v", s.died), false
	case s.isDoubtful() != nil && of.less.Load():
		return incomplete("%v", s.isDoubtful()), false
	case why != "":
		s.ailing = why
		return incomplete("%s", why), false
	case !accuses:
		return f, f.verdict == Incomplete && odd
	}
	for _, r := range c.blamed(f.by) {
		if w := c.witness(ctx, r); !w.ok() {
			return f.because("%s; but %s", f.reason, w.reason).unjudged(), false
		}
	}
	return f, slices.ContainsFunc(of.restsOn(&f), of.isOdd)
}

// carriesPlain sends plain requests until one is carried out, a few times. It returns why none is; empty if one is. If
// it has to be counted, a request that is answered like the others must have its effect.
func (p *probe) carriesPlain(ctx context.Context, counted bool) (why string) {
	var got reply
	silent, pause := 0, plainPause
	for range plainTries {
		in, err := p.intent(ctx)
		if err != nil {
			return err.Error()
		}
		since := p.before(ctx)
		got = p.send(ctx, "plain request afterwards", in)
		switch {
		case errors.Is(got.err, errBudget):
			return noControls
		case p.run.died != nil:
			return p.run.died.Error()
		case p.isUsual(got):
			p.countPlain(ctx, counted, since, in, got)
			return ""
		case !got.answered():
			if silent++; silent == silentTries {
				p.run.lost(got.err)
				return got.err.Error()
			}
		}
		p.run.hear(got)
		if !got.passing() || !waiting.Sleep(ctx, max(pause, p.run.grant(got))) {
			break
		}
		pause *= 2
	}
	return fmt.Sprintf("plain requests with new keys are answered %s now, although they were carried out before: %s", got, got.advice())
}

// countPlain ends the counting if a plain request that was answered like the others had no effect.
func (p *probe) countPlain(ctx context.Context, counted bool, since tally, in *intent, got reply) {
	if counted && p.run.sample.effects.ok() && !saysReplayed(got) && p.once(ctx, since, in).verdict == Fail {
		p.run.doubt("a plain request that was answered %s was not counted as one effect%s", got, p.run.ended(since))
	}
}

// witness sends a request like that of the reply, for an intent of its own. It passes if that is carried out.
func (p *probe) witness(ctx context.Context, r reply) finding {
	in, err := p.run.newIntent(ctx, r.of.user)
	if err != nil {
		return incomplete("%v", err)
	}
	like, err := p.likewise(r, in)
	if err != nil {
		return incomplete("%v", err)
	}
	m := r.manner
	m.Fault, m.Timeout = wire.None, 0
	var got reply
	for range silentTries {
		if got = p.deliver(ctx, "the same with a new key", in, like, &m); got.answered() && !got.passing() {
			break
		}
	}
	switch {
	case p.isUsual(got):
		return passed()
	case errors.Is(got.err, errBudget):
		return incomplete("%s", noControls)
	}
	return incomplete("a request like that one, with a new key, got %s", got)
}

// blamed returns the answers whose requests need a witness: refusals, failures and missing ones, one for each shape. A request with an
// empty key gets none, because every empty key is the same one.
func (p *probe) blamed(by []reply) []reply {
	var all []reply
	had := map[string]bool{}
	for _, r := range by {
		if r.fine() || r.request == nil || r.of == nil || r.of.key == "" && p.run.config.Key.In != keyNowhere || had[r.shape()] || len(all) == witnesses {
			continue
		}
		had[r.shape()] = true
		all = append(all, r)
	}
	return all
}

func (r reply) shape() string {
	names := make([]string, len(r.request.Header))
	for i, f := range r.request.Header {
		names[i] = f.Name
	}
	return fmt.Sprint(r.manner, r.request.Method, len(r.request.URL.String()), len(r.request.Body), names, r.of.user, r.of.loggedOut)
}

// newValue matches what is random in a key: the digits of its number, or those of a UUID's end.
var newValue = regexp.MustCompile(`[0-9a-f]{12,}|[0-9A-F]{12,}`)

// rekeyed returns another key of the same form.
func rekeyed(key string) string {
	return newValue.ReplaceAllStringFunc(key, func(old string) string {
		fresh := random(len(old)/2 + 1)[:len(old)]
		switch {
		case strings.Trim(old, "0123456789") == "":
			return "1" + strings.Map(func(c rune) rune { return '0' + c%10 }, fresh[1:])
		case strings.ToUpper(old) == old:
			return strings.ToUpper(fresh)
		}
		return fresh
	})
}

// likewise returns the request of the reply with the values of another intent, and another key of the same form. The
// key is found by its text, so that it stays where a check put it, and is spelled in the same way.
func (p *probe) likewise(r reply, in *intent) (*wire.Request, error) {
	old, like := r.of, r.request.Clone()
	pairs := []string{}
	swap := func(was, is string) {
		if len(was) >= minSaid && was != is {
			pairs = append(pairs, was, is, url.QueryEscape(was), url.QueryEscape(is))
		}
	}
	if p.run.config.Template.Has("minted") {
		swap(old.key, in.key)
	} else {
		swap(old.key, rekeyed(old.key))
	}
	for _, name := range []string{"n", "uuid"} {
		swap(old.values[name], in.values[name])
	}
	if old.draft != nil && in.draft != nil {
		for i, f := range old.draft.form.Fields {
			if i < len(in.draft.form.Fields) && in.draft.form.Fields[i].Name == f.Name && len(f.Value) >= minMark {
				swap(f.Value, in.draft.form.Fields[i].Value)
			}
		}
	}
	change := strings.NewReplacer(pairs...).Replace
	at, err := url.Parse(change(like.URL.String()))
	if err != nil {
		return nil, err
	}
	like.URL = at
	for i := range like.Header {
		like.Header[i].Value = change(like.Header[i].Value)
	}
	if !old.loggedOut {
		setCookies(like, in.cookies)
	}
	if like.Body, err = changedBody(like, change); err != nil {
		return nil, err
	}
	if p.run.config.Profile.Webhook {
		p.run.config.sign(like, time.Now())
	}
	return like, nil
}

// changedBody changes the text of a body, which may be compressed by gzip.
func changedBody(r *wire.Request, change func(string) string) ([]byte, error) {
	if r.Value("Content-Encoding") != "gzip" {
		return []byte(change(string(r.Body))), nil
	}
	from, err := gzip.NewReader(bytes.NewReader(r.Body))
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(from)
	if err != nil {
		return nil, err
	}
	plain := wire.Request{Body: []byte(change(string(text)))}
	gzipped(&plain)
	return plain.Body, nil
}

func (r reply) advice() string {
	switch {
	case r.in(http.StatusUnauthorized, http.StatusForbidden):
		return "the credentials may be used up, or have expired: give others, or run fewer checks at a time with --only"
	case r.in(http.StatusTooManyRequests):
		return "the service limits requests: run again later, with a lower --rate, or fewer checks at a time with --only"
	case r.passing():
		return "the service is busy or away: run again later, or with a lower --rate"
	case r.fine():
		return "that is not the answer of the first ones: it may be a page about maintenance, or to sign in"
	}
	return "run again when they succeed"
}
