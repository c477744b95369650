package forms

import (
	"cmp"
	"errors"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/semel-dev/semel/gateway/internal/forms/rewrite"
)

// Why a page was left as it is, in the words of the metric; pageRewritten for one that was not.
const (
	pageRewritten = "rewritten"
	pageNothing   = "no-forms"
	pageUnmatched = "unmatched" // it has forms, and no rule takes any
	pageTooLarge  = "too-large"
	pageCharset   = "charset"
	pageCoding    = "encoding"
	pageTransform = "no-transform"
	pageSecret    = "no-secret"
	pageMarkup    = "markup"
	pageXHTML     = "xhtml"
	pagePart      = "partial"
	pageNoScript  = "csp" // it got no script, and the tokens of its forms

	pageOther = "other" // not a page: not counted
	pageHead  = "head"  // the header of a page: not counted
)

// bodyHeaders are about the very bytes of a body.
func bodyHeaders() []string {
	return []string{"Content-Length", "Content-Md5", "Digest", "Content-Digest", "Repr-Digest", "Etag", "Last-Modified", "Accept-Ranges"}
}

// untouched returns why the answer is not to be rewritten, "" if it is.
func (p *pageWriter) untouched() string {
	if reason := p.unfit(); reason != "" {
		return reason
	}
	if len(p.forms.fields) == 0 {
		return ""
	}
	if _, err := p.forms.secrets.minter(p.request.Context()); err != nil {
		if p.pageRoutes == "" {
			return pageSecret
		}
		p.forms.countPage(pageSecret) // the page script needs no secret
	}
	return ""
}

// unfit returns why the answer cannot be rewritten, by its status and header.
func (p *pageWriter) unfit() string {
	h := p.Header()
	coding, part := contentCoding(h), p.status == http.StatusPartialContent || h.Get("Content-Range") != ""
	switch {
	case p.status == http.StatusNoContent, p.status == http.StatusNotModified, p.status == http.StatusResetContent,
		p.problem != "", !isPage(h.Get("Content-Type")), part && !asksForPage(p.request),
		strings.HasPrefix(strings.ToLower(strings.TrimSpace(h.Get("Content-Disposition"))), "attachment"):
		return pageOther
	case part:
		return pagePart
	case hasDirective(h["Cache-Control"], "no-transform"):
		return pageTransform
	case len(h["Content-Encoding"]) > 1 || !decodable(coding):
		return pageCoding
	case !rewrite.Supported(charsetOf(h)):
		return pageCharset
	case p.request.Method == http.MethodHead:
		return pageHead
	case p.declared() > p.forms.config.MaxPageBytes:
		return pageTooLarge
	}
	return ""
}

// gaveUp returns why forms of a page may have got nothing, "" if all of it was looked at.
func (p *pageWriter) gaveUp() string {
	stats := p.rewriter.Stats()
	if stats.GaveUp == rewrite.Looking && stats.LongTags > 0 {
		return pageMarkup
	}
	return map[rewrite.Reason]string{
		rewrite.TooLarge: pageTooLarge, rewrite.WrongCharset: pageCharset, rewrite.WrongXML: pageXHTML, rewrite.TooDeep: pageMarkup,
	}[stats.GaveUp]
}

// nothingToDo returns why a page that was looked at got nothing.
func (p *pageWriter) nothingToDo() string {
	if p.unmatched > 0 {
		return cmp.Or(p.gaveUp(), pageUnmatched)
	}
	return cmp.Or(p.gaveUp(), pageNothing)
}

// report counts a page by its result, and warns of a bad one.
func (p *pageWriter) report(result string) {
	p.forms.countPage(result)
	p.warn(result)
}

// warn logs that a page lacks what its forms' rules promise, once for each reason and the route that its first form leads to: a
// site has many pages of one kind. That a page may not be transformed is its application's wish.
func (p *pageWriter) warn(result string) {
	why := whyUntouched(result)
	text := p.lacks()
	if result == pageNoScript {
		text = "a page with protected forms gets their tokens and no guard script"
		if p.gaveUp() == "" { // else that has been said
			why = whyNoScript(&p.pass)
		}
	}
	if why != "" && text != "" && result != pageTransform {
		p.warnOnce(text, why)
	}
}

