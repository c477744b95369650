package rewrite

import "bytes"

// feed looks at the first bytes of the chunk.
func (w *Writer) feed(p []byte) {
	i := 0
	for i < len(p) && w.stats.GaveUp == Looking {
		if !w.inNoscript {
			i = w.read(p, i)
			continue
		}
		end, ended := w.noscript.scan(p, i)
		i = w.read(p[:end], i)
		if ended && w.stats.GaveUp == Looking { // to browsers that skipped it, in whatever state the others are
			w.emit(i)
			w.inNoscript = false
			w.outline, w.outside = w.outside, w.outline
			w.endsHere(noscriptElement, w.noscript.name)
		}
	}
}

// endsHere is called at the delimiter behind the name in an end tag that was found in another way than by readName.
func (w *Writer) endsHere(e element, name []byte) {
	w.scan.state, w.scan.tag, w.scan.closing = tagBody, beforeName, true
	w.what, w.whole = e, false
	w.named = copy(w.name[:], name)
}

// read looks at p from i on, to its end or to where a noscript element begins.
func (w *Writer) read(p []byte, i int) int {
	s, inside := &w.scan, w.inNoscript
	for i < len(p) && w.stats.GaveUp == Looking && w.inNoscript == inside {
		var done bool
		switch s.state {
		case inText:
			i = w.readText(p, i)
		case tagOpen, endTagOpen:
			i = w.beginTag(p, i)
		case tagName:
			i = w.readName(p, i)
		case tagBody:
			if i, done = s.tag.scan(p, i); done {
				i++
				s.state = inText
				w.endTag(i)
			}
		case declaration, declDash, declCDATA:
			i = s.declare(p, i, s.xml || w.outline.foreign.top() != htmlNode)
		case rawText:
			if i, done = s.end.scan(p, i); done {
				w.endsHere(rawElement, s.end.name)
			}
		case scriptText:
			if i, done = s.script.scan(p, i); done {
				w.endsHere(scriptElement, []byte(scriptName))
			}
		case bogusComment, xmlDeclaration, instruction, comment, cdataSection, plainText:
			i = s.skip(p, i)
		case unreadable:
			w.giveUp(WrongXML)
		}
	}
	return i
}

// readText goes to the next "<".
func (w *Writer) readText(p []byte, i int) int {
	n := bytes.IndexByte(p[i:], '<')
	if n < 0 {
		return len(p)
	}
	if len(w.tag) > 0 { // what seemed to be a tag
		w.emit(w.sent)
		w.tag = w.tag[:0]
	}
	w.start = i + n
	w.scan.state = tagOpen
	return i + n + 1
}

// beginTag takes the byte after "<" or "</".
func (w *Writer) beginTag(p []byte, i int) int {
	c, s := p[i], &w.scan
	switch {
	case isLetter(c):
		s.closing = s.state == endTagOpen
		s.state, s.tag = tagName, beforeName
		w.named, w.what, w.whole = 0, ordinary, true
		return i
	case s.state == tagOpen && c == '/':
		s.state = endTagOpen
	case s.state == tagOpen && c == '!':
		s.state = declaration
	case s.state == tagOpen && c != '?': // just text
		s.state = inText
		return i
	case c == '>': // "</>" is nothing
		s.state = inText
	case s.xml && c == '?':
		s.state, s.matched = instruction, 0
	default:
		s.state = bogusComment
		return i
	}
	return i + 1
}

// readName takes bytes of the name of a tag. The byte that ends it is left for what follows.
func (w *Writer) readName(p []byte, i int) int {
	start := i
	for i < len(p) && !endsName(p[i]) {
		i++
	}
	if w.named < maxName {
		for at, c := range p[start:min(i, start+maxName-w.named)] {
			w.name[w.named+at] = lower(c)
		}
	}
	w.named = min(w.named+i-start, maxName)
	if i < len(p) {
		w.scan.state = tagBody
		w.endName()
	}
	return i
}

// endName decides whether the rest of the tag has to be kept.
func (w *Writer) endName() {
	if w.scan.xml {
		colon := bytes.IndexByte(w.name[:w.named], ':')
		w.prefixed, w.named = colon >= 0, copy(w.name[:], w.name[colon+1:w.named])
	}
	w.what = elementOf(w.name[:w.named])
	if w.scan.closing {
		w.whole = w.whole && (w.what == bodyElement || w.what == headElement)
		return
	}
	w.whole = w.whole && (w.what.inserts() || len(w.outline.foreign.open) > 0)
}

