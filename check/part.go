package check

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// maxParts limits the objects of an answer that are looked for in another one.
const maxParts = 200

// sharedPart finds an object of the first answer, in a JSON answer that may have another shape around it. It must have an
// id that no other intent has and that was not asked for, and another member: one short number may be anywhere.
func (p *probe) sharedPart(first, other reply) (at string, ok bool) {
	one, isJSON := decodeJSON(plain(first.Answer))
	two, isToo := decodeJSON(plain(other.Answer))
	if !isJSON || !isToo {
		return "", false
	}
	m, asked := p.marks(first), askedBy(other.request)
	ids := slices.DeleteFunc(slices.Clone(m.ids), func(s spot) bool { return !s.isNamedID() || s.isLink() || asked.has(s.value) })
	if len(ids) == 0 {
		return "", false
	}
	theirs := objects(two, "", nil)
	for _, part := range objects(one, "", nil) {
		if len(part.members) < 2 || !slices.ContainsFunc(ids, func(id spot) bool { return strings.HasPrefix(id.place, part.at+"/") }) {
			continue
		}
		if slices.ContainsFunc(theirs, func(o object) bool { return reflect.DeepEqual(o.members, part.members) }) {
			return "object " + orWhole(part.at), true
		}
	}
	return "", false
}

func orWhole(at string) string {
	if at == "" {
		return "as a whole"
	}
	return at
}

// object is an object of a JSON document.
type object struct {
	at      string // its JSON pointer
	members map[string]any
}

// objects returns the objects of a document, the outer ones first, up to maxParts.
func objects(node any, at string, had []object) []object {
	if len(had) >= maxParts {
		return had
	}
	switch v := node.(type) {
	case map[string]any:
		had = append(had, object{at, v})
		for _, name := range slices.Sorted(maps.Keys(v)) {
			had = objects(v[name], at+"/"+escapeStep(name), had)
		}
	case []any:
		for i, member := range v {
			had = objects(member, at+"/"+strconv.Itoa(i), had)
		}
	}
	return had
}

// isReplay reports whether an answer is the one that the owner of the intent gets again.
func (p *probe) isReplay(ctx context.Context, in *intent, got reply) bool {
	replay := p.send(ctx, "the owner again", in)
	return replay.fine() && p.sameBody(replay, got)
}

// unlikeReplay judges a success in which nothing of the first answer was found, and whose record is not a new one: a
// replay may have another shape than a first answer. So the owner asks for one, with which it is compared.
func (p *probe) unlikeReplay(ctx context.Context, a attempt, got reply, compare func(first, other reply) resemblance) (resemblance, finding) {
	if another, _ := p.marks(a.first).isAnother(got, spotsOf(got)); another || len(got.Body) == 0 && len(a.first.Body) > 0 {
		return resemblance{}, passed()
	}
	replay := p.send(ctx, "the owner again", a.in)
	if !replay.fine() {
		return resemblance{}, incomplete("it is answered %s, and the owner's own repetition %s, so no replay can be compared", got, replay)
	}
	if p.marks(replay).empty() {
		return resemblance{}, incomplete("neither the first answer nor the owner's repetition has anything to compare it with")
	}
	return compare(replay, got), passed()
}
