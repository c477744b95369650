package gateway

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strconv"

	"github.com/klauspost/compress/gzip"

	"github.com/semel-dev/semel/formguard/rewrite"
)

const (
	// maxHeldPage of a page are held back, as long as nobody flushes: a page that
	// gets nothing can then be passed on as it came, with its header.
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

// pageWriter is the writer of an answer that may be a page with forms. It stands
// outside of semelhttp, so that what is recorded is the application's own answer,
// and every replay gets new tokens.
type pageWriter struct {
	http.ResponseWriter

	forms   *forms
	request *http.Request // as the application gets it
	attempt *formAttempt
	found   *route
	reader  reader

	mode    pageMode
	status  int
	problem string // the name of the problem that is the answer

	pass     scriptPass
	scripted bool   // there is a script in the page
	tells    bool   // it is to tell of a replay
	noticed  bool   // there is a notice in the page
	fresh    string // the value of a visitor cookie that is to be set
	sent     bool   // the header has gone out

	held     []byte       // the page as it came
	out      bytes.Buffer // the page with what was inserted, while it is held back
	decoder  *decoder     // nil for a page without content coding
	rewriter *rewrite.Writer
	encoder  *gzip.Writer // nil for a page that goes out without content coding
	head     []byte       // the first bytes of the page
	broken   bool
}

func newPageWriter(f *forms, w http.ResponseWriter, r *http.Request, a *formAttempt, found *route) *pageWriter {
	return &pageWriter{
		ResponseWriter: w, forms: f, request: r, attempt: a, found: found,
		reader: reader{request: r, visitor: a.visitor, set: w.Header()},
	}
}

// NoteProblem is told by semelhttp.WriteProblem.
func (p *pageWriter) NoteProblem(name string) { p.problem = name }

// Unwrap is for http.ResponseController.
func (p *pageWriter) Unwrap() http.ResponseWriter { return p.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (p *pageWriter) WriteHeader(status int) {
	if status < http.StatusOK || p.mode != pageUndecided {
		p.ResponseWriter.WriteHeader(status)
		return
	}
	p.status = status
	dropOwnCookies(p.Header())
	p.noteOutcome()
	p.tells = p.tellsOfReplay()
	switch reason := p.untouched(); {
	case p.restorable():
		p.mode = pageRestoring
	case reason == pageHead:
		for _, name := range bodyHeaders() { // they are about another body than the caller would get
			p.Header().Del(name)
		}
		p.passOn()
	case reason != "":
		if reason != pageOther {
			p.forms.countPage(reason)
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
	p.mode = pageHolding
	p.pass = p.forms.allowScript(p.Header(), p.request.Host)
	h := p.Header()
	p.rewriter = rewrite.NewWriter((*pageSink)(p), p.newInserter(), &rewrite.Options{
		Charset: charsetOf(h), MaxBytes: p.forms.gateway.config.MaxPageBytes,
	})
	if coding := contentCoding(h); coding != "" {
		p.decoder = newDecoder(coding, (*pageText)(p))
	}
	if len(h["Trailer"]) > 0 { // what follows the body could not be told from what precedes it
		_ = p.commit() // the caller may have gone
	}
}

// Write implements http.ResponseWriter.
func (p *pageWriter) Write(b []byte) (int, error) {
	if p.mode == pageUndecided {
		p.WriteHeader(http.StatusOK)
	}
	switch p.mode {
	case pageRestoring:
		if p.holdRestored(b) {
			return len(b), nil
		}
		return len(b), p.release()
	case pageHolding:
		p.held = append(p.held, b...)
		err := p.feed(b)
		switch {
		case err != nil && p.mode == pageHolding:
			return len(b), p.giveUp()
		case err != nil:
			p.broken = true
			return 0, err
		}
		if len(p.held) > maxHeldPage {
			return len(b), p.commit()
		}
		return len(b), nil
	case pageRewriting:
		if err := p.feed(b); err != nil {
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
	p.forms.countPage(pageCoding)
	p.decoder.stop()
	held := p.held
	p.held = nil
	p.out.Reset()
	p.passOn()
	_, err := p.ResponseWriter.Write(held) //nolint:gosec // as above.
	return err
}

// pageText is a pageWriter that takes the decoded page.
type pageText pageWriter

// Write implements io.Writer.
func (p *pageText) Write(b []byte) (int, error) {
	if room := maxPageHead - len(p.head); room > 0 {
		p.head = append(p.head, b[:min(room, len(b))]...)
	}
	return p.rewriter.Write(b)
}

// pageSink is a pageWriter that takes the rewritten page.
type pageSink pageWriter

// Write implements io.Writer.
func (p *pageSink) Write(b []byte) (int, error) {
	switch {
	case p.mode == pageHolding && p.out.Len() <= maxHeldOut:
		return p.out.Write(b)
	case p.mode == pageHolding: // a few bytes of a coding can be a page of any length
		if err := (*pageWriter)(p).commit(); err != nil {
			return 0, err
		}
		return p.Write(b)
	case p.encoder != nil:
		return p.encoder.Write(b)
	}
	return p.ResponseWriter.Write(b) //nolint:gosec // the application's own page.
}

// commit lets out what was held back, and goes on without holding back.
func (p *pageWriter) commit() error {
	if p.mode != pageHolding {
		return nil
	}
	if p.forms.guessed && p.fresh == "" {
		if who, ok := p.reader.identity(nil); ok && who == "" {
			p.fresh = newVisitor() // the header goes out before all forms are known
		}
	}
	p.mode, p.held = pageRewriting, nil
	p.sendHeader(-1)
	out := p.out.Bytes()
	p.out = bytes.Buffer{}
	_, err := (*pageSink)(p).Write(out)
	return err
}

// sendHeader sends the header of a rewritten page; length is that of its body, -1
// for unknown.
func (p *pageWriter) sendHeader(length int) {
	h := p.Header()
	for _, name := range bodyHeaders() {
		h.Del(name)
	}
	h["Cache-Control"] = privately(h["Cache-Control"])
	h.Del("Expires")
	coding := contentCoding(h)
	h.Del("Content-Encoding")
	switch {
	case coding == "":
	case acceptsGzip(p.request.Header["Accept-Encoding"]):
		p.encoder = gzip.NewWriter(p.ResponseWriter)
		h["Content-Encoding"] = []string{"gzip"}
		length = -1
	}
	if coding != "" {
		h.Add("Vary", "Accept-Encoding")
	}
	if p.pass.lines != nil && (p.scripted || length < 0) {
		h[policyHeader] = p.pass.lines
	}
	if p.fresh != "" {
		h.Add("Set-Cookie", visitorLine(p.fresh, p.secure()))
	}
	p.setOutcomes()
	if length >= 0 {
		h["Content-Length"] = []string{strconv.Itoa(length)}
	}
	p.sent = true
	p.ResponseWriter.WriteHeader(p.status)
}

// FlushError is what http.ResponseController calls. A page that is flushed goes
// out piece by piece.
func (p *pageWriter) FlushError() error {
	if p.mode == pageUndecided {
		p.WriteHeader(http.StatusOK)
	}
	switch p.mode {
	case pageRestoring:
		if err := p.release(); err != nil {
			return err
		}
		return p.FlushError()
	case pageHolding:
		if err := p.commit(); err != nil {
			return err
		}
	case pageRewriting, pagePassing, pageUndecided:
	}
	if p.encoder != nil {
		if err := p.encoder.Flush(); err != nil {
			return err
		}
	}
	return http.NewResponseController(p.ResponseWriter).Flush()
}

// Flush implements http.Flusher.
func (p *pageWriter) Flush() { _ = p.FlushError() }

// finish ends the answer. Without returned a panic is on its way through, which
// breaks the answer off: what there is of it goes out before.
func (p *pageWriter) finish(returned bool) {
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
		panic(http.ErrAbortHandler) //nolint:forbidigo // how net/http breaks an answer off, so that nobody takes it for whole.
	case p.mode == pageHolding && p.rewriter.Stats().Inserted == 0:
		p.passHeld()
	default:
		p.passRewritten()
	}
}

// end says that there is no more to come.
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

// passHeld lets a page out that got nothing: as it came.
func (p *pageWriter) passHeld() {
	p.forms.countPage(p.nothingToDo())
	held := p.held
	p.passOn()
	_, _ = p.ResponseWriter.Write(held) //nolint:gosec // as above; the caller may have gone.
}

// passRewritten lets the rest of the page out.
func (p *pageWriter) passRewritten() {
	if p.rewriter.Stats().Inserted > 0 {
		p.forms.countPage(pageRewritten)
	} else {
		p.forms.countPage(p.nothingToDo())
	}
	if p.mode == pageHolding {
		p.mode = pageRewriting
		p.sendHeader(p.out.Len())
		_, _ = (*pageSink)(p).Write(p.out.Bytes()) // the caller may have gone
	}
	if p.encoder != nil {
		_ = p.encoder.Close()
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
	if p.encoder != nil {
		_ = p.encoder.Flush()
	}
	_ = http.NewResponseController(p.ResponseWriter).Flush()
}
