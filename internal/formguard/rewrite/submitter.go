package rewrite

// Submitter is a button that can send a form and says itself where to or how, by formaction or formmethod, or is an image,
// with which a browser sends where it was pressed. It and its values are used again: see [Inserter].
type Submitter struct {
	Image         bool
	Name          []byte // of an image
	FormAction    []byte // as written, not resolved
	HasFormAction bool
	FormMethod    string // get, post or dialog; empty without such an attribute
	HasFormMethod bool
	FormID        []byte // the attribute form, which names another form than the enclosing one
	// Form is the form that is open here, which a button with FormID does not belong to. In a template outside of any form
	// of its own it is the form around the template. Nil means that there is none.
	Form *Form
}

// isImage is false for most inputs, which are not images.
func isImage(tag []byte) bool {
	const length = len("image")
	for i := 0; i+length <= len(tag); i++ {
		if tag[i]|0x20 == 'i' && equalFold(tag[i:i+length], "image") {
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
		Name:          name.value,
		FormAction:    action.value,
		HasFormAction: action.has,
		HasFormMethod: method.has,
		FormID:        form.value,
		Form:          enclosing,
	}
	if method.has {
		s.FormMethod = keyword(method.value, "get", "post", "dialog")
	}
	return true
}
