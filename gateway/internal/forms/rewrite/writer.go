package rewrite

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"slices"
	"strings"
)

// The bounds of a Writer.
const (
	// DefaultMaxBytes limits how much of a page is read for forms by default.
	DefaultMaxBytes = 16 << 20
	// MaxTag is the length of the longest tag at which something can be inserted, in bytes.
	MaxTag = 64 << 10
)

// ErrClosed is the error of a Writer after Close.
var ErrClosed = errors.New("rewrite: writer is closed")

// Inserter says what is inserted into a page. Its methods are called while Write runs, in the order of the page. What
// they return is written before they are called again, and is not kept, so that they may use the memory again; nil and
// empty insert nothing. The arguments are also used again: their contents are valid until the method returns.
type Inserter interface {
	// Form is called for every form that begins, and is inserted right behind its start tag.
	Form(form *Form) []byte
	// Submitter is called for every button that says itself where or how it sends a form, and for every image button, and
	// is inserted right before its tag.
	Submitter(submitter *Submitter) []byte
	// Password is called for every input that asks for a password, and is inserted right before its tag. Of the argument the
	// members about its form are set.
	Password(field *Submitter) []byte
	// Body is called once, and is inserted right behind the start tag of the body. A page without that tag has no body here.
	Body() []byte
	// Base is called once, with the value of the first base element that has href, as it is written. Browsers resolve the
	// actions of all forms against it, including those before it.
	Base(href string)
	// Policy is called with the content of every meta element in the head that sets a Content-Security-Policy.
	Policy(content []byte)
	// Head is called once, where the head ends: before its end tag, or else before the start tag of the body, when all
	// before is written. A page without these tags has no head here.
	Head(closed bool)
	// End is called at every end tag of the body, before which its result is inserted, and behind the page, at its end,
	// unless an element that began there would be text.
	End(behind bool) []byte
}

// Options are those of a Writer. The zero value is complete.
type Options struct {
	// Charset is the one in the Content-Type of the page. Empty: a byte order mark or a meta element may name one.
	Charset string
	// XML is for XHTML served as such. There the Writer gives up at a form or button with a namespace prefix that something would be
	// inserted at, and at an entity with markup, which may be a form's.
	XML bool
	// MaxBytes limits how much of the page is read for forms, in bytes of the page: the rest is passed on as it is. Zero:
	// DefaultMaxBytes. Negative: all of it.
	MaxBytes int64
}

// Reason is why a Writer looks at a page no longer.
type Reason string

// The reasons.
const (
	Looking      Reason = ""        // it has not given up
	TooLarge     Reason = "size"    // the page is longer than Options.MaxBytes
	WrongCharset Reason = "charset" // the page is in a charset that is not Supported
	TooDeep      Reason = "depth"   // more elements are open in each other than browsers allow
	WrongXML     Reason = "xml"     // something was to be inserted at a name with a namespace prefix, or an entity has markup
	WriteFailed  Reason = "write"   // the destination has failed
)

// Stats count the work of a Writer so far.
type Stats struct {
	Inserted int    // how often something was inserted
	Bytes    int64  // of the page, as written to the Writer
	LongTags int    // forms and buttons whose tags were longer than MaxTag, which got nothing
	GaveUp   Reason // why the page is looked at no longer
}

// Writer passes a page on and inserts into it. It is made by [NewWriter] and is for one page and one goroutine.
type Writer struct {
	dst    io.Writer
	insert Inserter
	max    int64
	// declared is whether the Content-Type or a mark names the charset, so that meta elements do not count.
	declared, supported bool
	first               []byte // of the page, at most maxFirst

	scan    scanner
	outline outline
	// noscript finds the end of the open noscript element, for browsers that skip its content. They go on behind
	// it with the outline as it was before it.
	noscript   endTagScan
	inNoscript bool
	outside    outline
	forms      forms

	submitter openSubmitter

	hasBody, hasBase, hasHead bool
	// pastHead is set once an element begins that cannot be in a head.
	pastHead bool

	// The chunk that is being written: chunk[:sent] is passed on.
	chunk []byte
	sent  int

	// The tag that is being read.
	start int // where it begins in the chunk, 0 when it began before
	name  [maxName]byte
	named int // bytes of its name, at most maxName of them in name
	// prefixed is whether the name in XML has a namespace prefix, which is not in name.
	prefixed bool
	what     element
	whole    bool   // whether it has to be read as a whole
	tag      []byte // what of it came in chunks before
	held     int    // bytes of tag that are not passed on yet: all or none

	stats Stats
	err   error
}

