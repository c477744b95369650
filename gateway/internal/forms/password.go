package forms

import (
	"bytes"
	"slices"

	"github.com/semel-dev/semel/gateway/internal/forms/rewrite"
	"github.com/semel-dev/semel/internal/formguard"
)

// A form that asks for a password gets no token, unless its rule says so. Its field comes behind the place of the token: that is taken
// out again while it is held back, and else a note before the field says that the token does not count. A field that a script adds is
// not seen.

// formTokens are the tokens of one form of the page.
type formTokens struct {
	password bool // it has a field for one
	named    bool // it has an id, by which later fields can name it
	all      []formToken
}

type formToken struct {
	route  *Route
	markup []byte
	script bool // its rule wants the script
}

// without reports whether the form gets no token for the route.
func (t *formTokens) without(rt *Route) bool { return t.password && !rt.Rule.Form.Passwords }

// add remembers a token that may have to be taken out again.
func (t *formTokens) add(rt *Route, markup []byte, script bool) {
	if rt.Rule.Form.Passwords || len(t.all) == maxPageForms {
		return
	}
	t.all = slices.Grow(t.all, 1)[:len(t.all)+1] // with the memory of an earlier form
	last := &t.all[len(t.all)-1]
	last.route, last.markup, last.script = rt, append(last.markup[:0], markup...), script
}

// open begins a form.
func (in *inserter) open(form *rewrite.Form) *formTokens {
	if len(form.ID) > 0 {
		tokens := in.tokensOf(form.ID, form) // a field may have named it before
		in.tokens[form] = tokens
		return tokens
	}
	tokens := in.tokens[form]
	if tokens == nil || tokens.named {
		tokens = &formTokens{}
		in.tokens[form] = tokens
	}
	tokens.password, tokens.all = false, tokens.all[:0]
	return tokens
}

// tokensOf returns the tokens of the form that a field or button belongs to.
func (in *inserter) tokensOf(id []byte, form *rewrite.Form) *formTokens {
	if len(id) == 0 {
		if tokens := in.tokens[form]; tokens != nil {
			return tokens
		}
		return &formTokens{}
	}
	tokens := in.named[string(id)]
	if tokens == nil {
		tokens = &formTokens{named: true}
		if len(in.named) < maxPageForms {
			in.named[string(id)] = tokens
		}
	}
	return tokens
}

// Password implements rewrite.Inserter.
func (in *inserter) Password(s *rewrite.Submitter) []byte {
	p, tokens := in.page, in.tokensOf(s.FormID, s.Form)
	in.out = in.out[:0]
	tokens.password = true
	for _, token := range tokens.all {
		if i := bytes.LastIndex(p.out, token.markup); i >= 0 {
			p.out = slices.Delete(p.out, i, i+len(token.markup))
			if i < p.headEnd {
				p.headEnd -= len(token.markup)
			}
			if token.script {
				p.wantsScript--
			}
			continue
		}
		in.note(token.route, formguard.PasswordNote, s.FormRef)
	}
	tokens.all = tokens.all[:0]
	return in.out
}
