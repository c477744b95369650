package semelhttp

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/semel-dev/semel/internal/crossorigin"
	"github.com/semel-dev/semel/internal/waiting"
)

var errAnswered = errors.New("semelhttp: the handler has returned, its answer is closed")

type captureMode uint8

const (
	buffering captureMode = iota // nothing but 1xx has gone out
	streaming                    // settled; everything goes straight out
	hijacked                     // settled; the connection is the handler's
)

// capture is the response writer of a handler that runs under a claim. It holds the answer back until it is complete, so that it
// can be recorded before its first byte goes out. An answer that is too long, or meant as a stream, is recorded without its body,
// and then goes straight out.
//
// The header map is that of the writer underneath. What was in it before the handler ran belongs to outer handlers; what the
// handler changed until WriteHeader is the answer's.
type capture struct {
	under  http.ResponseWriter
	m      *Middleware
	mem    *scratch
	settle settler   // settles what cannot be held back
	stream *detached // the handler, once it goes on after the settlement

	mode     captureMode
	status   int            // 0 until WriteHeader
	declared int64          // Content-Length; -1 for none
	bodyAt   int            // where the body starts in the envelope
	held     bool           // nothing may go out before the commit of a transaction
	unfit    error          // why the answer cannot be held back that long
	layer    string         // inside of the door, that answered for the handler
	memory   *waiting.Bytes // of all answers

	// For a goroutine that the handler left behind: what it writes goes nowhere, least of all into the answer of a later request.
	gone atomic.Bool
	busy atomic.Int32 // calls under way
}

// settler settles a claim before its answer is complete.
type settler interface {
	settleStream() (word []string)
	settleHijack() error
}

// scratch is the memory that a capture works in. Later requests use it again.
type scratch struct {
	envelope []byte   // of the response, without the part of its body in chunks
	chunks   []*chunk // out of the memory of all answers
	taken    int64    // of that memory
	beyond   int      // bytes in them
	short    []byte   // the envelope of its summary
	outer    []field  // the response header before the handler ran
	sent     []field  // the response header at WriteHeader
	late     []field  // what changed after it
}

// location returns the answer's Location, or "".
func (c *capture) location() string {
	for i := range c.mem.sent {
		if f := &c.mem.sent[i]; f.name == "Location" && len(f.values) > 0 {
			return f.values[0]
		}
	}
	return ""
}

// reset empties the scratch for the next request.
func (s *scratch) reset() {
	if cap(s.envelope) > uncountedBytes {
		s.envelope = nil
	}
	s.envelope, s.short = reuse(s.envelope), reuse(s.short)
	clear(s.outer)
	clear(s.sent)
	clear(s.late)
	s.outer, s.sent, s.late = s.outer[:0], s.sent[:0], s.late[:0]
}

// enter reports whether the handler is still at work; exit follows if so.
func (c *capture) enter() bool {
	c.busy.Add(1)
	if c.gone.Load() {
		c.exit()
		return false
	}
	return true
}

func (c *capture) exit() { c.busy.Add(-1) }

// leave ends the handler's use of the capture, and reports whether a goroutine that it left behind is still inside of a call.
func (c *capture) leave() (strayed bool) {
	c.gone.Store(true)
	return c.busy.Load() > 0
}

// Header implements [http.ResponseWriter].
func (c *capture) Header() http.Header { return c.under.Header() }

// WriteHeader implements [http.ResponseWriter]. 1xx answers go out at once.
func (c *capture) WriteHeader(status int) {
	if !c.enter() {
		return
	}
	defer c.exit()
	c.writeHeader(status)
}

func (c *capture) writeHeader(status int) {
	if status >= http.StatusInternalServerError || c.held { // rows must not commit after a panic, whatever answers for it
		c.failing(status)
	}
	switch {
	case c.mode == buffering && c.status != 0:
		return
	case c.mode != buffering,
		status < 200 && status != http.StatusSwitchingProtocols,
		status > maxStatus: // net/http panics, as it should
		c.under.WriteHeader(status)
		return
	}
	c.status = status
	c.freeze()
	switch {
	case status != http.StatusSwitchingProtocols:
	case c.held:
		c.unfit = errStreamInTx
	default:
		c.startStream()
	}
}

// Write implements [http.ResponseWriter].
func (c *capture) Write(p []byte) (int, error) {
	return capturePiece(c, p, io.Writer.Write)
}

// WriteString implements [io.StringWriter].
func (c *capture) WriteString(s string) (int, error) {
	return capturePiece(c, s, io.WriteString)
}

