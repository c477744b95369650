package check

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"
)

// Plan describes a run before anything is sent.
type Plan struct {
	// Checks are those that run, Requests the most requests that they send together.
	Checks   []Check
	Requests int
	// Waits is the least time that checks of expiry wait together; it is a part of the time that the run takes.
	Waits time.Duration
	// Left are the checks that do not run, with the reason.
	Left []Result

	config *Config
	// controls and reruns are the requests among them that confirm what checks saw.
	controls, reruns int
}

// NewPlan completes the configuration, chooses the checks, and counts the requests that they will send. Its error says
// what is wrong with the configuration.
func NewPlan(c Config) (*Plan, error) {
	if err := c.complete(); err != nil {
		return nil, err
	}
	p := &Plan{config: &c, Requests: sampleRequests*(sampleTries+1) + maxKeyForms + spare}
	for _, check := range Catalog() {
		if why := leaveOut(&c, &check); why != "" {
			left := result(&check, skipped("%s", why))
			p.Left = append(p.Left, left)
			continue
		}
		p.Checks = append(p.Checks, check)
		p.Requests += check.requests(&c)
		if check.waits != nil {
			p.Waits += check.waits(&c)
		}
	}
	p.controls, p.reruns = controlRequests+2*len(p.Checks), min(rerunRequests, p.Requests)
	p.Requests += p.controls + p.reruns
	if len(p.Checks) == 0 {
		return nil, errors.New("no checks are left to run (see --only, --skip and --level)")
	}
	return p, nil
}

func leaveOut(c *Config, check *Check) string {
	switch {
	case check.Level.weight() > c.Level.weight():
		return "level " + string(check.Level) + " was not asked for"
	case len(c.Only) > 0 && !slices.ContainsFunc(c.Only, check.named):
		return "not among --only"
	case slices.ContainsFunc(c.Skip, check.named):
		return "among --skip"
	}
	return check.unfit(c)
}

func result(check *Check, f finding) Result {
	r := Result{
		ID: check.ID, Group: check.Group, Level: check.Level, Says: check.Says, Source: check.Source,
		Verdict: f.verdict, Reason: f.reason, EchoOf: f.echoOf, ServerError: f.verdict == Fail && f.failure, cause: f.cause, said: f.said,
	}
	if f.verdict == Fail {
		r.Advice, r.Effects = check.Advice, f.off
	}
	return r
}

// Run sends the requests. It returns an error only if nothing could be tested: the service was down, or the log-in
// failed. If the context ends, Run returns the report so far along with its error.
func (p *Plan) Run(ctx context.Context) (*Report, error) {
	s := newTestRun(p.config)
	s.allowed, s.controls, s.reruns = p.Requests, p.controls, p.reruns
	report := &Report{
		Target: p.config.Template.Method + " " + p.config.Template.URL, Profile: p.config.Profile.Name,
		Level: p.config.Level, Began: time.Now(), Announced: p.Requests,
	}
	for _, counter := range p.config.Counters {
		report.Counters = append(report.Counters, counter.Name())
	}
	err := p.each(ctx, s, report)
	for i := len(report.Results); i < len(p.Checks); i++ {
		report.Results = append(report.Results, result(&p.Checks[i], incomplete("the run ended before this check")))
	}
	report.Took, report.Sent, report.LookUps, report.Notes = time.Since(report.Began), s.sent, s.lookUps, s.notes
	report.Intents = s.intents
	if s.died != nil {
		report.Died = s.died.Error()
	}
	report.Whole = err == nil && s.died == nil
	report.Results = inOrder(append(report.Results, p.Left...))
	s.withdraw(report.Results)
	echoes(report.Results)
	for i := range report.Results {
		if one := &report.Results[i]; one.Verdict == Pass && slices.ContainsFunc(p.config.Baseline, func(id string) bool { return strings.EqualFold(id, one.ID) }) {
			report.Fixed = append(report.Fixed, one.ID)
		}
	}
	mask := newMasker(p.config, s.user, s.other)
	mask.report(report)
	if err != nil {
		err = &maskedError{shortened(mask.reason(err.Error()), maxReason), err}
	}
	return report, err
}

func inOrder(results []Result) []Result {
	place := map[string]int{}
	for i, check := range Catalog() {
		place[check.ID] = i
	}
	slices.SortStableFunc(results, func(a, b Result) int { return place[a.ID] - place[b.ID] })
	return results
}