// suspend is called at the end of a chunk: it passes on what can be, and keeps what is needed of an unfinished tag.
func (w *Writer) suspend() {
	begun := w.scan.state == tagOpen || w.scan.state == endTagOpen
	unfinished := begun || w.scan.state == tagName || w.scan.state == tagBody
	if !unfinished || !w.whole && !begun || w.stats.GaveUp != Looking {
		w.emit(len(w.chunk))
		w.tag, w.start = w.tag[:0], 0
		return
	}
	rest := w.chunk[w.start:]
	if len(w.tag)+len(rest) > MaxTag {
		w.emit(len(w.chunk))
		w.whole = false
		w.tag, w.start = w.tag[:0], 0
		return
	}
	hold := w.mayTakeBefore() && (w.held == len(w.tag))
	if !hold {
		w.emit(len(w.chunk))
		w.tag, w.start = append(w.tag, rest...), 0
		return
	}
	if len(w.tag) == 0 {
		w.emit(w.start)
	}
	w.tag, w.start = append(w.tag, rest...), 0
	w.held, w.sent = len(w.tag), len(w.chunk)
}

// mayTakeBefore is whether the unfinished tag may be one that something is inserted before.
func (w *Writer) mayTakeBefore() bool {
	switch {
	case w.scan.state == tagOpen, w.scan.state == endTagOpen:
		return true
	case w.scan.closing:
		name := w.name[:w.named]
		return w.what == bodyElement || w.what == headElement || w.scan.state == tagName && (isPrefix(name, "body") || isPrefix(name, "head"))
	case w.scan.state == tagBody:
		return w.what == inputElement || w.what == buttonElement || w.what == bodyElement
	default:
		name := w.name[:w.named]
		return isPrefix(name, "input") || isPrefix(name, "button") || isPrefix(name, "body")
	}
}

func isPrefix(name []byte, whole string) bool {
	return len(name) <= len(whole) && string(name) == whole[:len(name)]
}

// likeAnyXML reports whether XML reads the inside of this element like any other.
func (w *Writer) likeAnyXML() bool {
	return w.scan.xml && w.what > metaElement && (w.what != templateElement || w.scan.tag == afterSlash)
}

// endTag is called behind the ">" of a tag, start or end.
func (w *Writer) endTag(end int) {
	name := w.name[:w.named]
	o := &w.outline
	if w.scan.closing {
		if o.foreign.end(name) {
			o.end(w.what)
			w.endElement()
		}
		return
	}
	w.pastHead = w.pastHead || !w.what.inHead(name) && w.what != bodyElement
	tag := w.wholeTag(end)
	if !w.scan.xml && (w.what == svgElement || w.what == mathElement || len(o.foreign.open) > 0) {
		isHTML := o.foreign.start(name, tag, w.scan.tag == afterSlash, w.what == formElement && !o.begins())
		if o.tooDeep() {
			w.giveUp(TooDeep)
		}
		if !isHTML {
			return
		}
	}
	if w.likeAnyXML() {
		return
	}
	switch w.what {
	case formElement:
		w.form(tag, end)
	case inputElement, buttonElement:
		o.start(w.what)
		w.button(tag)
	case bodyElement, baseElement, metaElement:
		w.once(tag, end)
	case rawElement:
		w.scan.state = rawText
		w.scan.end = endTagScan{name: append(w.scan.end.name[:0], name...)}
	case scriptElement:
		w.scan.state, w.scan.script = scriptText, scriptScan{}
	case plaintextElement:
		w.scan.state = plainText
	case noscriptElement:
		if !w.inNoscript {
			w.inNoscript, w.noscript.matched = true, 0
			o.copyTo(&w.outside)
		}
	case selectElement, templateElement, tableElement:
		o.start(w.what)
		if o.tooDeep() {
			w.giveUp(TooDeep)
		}
	case ordinary, headElement, svgElement, mathElement:
	}
}

// endElement is called behind the ">" of an end tag that is not one of svg or math.
func (w *Writer) endElement() {
	switch {
	case !w.whole || w.prefixed || !w.takesElements():
	case w.what == bodyElement:
		w.insertAt(w.start, w.insert.End(false))
	case w.what == headElement:
		w.endHead(true)
	}
}