// NewWriter returns a Writer that writes to dst. Nil options are the zero value.
func NewWriter(dst io.Writer, insert Inserter, options *Options) *Writer {
	if options == nil {
		options = &Options{}
	}
	w := &Writer{
		dst:       dst,
		insert:    insert,
		max:       options.MaxBytes,
		declared:  options.Charset != "",
		supported: Supported(options.Charset),
		noscript:  endTagScan{name: []byte("noscript")},
	}
	w.outline.lender, w.outside.lender = &w.forms, &w.forms
	w.scan.xml, w.outline.xml = options.XML, options.XML
	w.max = cmp.Or(w.max, DefaultMaxBytes)
	return w
}

// Write passes p on with what is inserted into it. Of p at most the beginning of a tag is held back, of a button, an input or
// the end of the body, until the tag is complete. An error is one of the destination, and stays.
func (w *Writer) Write(p []byte) (int, error) {
	if w.err != nil {
		return 0, w.err
	}
	w.chunk, w.sent = p, 0
	w.stats.Bytes += int64(len(p))
	w.readMarks(p)
	look := len(p)
	if over := w.stats.Bytes - w.max; w.max > 0 && over > 0 {
		look -= int(min(over, int64(look)))
	}
	w.feed(p[:look])
	if look < len(p) {
		w.giveUp(TooLarge)
	}
	w.suspend()
	w.chunk = nil
	if w.err != nil {
		return w.sent, w.err
	}
	return len(p), nil
}

// Close passes on what is held back. It does not close the destination. Closing twice is allowed.
func (w *Writer) Close() error {
	if errors.Is(w.err, ErrClosed) {
		return nil
	}
	w.emit(w.sent)
	w.endPage()
	err := w.err
	w.err = ErrClosed
	w.outline, w.outside, w.forms, w.submitter, w.tag = outline{}, outline{}, forms{}, openSubmitter{}, nil
	return err
}

// Stats returns what was done so far.
func (w *Writer) Stats() Stats { return w.stats }

// emit passes on what is held back and the chunk up to the index.
func (w *Writer) emit(end int) {
	if w.held > 0 {
		held := w.tag[:w.held]
		w.held = 0
		w.write(held)
	}
	if end > w.sent {
		w.write(w.chunk[w.sent:end])
		w.sent = end
	}
}

func (w *Writer) write(p []byte) {
	if w.err != nil {
		return
	}
	if _, err := w.dst.Write(p); err != nil {
		w.err = err
		w.giveUp(WriteFailed)
	}
}

// giveUp stops looking at the page. The first reason stays.
func (w *Writer) giveUp(reason Reason) {
	if w.stats.GaveUp == Looking {
		w.stats.GaveUp = reason
	}
}

// readMarks looks at the first bytes of the page, which may outweigh the charset that was declared.
func (w *Writer) readMarks(p []byte) {
	room := maxFirst - len(w.first)
	if room == 0 {
		return
	}
	w.first = append(w.first, p[:min(room, len(p))]...)
	switch first := string(w.first); {
	case strings.HasPrefix(first, markUTF8):
		w.declared = true
	case utf16(first), len(first) >= len(markUTF8) && !w.supported, !w.declared && strings.HasPrefix(first, "<?xml") && shifts(declares(w.first)):
		w.giveUp(WrongCharset)
	}
}

