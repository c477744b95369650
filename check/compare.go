package check

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// comparison holds the differences between the bodies of two answers to one intent.
type comparison struct {
	differs string   // the first place where they are not alike; empty if they are
	excused []string // places that differ but do not count
	// partial means that the bodies differ, and are too long to be compared whole.
	partial bool
}

func (c comparison) same() bool { return c.differs == "" }

// remark describes the excused differences; empty if there are none.
func (c comparison) remark() string {
	if len(c.excused) == 0 {
		return ""
	}
	return fmt.Sprintf("differs only in %s, which looks generated for every answer (confirm with --ignore)", strings.Join(c.excused, ", "))
}

// maxExcused limits the places that a remark names.
const maxExcused = 5

// compare reports whether two answers have the same body: the same bytes, the same page to its reader, or the same
// document except for values that are generated for every answer. Such a place is named by [Config.Ignore]; or it looks
// volatile and also differs between the answers of the sample. A place that only one of the bodies has always counts.
func (p *probe) compare(first, again reply) comparison {
	var c comparison
	a, b := plain(first.Answer), plain(again.Answer)
	silent := first.Status != again.Status && (first.Status == http.StatusNoContent || again.Status == http.StatusNoContent)
	if bytes.Equal(a, b) || p.puts() && silent || p.run.config.Profile.Browser && readsAlike(first, again, a, b) {
		return c
	}
	one, other := p.kept(spotsOf(first)), p.kept(spotsOf(again))
	c.partial = max(len(a), len(b)) > maxCompared || max(len(one), len(other)) >= maxSpots
	if c.differs = gap(one, other); c.differs != "" {
		return c
	}
	sample := sync.OnceValue(p.sampled)
	for i := range one {
		switch {
		case one[i].value == other[i].value && one[i].bare == other[i].bare:
		case !p.excused(sample, one[i], other[i], i):
			c.differs = fmt.Sprintf("%s was %s, and then %s", nameOf(one[i]), brief(one[i]), brief(other[i]))
			return c
		case len(c.excused) < maxExcused:
			c.excused = append(c.excused, one[i].place)
		}
	}
	return c
}

// gap names a place that only one of the documents has; empty if there is none.
func gap(one, other []spot) string {
	i := 0
	for i < len(one) && i < len(other) && one[i].place == other[i].place {
		i++
	}
	switch {
	case i == len(one) && i == len(other):
		return ""
	case i == len(one), i < len(other) && hasPlace(other, one[i].place):
		return nameOf(other[i]) + " is only in the repetition"
	}
	return nameOf(one[i]) + " is missing in the repetition"
}

func hasPlace(all []spot, place string) bool {
	return slices.ContainsFunc(all, func(s spot) bool { return s.place == place })
}

func nameOf(s spot) string {
	if s.place == "" {
		return "the body"
	}
	return s.place
}

// maxBrief limits how much of a value a reason quotes.
const maxBrief = 60

func brief(s spot) quotation { return quotation{Value: s.value, Names: []string{s.place}, Brief: true} }

func (p *probe) kept(all []spot) []spot {
	return slices.DeleteFunc(all, func(s spot) bool {
		return slices.ContainsFunc(p.run.config.Ignore, func(pattern string) bool { return covers(pattern, s.place) })
	})
}

// covers reports whether the pointer names the place or something around it; a step * matches any step.
func covers(pattern, place string) bool {
	if !strings.HasPrefix(pattern, "/") || !strings.HasPrefix(place, "/") {
		return false
	}
	wanted, steps := strings.Split(pattern, "/"), strings.Split(place, "/")
	if len(wanted) > len(steps) {
		return false
	}
	for i, step := range wanted {
		if step != "*" && step != steps[i] {
			return false
		}
	}
	return true
}

// excused reports whether a difference at a place, the i-th, says nothing. Two times of the sample may be equal because
// both fell into one second.
func (p *probe) excused(sample func() [][]spot, one, other spot, i int) bool {
	if !one.volatile(other) || len(sample()) < sampleRequests {
		return false
	}
	var had []spot
	for _, there := range sample() {
		at := slices.IndexFunc(there, func(s spot) bool { return s.place == one.place })
		if one.page && i < len(there) && there[i].place == one.place {
			at = i // names of places repeat in a page
		}
		if at < 0 {
			return false
		}
		had = append(had, there[at])
	}
	return had[0].value != had[1].value || had[0].isTime() && had[1].isTime()
}

func (p *probe) sampled() [][]spot {
	if p.run.sample == nil {
		return nil
	}
	var all [][]spot
	for _, r := range p.run.sample.replies() {
		if r.answered() {
			all = append(all, p.kept(spotsOf(r)))
		}
	}
	return all
}

// sameStatus reports whether the statuses are those of one answer. If the client names the resource it creates, a PUT
// that creates it answers 201, and one that finds it 200 or 204 (RFC 9110 §9.3.4).
func (p *probe) sameStatus(first, again reply) bool {
	put := []int{http.StatusCreated, http.StatusOK, http.StatusNoContent}
	return first.Status == again.Status || p.puts() && first.in(put...) && again.in(put...)
}

// puts reports whether the client names the resource it creates, with a PUT.
func (p *probe) puts() bool {
	return p.run.config.Key.In == keyInTemplate && p.run.config.Template.Method == http.MethodPut
}

// replaces reports whether a PUT with another body was accepted: it asks to replace the existing resource, and is not a
// mistake.
func (p *probe) replaces(other reply) bool { return p.puts() && other.fine() }

// sameLocation describes the difference between the Locations; empty if there is none.
func (p *probe) sameLocation(first, again reply) string {
	a, b := first.Header.Get("Location"), again.Header.Get("Location")
	if a == b || p.ignoresHeader("Location") || (a == "" || b == "") && first.Status != again.Status {
		return ""
	}
	return fmt.Sprintf("Location was %s, and then %s", quote(a, "Location"), quote(b, "Location"))
}

func (p *probe) ignoresHeader(name string) bool {
	return slices.ContainsFunc(p.run.config.Ignore, func(one string) bool { return strings.EqualFold(one, name) })
}

func (p *probe) sameAnswer(first, again reply) string {
	for _, one := range p.differences(first, again) {
		return one.text
	}
	return ""
}

// repeats judges whether again meets the profile as a repetition of first.
func (p *probe) repeats(first, again reply) finding {
	profile := &p.run.config.Profile
	switch {
	case !again.answered():
		return incomplete("the repetition got %s", again)
	case first.Status != again.Status && (!first.judged().ok() || !again.judged().ok()):
		return incomplete("the first was %s, the repetition %s", first, again)
	case profile.Repeat == repeatRefused:
		if again.in(profile.Refused...) {
			return passed()
		}
		return p.refusesDuplicate(first, again, fmt.Sprintf("the duplicate is answered %s, and not refused by %s", again, statusList(profile.Refused)))
	case profile.Repeat == repeatAccepted:
		if again.taken() {
			return passed()
		}
		return failed("the repetition is answered %s, and not accepted", again).blaming(again)
	}
	if f := p.alikeBut(first, again); !f.ok() {
		return f
	}
	return passedBut("%s", p.compare(first, again).remark())
}

func statusList(statuses []int) string {
	texts := make([]string, len(statuses))
	for i, status := range statuses {
		texts[i] = fmt.Sprint(status)
	}
	return strings.Join(texts, ", ")
}
