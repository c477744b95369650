package rewrite

import "bytes"

// element is a kind of element that the rewriter treats in its own way.
type element uint8

const (
	ordinary    element = iota
	formElement         // from here to metaElement: see inserts
	inputElement
	buttonElement
	bodyElement
	baseElement
	metaElement
	templateElement
	selectElement
	noscriptElement
	svgElement
	mathElement
	headElement
	scriptElement
	plaintextElement
	rawElement   // style and the like: markup in it is text, up to its end tag
	tableElement // it and its parts close an open select
)

// maxName bounds the names that are looked at: no element that matters has one as long. Of longer ones only the
// beginning counts.
const maxName = 32

// elementOf takes a name in lower case.
func elementOf(name []byte) element {
	switch string(name) {
	case "form":
		return formElement
	case "input":
		return inputElement
	case "button":
		return buttonElement
	case "body":
		return bodyElement
	case "head":
		return headElement
	case "base":
		return baseElement
	case "meta":
		return metaElement
	case "template":
		return templateElement
	case "select":
		return selectElement
	case "noscript":
		return noscriptElement
	case "svg":
		return svgElement
	case "math":
		return mathElement
	case "script":
		return scriptElement
	case "plaintext":
		return plaintextElement
	case "style", "title", "textarea", "xmp", "iframe", "noembed", "noframes":
		return rawElement
	case "table", "caption", "tbody", "tfoot", "thead", "tr", "td", "th":
		return tableElement
	default:
		return ordinary
	}
}

// inHead is whether an element can be in the head of a page, or around it.
func (e element) inHead(name []byte) bool {
	switch e { //nolint:exhaustive // the others are not
	case headElement, baseElement, metaElement, templateElement, noscriptElement, scriptElement:
		return true
	case rawElement:
		return string(name) == "style" || string(name) == "title" || string(name) == "noframes"
	case ordinary:
		return string(name) == "html" || string(name) == "link"
	default:
		return false
	}
}

// inserts is whether a start tag has to be read as a whole: something may be inserted at it, or it says something.
func (e element) inserts() bool {
	return formElement <= e && e <= metaElement
}

// Submitter is a button that can send a form and says itself where to or how, by formaction or formmethod, or is an image,
// with which a browser sends where it was pressed. It and its values are used again: see [Inserter].
type Submitter struct {
	Image         bool
	Name          []byte // of an image, not decoded
	FormAction    []byte // as written, not resolved
	HasFormAction bool
	FormMethod    string // get, post or dialog; empty without such an attribute
	HasFormMethod bool
	FormID        []byte // the attribute form, which names another form than the enclosing one
	FormRef       []byte // the same, not decoded
	// Form is the form that is open here, which a button with FormID does not belong to. In a template without
	// a form it is the form around the template. Nil means that no form is open.
	Form *Form
}

// isImage is false for most inputs, which are not images.
func isImage(tag []byte) bool { return mentions(tag, "image") }

// mentions reports whether a tag has the word in any letter case.
func mentions(tag []byte, word string) bool {
	for i := 0; i+len(word) <= len(tag); i++ {
		if tag[i]|0x20 == word[0] && equalFold(tag[i:i+len(word)], word) {
			return true
		}
	}
	return false
}

// submits is false when a tag has neither formaction nor formmethod, as most have: then it need not be looked at closer.
func submits(tag []byte) bool {
	const length = len("formaction") // and that of formmethod
	for i := 0; i+length <= len(tag); i++ {
		if tag[i+3]|0x20 != 'm' || tag[i]|0x20 != 'f' { // there are fewer "m" than "f" and "o" in these tags
			continue
		}
		if word := tag[i : i+length]; equalFold(word, "formaction") || equalFold(word, "formmethod") {
			return true
		}
	}
	return false
}

// openSubmitter is a button with the room for its values.
type openSubmitter struct {
	Submitter

	room []byte
}

// read fills in what the tag says. It is false when the button sends nothing, or sends it where its form says.
func (s *openSubmitter) read(tag []byte, button bool, enclosing *Form) bool {
	var (
		kind   = attribute{name: "type"}
		action = attribute{name: "formaction"}
		method = attribute{name: "formmethod"}
		form   = attribute{name: "form"}
		name   = attribute{name: "name"}
	)
	s.room = find(tag, s.room[:0], &kind, &action, &method, &form, &name)
	image := !button && equalFold(kind.value, "image")
	if !action.has && !method.has && !image {
		return false
	}
	if button && keyword(kind.value, "submit", "button", "reset") != "submit" ||
		!button && keyword(kind.value, "text", "submit", "image") == "text" {
		return false
	}
	s.Submitter = Submitter{
		Image:         image,
		Name:          name.raw,
		FormAction:    action.value,
		HasFormAction: action.has,
		HasFormMethod: method.has,
		FormID:        form.value,
		FormRef:       form.raw,
		Form:          enclosing,
	}
	if method.has {
		s.FormMethod = keyword(method.value, "get", "post", "dialog")
	}
	return true
}

// readPassword fills in which form an input belongs to. It is false for one that does not ask for a password.
func (s *openSubmitter) readPassword(tag []byte, enclosing *Form) bool {
	if !mentions(tag, "password") && bytes.IndexByte(tag, '&') < 0 { // it may be written in references
		return false
	}
	kind, form := attribute{name: "type"}, attribute{name: "form"}
	s.room = find(tag, s.room[:0], &kind, &form)
	if !equalFold(kind.value, "password") {
		return false
	}
	s.Submitter = Submitter{FormID: form.value, FormRef: form.raw, Form: enclosing}
	return true
}

