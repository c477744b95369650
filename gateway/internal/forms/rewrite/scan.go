package rewrite

import "bytes"

// state is the state of the tokenizer between two bytes.
type state uint8

const (
	inText         state = iota // the standard's data state
	tagOpen                     // after "<"
	endTagOpen                  // after "</"
	tagName                     // in the name of a start or end tag
	tagBody                     // behind the name, see tagScan
	declaration                 // after "<!"
	declDash                    // after "<!-"
	declCDATA                   // in "<![CDATA["
	bogusComment                // to the next ">", which also ends a doctype
	xmlDeclaration              // "<!" in XML: a doctype, or what is inside of one
	instruction                 // "<?" in XML, to "?>"
	comment                     // see commentScan
	cdataSection                // to "]]>"
	rawText                     // to the end tag of the element: style, title, textarea and the like
	scriptText                  // see scriptScan
	plainText                   // to the end of the page
	unreadable                  // XML in which an entity has markup
)

const cdataOpening = "[CDATA["

// scanner is the tokenizer of the HTML standard as far as it matters for where a tag is a tag. It works on bytes, keeps
// nothing of them, and may be fed in any pieces.
type scanner struct {
	state   state
	xml     bool
	tag     tagScan
	comment commentScan
	script  scriptScan
	// end finds the end tag of a raw text element.
	end endTagScan
	// matched counts bytes of "[CDATA[", or of "]]" or "?" before a ">".
	matched int
	quote   byte // that is open in an XML declaration
	// closing is whether the tag is an end tag.
	closing bool
}

// declare is called for the bytes of markup other than tags, after "<!".
func (s *scanner) declare(p []byte, i int, foreign bool) int {
	c := p[i]
	switch {
	case s.state == declaration && c == '-':
		s.state = declDash
	case s.state == declaration && c == '[' && foreign:
		s.state, s.matched = declCDATA, 1
	case s.state == declDash && c == '-':
		s.state, s.comment = comment, commentStart
		if s.xml {
			s.comment = commentText // no ">" right behind it is an end
		}
	case s.state == declCDATA && c == cdataOpening[s.matched]:
		s.matched++
		if s.matched == len(cdataOpening) {
			s.state, s.matched = cdataSection, 0
		}
	case s.xml:
		s.state, s.quote = xmlDeclaration, 0
		return i
	default:
		s.state = bogusComment // reads c once more
		return i
	}
	return i + 1
}

// skip goes over bytes in which no tag can begin, and returns the index behind them: of the byte that ended the state,
// or the end of p. It is not called in states with tags.
func (s *scanner) skip(p []byte, i int) int {
	switch s.state { //nolint:exhaustive // see above
	case bogusComment:
		n := bytes.IndexByte(p[i:], '>')
		if n < 0 {
			return len(p)
		}
		s.state = inText
		return i + n + 1
	case comment:
		i, s.comment = s.comment.scan(p, i)
		if s.comment == commentDone {
			s.state = inText
		}
		return i
	case xmlDeclaration:
		return s.skipDeclaration(p, i)
	case cdataSection:
		return s.skipTo(']', 2, p, i)
	case instruction:
		return s.skipTo('?', 1, p, i)
	default: // plainText
		return len(p)
	}
}

// skipDeclaration goes to the end of a declaration, or of its beginning where others are in it: "<!DOCTYPE html [".
func (s *scanner) skipDeclaration(p []byte, i int) int {
	for ; i < len(p); i++ {
		switch c := p[i]; {
		case c == '<':
			s.state = unreadable
			return i + 1
		case c == s.quote:
			s.quote = 0
		case s.quote != 0:
		case c == '"' || c == '\'':
			s.quote = c
		case c == '>' || c == '[':
			s.state = inText
			return i + 1
		}
	}
	return i
}

// skipTo goes to a ">" behind some marks.
func (s *scanner) skipTo(mark byte, marks int, p []byte, i int) int {
	for ; i < len(p); i++ {
		switch c := p[i]; {
		case c == mark:
			s.matched = min(s.matched+1, marks)
		case c == '>' && s.matched == marks:
			s.state = inText
			return i + 1
		default:
			s.matched = 0
		}
	}
	return i
}

// commentScan is the state of the tokenizer in a comment.
type commentScan uint8

const (
	commentStart     commentScan = iota // after "<!--"
	commentStartDash                    // after "<!---"
	commentText
	commentDash // after "-"
	commentEnd  // after "--"
	commentBang // after "--!"
	commentDone // after the ">" that ends it
)

// scan returns the index behind the comment, or the end of p.
func (c commentScan) scan(p []byte, i int) (int, commentScan) {
	for i < len(p) {
		if c == commentText {
			n := bytes.IndexByte(p[i:], '-')
			if n < 0 {
				return len(p), commentText
			}
			i += n + 1
			c = commentDash
			continue
		}
		c = c.next(p[i])
		i++
		if c == commentDone {
			break
		}
	}
	return i, c
}

