package source

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/semel-dev/semel/check/wire"
)

// parameters fills in the parameters of the operation and of its path; the operation's own replace the others.
func (a *openAPI) parameters() {
	var all []*value
	at := map[string]int{}
	for _, list := range []*value{a.op.item.get("parameters"), a.op.does.get("parameters")} {
		for _, v := range list.list() {
			p := a.resolve(v)
			id := p.get("in").text() + " " + p.get("name").text()
			if i, ok := at[id]; ok {
				all[i] = p
				continue
			}
			at[id] = len(all)
			all = append(all, p)
		}
	}
	for _, p := range all {
		if a.err != nil {
			return
		}
		if a.parameter(p); a.err != nil {
			a.err = fmt.Errorf("the parameter %s: %w", p.get("name").text(), a.err)
		}
	}
}

func (a *openAPI) parameter(p *value) {
	name, in := p.get("name").text(), p.get("in").text()
	switch {
	case in == "header" && isKey(name):
		if a.r.Key.Name == "" {
			a.r.Key = wire.Field{Name: name}
		}
		a.r.addNote("the operation takes the key of the intent in the header %s", name)
		return
	case in == "header" && (strings.EqualFold(name, "Accept") || strings.EqualFold(name, "Content-Type") || strings.EqualFold(name, "Authorization")):
		return // OpenAPI ignores these as parameters
	}
	example := a.exampleOf(p)
	if example == nil && in != "path" && !p.get("required").truth() {
		return
	}
	if example == nil {
		schema, wrapped := p.get("schema"), false
		for _, kind := range p.get("content").names() {
			schema, wrapped = p.get("content").get(kind).get("schema"), true
		}
		example = a.build(schema, name)
		if in == "path" && givenBy(a.flat(schema, 0)) == nil {
			a.r.addNote("the %s in the path is made up: give an existing one", name)
		}
		if wrapped {
			example = newText(asText(example))
		}
	}
	a.fail(a.place(p, name, in, example))
}

func (a *openAPI) place(p *value, name, in string, v *value) error {
	switch in {
	case "path":
		a.path = append(a.path, "{"+name+"}", escapePath(joined(v)))
	case "query":
		explode := p.get("explode") == nil || p.get("explode").truth()
		a.query = append(a.query, pairsOf(name, p.get("style").text(), explode, v)...)
	case "header":
		a.r.add(name, joined(v))
	case "cookie":
		a.r.addCookie(name + "=" + joined(v))
	default:
		return fmt.Errorf("it is in %q, which is neither path, query, header nor cookie", in)
	}
	return nil
}

// joined writes a value in the style "simple": items and members with commas between.
func joined(v *value) string {
	var parts []string
	switch v.kindOf() {
	case kindArray:
		for _, item := range v.items {
			parts = append(parts, asText(item))
		}
	case kindObject:
		for _, name := range v.keys {
			parts = append(parts, name, asText(v.members[name]))
		}
	case kindNone, kindNull, kindBool, kindNumber, kindText:
		return asText(v)
	}
	return strings.Join(parts, ",")
}

// pairsOf writes a value as pairs of a query or a form, in the styles "form"
// and "deepObject".
func pairsOf(name, style string, explode bool, v *value) []string {
	pair := func(name, text string) string { return escapeForm(name) + "=" + escapeForm(text) }
	var pairs []string
	switch {
	case v.is(kindArray) && explode:
		for _, item := range v.items {
			pairs = append(pairs, pair(name, asText(item)))
		}
	case v.is(kindObject) && style == "deepObject":
		for _, member := range v.keys {
			pairs = append(pairs, pairsOf(name+"["+member+"]", style, explode, v.members[member])...)
		}
	case v.is(kindObject) && explode:
		for _, member := range v.keys {
			pairs = append(pairs, pair(member, asText(v.members[member])))
		}
	default:
		pairs = append(pairs, pair(name, joined(v)))
	}
	return pairs
}

// asText returns a scalar's text, or the JSON of another value.
func asText(v *value) string {
	switch v.kindOf() {
	case kindNone, kindNull:
		return ""
	case kindBool, kindNumber, kindText:
		return v.scalar
	case kindArray, kindObject:
	}
	var b bytes.Buffer
	_ = v.encode(&b) // too large a value is refused with the whole request
	return b.String()
}
