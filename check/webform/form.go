package webform

import (
	"net/url"
	"slices"
	"strings"
)

// Form is a form of a page.
type Form struct {
	ID, Name string
	target
	controls []control
}

// target says where and how a form is sent. A button may have its own.
type target struct {
	action string // as written; empty for the page itself
	method string
	coding string
}

// control is a field, or a button.
type control struct {
	Field

	button *target // what a button overrides; nil for a field
}

// Submission is a form as it is sent when a button is pressed.
type Submission struct {
	Method string // GET or POST
	URL    *url.URL
	Coding string // such as [URLEncoded]
	Fields []Field
}

// Action returns the form's action as written on the page; empty for the page itself.
func (f *Form) Action() string { return f.action }

// Press submits the form at the page with that base: by the first of its buttons whose name is among named, otherwise
// by its first one, like the Enter key. An invalid action counts as the page itself.
func (f *Form) Press(base *url.URL, named []string) *Submission {
	pressed := f.pressed(named)
	to := f.target
	if pressed != nil {
		to = to.or(pressed.button)
	}
	s := &Submission{Method: "GET", Coding: coding(to.coding)}
	if strings.EqualFold(to.method, "POST") {
		s.Method = "POST"
	}
	s.URL = resolve(base, to.action)
	for i := range f.controls {
		c := &f.controls[i]
		if c.Name != "" && (c.button == nil || c == pressed) {
			s.Fields = append(s.Fields, c.Field)
		}
	}
	return s
}

func (f *Form) pressed(named []string) *control {
	var first *control
	for i := range f.controls {
		switch c := &f.controls[i]; {
		case c.button == nil:
		case c.Name != "" && slices.Contains(named, c.Name):
			return c
		case first == nil:
			first = c
		}
	}
	return first
}

// or returns the target with the overrides of the button.
func (t target) or(button *target) target {
	return target{orElse(button.action, t.action), orElse(button.method, t.method), orElse(button.coding, t.coding)}
}

func coding(enctype string) string {
	switch enctype = strings.ToLower(strings.TrimSpace(enctype)); enctype {
	case Multipart, PlainText:
		return enctype
	}
	return URLEncoded
}

// resolve returns the URL of a reference on a page, without a fragment.
func resolve(base *url.URL, reference string) *url.URL {
	to, err := base.Parse(strings.TrimSpace(reference))
	if err != nil {
		to = base
	}
	copied := *to
	copied.Fragment, copied.RawFragment = "", ""
	return &copied
}
