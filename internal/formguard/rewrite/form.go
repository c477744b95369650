package rewrite

// Form is a form start tag that begins a form. Values are decoded, and are the page's own bytes: they are UTF-8 when the
// page is. They and the Form itself are used again: see [Inserter].
type Form struct {
	Action []byte // as written, not resolved
	Method string // get, post or dialog: what a browser makes of the attribute
	ID     []byte
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
func (f *openForm) read(tag []byte, inert bool) {
	action, method, id := attribute{name: "action"}, attribute{name: "method"}, attribute{name: "id"}
	f.room = find(tag, f.room[:0], &action, &method, &id)
	f.Form = Form{Action: action.value, Method: keyword(method.value, "get", "post", "dialog"), ID: id.value, Inert: inert}
}

// forms lends forms, so that a page with many of them needs memory only for those that are open at a time.
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