// Supported is whether pages in a charset can be rewritten as bytes, as the Content-Type or a meta element names it. An
// empty name and one that no browser knows count as supported: browsers then choose among charsets that all are.
//
// What has to hold is that no byte of another character can be mistaken for one that ends or begins something in markup:
//
//	" 22  & 26  ' 27  - 2D  / 2F  ; 3B  < 3C  = 3D  > 3E  ? 3F  ! 21  and white space
//
// Of the charsets with more than one byte for a character, by the Encoding standard of the WHATWG:
//
//	UTF-8            every byte of a longer character is 80 or more
//	Shift_JIS        lead 81-9F E0-FC, trail 40-7E 80-FC
//	EUC-JP           lead 8E 8F A1-FE, trail A1-FE
//	EUC-KR           lead 81-FE, trail 41-FE
//	Big5             lead 81-FE, trail 40-7E A1-FE
//	GBK              lead 81-FE, trail 40-7E 80-FE
//	GB18030          the same, and four bytes 81-FE 30-39 81-FE 30-39: digits, which end and begin nothing
//
// A decoder that meets a lead byte without its trail gives an ASCII byte behind it back, so that "<" stays "<" there as well.
// Trail bytes may be letters or "]". Letters make no name: the lead byte before them does not belong to any. Only "]]>"
// at the end of a CDATA section in svg can be mistaken, when it follows a character that ends in 5D.
//
// Not supported are UTF-16 and UTF-32, ISO-2022 and HZ, in which ASCII bytes mean other characters after a shift,
// UTF-7, SCSU and EBCDIC.
func Supported(charset string) bool {
	name := strings.ToLower(strings.Trim(charset, "\"' \t\n\f\r"))
	switch name {
	case "unicode-1-1-utf-8", "unicode11utf8", "unicode20utf8": // names of UTF-8
		return true
	case "replacement":
		return false
	}
	for _, prefix := range []string{
		"utf-16", "utf16", "utf-32", "utf32", "ucs", "iso-10646", "unicode", "csunicode", "csucs",
		"iso-2022", "iso2022", "csiso2022", "hz",
		"utf-7", "utf7", "csutf7", "scsu", "csscsu", "bocu", "csbocu",
		"ebcdic", "cp037", "ibm037", "cp500", "ibm500", "cp1026", "ibm1026", "cp1047", "ibm1047", "ibm-1047", "cp1140", "ibm1140", "ibm01140",
	} {
		if strings.HasPrefix(name, prefix) {
			return false
		}
	}
	return true
}

// The byte order marks, which outweigh every declaration.
const (
	markUTF8    = "\xEF\xBB\xBF"
	markUTF16BE = "\xFE\xFF"
	markUTF16LE = "\xFF\xFE"
)

// maxFirst of a page are looked at for a mark, or an XML declaration, which counts in HTML as well.
const maxFirst = 128

// utf16 takes the first bytes of a page. An XML declaration in UTF-16 needs no mark.
func utf16(first string) bool {
	return slices.ContainsFunc([]string{markUTF16BE, markUTF16LE, "\x00<\x00?", "<\x00?\x00"}, func(mark string) bool { return strings.HasPrefix(first, mark) })
}

// declares returns the charset that a meta element or an XML declaration declares, or "".
func declares(tag []byte) string {
	charset, equiv, content, encoding := attribute{name: "charset"}, attribute{name: "http-equiv"}, attribute{name: "content"}, attribute{name: "encoding"}
	find(tag, nil, &charset, &equiv, &content, &encoding)
	if charset.has {
		return string(charset.value)
	}
	if bytes.HasPrefix(tag, []byte("<?")) {
		return string(encoding.value)
	}
	if !equalFold(equiv.value, "content-type") {
		return ""
	}
	_, value, _ := strings.Cut(strings.ToLower(string(content.value)), "charset")
	value, found := strings.CutPrefix(strings.TrimLeft(value, " \t\n\f\r"), "=")
	if !found {
		return ""
	}
	value = strings.Trim(value, " \t\n\f\r\"'")
	if end := strings.IndexAny(value, "; \t\n\f\r\"'"); end >= 0 {
		value = value[:end]
	}
	return value
}

// shifts is whether a charset that a meta element declares gives ASCII bytes another meaning. What it says of UTF-16 is
// wrong, since it could not be read then; browsers take it for UTF-8. They do not know the rest.
func shifts(charset string) bool {
	name := strings.ToLower(strings.TrimSpace(charset))
	return strings.HasPrefix(name, "iso-2022") || strings.HasPrefix(name, "csiso2022") || name == "hz-gb-2312" || name == "replacement"
}
