package check

import (
	"fmt"
	"slices"
)

// A service with one mistake in its answers fails many checks. Those of the group basics that are about one part of an
// answer (BASIC-03 to BASIC-05) record what is wrong with a repetition; another check that sees the same, and nothing worse,
// is their [Echo]. This requires that a repetition had no second effect (BASIC-02): otherwise the answers differ because
// there are two records.

// difference is one way in which a repetition differs from the first answer.
type difference struct {
	part string // the check that is about it; empty for none
	text string
	// traits identify differences of one cause, such as the places that are missing.
	traits []string
}

// The checks that are about one part of an answer.
const (
	statusCheck   = "BASIC-03"
	bodyCheck     = "BASIC-04"
	locationCheck = "BASIC-05"
	effectCheck   = "BASIC-02"
	// duplicateCheck is for profiles that refuse duplicates.
	duplicateCheck = "BASIC-13"
)

// differences lists how again differs from first: status, Location and body. Dates and the places in [Config.Ignore] do
// not count.
func (p *probe) differences(first, again reply) []difference {
	if !first.answered() || !again.answered() {
		return []difference{{text: fmt.Sprintf("the first was %s, the repetition %s", first, again)}}
	}
	var all []difference
	if !p.sameStatus(first, again) {
		all = append(all, difference{
			statusCheck, fmt.Sprintf("the first was %s, the repetition %s", first, again), []string{statusTrait(first, again)},
		})
	}
	if why := p.sameLocation(first, again); why != "" {
		all = append(all, difference{locationCheck, why, []string{locationTrait(first, again)}})
	}
	if c := p.compare(first, again); !c.same() {
		all = append(all, difference{bodyCheck, c.differs, p.bodyTraits(first, again)})
	}
	return all
}

func statusTrait(first, again reply) string {
	return fmt.Sprintf("%d, then %d", first.Status, again.Status)
}

func locationTrait(first, again reply) string {
	switch {
	case again.Header.Get("Location") == "":
		return "lost"
	case first.Header.Get("Location") == "":
		return "gained"
	}
	return "changed"
}

// bodyTraits returns the places that only one of two documents has, and those with other values, except values that are
// generated for every answer.
func (p *probe) bodyTraits(first, again reply) []string {
	var traits []string
	one, other := p.kept(spotsOf(first)), p.kept(spotsOf(again))
	values := map[string]spot{}
	for _, s := range other {
		values[s.place] = s
	}
	for _, s := range one {
		switch there, ok := values[s.place]; {
		case !ok:
			traits = append(traits, s.place+" missing")
		case there.value != s.value && !s.volatile(there):
			traits = append(traits, s.place+" changed")
		}
		delete(values, s.place)
	}
	for place := range values {
		traits = append(traits, place+" more")
	}
	return traits
}

// alikeBut passes if the answers are alike. It is an echo if a basic check has failed for every difference.
func (p *probe) alikeBut(first, again reply) finding {
	all := p.differences(first, again)
	if len(all) == 0 {
		return p.comparedWhole(first, again)
	}
	at := slices.IndexFunc(all, func(d difference) bool { return !p.run.isExplained(d) })
	switch {
	case at < 0:
		return echo(all[0].part, all[0].text)
	case p.run.config.Profile.Repeat == repeatRefused:
		return p.refusesDuplicate(first, again, all[at].text)
	}
	return failedBy(again, "%s", all[at].text).blaming(again)
}

// comparedWhole passes if answers without a difference were compared to their ends.
func (p *probe) comparedWhole(first, again reply) finding {
	if first.Cut || again.Cut || p.compare(first, again).partial {
		return incomplete("the answer is too long to be compared whole")
	}
	return passed()
}

// sameAsEither is [probe.rightRepeat] for two attempts, either of which may have been executed.
func (p *probe) sameAsEither(one, other reply) finding {
	f := p.rightRepeat(one, other)
	if f.verdict == Fail {
		if turned := p.rightRepeat(other, one); turned.verdict == Echo {
			return turned
		}
	}
	return f
}