// next is the state after one byte outside of commentText.
func (c commentScan) next(b byte) commentScan {
	switch {
	case b == '-' && c == commentStart:
		return commentStartDash
	case b == '-' && c == commentBang:
		return commentDash
	case b == '-': // commentStartDash, commentDash, commentEnd
		return commentEnd
	case b == '>' && c != commentDash: // "<!-->" and "<!--->" are whole comments
		return commentDone
	case b == '!' && c == commentEnd:
		return commentBang
	default:
		return commentText
	}
}

// scriptScan is the state of the tokenizer in a script.
type scriptScan struct {
	// level is 0 in plain script data, 1 behind "<!--" and 2 behind "<script" in there.
	level uint8
	// dashes counts the "-" right before, at most two.
	dashes uint8
	// word is the word that the bytes so far can become.
	word scriptWord
	// matched counts the bytes of word.
	matched uint8
}

type scriptWord uint8

const (
	noWord     scriptWord = iota
	lessThan              // "<", which may become each of these:
	escape                // "<!--"
	startTag              // "<script" and a delimiter
	endOfTag              // "</script" and a delimiter
	scriptName = "script"
)

// scan returns the index of the delimiter behind "</script" that ends the script, and true; or the end of p.
func (s *scriptScan) scan(p []byte, i int) (int, bool) {
	for i < len(p) {
		if s.level == 0 && s.word == noWord {
			n := bytes.IndexByte(p[i:], '<')
			if n < 0 {
				return len(p), false
			}
			i += n
		}
		if s.next(p[i]) {
			return i, true
		}
		i++
	}
	return i, false
}

// next takes one byte, and says whether it is the delimiter behind the script's end tag.
func (s *scriptScan) next(c byte) bool {
	switch s.word {
	case lessThan:
		if s.begin(c) {
			return false
		}
	case escape: // "<!" so far, or "<!-"
		if c == '-' {
			s.matched++
			if s.matched == 4 {
				s.level, s.dashes, s.word = 1, 2, noWord
			}
			return false
		}
	case startTag, endOfTag:
		done, ended := s.name(c)
		if done {
			return ended
		}
	case noWord:
	}
	s.word = noWord
	switch {
	case c == '<':
		s.word, s.dashes = lessThan, 0
	case c == '-':
		s.dashes = min(s.dashes+1, 2)
	case c == '>' && s.dashes == 2:
		s.level, s.dashes = 0, 0
	default:
		s.dashes = 0
	}
	return false
}

// begin takes the byte after "<", and says whether it can begin one of the words.
func (s *scriptScan) begin(c byte) bool {
	s.matched = 0
	switch {
	case c == '/':
		s.word = endOfTag
	case c == '!' && s.level == 0:
		s.word, s.matched = escape, 2
	case c|0x20 == scriptName[0] && s.level == 1:
		s.word, s.matched = startTag, 1
	default:
		return false
	}
	return true
}

// name takes a byte of "script" or the delimiter behind it. It says whether the byte is used up, and whether the script ends.
func (s *scriptScan) name(c byte) (done, ended bool) {
	if int(s.matched) < len(scriptName) {
		if c|0x20 != scriptName[s.matched] {
			return false, false
		}
		s.matched++
		return true, false
	}
	if !endsName(c) {
		return false, false
	}
	switch {
	case s.word == startTag:
		s.level = 2
	case s.level == 2:
		s.level = 1
	default:
		return true, true
	}
	s.word = noWord
	return true, false
}

// endTagScan looks for "</name" with a delimiter behind it, in whatever else.
type endTagScan struct {
	name    []byte // lower case
	matched int    // bytes of "</name" so far
}

// scan returns the index of the delimiter and true, or the end of p.
func (e *endTagScan) scan(p []byte, i int) (int, bool) {
	for i < len(p) {
		if e.matched == 0 {
			n := bytes.IndexByte(p[i:], '<')
			if n < 0 {
				return len(p), false
			}
			i += n + 1
			e.matched = 1
			continue
		}
		c := p[i]
		switch whole := 2 + len(e.name); {
		case e.matched == whole && endsName(c):
			e.matched = 0
			return i, true
		case e.matched == 1 && c == '/', e.matched > 1 && e.matched < whole && lower(c) == e.name[e.matched-2]:
			e.matched++
		case c == '<':
			e.matched = 1
		default:
			e.matched = 0
		}
		i++
	}
	return i, false
}

// endsName is whether a byte ends the name of a tag. A carriage return counts as a line feed.
func endsName(c byte) bool { return c <= '>' && (isSpace(c) || c == '>' || c == '/') }

// spaces has a bit for each white space.
const spaces = 1<<' ' | 1<<'\n' | 1<<'\t' | 1<<'\r' | 1<<'\f'

func isSpace(c byte) bool { return c <= ' ' && spaces>>c&1 == 1 }

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c | 0x20
	}
	return c
}