// capturePiece holds back a piece of the body, or writes it where the answer is a stream.
func capturePiece[T []byte | string](c *capture, piece T, write func(io.Writer, T) (int, error)) (int, error) {
	if !c.enter() {
		return 0, errAnswered
	}
	defer c.exit()
	if err := c.admit(len(piece)); err != nil {
		return 0, err
	}
	held := 0
	for c.mode == buffering && held < len(piece) {
		room, err := c.free()
		if err != nil {
			return held, err
		}
		n := copy(room, piece[held:])
		c.filled(n)
		held += n
	}
	if c.mode == buffering {
		return held, nil
	}
	n, err := c.stream.wrote(write(c.under, piece[held:]))
	return held + n, err
}

// ReadFrom implements [io.ReaderFrom], so that io.Copy neither bypasses the capture nor loses the fast way out once it streams.
func (c *capture) ReadFrom(src io.Reader) (int64, error) {
	if !c.enter() {
		return 0, errAnswered
	}
	defer c.exit()
	if c.mode != streaming {
		if err := c.admit(0); err != nil {
			return 0, err
		}
	}
	var copied int64
	for c.mode == buffering {
		room, err := c.free()
		if err != nil {
			return copied, err
		}
		if c.mode == streaming {
			break
		}
		n, err := src.Read(room)
		c.filled(n)
		copied += int64(n)
		switch length := int64(c.length()); {
		case c.declared >= 0 && length > c.declared:
			c.filled(-n)
			return copied - int64(n), http.ErrContentLength
		case length > int64(c.m.set.MaxResponseBytes):
			if err := c.outgrow(length); err != nil {
				c.filled(-n)
				return copied - int64(n), err
			}
		}
		if errors.Is(err, io.EOF) {
			return copied, nil
		}
		if err != nil {
			return copied, err
		}
	}
	n, err := io.Copy(c.under, c.stream.reading(src))
	return copied + n, err
}

// Flush implements [http.Flusher].
func (c *capture) Flush() { _ = c.FlushError() }

// FlushError is called by [http.ResponseController].
func (c *capture) FlushError() error {
	if !c.enter() {
		return errAnswered
	}
	defer c.exit()
	switch c.mode {
	case hijacked:
		return http.ErrHijacked
	case streaming:
	case buffering:
		if c.status == 0 {
			c.writeHeader(http.StatusOK)
		}
		if c.held || c.m.set.BufferFlush && !Streams(c.Header().Get("Content-Type")) {
			return nil
		}
		c.startStream()
	}
	return http.NewResponseController(c.under).Flush()
}

// Hijack implements [http.Hijacker]. The claim is settled before the
// connection is handed out: what goes over it cannot be replayed.
func (c *capture) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	if !c.enter() {
		return nil, nil, errAnswered
	}
	defer c.exit()
	switch {
	case c.mode == hijacked:
		return nil, nil, http.ErrHijacked
	case !hijackable(c.under), c.held:
		return nil, nil, http.ErrNotSupported
	}
	if c.mode == buffering {
		if err := c.settle.settleHijack(); err != nil {
			return nil, nil, err
		}
	}
	c.mode = hijacked
	return http.NewResponseController(c.under).Hijack()
}

func hijackable(w http.ResponseWriter) bool {
	for {
		if _, ok := w.(http.Hijacker); ok {
			return true
		}
		wrapper, ok := w.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			return false
		}
		w = wrapper.Unwrap()
	}
}

// Unwrap is for [http.ResponseController]: deadlines and full duplex.
func (c *capture) Unwrap() http.ResponseWriter { return c.under }

// CloseNotify is for frameworks that still ask for it. It never notifies: the client's going away does not end the work, and
// where it does, in transaction mode, the request's context says so.
func (c *capture) CloseNotify() <-chan bool { return make(chan bool, 1) }

// admit prepares for n more bytes of body: it may start the stream, or refuse them as net/http would.
func (c *capture) admit(n int) error {
	switch c.mode {
	case hijacked:
		return http.ErrHijacked
	case buffering, streaming:
	}
	if c.status == 0 {
		c.writeHeader(http.StatusOK)
	}
	total := int64(c.length()) + int64(n)
	switch {
	case c.mode == streaming:
		return nil
	case !bodyAllowed(c.status):
		return http.ErrBodyNotAllowed
	case c.declared >= 0 && total > c.declared:
		return http.ErrContentLength
	case max(total, c.declared) > int64(c.m.set.MaxResponseBytes):
		return c.outgrow(max(total, c.declared))
	}
	return nil
}

// outgrow is called when the body is longer than what is kept: it streams, or,
// before a commit, is held back as long as that is bearable.
func (c *capture) outgrow(length int64) error {
	switch {
	case !c.held:
		c.startStream()
	case length > int64(c.m.set.MaxHeldBytes):
		c.unfit = errHeldTooLong
		return errHeldTooLong
	}
	return nil
}

