package forms

import (
	"cmp"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"

	"github.com/klauspost/compress/gzip"

	"github.com/semel-dev/semel/gateway/internal/forms/rewrite"
)

const (
	// maxHeldPage limits how much of a page is held back until it is flushed: a page
	// that gets nothing can then be passed on as it came, with its header.
	maxHeldPage = 64 << 10
	// maxHeldOut of what it is to become are held back.
	maxHeldOut = 4 * maxHeldPage
	// maxPageHead of a page are looked at for its language.
	maxPageHead = 4 << 10
)

type pageMode uint8

const (
	pageUndecided pageMode = iota // no status yet
	pagePassing                   // goes out as it comes
	pageHolding                   // is rewritten, and held back
	pageRewriting                 // is rewritten, and goes out
	pageRestoring                 // is held back to become a redirect
)

// pageWriter is the writer of an answer that may be a page with forms. It wraps semelhttp, so that the recorded answer is the
// application's own answer, and every replay gets new tokens.
type pageWriter struct {
	http.ResponseWriter

	forms   *Forms
	request *http.Request // as the application gets it
	attempt *attempt
	found   *Route
	reader  reader

	mode    pageMode
	status  int
	problem string // the name of the problem that is the answer

	pass        elementPass // of the guard script
	pagePass    elementPass // of the page script
	pageRoutes  string      // routes of the page script; "" for a page without it
	paged       bool        // there is a page script in the page
	headed      bool        // the page has a head
	asked       bool        // whether the page is still the one that the reader has, with the script
	style       elementPass // of the notice
	leads       *Route      // the first route that a form of the page leads to
	wantsScript int         // the tokens in the page whose rules want the guard script
	scripted    bool        // there is a guard script in the page
	headEnd     int         // where the head ends in out, while that is held back; else 0
	tells       bool        // it has to show that a form was replayed
	noticed     bool        // there is a notice in the page
	unmatched   int         // forms of the page that no rule takes
	fresh       string      // the value of a visitor cookie that is to be set
	sent        bool        // the header has gone out
	flush       bool        // it was flushed before the first byte: what comes then goes out at once

	*pageBuffer          // held: the page as it came; out: with what was inserted, and not passed on yet
	taken       int64    // bytes of the page as it came
	decoder     *decoder // nil for a page without content coding
	rewriter    *rewrite.Writer
	encoder     *gzip.Writer // nil for a page that goes out without content coding
	head        []byte       // the first bytes of the page
	broken      bool
}

func newPageWriter(f *Forms, w http.ResponseWriter, r *http.Request, a *attempt, found *Route) *pageWriter {
	return &pageWriter{
		ResponseWriter: w, forms: f, request: r, attempt: a, found: found, pageRoutes: f.page.on(r.Host),
		reader: reader{request: r, ownCookies: a.ownCookies, set: w.Header()},
	}
}

// NoteProblem is called by semelhttp.WriteProblem. The page script learns the name from a header: the body may be a page for people, or
// read as a Blob.
func (p *pageWriter) NoteProblem(name string) {
	p.problem = name
	if p.pageRoutes != "" {
		p.Header().Set("Semel-Problem", "urn:semel:problem:"+name)
	}
}

