package source

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

const (
	// maxBuilt limits the values and merged members that one request is built from.
	maxBuilt = 100_000
	// maxDepth limits the nesting of generated values.
	maxDepth = 32
	// maxItems limits the items of an array, and maxText the characters of a text, whatever the schema requires.
	maxItems = 100
	maxText  = 64 << 10
)

// errTooLarge ends the building of a value.
var errTooLarge = errors.New("the schema generates too large a body: add an example to the document, or give the body")

func (a *openAPI) build(schema *value, name string) *value {
	if v := a.valueOf(schema, name, nil); v != nil {
		return v
	}
	return &value{kind: kindNull}
}

// valueOf generates a value. Above are the schemas around this one; nil means that the schema contains itself, or is
// nested too deep, so that no value is possible, or that the building has failed.
func (a *openAPI) valueOf(schema *value, name string, above []*value) *value {
	a.spend(1)
	resolved := a.resolve(schema)
	if a.err != nil || slices.Contains(above, resolved) && resolved != nil || len(above) > maxDepth {
		return nil
	}
	above = append(slices.Clone(above), resolved)
	s := a.flat(resolved, 0)
	if given := givenBy(s); given != nil {
		return given
	}
	switch typeOf(s) {
	case "object":
		return a.objectOf(s, above)
	case "array":
		return a.arrayOf(s, name, above)
	case "integer", "number":
		if len(above) > 1 && isOwnID(s, name) {
			return newNumber("{{n}}")
		}
		return newNumber(numberOf(s, typeOf(s) == "integer"))
	case "boolean":
		return &value{kind: kindBool, scalar: "true"}
	case "null", "":
		return &value{kind: kindNull}
	}
	return newText(a.textOf(s, name))
}

// spend counts values that are built; too many of them fail.
func (a *openAPI) spend(n int) {
	if a.left -= n; a.left < 0 {
		a.fail(errTooLarge)
	}
}

// isOwnID reports whether a number is the id of the created resource, for which any large one will do.
func isOwnID(s *value, name string) bool {
	return name == "id" && typeOf(s) == "integer" && s.get("format").text() != "int32" && s.get("maximum") == nil && s.get("multipleOf") == nil
}

// givenBy returns a value from the schema itself.
func givenBy(s *value) *value {
	if example := s.get("example"); example != nil {
		return example
	}
	for _, list := range []*value{s.get("examples"), s.get("enum")} {
		for _, v := range list.list() {
			if !v.is(kindNull) {
				return v
			}
		}
	}
	if constant := s.get("const"); constant != nil {
		return constant
	}
	if given := s.get("default"); !given.is(kindNull) {
		return given
	}
	return nil
}

// typeOf returns the first type that is not null, or the one that the keywords imply.
func typeOf(s *value) string {
	declared := s.get("type")
	if declared.is(kindText) {
		return declared.scalar
	}
	for _, one := range declared.list() {
		if one.text() != "null" {
			return one.text()
		}
	}
	switch {
	case s.get("properties") != nil, s.get("additionalProperties") != nil, s.get("required") != nil:
		return "object"
	case s.get("items") != nil:
		return "array"
	case s.get("pattern") != nil, s.get("format") != nil, s.get("minLength") != nil, s.get("maxLength") != nil:
		return "string"
	case s.get("minimum") != nil, s.get("maximum") != nil, s.get("multipleOf") != nil:
		return "number"
	case declared != nil:
		return "null"
	case s.is(kindObject) && len(s.keys) > 0:
		return "string"
	}
	return ""
}

// flat merges allOf, and the first of oneOf and anyOf, into one schema. The nearer schema wins; a member that is
// required anywhere is required.
func (a *openAPI) flat(schema *value, depth int) *value {
	s := a.resolve(schema)
	all, one, anyOne := s.get("allOf").list(), s.get("oneOf").list(), s.get("anyOf").list()
	if len(all)+len(one)+len(anyOne) == 0 {
		return s
	}
	if a.spend(1); depth > maxDepth {
		a.fail(fmt.Errorf("line %d: a schema contains itself by allOf, oneOf or anyOf: give the body", s.line))
	}
	if a.err != nil {
		return nil
	}
	merged := newObject()
	merged.line = s.line
	a.merge(merged, s)
	for _, list := range [][]*value{one, anyOne} {
		if first := notNull(list); first != nil {
			a.discriminate(merged, s.get("discriminator"), first)
			all = append(slices.Clone(all), first)
		}
	}
	for _, part := range all {
		a.merge(merged, a.flat(part, depth+1))
	}
	return merged
}

func notNull(list []*value) *value {
	for _, one := range list {
		if one.get("type").text() != "null" {
			return one
		}
	}
	return nil
}

