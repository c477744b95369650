package check

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/semel-dev/semel/check/wire"
)

// marks are what an answer can be told by from answers to other intents: it
// stands in no answer of the sample, and was not in the request.
type marks struct {
	location string
	body     []byte // nil where the body has nothing of its own
	ids      []spot
}

// empty reports whether there is nothing to tell the answer by.
func (m marks) empty() bool { return m.location == "" && m.body == nil && len(m.ids) == 0 }

// minMark is how long a text or number has to be that is looked for anywhere.
const minMark = 8

// marks finds what an answer can be told by.
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

// othersThan are the answers of the sample, which belong to other intents.
func (p *probe) othersThan(r reply) []reply {
	if p.run.sample == nil {
		return nil
	}
	return slices.DeleteFunc(p.run.sample.replies(), func(one reply) bool { return !one.answered() || one.Answer == r.Answer })
}

func spotsOf(r reply) []spot { return spots(r.Header.Get("Content-Type"), plain(r.Answer)) }

// namesRecord reports whether the value looks like an id.
func (s spot) namesRecord() bool {
	words := nameWords(s.name)
	if anyOf(words, "id", "uuid", "guid", "href", "self", "url", "location") {
		return true
	}
	return len(s.value) >= minMark && !s.bare && !strings.ContainsAny(s.value, " \t\n") && strings.ContainsAny(s.value, "0123456789") &&
		!anyOf(words, "hash", "digest", "checksum", "signature", "fingerprint", "etag") && !s.page
}

// asked is what a request says.
type asked struct {
	texts  []string // its parts as they stand
	values []string // what stands in their places
}

// minSaid is the shortest value of a request of which others may be made.
const minSaid = 4

func askedBy(r *wire.Request) asked {
	if r == nil {
		return asked{}
	}
	a := asked{texts: []string{r.URL.Path, string(r.Body)}}
	for _, s := range spots(r.Value("Content-Type"), r.Body) {
		a.values = append(a.values, s.value)
	}
	form, _ := url.ParseQuery(string(r.Body)) // what is no form has no fields
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

// has reports whether the value was asked, or is made of what was.
func (a asked) has(value string) bool {
	return slices.ContainsFunc(a.texts, func(text string) bool {
		return value == text || len(value) >= minSaid && strings.Contains(text, value)
	}) || slices.ContainsFunc(a.values, func(part string) bool {
		return value == part || len(part) >= minSaid && strings.Contains(value, part)
	})
}

// reveals says what in other gives the first answer away: its Location, its
// body, or an id that stood in it alone, and not in the request. It is empty if
// nothing does. Where [probe.marks] of first are empty, nothing could.
func (p *probe) reveals(first, other reply) string {
	if !first.answered() || !other.answered() {
		return ""
	}
	m := p.marks(first)
	if m.location != "" && other.Header.Get("Location") == m.location {
		return fmt.Sprintf("its Location is that of the first answer, %s", m.location)
	}
	body := plain(other.Answer)
	if m.body != nil && (string(body) == string(m.body) || first.Status == other.Status && p.compare(first, other).same()) {
		return "its body is that of the first answer"
	}
	asked := askedBy(other.request)
	there := spotsOf(other)
	if m.location != "" && slices.ContainsFunc(there, func(s spot) bool { return strings.HasSuffix(s.value, m.location) }) {
		return fmt.Sprintf("it has the Location of the first answer, %s", m.location)
	}
	places := map[string][]string{}
	for _, s := range there {
		places[s.value] = append(places[s.value], s.place)
	}
	for _, id := range m.ids {
		if at := places[id.value]; len(at) > 0 {
			// A short id says something only where it stood before.
			if (len(id.value) >= minMark || slices.Contains(at, id.place)) && !asked.has(id.value) {
				return fmt.Sprintf("it has %s of the first answer, %s", id.place, id.value)
			}
		}
	}
	return ""
}

// betrays is [probe.reveals] for the answer to somebody else, who must not see
// the Location or an id of the first in any header line either.
func (p *probe) betrays(first, other reply) string {
	if why := p.reveals(first, other); why != "" || !first.answered() || !other.answered() {
		return why
	}
	m, asked := p.marks(first), askedBy(other.request)
	secrets := []string{m.location}
	for _, id := range m.ids {
		secrets = append(secrets, id.value)
	}
	for _, f := range fields(other.Header) {
		for _, secret := range secrets {
			if len(secret) >= minMark && strings.Contains(f.Value, secret) && !asked.has(secret) {
				return fmt.Sprintf("its header line %s has %s, which is the first answer's", f.Name, secret)
			}
		}
	}
	return ""
}
