package rewrite

// maxOpen bounds the elements that are remembered: forms in templates, templates, elements in svg and math.
const maxOpen = 512

// outline is a sketch of the tree that a parser builds: enough to tell which form a tag belongs to.
type outline struct {
	// form is the parser's form pointer: the form that is open outside of templates.
	form *openForm
	// templates are those that are open, and for each how many forms were open in templates around it.
	templates []int
	// forms are those that are open in templates.
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
	if len(o.templates) == 0 {
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
	n := len(o.templates)
	if n == 0 {
		o.lender.drop(o.form)
		o.form = nil
		return
	}
	if len(o.forms) > o.templates[n-1] {
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
