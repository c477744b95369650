package rewrite

import (
	"cmp"
	"errors"
	"io"
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
	// XML is for XHTML served as such: all tags but those of forms may close themselves, and CDATA sections are everywhere.
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
	WriteFailed  Reason = "write"   // the destination has failed
)

// Stats count the work of a Writer so far.
type Stats struct {
	Inserted  int    // how often something was inserted
	Bytes     int64  // of the page, as written to the Writer
	Untouched int64  // of these, bytes that were passed on without being looked at
	LongTags  int    // forms and buttons whose tags were longer than MaxTag, which got nothing
	GaveUp    Reason // why the page is looked at no longer
}

// Writer passes a page on and inserts into it. It is made by [NewWriter] and is for one page and one goroutine.
type Writer struct {
	dst    io.Writer
	insert Inserter
	max    int64
	// declared is whether the Content-Type or a mark names the charset, so that meta elements do not count.
	declared, supported, xml bool
	marks                    marks

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
	what  element
	whole bool   // whether it has to be read as a whole
	tag   []byte // what of it came in chunks before
	held  int    // bytes of tag that are not passed on yet: all or none

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
		xml:       options.XML,
		declared:  options.Charset != "",
		supported: Supported(options.Charset),
		noscript:  endTagScan{name: []byte("noscript")},
	}
	w.outline.lender, w.outside.lender = &w.forms, &w.forms
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
	seen := w.feed(p[:look])
	if look < len(p) {
		w.giveUp(TooLarge)
	}
	w.stats.Untouched += int64(len(p) - seen)
	w.suspend()
	w.chunk = nil
	if w.err != nil {
		return w.sent, w.err
	}
	return len(p), nil
}

// Flush passes on what can be passed on, and flushes the destination if that has a method for it. What is held back
// stays so: the beginning of a tag, of which a browser makes nothing yet either.
func (w *Writer) Flush() error {
	if w.err != nil {
		return w.err
	}
	switch dst := w.dst.(type) {
	case interface{ FlushError() error }:
		return dst.FlushError()
	case interface{ Flush() error }:
		return dst.Flush()
	case interface{ Flush() }:
		dst.Flush()
	}
	return nil
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
	if w.marks.n == len(w.marks.first) {
		return
	}
	known := w.marks.see(p)
	switch {
	case w.marks.utf16():
		w.giveUp(WrongCharset)
	case known && w.marks.utf8():
		w.declared = true
	case known && !w.supported:
		w.giveUp(WrongCharset)
	}
}
