package rewrite

import "slices"

// node is an element in svg or math, or an HTML element inside one of those.
type node struct {
	name [maxName]byte // lower case
	kind nodeKind
}

func newNode(name []byte, kind nodeKind) node {
	n := node{kind: kind}
	copy(n.name[:], name)
	return n
}

func (n *node) named(name []byte) bool {
	return n.name == newNode(name, n.kind).name
}

type nodeKind uint8

const (
	htmlNode      nodeKind = iota
	svgNode                // a foreign element
	mathNode               // a foreign element
	mathText               // mi and the like: start tags in it are HTML, but for two
	annotationXML          // a foreign element in which only svg begins
	integration            // foreignObject and the like: start tags in it are HTML
)

// foreign holds the elements that are open from the outermost svg or math on. Outside of those it is empty.
type foreign struct{ open []node }

func (f *foreign) top() nodeKind {
	if len(f.open) == 0 {
		return htmlNode
	}
	return f.open[len(f.open)-1].kind
}

// start takes a start tag and says whether it is an HTML element. An HTML element that is ignored does not come to be open.
func (f *foreign) start(name, tag []byte, selfClosing, ignored bool) (isHTML bool) {
	switch f.top() {
	case htmlNode, integration:
		isHTML = true
	case mathText:
		isHTML = string(name) != "mglyph" && string(name) != "malignmark"
	case annotationXML:
		isHTML = string(name) == "svg"
	case svgNode, mathNode:
	}
	if !isHTML && breaksOut(name, tag) {
		f.breakOut()
		isHTML = true
	}
	if isHTML {
		f.startHTML(name, selfClosing, ignored)
		return string(name) != "svg" && string(name) != "math"
	}
	if selfClosing {
		return false
	}
	kind := svgNode
	if f.top() != svgNode {
		kind = mathNode
	}
	switch {
	case kind == svgNode && (string(name) == "foreignobject" || string(name) == "desc" || string(name) == "title"):
		kind = integration
	case kind == mathNode && (string(name) == "mi" || string(name) == "mo" || string(name) == "mn" || string(name) == "ms" || string(name) == "mtext"):
		kind = mathText
	case kind == mathNode && string(name) == "annotation-xml":
		kind = annotationKind(tag)
	}
	f.open = append(f.open, newNode(name, kind))
	return false
}

func (f *foreign) startHTML(name []byte, selfClosing, ignored bool) {
	switch {
	case string(name) == "svg" && !selfClosing:
		f.open = append(f.open, newNode(name, svgNode))
	case string(name) == "math" && !selfClosing:
		f.open = append(f.open, newNode(name, mathNode))
	case string(name) == "svg", string(name) == "math", len(f.open) == 0, ignored, isVoid(name):
	default:
		if f.open[len(f.open)-1].named([]byte("p")) && closesParagraph(name) {
			f.open = f.open[:len(f.open)-1]
		}
		f.open = append(f.open, newNode(name, htmlNode))
	}
}

func annotationKind(tag []byte) nodeKind {
	encoding := attribute{name: "encoding"}
	find(tag, nil, &encoding)
	if equalFold(encoding.value, "text/html") || equalFold(encoding.value, "application/xhtml+xml") {
		return integration
	}
	return annotationXML
}

// end takes an end tag and says whether it is read by the rules of HTML.
//
// Where broken markup ends an element around svg while the svg is open, the standard checks whether that element is open.
// Here it is taken to be: to leave svg too early costs a hidden field in a drawing, to leave it too late every form
// behind it.
func (f *foreign) end(name []byte) (isHTML bool) {
	if len(f.open) == 0 {
		return true
	}
	if f.top() == htmlNode {
		return f.endHTML(name)
	}
	if string(name) == "p" || string(name) == "br" {
		f.breakOut()
		return true
	}
	for i := range slices.Backward(f.open) {
		if f.open[i].kind == htmlNode {
			return f.endHTML(name)
		}
		if f.open[i].named(name) {
			f.open = f.open[:i]
			return false
		}
	}
	if ends(name) {
		f.open = f.open[:0]
	}
	return true
}

// endHTML closes the innermost HTML element of that name, unless an integration point is in between.
func (f *foreign) endHTML(name []byte) bool {
	for i := range slices.Backward(f.open) {
		switch n := f.open[i]; {
		case n.kind == htmlNode && n.named(name):
			if string(name) == "form" { // it goes alone, what is open in it stays
				f.open = slices.Delete(f.open, i, i+1)
				return true
			}
			f.open = f.open[:i]
			return true
		case n.kind == integration, n.kind == mathText, n.kind == annotationXML:
			return true
		}
	}
	return true
}

// breakOut closes foreign elements until HTML is allowed.
func (f *foreign) breakOut() {
	for len(f.open) > 0 {
		switch f.top() {
		case htmlNode, mathText, integration:
			return
		case svgNode, mathNode, annotationXML:
			f.open = f.open[:len(f.open)-1]
		}
	}
}

// breaksOut reports whether a start tag is not allowed in svg or math and closes it.
func breaksOut(name, tag []byte) bool {
	switch string(name) {
	case "b", "big", "blockquote", "body", "br", "center", "code", "dd", "div", "dl", "dt", "em", "embed",
		"h1", "h2", "h3", "h4", "h5", "h6", "head", "hr", "i", "img", "li", "listing", "menu", "meta", "nobr", "ol", "p",
		"pre", "ruby", "s", "small", "span", "strong", "strike", "sub", "sup", "table", "tt", "u", "ul", "var":
		return true
	case "font":
		color, face, size := attribute{name: "color"}, attribute{name: "face"}, attribute{name: "size"}
		find(tag, nil, &color, &face, &size)
		return color.has || face.has || size.has
	default:
		return false
	}
}

// ends is whether an end tag inside svg that belongs to nothing in there closes an HTML element around the svg.
func ends(name []byte) bool {
	switch string(name) {
	case "address", "applet", "article", "aside", "button", "caption", "details", "dialog", "dir", "fieldset",
		"figcaption", "figure", "footer", "header", "hgroup", "label", "main", "marquee", "nav", "object", "search",
		"section", "select", "summary", "tbody", "td", "template", "tfoot", "th", "thead", "tr":
		return true
	default:
		return string(name) != "body" && string(name) != "head" && breaksOut(name, nil)
	}
}

// isVoid is whether a start tag opens nothing: it has no content, or only one such element can be, around all others.
func isVoid(name []byte) bool {
	switch string(name) {
	case "area", "base", "br", "col", "embed", "hr", "img", "input", "keygen", "link", "meta", "param", "source", "track", "wbr",
		"html", "head", "body":
		return true
	default:
		return false
	}
}

// closesParagraph is whether a start tag ends an open paragraph.
func closesParagraph(name []byte) bool {
	switch string(name) {
	case "form", "xmp", "plaintext":
		return true
	default:
		return ends(name) && !isPhrasing(name)
	}
}

func isPhrasing(name []byte) bool {
	switch string(name) {
	case "applet", "b", "big", "br", "button", "code", "em", "embed", "i", "img", "label", "meta", "nobr", "object", "ruby",
		"s", "select", "small", "span", "strong", "strike", "sub", "sup", "template", "tt", "u", "var":
		return true
	default:
		return false
	}
}