func (p *Plan) each(ctx context.Context, s *testRun, report *Report) error {
	if err := s.logIn(ctx); err != nil {
		return err
	}
	first := &probe{run: s, check: &Check{ID: "sample", Group: sampling}, allowed: sampleRequests*(sampleTries+1) + maxKeyForms}
	var err error
	s.sample, err = first.premise(ctx)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case s.died != nil:
		return s.died
	case err != nil:
		return err
	}
	for i := range p.Checks {
		check := &p.Checks[i]
		if p.config.Progress != nil {
			p.config.Progress(i, len(p.Checks), check.ID)
		}
		report.Results = append(report.Results, p.one(ctx, s, check))
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// one runs a check, unless the service is not able to be judged.
func (p *Plan) one(ctx context.Context, s *testRun, check *Check) Result {
	if f := p.ready(ctx, s, check); !f.ok() {
		return result(check, f)
	}
	probe := &probe{run: s, check: check, allowed: check.requests(p.config)}
	began := time.Now()
	f := s.sample.refused()
	if f.ok() || check.ID == sampleCheck {
		f = check.run(ctx, probe)
	}
	f, again := p.confirm(ctx, s, probe, f)
	if again {
		f = p.runAgain(ctx, s, probe, f)
	}
	if s.died != nil && f.verdict != Fail {
		f = incomplete("the service stopped answering: %v", s.died)
	}
	took := time.Since(began)
	if keeps := p.config.Retention; f.verdict == Fail && keeps > 0 && took >= keeps && check.Group != groupExpiry {
		f = incomplete("%s; but this took %s, and the service forgets keys after %s: make that longer", f.reason, took.Round(time.Millisecond), keeps)
	}
	if ctx.Err() != nil { // which may have caused what it saw
		f = incomplete("the run was interrupted during this check")
	}
	s.mu.Lock()
	s.effectsOnce = s.effectsOnce || check.ID == effectCheck && f.ok()
	s.mu.Unlock()
	r := result(check, f)
	r.Took, r.Exchanges = took, probe.exchanges
	if f.verdict == Fail && (f.off != moreEffects || len(f.by) > 0) {
		for _, one := range probe.restsOn(&f) {
			r.rests = append(r.rests, one.kind())
		}
	}
	if r.Verdict == Fail && slices.ContainsFunc(p.config.Baseline, check.named) {
		r.Verdict = Known
	}
	return r
}

// ready passes if plain requests are carried out, as far as is known. If they were not after the last check, it waits
// until they are; after several checks for which they never are, the run is over.
func (p *Plan) ready(ctx context.Context, s *testRun, check *Check) finding {
	switch {
	case s.died != nil:
		return incomplete("the service stopped answering: %v", s.died)
	case s.over != "":
		return incomplete("%s", s.over)
	case s.ailing == "":
		return passed()
	}
	c := &probe{run: s, check: check, allowed: s.controls}
	why := c.carriesPlain(ctx, false)
	s.controls -= c.sent
	if s.ailing = why; why == "" {
		s.rounds = 0
		return passed()
	}
	most := finalRounds
	if last := c.replies; len(last) > 0 && last[len(last)-1].passing() {
		most = passingRounds
	}
	if s.rounds++; s.rounds >= most {
		s.over = why
	}
	return incomplete("%s", why)
}

// runAgain runs a check once more. A failure counts only if it is seen twice.
func (p *Plan) runAgain(ctx context.Context, s *testRun, first *probe, f finding) finding {
	most := first.check.requests(p.config)
	if most > s.reruns {
		if f.verdict == Fail {
			f = f.because("%s; but the answers may have come from a service that was busy or away", f.reason).unjudged()
		}
		return f
	}
	s.reruns -= most
	probe := &probe{run: s, check: first.check, allowed: most}
	second := first.check.run(ctx, probe)
	second, again := p.confirm(ctx, s, probe, second)
	first.exchanges, first.replies = append(first.exchanges, probe.exchanges...), append(first.replies, probe.replies...)
	switch {
	case f.verdict == Incomplete && again && second.verdict == Fail:
		return second.because("%s; but the first time, it could not be judged: %s", second.reason, f.reason).unjudged()
	case f.verdict == Incomplete:
		return second
	case second.verdict == Fail:
		return second
	}
	return f.because("%s; but that was not seen again", f.reason).unjudged()
}
