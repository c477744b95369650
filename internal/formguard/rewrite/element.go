package rewrite

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