// discard forgets the answer: the header is again what outer handlers set.
func (c *capture) discard() {
	header, s := c.under.Header(), c.mem
	clear(header)
	for _, f := range s.outer {
		header[f.name] = f.values
	}
	c.status = 0
}

// freeze takes the header as it is at WriteHeader, and starts the envelope.
func (c *capture) freeze() {
	header, s := c.under.Header(), c.mem
	connection := header["Connection"]
	c.declared = -1
	if values := header["Content-Length"]; len(values) > 0 {
		if n, err := strconv.ParseInt(values[0], 10, 64); err == nil && n >= 0 {
			c.declared = n
		}
	}
	e := appendPrefix(s.envelope[:0], c.status, false)
	countAt := len(e)
	e = append(e, 0, 0, 0, 0, 0) // the number of values, patched below
	count := 0
	for name, values := range header {
		s.sent = append(s.sent, field{name, values})
		if same(s.outer, name, values) || !storable(name, connection) {
			continue
		}
		if values, ok := c.recordable(name, values); ok {
			e = appendField(e, name, values)
			count += len(values)
		}
	}
	for _, f := range s.outer { // what the handler removed stays removed
		if _, ok := header[f.name]; !ok && storable(f.name, nil) {
			e = appendField(e, f.name, nil)
		}
	}
	patchCount(e[countAt:], count)
	s.envelope, c.bodyAt = e, len(e)
}

// startStream records the answer without its body and sends what there is of it.
func (c *capture) startStream() {
	word := c.settle.settleStream()
	c.mode = streaming
	c.send(word)
	c.shrink()
}

// send writes the answer as far as it was held back.
func (c *capture) send(word []string) {
	header, s := c.under.Header(), c.mem
	c.thaw()
	header[StatusHeader] = word
	c.m.vary(header)
	crossorigin.Expose(header, StatusHeader)
	c.under.WriteHeader(c.status)
	for part := range c.parts {
		_, _ = c.under.Write(part) // the client may have gone: the outcome is recorded
	}
	for _, f := range s.late {
		header[f.name] = f.values // trailers
	}
}

// thaw brings the header back to what it was at WriteHeader; what changed since is kept in late. Undeclared trailers stay, so
// that the server knows about them in time.
func (c *capture) thaw() {
	header, s := c.under.Header(), c.mem
	unchanged := len(header) == len(s.sent)
	for i := 0; unchanged && i < len(s.sent); i++ {
		unchanged = identical(header[s.sent[i].name], s.sent[i].values)
	}
	if unchanged {
		return
	}
	for name, values := range header {
		if i := index(s.sent, name); i < 0 || !identical(values, s.sent[i].values) {
			s.late = append(s.late, field{name, values})
			if !strings.HasPrefix(name, http.TrailerPrefix) {
				delete(header, name)
			}
		}
	}
	for _, f := range s.sent {
		header[f.name] = f.values
	}
}

// trailer appends what the handler set as trailers to the envelope, after the
// body, and reports how many bytes belong to the body.
func (c *capture) trailer() (bodyLen int) {
	bodyLen = c.length()
	header, s := c.under.Header(), c.mem
	e := s.envelope
	var names []string
	for _, f := range s.sent {
		if f.name == "Trailer" {
			for _, line := range f.values {
				for name := range strings.SplitSeq(line, ",") {
					names = append(names, textproto.CanonicalMIMEHeaderKey(strings.TrimSpace(name)))
				}
			}
		}
	}
	fields := http.Header{}
	for _, name := range names {
		if values := header[name]; len(values) > 0 && trailable(name, values) {
			fields[name] = values
		}
	}
	for name, values := range header {
		if name, ok := strings.CutPrefix(name, http.TrailerPrefix); ok && trailable(name, values) {
			fields[textproto.CanonicalMIMEHeaderKey(name)] = values
		}
	}
	if len(fields) > 0 {
		s.envelope = appendHeader(e, fields)
	}
	return bodyLen
}

// hasTrailer reports whether trailer has anything to do.
func (c *capture) hasTrailer() bool {
	header := c.under.Header()
	if len(c.mem.sent) != len(header) || index(c.mem.sent, "Trailer") >= 0 {
		return true
	}
	for _, f := range c.mem.sent {
		if strings.HasPrefix(f.name, http.TrailerPrefix) {
			return true
		}
	}
	return false
}

func index(fields []field, name string) int {
	return slices.IndexFunc(fields, func(f field) bool { return f.name == name })
}

// same reports whether outer handlers had set the same field.
func same(outer []field, name string, values []string) bool {
	i := index(outer, name)
	return i >= 0 && slices.Equal(outer[i].values, values)
}

// identical reports whether both are the same slice, not replaced values.
func identical(a, b []string) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}