// wholeTag is the tag from "<" to ">", or nil when it is too long or was not to be kept.
func (w *Writer) wholeTag(end int) []byte {
	if !w.whole || len(w.tag)+end-w.start > MaxTag {
		return nil
	}
	if len(w.tag) > 0 {
		// What is held back of it stays at the front.
		w.tag = append(w.tag, w.chunk[:end]...)
		return w.tag
	}
	return w.chunk[w.start:end]
}

// form takes the start tag of a form.
func (w *Writer) form(tag []byte, end int) {
	o := &w.outline
	if !o.begins() {
		return
	}
	if tag == nil {
		w.stats.LongTags++
	}
	form := w.forms.lend()
	closed := w.scan.xml && w.scan.tag == afterSlash
	form.read(tag, w.inNoscript || len(o.templates) > 0 || w.prefixed, closed)
	o.beginForm(form)
	if o.tooDeep() {
		w.giveUp(TooDeep)
	}
	if tag != nil {
		w.insertAt(end, w.insert.Form(&form.Form))
	}
	if closed {
		o.endForm()
	}
}

// button takes the start tag of a button or an input.
func (w *Writer) button(tag []byte) {
	if w.outline.selects || tag == nil && w.what == inputElement { // an input that long is a hidden field
		return
	}
	if tag == nil {
		w.stats.LongTags++
		return
	}
	if w.what == inputElement && w.submitter.readPassword(tag, w.outline.enclosing()) {
		w.insertAt(w.start, w.insert.Password(&w.submitter.Submitter))
		return
	}
	if !submits(tag) && (w.what != inputElement || !isImage(tag)) || !w.submitter.read(tag, w.what == buttonElement, w.outline.enclosing()) {
		return
	}
	w.insertAt(w.start, w.insert.Submitter(&w.submitter.Submitter))
}

// once handles the start tags of which the first one counts.
func (w *Writer) once(tag []byte, end int) {
	if w.inNoscript || len(w.outline.templates) > 0 {
		return
	}
	switch w.what { //nolint:exhaustive // it is called for three
	case bodyElement:
		if !w.hasBody && !w.prefixed {
			w.hasBody = true
			w.endHead(false)
			w.insertAt(end, w.insert.Body())
		}
		w.pastHead = true
	case baseElement:
		href := attribute{name: "href"}
		if find(tag, nil, &href); href.has && !w.hasBase {
			w.hasBase = true
			w.insert.Base(string(href.value))
		}
	default:
		if !w.declared && shifts(declares(tag)) {
			w.giveUp(WrongCharset)
		}
		equiv, content := attribute{name: "http-equiv"}, attribute{name: "content"}
		if find(tag, nil, &equiv, &content); !w.pastHead && equalFold(equiv.value, "content-security-policy") {
			w.insert.Policy(content.value)
		}
	}
}

// endHead is called before the tag that was read last. Behind other elements it no longer ends the head.
func (w *Writer) endHead(closed bool) {
	if w.hasHead || w.pastHead || len(w.tag) > 0 && w.held == 0 { // the last: a part of the tag is written
		return
	}
	w.hasHead = true
	if w.held == 0 {
		w.emit(w.start)
	}
	w.insert.Head(closed)
}

// endPage is called when no more of the page comes.
func (w *Writer) endPage() {
	if w.err == nil && w.scan.state == inText && w.takesElements() {
		if end := w.insert.End(true); len(end) > 0 {
			w.stats.Inserted++
			w.write(end)
		}
	}
}

// takesElements reports whether an element that begins here is one of the page, for browsers with scripts.
func (w *Writer) takesElements() bool {
	return w.stats.GaveUp == Looking && !w.inNoscript && len(w.outline.templates) == 0 && len(w.outline.foreign.open) == 0
}

// insertAt inserts at an index of the chunk, where the tag that was read last begins or ends.
func (w *Writer) insertAt(i int, inserted []byte) {
	switch {
	case len(inserted) == 0:
	case w.prefixed: // what is inserted has none
		w.giveUp(WrongXML)
	default:
		w.stats.Inserted++
		if w.held == 0 || i > w.start { // else it began in a chunk before
			w.emit(i)
		}
		w.write(inserted)
	}
}