// warnOnce logs what a page lacks, and why, once for each route.
func (p *pageWriter) warnOnce(text, why string) {
	leads := cmp.Or(p.leads, p.found) // a page that was not read has no forms yet
	if first, _ := p.forms.lacking.first(text + why + "\n" + leads.Rule.Name); !first {
		return
	}
	p.forms.config.Log.LogAttrs(p.request.Context(), slog.LevelWarn, text, //nolint:sloglint // one of few constants.
		slog.String("page", likePath(p.request.URL.Path)), slog.String("reason", why), slog.String("route", leads.Rule.Name))
}

// lacks names the gap of a page that, or whose rest, is passed on as it is; "" for none.
func (p *pageWriter) lacks() string {
	switch forms, page := len(p.forms.fields) > 0, p.pageRoutes != "" && !p.paged; {
	case forms && page:
		return "a page, or the rest of it, is passed on as it is: forms in there get no token, what its scripts send gets no key, and sending either twice is not safe"
	case forms:
		return "a page, or the rest of it, is passed on as it is: forms in there get no token, and sending them twice is not safe"
	case page:
		return withoutKeys
	}
	return ""
}

// withoutKeys is logged of a page without the page script.
const withoutKeys = "a page is passed on without the page script: what its scripts send gets no key, and sending it twice is not safe"

// reportUnpaged counts a page that was read, and lacks the page script, and warns.
func (p *pageWriter) reportUnpaged() {
	if p.pageRoutes == "" || p.paged || p.gaveUp() != "" || !p.headed && !navigates(p.request) {
		return
	}
	p.forms.countPage(pageNoScript)
	p.warnOnce(withoutKeys, whyNoScript(&p.pagePass))
}

// whyNoScript says why a page that wants a script with this pass lacks it.
func whyNoScript(pass *elementPass) string {
	if !pass.allowed {
		return "its Content-Security-Policy, in the header or a meta element, allows none (name a nonce in it, or 'self')"
	}
	return "it has no end of a body, or ends inside a comment, script or template"
}

// whyUntouched says why a page is passed on as it is; "" for one that is not.
func whyUntouched(result string) string {
	return map[string]string{
		pageOther:     "browsers do not show it as a page (by its status, Content-Type, Content-Range or Content-Disposition)",
		pageTransform: "its Cache-Control says no-transform",
		pageCoding:    "its Content-Encoding cannot be read",
		pageCharset:   "its charset cannot be read as ASCII bytes (UTF-16, say)",
		pageTooLarge:  "it is longer than MaxPageBytes",
		pageMarkup:    "its elements are nested deeper than browsers allow, or the tag of a form or button in it is longer than 64 KiB",
		pagePart:      "it is only a part of a page (206, or Content-Range)",
		pageXHTML:     "it is XHTML whose forms have a namespace prefix (<h:form>), or with an entity that holds markup",
	}[result]
}

// declared is the length that the header says, or 0.
func (p *pageWriter) declared() int64 {
	n, _ := strconv.ParseInt(p.Header().Get("Content-Length"), 10, 64) // 0 for none
	return n
}

// secure reports whether the caller speaks TLS: with the gateway, or with a proxy in front of it that says so.
func secure(r *http.Request) bool {
	return r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https")
}

// isPage reports whether the content is HTML.
func isPage(contentType string) bool {
	media, _, _ := strings.Cut(contentType, ";")
	media = strings.ToLower(strings.TrimSpace(media))
	return media == "text/html" || media == "application/xhtml+xml"
}

// charsetOf returns the charset that the content type names, or "".
func charsetOf(h http.Header) string {
	_, params, _ := strings.Cut(h.Get("Content-Type"), ";")
	for param := range strings.SplitSeq(params, ";") {
		if name, value, _ := strings.Cut(param, "="); strings.EqualFold(strings.TrimSpace(name), "charset") {
			return value
		}
	}
	return ""
}

// contentCoding returns the content coding in small letters, "" for none.
func contentCoding(h http.Header) string {
	coding := strings.ToLower(strings.TrimSpace(h.Get("Content-Encoding")))
	if coding == "identity" {
		return ""
	}
	return coding
}