// Unwrap is for http.ResponseController.
func (p *pageWriter) Unwrap() http.ResponseWriter { return p.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (p *pageWriter) WriteHeader(status int) {
	if status < http.StatusOK || p.mode != pageUndecided {
		p.ResponseWriter.WriteHeader(status)
		return
	}
	p.status = cmp.Or(p.status, status)
	if _, typed := p.Header()["Content-Type"]; typed {
		p.decide()
	}
}

// guess decides about an answer that has no Content-Type. Its first bytes tell, like to net/http, which would give it one.
func (p *pageWriter) guess(first []byte) {
	h := p.Header()
	if _, typed := h["Content-Type"]; !typed && contentCoding(h) == "" {
		if guess := http.DetectContentType(first); isPage(guess) {
			h["Content-Type"] = []string{guess}
		}
	}
	p.status = cmp.Or(p.status, http.StatusOK)
	p.decide()
}

// decide finds out what is done with the answer.
func (p *pageWriter) decide() {
	dropOwnCookies(p.Header())
	p.noteOutcome()
	p.tells = p.tellsOfReplay()
	switch reason := p.untouched(); {
	case p.restorable():
		p.mode, p.pageBuffer = pageRestoring, &pageBuffer{} // it may be as long as what is recorded
	case reason == pageHead:
		for _, name := range bodyHeaders() { // they are about another body than the caller would get
			p.Header().Del(name)
		}
		p.passOn()
	case p.asked && p.status == http.StatusNotModified:
		p.passUnmodified()
	case reason != "":
		if reason != pageOther {
			p.report(reason)
		}
		p.passOn()
	default:
		p.begin()
	}
}

// passOn lets the answer out as it comes.
func (p *pageWriter) passOn() {
	p.mode = pagePassing
	p.setOutcomes()
	p.ResponseWriter.WriteHeader(p.status)
}

// begin starts to rewrite.
func (p *pageWriter) begin() {
	p.mode, p.pageBuffer = pageHolding, p.forms.pages.buffer()
	h := p.Header()
	p.pass = allowElement(h[policyHeader], p.forms.guard.element(p.request.Host))
	p.pagePass = allowElement(h[policyHeader], p.forms.page.element(p.request.Host))
	if p.tells {
		p.style = allowElement(h[policyHeader], styleElement(p.request.Host))
	}
	in := p.newInserter()
	p.rewriter = rewrite.NewWriter((*pageSink)(p), in, &rewrite.Options{Charset: charsetOf(h), XML: in.xhtml, MaxBytes: p.forms.config.MaxPageBytes})
	if coding := contentCoding(h); coding != "" {
		p.decoder = p.forms.pages.decoder(coding, (*pageText)(p))
	}
	if len(h["Trailer"]) > 0 { // trailers could not be distinguished from headers
		_ = p.commit() // the caller may have gone
	}
}

// Write implements http.ResponseWriter.
func (p *pageWriter) Write(b []byte) (int, error) {
	if p.mode == pageUndecided {
		p.guess(b)
	}
	switch p.mode {
	case pageRestoring:
		if p.holdRestored(b) {
			return len(b), nil
		}
		return len(b), p.release()
	case pageHolding:
		if p.decoder != nil || !p.changed() { // else it will never go out as it came
			p.held = append(p.held, b...)
		}
		p.taken += int64(len(b))
		if err := p.feed(b); err != nil && p.mode == pageHolding {
			return len(b), p.giveUp()
		} else if err != nil {
			p.broken = true
			return 0, err
		}
		if p.mode == pageRewriting { // there was more in it than can be held back
			return len(b), p.drain()
		}
		if p.flush || p.taken > maxHeldPage {
			return len(b), p.FlushError()
		}
		return len(b), nil
	case pageRewriting:
		if err := errors.Join(p.feed(b), p.drain()); err != nil {
			p.broken = true
			return 0, err
		}
		return len(b), nil
	case pagePassing, pageUndecided:
	}
	return p.ResponseWriter.Write(b) //nolint:gosec // the application's own page.
}

// feed gives the page as it came to what rewrites it.
func (p *pageWriter) feed(b []byte) error {
	if p.decoder != nil {
		_, err := p.decoder.Write(b)
		return err
	}
	_, err := (*pageText)(p).Write(b)
	return err
}

// giveUp passes on as it came what cannot be decoded.
func (p *pageWriter) giveUp() error {
	p.report(pageCoding)
	p.decoder.stop()
	p.out = p.out[:0]
	p.passOn()
	_, err := p.ResponseWriter.Write(p.held) //nolint:gosec // as above.
	return err
}

// pageText is a pageWriter that takes the decoded page.
type pageText pageWriter

// Write implements io.Writer.
func (p *pageText) Write(b []byte) (int, error) {
	if room := maxPageHead - len(p.head); (p.tells || p.forms.worded) && room > 0 {
		p.head = append(p.head, b[:min(room, len(b))]...)
	}
	return p.rewriter.Write(b)
}

// pageSink is a pageWriter that takes the rewritten page. It goes on in larger
// pieces: the rewriter writes whatever lies between two tags.
type pageSink pageWriter

// Write implements io.Writer.
func (s *pageSink) Write(b []byte) (int, error) {
	p := (*pageWriter)(s)
	p.out = append(p.out, b...)
	switch {
	case p.mode == pageHolding && len(p.out) > maxHeldOut:
		return len(b), p.commit()
	case p.mode == pageRewriting && len(p.out) > maxHeldPage:
		return len(b), p.drain()
	}
	return len(b), nil
}

// drain passes on what there is of the rewritten page.
func (p *pageWriter) drain() error {
	if len(p.out) == 0 || p.mode != pageRewriting {
		return nil
	}
	var err error
	if p.encoder != nil {
		_, err = p.encoder.Write(p.out)
	} else {
		_, err = p.ResponseWriter.Write(p.out) //nolint:gosec // the application's own page.
	}
	p.out = p.out[:0]
	p.broken = p.broken || err != nil
	return err
}

// commit lets out what was held back, and goes on without holding back.
func (p *pageWriter) commit() error {
	if p.mode != pageHolding {
		return nil
	}
	if p.forms.guessed && p.fresh == "" {
		if id, ok := p.reader.identity(nil); ok && id.visitor && p.reader.visitor == "" {
			p.newVisitor() // the header goes out before all forms are known
		}
	}
	p.scriptHead()
	p.mode = pageRewriting
	p.sendHeader(-1)
	return p.drain()
}

// scriptHead puts the guard script at the end of the head, if a form has come by that wants it. There it is inside no element that a
// framework compares with its own rendering, and runs before all of the page's forms and the scripts that take them over.
func (p *pageWriter) scriptHead() {
	if p.headEnd > 0 && p.wantsScript > 0 && !p.scripted {
		p.out = slices.Insert(p.out, p.headEnd, p.script()...)
	}
	p.headEnd = 0
}

// script returns the element of the guard script, or nothing where the page cannot have it.
func (p *pageWriter) script() []byte {
	markup := p.forms.guard.markup(&p.pass, "")
	p.scripted = markup != ""
	return []byte(markup)
}

// pageScript returns the element of the page script, or nothing where the page cannot have it, needs none, or has it.
func (p *pageWriter) pageScript() []byte {
	if p.paged || p.pageRoutes == "" {
		return nil
	}
	markup := p.forms.page.markup(&p.pagePass, p.pageRoutes)
	p.paged = markup != ""
	return []byte(markup)
}

// changed reports whether something was inserted.
func (p *pageWriter) changed() bool { return p.paged || p.rewriter.Stats().Inserted > 0 }

// sendHeader sends the header of a rewritten page; length is that of its body, -1 for unknown.
func (p *pageWriter) sendHeader(length int) {
	h := p.Header()
	tag := p.marked()
	for _, name := range bodyHeaders() {
		h.Del(name)
	}
	if p.alike() {
		h["Etag"] = tag
	} else {
		h["Cache-Control"] = privately(h["Cache-Control"])
		h.Del("Expires")
	}
	coding := contentCoding(h)
	h.Del("Content-Encoding")
	if coding != "" {
		h.Add("Vary", "Accept-Encoding")
		if acceptsGzip(p.request.Header["Accept-Encoding"]) {
			p.encoder = p.forms.pages.encoder(p.ResponseWriter)
			h["Content-Encoding"] = []string{"gzip"}
			length = -1
		}
	}
	if p.pass.lines != nil && (p.scripted || length < 0) {
		h[policyHeader] = p.pass.lines
	}
	if p.pageRoutes != "" && (p.paged || length < 0) {
		allowIn(h, p.forms.page.element(p.request.Host))
	}
	if p.tells && (p.noticed || length < 0) {
		allowIn(h, styleElement(p.request.Host))
	}
	if p.fresh != "" {
		h.Add("Set-Cookie", visitorLine(p.fresh, secure(p.request)))
	}
	p.setOutcomes()
	if length >= 0 {
		h["Content-Length"] = []string{strconv.Itoa(length)}
	}
	p.sent = true
	p.ResponseWriter.WriteHeader(p.status)
}

// FlushError is called by http.ResponseController. A page that is flushed goes out piece by piece.
func (p *pageWriter) FlushError() error {
	if p.mode == pageUndecided {
		p.guess(nil)
	}
	switch p.mode {
	case pageRestoring:
		if err := p.release(); err != nil {
			return err
		}
		return p.FlushError()
	case pageHolding:
		if p.flush = p.taken == 0; p.flush { // the header waits for the first bytes, which may tell that the page is the same for all readers
			return nil
		} else if err := p.commit(); err != nil {
			return err
		}
	case pageRewriting, pagePassing, pageUndecided:
	}
	var err error
	if p.encoder != nil {
		err = p.encoder.Flush()
	}
	return cmp.Or(err, http.NewResponseController(p.ResponseWriter).Flush())
}

// Flush implements http.Flusher.
func (p *pageWriter) Flush() { _ = p.FlushError() }

// finish ends the answer. Without returned a panic is on its way through, which
// breaks the answer off: what there is of it goes out before.
func (p *pageWriter) finish(returned bool) {
	defer p.layDown()
	if p.mode == pageUndecided && p.status != 0 {
		p.guess(nil)
	}
	if p.mode == pageRestoring && (!returned || !p.redirect()) {
		_ = p.release() // the caller may have gone
	}
	if p.mode != pageHolding && p.mode != pageRewriting {
		return
	}
	if !returned {
		p.breakOff()
		return
	}
	err := p.end()
	switch {
	case p.mode == pagePassing:
	case err != nil || p.broken:
		p.breakOff()
		panic(http.ErrAbortHandler) //nolint:forbidigo // how net/http breaks an answer off, so that no caller takes it for complete.
	case p.mode == pageHolding && p.asItCame():
		p.passHeld()
	default:
		p.passRewritten()
	}
}

// end closes the decoder and the rewriter.
func (p *pageWriter) end() error {
	if p.decoder != nil {
		err := p.decoder.close()
		if errors.Is(err, io.EOF) && len(p.held) == 0 && p.mode == pageHolding { // an empty body has no coding
			err = nil
		}
		if err != nil && p.mode == pageHolding {
			return p.giveUp()
		}
		if err != nil {
			return err
		}
	}
	return p.rewriter.Close()
}

// asItCame reports whether a page that is held is whole and got nothing, or nothing but tokens that were taken out again.
func (p *pageWriter) asItCame() bool {
	return !p.paged && p.wantsScript == 0 && int64(len(p.out)) == p.rewriter.Stats().Bytes
}

// passHeld lets a page out that got nothing: as it came.
func (p *pageWriter) passHeld() {
	if p.decoder == nil {
		p.held = p.out
	}
	p.report(p.nothingToDo())
	p.reportUnpaged()
	p.passOn()
	_, _ = p.ResponseWriter.Write(p.held) //nolint:gosec // as above; the caller may have gone.
}

// passRewritten lets the rest of the page out.
func (p *pageWriter) passRewritten() {
	p.scriptHead()
	if p.changed() {
		p.forms.countPage(pageRewritten)
		p.warn(p.gaveUp())
	} else {
		p.report(p.nothingToDo())
	}
	if p.wantsScript > 0 && !p.scripted {
		p.report(pageNoScript)
	}
	p.reportUnpaged()
	if p.mode == pageHolding {
		p.mode = pageRewriting
		p.sendHeader(len(p.out))
	}
	_ = p.drain() // the caller may have gone
	if p.encoder != nil && p.encoder.Close() == nil {
		p.forms.pages.putEncoder(p.encoder)
		p.encoder = nil
	}
}

// layDown gives back the memory that the page was held in.
func (p *pageWriter) layDown() {
	if p.pageBuffer != nil {
		p.forms.pages.putBuffer(p.pageBuffer)
		p.pageBuffer = nil
	}
}

// breakOff lets out what there is.
func (p *pageWriter) breakOff() {
	if p.decoder != nil {
		p.decoder.stop()
	}
	if p.mode == pageHolding {
		_ = p.commit()
	}
	_ = p.rewriter.Close()
	_ = p.drain()
	_ = p.FlushError()
}
