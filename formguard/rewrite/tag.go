package rewrite

import (
	"bytes"
	"strings"
)

// tagScan is where in a tag, behind its name, the tokenizer stands.
type tagScan uint8

const (
	beforeName  tagScan = iota // of an attribute
	inName                     // of an attribute
	afterName                  // of an attribute
	beforeValue                // after "="
	doubleQuoted
	singleQuoted
	unquoted
	afterQuoted
	afterSlash
)

// scan returns the index of the ">" that ends the tag, and true; or the end of p.
func (t *tagScan) scan(p []byte, i int) (int, bool) {
	now := *t
	for i < len(p) {
		c := p[i]
		switch now {
		case doubleQuoted, singleQuoted:
			n := bytes.IndexByte(p[i:], now.quote())
			if n < 0 {
				*t = now
				return len(p), false
			}
			i += n
			now = afterQuoted
		case inName: // most bytes of a tag are in names and quotes
			for !endsName(c) && c != '=' {
				if i++; i == len(p) {
					*t = now
					return i, false
				}
				c = p[i]
			}
			fallthrough
		default:
			if c == '>' {
				*t = now
				return i, true
			}
			now = now.next(c)
		}
		i++
	}
	*t = now
	return i, false
}

func (t tagScan) quote() byte {
	if t == singleQuoted {
		return '\''
	}
	return '"'
}

// next is the state after one byte that is not ">", outside of quotes.
func (t tagScan) next(c byte) tagScan {
	switch t {
	case inName, afterName:
		switch {
		case c == '=':
			return beforeValue
		case c == '/':
			return afterSlash
		case isSpace(c):
			return afterName
		}
		return inName
	case beforeValue:
		switch {
		case c == '"':
			return doubleQuoted
		case c == '\'':
			return singleQuoted
		case isSpace(c):
			return beforeValue
		}
		return unquoted
	case unquoted:
		if isSpace(c) {
			return beforeName
		}
		return unquoted
	default: // beforeName, afterQuoted, afterSlash; "=" begins a name here
		switch {
		case c == '/':
			return afterSlash
		case isSpace(c):
			return beforeName
		}
		return inName
	}
}

// attributes are those of one whole tag, not decoded, in their order.
type attributes struct {
	rest string // from behind the name of the tag, or of the attribute before, to the ">" and with it
}

// next returns the name as it stands there and the raw value of the next attribute, and false when there is none.
func (a *attributes) next() (name, value string, ok bool) {
	s, i := a.rest, 0
	for i < len(s) && (s[i] == '/' || isSpace(s[i])) {
		i++
	}
	if i == len(s) || s[i] == '>' {
		return "", "", false
	}
	start := i
	for i++; i < len(s) && s[i] != '=' && !endsName(s[i]); i++ { // a name may begin with "="
	}
	name = s[start:i]
	i = skipSpace(s, i)
	if i == len(s) || s[i] != '=' {
		a.rest = s[i:]
		return name, "", true
	}
	i = skipSpace(s, i+1)
	switch {
	case i == len(s) || s[i] == '>':
		a.rest = s[i:]
	case s[i] == '"' || s[i] == '\'':
		value, a.rest, _ = strings.Cut(s[i+1:], s[i:i+1])
	default:
		start = i
		for i < len(s) && s[i] != '>' && !isSpace(s[i]) {
			i++
		}
		value, a.rest = s[start:i], s[i:]
	}
	return name, value, true
}

func skipSpace(s string, i int) int {
	for i < len(s) && isSpace(s[i]) {
		i++
	}
	return i
}

// attribute is one that a caller looks for.
type attribute struct {
	name  string // lower case
	value string // decoded
	has   bool
}

// find fills in the attributes by their first occurrence. The tag is whole, from "<" to ">".
func find(tag string, wanted ...*attribute) {
	end := min(1, len(tag))
	for end < len(tag) && !endsName(tag[end]) {
		end++
	}
	all := attributes{rest: tag[end:]}
	for {
		name, value, ok := all.next()
		if !ok {
			return
		}
		for _, w := range wanted {
			if !w.has && len(name) == len(w.name) && equalFold(name, w.name) {
				w.value, w.has = decode(value), true
			}
		}
	}
}

