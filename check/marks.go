package check

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/semel-dev/semel/check/wire"
)

// marks identify an answer among those to other intents: they are in no answer of the sample, and were not in the
// request.
type marks struct {
	location string
	body     []byte // nil if the body has nothing of its own
	ids      []spot
}

func (m marks) empty() bool { return m.location == "" && m.body == nil && len(m.ids) == 0 }

// minMark is the least length of a text or number that is searched for anywhere.
const minMark = 8

func (p *probe) marks(r reply) marks {
	var m marks
	if !r.answered() {
		return m
	}
	others := p.othersThan(r)
	asked := askedBy(r.request)
	if at := r.Header.Get("Location"); !asked.has(at) {
		m.location = at
	}
	known := map[string]bool{}
	for _, other := range others {
		if other.Header.Get("Location") == m.location {
			m.location = ""
		}
		for _, s := range spotsOf(other) {
			known[s.value] = true
		}
	}
	for _, s := range spotsOf(r) {
		if known[s.value] || asked.has(s.value) || s.isTime() || s.volatile(s) {
			continue
		}
		m.body = plain(r.Answer)
		if s.namesRecord() {
			m.ids = append(m.ids, s)
		}
	}
	return m
}

func (p *probe) othersThan(r reply) []reply {
	if p.run.sample == nil {
		return nil
	}
	return slices.DeleteFunc(p.run.sample.replies(), func(one reply) bool { return !one.answered() || one.Answer == r.Answer })
}

func spotsOf(r reply) []spot { return spots(r.Header.Get("Content-Type"), plain(r.Answer)) }

// namesRecord reports whether the value looks like an id.
func (s spot) namesRecord() bool {
	if s.isNamedID() {
		return true
	}
	words := nameWords(s.name)
	return len(s.value) >= minMark && !s.bare && !strings.ContainsAny(s.value, " \t\n") && strings.ContainsAny(s.value, "0123456789") &&
		!anyOf(words, "hash", "digest", "checksum", "signature", "fingerprint", "etag") && !s.page
}

// isNamedID reports whether the name of the place is that of an id, or of a link to the record.
func (s spot) isNamedID() bool {
	return anyOf(nameWords(s.name), "id", "uuid", "guid", "href", "self", "url", "location")
}

// isOwnID reports whether the name of the place is that of the record's own id.
func (s spot) isOwnID() bool {
	words := nameWords(s.name)
	return len(words) == 1 && anyOf(words, "id", "uuid", "guid")
}

func (s spot) isLink() bool {
	return strings.HasPrefix(s.value, "/") || strings.Contains(s.value, "://")
}

// asked holds the values of a request.
type asked struct {
	texts  []string // its parts as they were sent
	values []string // the values of its places
}

// minSaid is the length from which a request's value counts as a part of other values.
const minSaid = 4

func askedBy(r *wire.Request) asked {
	if r == nil {
		return asked{}
	}
	a := asked{texts: []string{r.URL.Path, string(r.Body)}}
	for _, s := range spots(r.Value("Content-Type"), r.Body) {
		a.values = append(a.values, s.value)
	}
	form, _ := url.ParseQuery(string(r.Body)) // another body has no fields
	for _, fields := range []url.Values{form, r.URL.Query()} {
		for _, of := range fields {
			a.values = append(a.values, of...)
		}
	}
	for _, f := range r.Header {
		a.values = append(a.values, strings.Trim(f.Value, `"`))
	}
	for step := range strings.SplitSeq(r.URL.Path, "/") {
		if len(step) >= minMark {
			a.values = append(a.values, step)
		}
	}
	return a
}

// has reports whether the value was in the request or is made from its values.
func (a asked) has(value string) bool {
	return slices.ContainsFunc(a.texts, func(text string) bool {
		return value == text || len(value) >= minSaid && strings.Contains(text, value)
	}) || slices.ContainsFunc(a.values, func(part string) bool {
		return value == part || len(part) >= minSaid && strings.Contains(value, part)
	})
}

// resemblance describes what an answer shares with the first answer to another intent.
type resemblance struct {
	what string // in the words of a reason; empty if nothing reveals the first answer
	// weak means that it is only a Location, a link in the body, or one id of several of which others differ. Many
	// intents may lead to one page of a list, or belong to one batch: a count of effects has to decide.
	weak bool
}

