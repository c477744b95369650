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

// target is where a form goes, and how. A button may have one of its own.
type target struct {
	action string // as it is written; empty for the page itself
	method string
	coding string
}

// control is a field, or a button.
type control struct {
	Field

	button *target // what a button says otherwise; nil for a field
}

// Submission is a form as it is sent when a button was pressed.
type Submission struct {
	Method string // GET or POST
	URL    *url.URL
	Coding string // such as [URLEncoded]
	Fields []Field
}

// Action is where the form goes as the page writes it; empty for the page
// itself.
func (f *Form) Action() string { return f.action }

// Press submits the form at the page with that base: by the first of its
// buttons whose name is among named, else by its first one, as the Enter key
// does. An action that is no URL counts as the page itself.
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

// or is the target with what the button says otherwise.
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

// resolve is the URL that a reference on a page leads to, without a fragment.
func resolve(base *url.URL, reference string) *url.URL {
	to, err := base.Parse(strings.TrimSpace(reference))
	if err != nil {
		to = base
	}
	copied := *to
	copied.Fragment, copied.RawFragment = "", ""
	return &copied
}