// refusesDuplicate fails for a duplicate that is not refused as the profile requires. It is an echo if [duplicateCheck]
// has failed for the same.
func (p *probe) refusesDuplicate(first, again reply, text string) finding {
	if !first.answered() || !again.answered() {
		return failed("%s", text)
	}
	told := difference{part: duplicateCheck, text: text, traits: []string{statusTrait(first, again)}}
	if p.run.isExplained(told) {
		return echo(duplicateCheck, text)
	}
	f := failed("%s", text).blaming(again)
	switch {
	case p.check.ID == duplicateCheck:
		p.run.explain(told)
		f.cause = untold
	case p.check.Group == groupBasics && p.run.wasOnce(): // and so before that check
		f.cause = untold
	}
	return f
}

// duplicateSeen reports whether an answer is the one that this service was seen to give to a duplicate, unlike its
// profile.
func (p *probe) duplicateSeen(r reply) bool {
	first := p.run.sample.first
	return first.answered() && r.answered() && p.run.isExplained(difference{part: duplicateCheck, traits: []string{statusTrait(first, r)}})
}

func (s *testRun) wasOnce() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.effectsOnce
}

// refusedAsBefore returns an echo if a basic check has failed because a repetition was refused in this way, and f
// otherwise.
func (p *probe) refusedAsBefore(f finding, retry reply) finding {
	first := p.run.sample.first
	if f.verdict != Fail || !first.answered() || !retry.answered() {
		return f
	}
	for _, part := range []string{statusCheck, duplicateCheck} {
		if p.run.isExplained(difference{part: part, traits: []string{statusTrait(first, retry)}}) {
			return echo(part, f.reason)
		}
	}
	return f
}

// explains fails a basic check for a part of the answer, and records why.
func (p *probe) explains(first, again reply) finding {
	all := p.differences(first, again)
	at := slices.IndexFunc(all, func(d difference) bool { return d.part == p.check.ID })
	if at < 0 {
		return passed()
	}
	p.run.explain(all[at])
	return failed("%s", all[at].text).blaming(again)
}

func (s *testRun) explain(d difference) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.explained == nil {
		s.explained = map[string][]string{}
	}
	s.explained[d.part] = d.traits
}

// isExplained reports whether a basic check failed for that difference.
func (s *testRun) isExplained(d difference) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.effectsOnce || len(d.traits) == 0 {
		return false
	}
	return !slices.ContainsFunc(d.traits, func(trait string) bool { return !slices.Contains(s.explained[d.part], trait) })
}

// cause is a mistake that several checks may fail for.
type cause string

// The causes: a service that answers 5xx to every key of another length, and one that does not identify a duplicate.
const (
	longKey cause = "key length"
	untold  cause = "duplicate"
)

// roots returns the checks that are about a cause, the best first.
func (c cause) roots() []string {
	switch c {
	case longKey:
		return []string{"KEY-05", "KEY-07", "KEY-06"}
	case untold:
		return []string{duplicateCheck}
	}
	return nil
}

// echoes turns results that failed for a cause which another check is about into echoes of that check.
func echoes(results []Result) {
	failed := func(r *Result) bool { return r.Verdict == Fail || r.Verdict == Known }
	roots := map[cause]string{}
	for i := range results {
		why := results[i].cause
		if roots[why] != "" {
			continue
		}
		for _, id := range why.roots() {
			if slices.ContainsFunc(results, func(r Result) bool { return r.ID == id && r.cause == why && failed(&r) }) {
				roots[why] = id
				break
			}
		}
	}
	for i := range results {
		if one := &results[i]; failed(one) && roots[one.cause] != "" && one.ID != roots[one.cause] {
			one.Verdict, one.EchoOf, one.Advice = Echo, roots[one.cause], ""
		}
	}
}