// equalFold compares as HTML does: only A to Z have another case.
func equalFold(s, lowered string) bool {
	if len(s) != len(lowered) {
		return false
	}
	for i := range len(s) {
		if lower(s[i]) != lowered[i] {
			return false
		}
	}
	return true
}

// Form is a form start tag that begins a form. Values are decoded, and are the page's own bytes: they are UTF-8 when the
// page is.
type Form struct {
	Action    string // as written, not resolved
	HasAction bool
	Method    string // get, post or dialog: what a browser makes of the attribute
	Enctype   string // one of the three that a browser knows
	ID        string
	Name      string
	Target    string
	Draft     string // the attribute data-semel-draft
	// Inert is whether the form stands in a template or a noscript element. A script element put there does not run when
	// the page is loaded by a browser with scripts.
	Inert bool
}

// The encodings of a form that browsers know.
const (
	enctypeURL       = "application/x-www-form-urlencoded"
	enctypeMultipart = "multipart/form-data"
	enctypeText      = "text/plain"
)

func newForm(tag string, inert bool) *Form {
	var (
		action  = attribute{name: "action"}
		method  = attribute{name: "method"}
		enctype = attribute{name: "enctype"}
		id      = attribute{name: "id"}
		name    = attribute{name: "name"}
		target  = attribute{name: "target"}
		draft   = attribute{name: "data-semel-draft"}
	)
	find(tag, &action, &method, &enctype, &id, &name, &target, &draft)
	return &Form{
		Action:    action.value,
		HasAction: action.has,
		Method:    keyword(method.value, "get", "post", "dialog"),
		Enctype:   keyword(enctype.value, enctypeURL, enctypeMultipart, enctypeText),
		ID:        id.value,
		Name:      name.value,
		Target:    target.value,
		Draft:     draft.value,
		Inert:     inert,
	}
}

// Submitter is a button that can send a form and says itself where to or how: it has formaction or formmethod.
type Submitter struct {
	FormAction    string // as written, not resolved
	HasFormAction bool
	FormMethod    string // get, post or dialog; empty when there is no such attribute
	HasFormMethod bool
	FormID        string // the attribute form, which names another form than the enclosing one
	// Form is the form that is open here, which a button with FormID does not belong to. In a template outside of any form
	// of its own it is the form around the template. Nil means that there is none.
	Form *Form
}

// submits is false when a tag has neither formaction nor formmethod, as most have: then it need not be looked at closer.
func submits(tag []byte) bool {
	const length = len("formaction") // and that of formmethod
	for i := 0; i+length <= len(tag); i++ {
		if tag[i]|0x20 != 'f' || tag[i+1]|0x20 != 'o' {
			continue
		}
		if word := string(tag[i : i+length]); equalFold(word, "formaction") || equalFold(word, "formmethod") {
			return true
		}
	}
	return false
}

// newSubmitter returns nil when the button sends nothing, or sends it where its form says.
func newSubmitter(tag string, button bool) *Submitter {
	var (
		kind   = attribute{name: "type"}
		action = attribute{name: "formaction"}
		method = attribute{name: "formmethod"}
		form   = attribute{name: "form"}
	)
	find(tag, &kind, &action, &method, &form)
	if !action.has && !method.has {
		return nil
	}
	if button && keyword(kind.value, "submit", "button", "reset") != "submit" ||
		!button && keyword(kind.value, "text", "submit", "image") == "text" {
		return nil
	}
	s := &Submitter{
		FormAction:    action.value,
		HasFormAction: action.has,
		HasFormMethod: method.has,
		FormID:        form.value,
	}
	if method.has {
		s.FormMethod = keyword(method.value, "get", "post", "dialog")
	}
	return s
}

// keyword is the known keyword that a value is, whatever its case, or else the first one.
func keyword(value string, known ...string) string {
	for _, k := range known {
		if equalFold(value, k) {
			return k
		}
	}
	return known[0]
}