// resembles returns what in other reveals the first answer: its body, an id that only it contained and that was not in
// the request, or its Location. A body of the same kind with an id of its own is another record, whatever else the two
// share. If first has no [probe.marks], nothing is found.
func (p *probe) resembles(first, other reply) resemblance {
	if !first.answered() || !other.answered() {
		return resemblance{}
	}
	m := p.marks(first)
	body := plain(other.Answer)
	if m.body != nil && (string(body) == string(m.body) || first.Status == other.Status && p.sameBody(first, other)) {
		return resemblance{what: "its body is that of the first answer"}
	}
	there := spotsOf(other)
	another, mixed := m.isAnother(other, there)
	if another {
		return resemblance{}
	}
	if at, ok := p.sharedPart(first, other); ok {
		return resemblance{what: fmt.Sprintf("it contains the first answer's %s", at)}
	}
	if id, ok := m.idIn(there, askedBy(other.request)); ok {
		return resemblance{what: fmt.Sprintf("it has %s of the first answer, %s", id.place, quote(id.value, id.place)), weak: mixed || id.isLink()}
	}
	switch {
	case m.location == "":
	case other.Header.Get("Location") == m.location:
		return resemblance{what: "its Location is that of the first answer, " + quote(m.location, "Location").String(), weak: true}
	case slices.ContainsFunc(there, func(s spot) bool { return strings.HasSuffix(s.value, m.location) }):
		return resemblance{what: "it has the Location of the first answer, " + quote(m.location, "Location").String(), weak: true}
	}
	return resemblance{}
}

func (p *probe) sameBody(first, other reply) bool {
	c := p.compare(first, other)
	return c.same() && !c.partial
}

// isAnother reports whether a success has an id of its own, if the first answer has one. The record's own id decides.
// If no id is named as such, every id that is not a link has to differ; mixed means that only some do. Ids of a page's
// elements do not count.
func (m marks) isAnother(other reply, there []spot) (another, mixed bool) {
	values := map[string]string{}
	for _, s := range there {
		values[s.place] = s.value
	}
	depth, own, differing, equal := 0, false, false, false
	for _, id := range m.ids {
		value, ok := values[id.place]
		if !ok || id.page || !id.isNamedID() || !other.fine() {
			continue
		}
		if at := strings.Count(id.place, "/"); id.isOwnID() && (depth == 0 || at < depth) {
			depth, own = at, value != id.value
		}
		differing = differing || value != id.value
		equal = equal || value == id.value && !id.isLink()
	}
	if depth > 0 {
		return own, false
	}
	return differing && !equal, differing && equal
}

// idIn finds an id of the first answer in another one, and a link only for want of an id. Values of the request itself
// do not count.
func (m marks) idIn(there []spot, asked asked) (found spot, ok bool) {
	places := map[string][]string{}
	for _, s := range there {
		places[s.value] = append(places[s.value], s.place)
	}
	for _, id := range m.ids {
		at := places[id.value]
		// A short id counts only at the place where it was before.
		if len(at) == 0 || asked.has(id.value) || len(id.value) < minMark && !slices.Contains(at, id.place) {
			continue
		}
		if !id.isLink() {
			return id, true
		}
		found, ok = id, true
	}
	return found, ok
}

// reveals is [probe.resembles] for the answer to another user, who must not see the Location or an id of the first in
// any header line either.
func (p *probe) reveals(first, other reply) resemblance {
	r := p.resembles(first, other)
	if r.what != "" && !r.weak || !first.answered() || !other.answered() {
		return r
	}
	m, asked := p.marks(first), askedBy(other.request)
	if another, _ := m.isAnother(other, spotsOf(other)); another {
		m.location = ""
	}
	secrets := []spot{{place: "Location", value: m.location}}
	secrets = append(secrets, m.ids...)
	for _, f := range fields(other.Header) {
		for _, secret := range secrets {
			if len(secret.value) < minMark || !strings.Contains(f.Value, secret.value) || asked.has(secret.value) {
				continue
			}
			if weak := secret.isLink(); !weak || r.what == "" {
				r = resemblance{fmt.Sprintf("its header line %s has %s, which is the first answer's", f.Name, quote(secret.value, secret.place, f.Name)), weak}
			}
		}
	}
	return r
}

// isGiven fails if r shows that an answer is the first one's, which belongs to another intent. If r is weak, the two
// intents must also have had fewer than two effects; if that cannot be counted, isGiven is incomplete.
func (p *probe) isGiven(ctx context.Context, r resemblance, since tally, of ...*intent) finding {
	switch {
	case r.what == "":
		return passed()
	case !r.weak:
		return failed("%s", r.what)
	case len(p.run.config.Counters) == 0:
		return incomplete("%s, which several records may share: say how effects are counted, such as with --count json:…", r.what)
	}
	f := p.effects(ctx, since, 2, 2, of...)
	switch {
	case f.verdict != Fail:
		return f
	case p.effects(ctx, since, 0, 1, of...).verdict == Fail:
		return passed() // more than two: another mistake
	}
	return f.because("%s, and there was %s", r.what, f.reason)
}
