package webform

import (
	"bytes"
	"fmt"
	"net/url"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Page holds the forms of a page.
type Page struct {
	// Base is the base of the page's references: its own URL, or the one that it declares.
	Base  *url.URL
	Forms []Form
}

// Parse reads the page from that URL like a browser without scripts. It fails for a page nested deeper than 512
// elements.
func Parse(page []byte, at *url.URL) (*Page, error) {
	doc, err := html.ParseWithOptions(bytes.NewReader(page), html.ParseOptionEnableScripting(false))
	if err != nil {
		return nil, fmt.Errorf("the page cannot be read: %w", err)
	}
	r := reader{page: Page{Base: at}, of: map[*html.Node]int{}, byID: map[string]int{}}
	walk(doc, r.form)
	walk(doc, r.control)
	return &r.page, nil
}

// walk visits the elements in order. The content of templates and of lists of suggestions is not part of the page.
func walk(n *html.Node, visit func(*html.Node)) {
	if n.Type == html.ElementNode {
		visit(n)
		if n.DataAtom == atom.Template || n.DataAtom == atom.Datalist {
			return
		}
	}
	for child := n.FirstChild; child != nil; child = child.NextSibling {
		walk(child, visit)
	}
}

// reader collects forms, and then their controls.
type reader struct {
	page  Page
	based bool
	of    map[*html.Node]int // the number of a form
	byID  map[string]int
	// loose is a form between the rows of a table: the parser leaves it empty, and the rest of that table belongs to
	// it.
	loose *html.Node
}

func (r *reader) form(n *html.Node) {
	switch n.DataAtom { //nolint:exhaustive // the elements of forms.
	case atom.Base:
		if href, ok := attribute(n, "href"); ok && !r.based {
			r.page.Base, r.based = resolve(r.page.Base, href), true
		}
	case atom.Form:
		f := Form{}
		f.ID, _ = attribute(n, "id")
		f.Name, _ = attribute(n, "name")
		f.action, _ = attribute(n, "action")
		f.method, _ = attribute(n, "method")
		f.coding, _ = attribute(n, "enctype")
		r.of[n] = len(r.page.Forms)
		if _, taken := r.byID[f.ID]; f.ID != "" && !taken {
			r.byID[f.ID] = len(r.page.Forms)
		}
		r.page.Forms = append(r.page.Forms, f)
	}
}

func (r *reader) control(n *html.Node) {
	if n.DataAtom == atom.Form && n.FirstChild == nil && table(n) != nil {
		r.loose = n
	}
	if disabled(n) {
		return
	}
	at, ok := r.owner(n)
	if !ok {
		return
	}
	f := &r.page.Forms[at]
	switch n.DataAtom { //nolint:exhaustive // the elements of forms.
	case atom.Input:
		f.controls = append(f.controls, input(n)...)
	case atom.Textarea:
		f.controls = append(f.controls, field(n, TextArea, text(n)))
	case atom.Select:
		f.controls = append(f.controls, selected(n)...)
	case atom.Button:
		if kind, ok := attribute(n, "type"); !ok || strings.EqualFold(kind, "submit") {
			f.controls = append(f.controls, button(n))
		}
	}
}

// owner returns the form of a control.
func (r *reader) owner(n *html.Node) (int, bool) {
	if id, ok := attribute(n, "form"); ok {
		at, ok := r.byID[id]
		return at, ok
	}
	for up := n.Parent; up != nil; up = up.Parent {
		if at, ok := r.of[up]; ok {
			return at, true
		}
	}
	if r.loose != nil && table(n) == table(r.loose) {
		return r.of[r.loose], true
	}
	return 0, false
}

// table returns the table around an element.
func table(n *html.Node) *html.Node {
	for up := n.Parent; up != nil; up = up.Parent {
		if up.DataAtom == atom.Table {
			return up
		}
	}
	return nil
}

// disabled reports whether a control is never sent: because of itself, or because it is in a disabled group, outside of
// that group's first legend.
func disabled(n *html.Node) bool {
	if _, off := attribute(n, "disabled"); off {
		return true
	}
	var below *html.Node
	for up := n; up != nil; below, up = up, up.Parent {
		if up.DataAtom != atom.Fieldset || up == n {
			continue
		}
		if _, off := attribute(up, "disabled"); off && below != first(up, atom.Legend) {
			return true
		}
	}
	return false
}

func first(n *html.Node, name atom.Atom) *html.Node {
	for child := n.FirstChild; child != nil; child = child.NextSibling {
		if child.DataAtom == name {
			return child
		}
	}
	return nil
}

func input(n *html.Node) []control {
	typed, _ := attribute(n, "type")
	kind := strings.ToLower(orElse(typed, string(Text)))
	value, given := attribute(n, "value")
	switch kind {
	case "reset", "button":
		return nil
	case "submit", "image":
		return []control{button(n)}
	case "checkbox", "radio":
		if _, checked := attribute(n, "checked"); !checked {
			return nil
		}
		if !given {
			value = "on"
		}
	case "file":
		c := field(n, Kind(kind), "")
		c.File = &File{}
		return []control{c}
	}
	return []control{field(n, Kind(kind), value)}
}

func field(n *html.Node, kind Kind, value string) control {
	name, _ := attribute(n, "name")
	return control{Field: Field{Name: name, Value: value, Kind: kind}}
}

// button returns a button, or a picture that is one. The position at which a picture was pressed is left out: no server
// treats it as part of an intent.
func button(n *html.Node) control {
	value, _ := attribute(n, "value")
	c := field(n, Submit, value)
	if kind, _ := attribute(n, "type"); strings.EqualFold(kind, "image") {
		c.Name = ""
	}
	c.button = &target{}
	c.button.action, _ = attribute(n, "formaction")
	c.button.method, _ = attribute(n, "formmethod")
	c.button.coding, _ = attribute(n, "formenctype")
	return c
}

// selected returns the chosen options of a list; if it allows only one, the last of them, or else its first option.
func selected(n *html.Node) []control {
	_, several := attribute(n, "multiple")
	var chosen []control
	var initial *control
	walk(n, func(option *html.Node) {
		if option.DataAtom != atom.Option {
			return
		}
		if _, off := attribute(option, "disabled"); off || offGroup(option) {
			return
		}
		value, given := attribute(option, "value")
		if !given {
			value = strings.Join(strings.Fields(text(option)), " ")
		}
		c := field(n, Select, value)
		if _, yes := attribute(option, "selected"); yes {
			chosen = append(chosen, c)
		}
		if initial == nil {
			initial = &c
		}
	})
	switch {
	case several:
		return chosen
	case len(chosen) > 0:
		return chosen[len(chosen)-1:]
	case initial != nil:
		return []control{*initial}
	}
	return nil
}

func offGroup(option *html.Node) bool {
	if option.Parent == nil || option.Parent.DataAtom != atom.Optgroup {
		return false
	}
	_, off := attribute(option.Parent, "disabled")
	return off
}

// text returns all text below an element.
func text(n *html.Node) string {
	var b strings.Builder
	for child := range n.Descendants() {
		if child.Type == html.TextNode {
			b.WriteString(child.Data)
		}
	}
	return b.String()
}

func attribute(n *html.Node, name string) (string, bool) {
	for _, a := range n.Attr {
		if a.Key == name && a.Namespace == "" {
			return a.Val, true
		}
	}
	return "", false
}