// Form is a form start tag that begins a form. Values are decoded, and are the page's own bytes: they are UTF-8 when the
// page is. They and the Form itself are used again: see [Inserter].
type Form struct {
	Action []byte // as written, not resolved
	Method string // get, post or dialog: what a browser makes of the attribute
	ID     []byte
	// Ref is the ID as it is written, for a form of XML that closes itself: what belongs to it is elsewhere, and names it.
	Ref []byte
	// Inert is set for a form in a template or a noscript element. A script element put there does not run when
	// the page is loaded by a browser with scripts.
	Inert bool
}

// openForm is a form that is open, with the room for its values.
type openForm struct {
	Form

	room    []byte
	holders int // outlines it is open in
}

// read fills in what the tag says; nil is a tag that nothing is known of.
func (f *openForm) read(tag []byte, inert, closed bool) {
	action, method, id := attribute{name: "action"}, attribute{name: "method"}, attribute{name: "id"}
	f.room = find(tag, f.room[:0], &action, &method, &id)
	f.Form = Form{Action: action.value, Method: keyword(method.value, "get", "post", "dialog"), ID: id.value, Inert: inert}
	if closed {
		f.Ref = id.raw
	}
}

// forms is a pool: a page with many forms needs memory only for the open ones.
type forms struct{ free []*openForm }

// lend returns a form that is not in use.
func (l *forms) lend() *openForm {
	if n := len(l.free); n > 0 {
		form := l.free[n-1]
		l.free = l.free[:n-1]
		return form
	}
	return &openForm{}
}

// hold keeps a form from being lent to others until it is dropped as often. It may be nil.
func (*forms) hold(held ...*openForm) {
	for _, form := range held {
		if form != nil {
			form.holders++
		}
	}
}

func (l *forms) drop(held ...*openForm) {
	for _, form := range held {
		if form == nil {
			continue
		}
		if form.holders--; form.holders == 0 {
			l.free = append(l.free, form)
		}
	}
}

// maxOpen bounds the elements that are remembered: forms in templates, templates, elements in svg and math.
const maxOpen = 512

// outline is a sketch of the tree that a parser builds: enough to tell which form a tag belongs to.
type outline struct {
	xml bool // a form can be in a form
	// form is the parser's form pointer: the form that is open outside of templates. In XML there is none.
	form *openForm
	// templates are those that are open, and for each how many forms were open in templates around it.
	templates []int
	// forms are those that are open in templates, or in XML.
	forms []*openForm
	// lender lends forms, and takes them back when they are closed.
	lender *forms
	// selects is whether a select is open: an input in there would close it, so that nothing is inserted.
	selects bool
	foreign foreign
}

// enclosing is the form that a control belongs to here.
func (o *outline) enclosing() *Form {
	form := o.form
	if len(o.forms) > 0 {
		form = o.forms[len(o.forms)-1]
	}
	if form == nil {
		return nil
	}
	return &form.Form
}

// begins is whether a form start tag begins a form here. In a form it does not, unless a template is open.
func (o *outline) begins() bool { return !o.selects && (o.form == nil || len(o.templates) > 0) }

func (o *outline) beginForm(form *openForm) {
	o.lender.hold(form)
	if len(o.templates) == 0 && !o.xml {
		o.form = form
		return
	}
	o.forms = append(o.forms, form)
}

// end takes the end tag of an HTML element.
func (o *outline) end(e element) {
	switch e { //nolint:exhaustive // the others change nothing
	case formElement:
		o.endForm()
	case selectElement, tableElement:
		o.selects = false
	case templateElement:
		if n := len(o.templates); n > 0 {
			o.closeTo(o.templates[n-1])
			o.templates = o.templates[:n-1]
			o.selects = false
		}
	}
}

func (o *outline) endForm() {
	o.selects = false
	around := 0
	if n := len(o.templates); n > 0 {
		around = o.templates[n-1]
	} else {
		o.lender.drop(o.form)
		o.form = nil
	}
	if len(o.forms) > around {
		o.closeTo(len(o.forms) - 1)
	}
}

// closeTo leaves n forms in templates open.
func (o *outline) closeTo(n int) {
	o.lender.drop(o.forms[n:]...)
	o.forms = o.forms[:n]
}

// start takes the start tag of an HTML element that is not a form.
func (o *outline) start(e element) {
	switch e { //nolint:exhaustive // the others change nothing
	case selectElement: // in a select it closes that one
		o.selects = !o.selects
	case inputElement, tableElement:
		o.selects = false
	case templateElement:
		o.templates = append(o.templates, len(o.forms))
		o.selects = false
	}
}

// tooDeep is whether no more elements can be remembered.
func (o *outline) tooDeep() bool {
	return max(len(o.templates), len(o.forms), len(o.foreign.open)) >= maxOpen
}

// copyTo saves the outline before a part of the page that some browsers skip: after it, the same elements are open as before.
func (o *outline) copyTo(saved *outline) {
	o.lender.hold(o.form)
	o.lender.hold(o.forms...)
	saved.lender.drop(saved.form)
	saved.closeTo(0)
	saved.form, saved.selects = o.form, o.selects
	saved.templates = append(saved.templates[:0], o.templates...)
	saved.forms = append(saved.forms[:0], o.forms...)
	saved.foreign.open = append(saved.foreign.open[:0], o.foreign.open...)
}