// hasDirective reports whether a Cache-Control has a directive without a value.
func hasDirective(lines []string, name string) bool {
	for _, line := range lines {
		for d := range strings.SplitSeq(line, ",") {
			if strings.EqualFold(strings.TrimSpace(d), name) {
				return true
			}
		}
	}
	return false
}

// privately is the Cache-Control of a page that is one reader's: no cache gives it
// to another, and none gives it again without asking. What is stricter stays.
func privately(lines []string) []string {
	if hasDirective(lines, "no-store") {
		return []string{"private, no-store"}
	}
	return []string{"private, no-cache"}
}

// isURLEncoded reports whether the content is a URL-encoded form.
func isURLEncoded(contentType string) bool {
	media, _, _ := strings.Cut(contentType, ";")
	return strings.EqualFold(strings.TrimSpace(media), "application/x-www-form-urlencoded")
}

const (
	// maxZstdWindow is the largest window that RFC 9659 allows in HTTP; a brotli window is 16 MiB at most, and that of gzip 32 KiB.
	maxZstdWindow = 8 << 20
	decodeBytes   = 16 << 10
)

var errDecodingStopped = errors.New("gateway: decoding was stopped")

// decodable reports whether pages in this content coding can be read.
func decodable(coding string) bool {
	return slices.Contains([]string{"", "identity", "gzip", "x-gzip", "br", "zstd"}, coding)
}

// decoder undoes a content coding, piece by piece: what can be decoded of a piece has been written when Write returns. Decoders
// pull, and answers are pushed, so the decoding runs as a coroutine. It ends with close or stop.
type decoder struct {
	in   inlet
	err  error // of a decoding that has ended
	next func() (struct{}, bool)
	end  func()
}

// decoder returns a decoder that writes to to.
func (p *pagePool) decoder(coding string, to io.Writer) *decoder {
	d := &decoder{}
	d.next, d.end = iter.Pull(func(yield func(struct{}) bool) {
		d.in.yield = yield
		d.err = p.decodeAll(coding, &d.in, to)
	})
	return d
}

// decodeAll decodes all of from. Its memory is bounded by the window of the coding.
func (p *pagePool) decodeAll(coding string, from io.Reader, to io.Writer) error {
	decoded, err := p.reader(coding, from)
	if err != nil {
		return err
	}
	buffer, ok := p.chunks.Get().(*[decodeBytes]byte)
	if !ok {
		buffer = new([decodeBytes]byte)
	}
	_, err = io.CopyBuffer(struct{ io.Writer }{to}, struct{ io.Reader }{decoded}, buffer[:])
	p.chunks.Put(buffer)
	p.putReader(decoded)
	return err
}

// reader returns a reader that undoes a content coding.
func (p *pagePool) reader(coding string, from io.Reader) (io.Reader, error) {
	switch coding {
	case "br":
		if r, ok := p.brotli.Get().(*brotli.Reader); ok {
			return r, r.Reset(from)
		}
		return brotli.NewReader(from), nil
	case "zstd":
		if r, ok := p.zstd.Get().(*zstd.Decoder); ok {
			return r, r.Reset(from)
		}
		return zstd.NewReader(from, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxZstdWindow))
	default:
		if r, ok := p.gzip.Get().(*gzip.Reader); ok {
			return r, r.Reset(from)
		}
		return gzip.NewReader(from)
	}
}

// putReader takes a reader back. What it last read from is not kept, where the reader can forget it without reading.
func (p *pagePool) putReader(r io.Reader) {
	switch r := r.(type) {
	case *brotli.Reader:
		if r.Reset(eof{}) == nil {
			p.brotli.Put(r)
		}
	case *zstd.Decoder:
		if r.Reset(nil) == nil {
			p.zstd.Put(r)
		}
	case *gzip.Reader:
		p.gzip.Put(r)
	}
}

// eof reads nothing.
type eof struct{}

// Read implements io.Reader.
func (eof) Read([]byte) (int, error) { return 0, io.EOF }