// discriminate sets the member that selects the alternative.
func (a *openAPI) discriminate(merged, discriminator, chosen *value) {
	property := discriminator.get("propertyName").text()
	to := chosen.get("$ref").text()
	if property == "" || to == "" {
		return
	}
	says := to[strings.LastIndexByte(to, '/')+1:]
	mapping := discriminator.get("mapping")
	for _, name := range mapping.names() {
		if mapping.get(name).text() == to {
			says = name
			break
		}
	}
	constant := newObject()
	constant.set("const", newText(says))
	alone := newObject()
	alone.set("properties", newObject())
	alone.get("properties").set(property, constant)
	alone.set("required", &value{kind: kindArray, items: []*value{newText(property)}})
	a.merge(merged, alone)
}

// merge adds the keywords of the other schema that this one lacks.
func (a *openAPI) merge(into, from *value) {
	for _, name := range from.names() {
		member := from.get(name)
		if a.spend(1); a.err != nil {
			return
		}
		switch held := into.get(name); {
		case name == "allOf", name == "oneOf", name == "anyOf", name == "discriminator":
		case held == nil:
			into.set(name, member)
		case name == "properties":
			a.spend(len(member.names()))
			both := newObject()
			both.keys = slices.Clone(held.keys)
			maps.Copy(both.members, held.members)
			for _, property := range member.names() {
				if both.get(property) == nil {
					both.set(property, member.get(property))
				}
			}
			into.set(name, both)
		case name == "required" && held.is(kindArray):
			a.left -= len(held.items) + len(member.list())
			into.set(name, &value{kind: kindArray, line: held.line, items: slices.Concat(held.items, member.list())})
		}
	}
}

// objectOf generates the members that are required, or for which the document has a value; all of them if there are
// none of those.
func (a *openAPI) objectOf(s *value, above []*value) *value {
	required := map[string]bool{}
	for _, name := range s.get("required").list() {
		required[name.text()] = true
	}
	made := a.membersOf(s, required, false, above)
	if len(made.keys) == 0 {
		return a.membersOf(s, required, true, above)
	}
	return made
}

func (a *openAPI) membersOf(s *value, required map[string]bool, everything bool, above []*value) *value {
	made, properties := newObject(), s.get("properties")
	for _, name := range properties.names() {
		property := a.flat(properties.get(name), 0)
		if a.err != nil {
			return made
		}
		if property.get("readOnly").truth() || !everything && !required[name] && givenBy(property) == nil {
			continue
		}
		member := a.valueOf(properties.get(name), name, above)
		if member == nil && required[name] && a.err == nil {
			member = &value{kind: kindNull}
			a.r.addNote("%s contains itself: it is null", name)
		}
		if member != nil {
			made.set(name, member)
		}
	}
	return made
}

func (a *openAPI) arrayOf(s *value, name string, above []*value) *value {
	n := 1
	if least, ok := s.get("minItems").float(); ok {
		n = int(max(1, min(least, maxItems)))
	}
	if most, ok := s.get("maxItems").float(); ok && most < 1 {
		n = 0
	}
	made := &value{kind: kindArray}
	for range n {
		if item := a.valueOf(s.get("items"), name, above); item != nil && (s.get("items") != nil || !item.is(kindNull)) {
			made.items = append(made.items, item)
		}
	}
	return made
}

// numberOf returns 1 if that is valid, or else the least valid number.
func numberOf(s *value, whole bool) string {
	low, high := math.Inf(-1), math.Inf(1)
	step := 0.0
	if whole {
		step = 1
	}
	if of, ok := s.get("multipleOf").float(); ok && of > 0 {
		step = of
	}
	margin := step
	if margin == 0 {
		margin = 0.5
	}
	if least, ok := s.get("minimum").float(); ok {
		low = least
		if s.get("exclusiveMinimum").truth() { // of OpenAPI 3.0
			low += margin
		}
	}
	if least, ok := s.get("exclusiveMinimum").float(); ok {
		low = max(low, least+margin)
	}
	if most, ok := s.get("maximum").float(); ok {
		high = most
		if s.get("exclusiveMaximum").truth() {
			high -= margin
		}
	}
	if most, ok := s.get("exclusiveMaximum").float(); ok {
		high = min(high, most-margin)
	}
	n := min(max(1, low), high)
	if step > 0 {
		if n = math.Ceil(n/step) * step; n > high {
			n = math.Floor(high/step) * step
		}
	}
	if math.IsInf(n, 0) || math.IsNaN(n) {
		n = 1
	}
	return strconv.FormatFloat(n, 'f', -1, 64)
}