// Write decodes a piece. It returns the error of malformed content.
func (d *decoder) Write(p []byte) (int, error) {
	d.in.data = p
	if _, more := d.next(); !more && d.err != nil {
		return 0, d.err
	}
	d.in.data = nil // what follows the end of the content is nothing
	return len(p), nil
}

// close says that this was all.
func (d *decoder) close() error {
	d.in.ended = true
	d.next()
	return d.err
}

// stop ends the decoding where it is.
func (d *decoder) stop() { d.end() }

// inlet is the reader of a decoder. At the end of a piece it yields until the next one arrives.
type inlet struct {
	data    []byte
	ended   bool
	stopped bool
	yield   func(struct{}) bool
}

func (in *inlet) fill() error {
	for len(in.data) == 0 {
		if in.stopped {
			return errDecodingStopped
		}
		if in.ended {
			return io.EOF
		}
		in.stopped = !in.yield(struct{}{})
	}
	return nil
}

// Read implements io.Reader.
func (in *inlet) Read(p []byte) (int, error) {
	if err := in.fill(); err != nil {
		return 0, err
	}
	n := copy(p, in.data)
	in.data = in.data[n:]
	return n, nil
}

// ReadByte implements io.ByteReader, so that decoders do not read ahead.
func (in *inlet) ReadByte() (byte, error) {
	if err := in.fill(); err != nil {
		return 0, err
	}
	b := in.data[0]
	in.data = in.data[1:]
	return b, nil
}

// acceptsGzip reports whether the caller takes gzip.
func acceptsGzip(lines []string) bool {
	for _, line := range lines {
		for entry := range strings.SplitSeq(line, ",") {
			coding, params, _ := strings.Cut(entry, ";")
			switch strings.ToLower(strings.TrimSpace(coding)) {
			case "gzip", "x-gzip", "*":
				weight := strings.ReplaceAll(params, " ", "")
				return weight != "q=0" && !strings.HasPrefix(weight, "q=0.000") && weight != "q=0.0" && weight != "q=0.00"
			}
		}
	}
	return false
}

// readableCodings returns what an Accept-Encoding asks for without the codings that cannot be read here.
func readableCodings(lines []string) []string {
	var kept []string
	for _, line := range lines {
		for entry := range strings.SplitSeq(line, ",") {
			coding, _, _ := strings.Cut(entry, ";")
			if coding = strings.ToLower(strings.TrimSpace(coding)); coding != "" && decodable(coding) {
				kept = append(kept, strings.TrimSpace(entry))
			}
		}
	}
	if len(kept) == 0 {
		return nil
	}
	return []string{strings.Join(kept, ", ")}
}

const (
	// maxKeptBuffer is the largest buffer that the next page takes over.
	maxKeptBuffer = 512 << 10
	// pageLevel is the level at which compressed pages are compressed again, while a browser waits.
	pageLevel = 3
)

// pageBuffer holds what there is of a page: as it came, and as it goes out.
type pageBuffer struct{ held, out []byte }

// pagePool lends pages the memory that others are done with. Its zero value is empty.
type pagePool struct {
	buffers, encoders          sync.Pool
	chunks, gzip, brotli, zstd sync.Pool // of decoding
}

func (p *pagePool) buffer() *pageBuffer {
	if b, ok := p.buffers.Get().(*pageBuffer); ok {
		return b
	}
	return &pageBuffer{}
}

// putBuffer returns a buffer to the pool.
func (p *pagePool) putBuffer(b *pageBuffer) {
	if cap(b.held) > maxKeptBuffer || cap(b.out) > maxKeptBuffer {
		return
	}
	b.held, b.out = b.held[:0], b.out[:0]
	p.buffers.Put(b)
}

func (p *pagePool) encoder(to io.Writer) *gzip.Writer {
	if e, ok := p.encoders.Get().(*gzip.Writer); ok {
		e.Reset(to)
		return e
	}
	e, err := gzip.NewWriterLevel(to, pageLevel)
	if err != nil { // not with this level
		return gzip.NewWriter(to)
	}
	return e
}

// putEncoder takes an encoder back that was closed.
func (p *pagePool) putEncoder(e *gzip.Writer) {
	e.Reset(io.Discard)
	p.encoders.Put(e)
}
