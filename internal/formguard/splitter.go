package formguard

import (
	"errors"
	"io"
)

const (
	// windowBytes limits how much of a body is held; firstBytes is the room that it
	// starts with.
	windowBytes = 32 << 10
	firstBytes  = 2 << 10
	// maxPieceBytes is the longest piece that can be a token field, or be ignored.
	maxPieceBytes = 8 << 10
	// maxEmptyReads bounds how often a reader may return nothing, in a row.
	maxEmptyReads = 100
)

// role distinguishes pieces that are kept, ignored and removed.
type role int

const (
	// content belongs to the application.
	content role = iota
	// changing belongs to the application, but not to the digest.
	changing
	// ours is a token field.
	ours
)

// format is one way of writing a form. All of a body's bytes are in its pieces,
// in their order.
type format interface {
	// end returns how many bytes of the window belong to the piece at its start, for
	// certain, and whether the piece ends there.
	end(window []byte, at place) (n int, done bool)
	// judge tells what a whole piece is, and the token of one of ours. The body's
	// first piece has nothing before its text; the others have what separates them.
	judge(piece []byte, first bool) (role, string)
	// pair returns the name and the value of a whole piece that is written as browsers
	// write it, about which readers agree; "" otherwise.
	pair(sp span) (name, value string)
	// long returns an error that wraps [ErrAmbiguous] if a piece that is too long to
	// be judged, of which this is the start, must not be passed on.
	long(start []byte, first bool) error
	// joined reports whether the separator goes when nothing is before it.
	joined() bool
}

// place is the position of a window in the body.
type place struct {
	first  bool // in the body's first piece
	inside bool // behind the piece's first byte
}

// span is a run of bytes of one piece.
type span struct {
	data   []byte // until the next span
	role   role
	token  string
	first  bool // it is of the body's first piece
	begins bool // it has the first byte of its piece
	ends   bool // it has the last one
}

// splitter cuts a body into spans. Where it cuts pieces does not depend on how
// the reader hands out the bytes. Pieces that are longer than maxPieceBytes come
// in several spans, and are content.
type splitter struct {
	from       io.Reader
	format     format
	buf        []byte
	start, end int
	err        error
	at         place
}

func newSplitter(r io.Reader, f format) *splitter {
	return &splitter{from: r, format: f, at: place{first: true}}
}

// next returns the next span; io.EOF at the end of the body; any other error is
// the reader's.
func (s *splitter) next() (span, error) {
	for {
		window := s.buf[s.start:s.end]
		if s.err != nil && !errors.Is(s.err, io.EOF) {
			return span{}, s.err
		}
		if s.err != nil && len(window) == 0 {
			return span{}, io.EOF
		}
		n, done := s.format.end(window, s.at)
		if !done && s.err != nil {
			n, done = len(window), true
		}
		if done || n > maxPieceBytes || (s.at.inside && n > 0) {
			return s.take(n, done)
		}
		s.fill()
	}
}

// take hands out the next n bytes.
func (s *splitter) take(n int, done bool) (span, error) {
	sp := span{data: s.buf[s.start : s.start+n], first: s.at.first, begins: !s.at.inside, ends: done}
	switch {
	case !sp.begins:
	case n > maxPieceBytes:
		if err := s.format.long(sp.data, sp.first); err != nil {
			s.err = err
			return span{}, err
		}
	default:
		sp.role, sp.token = s.format.judge(sp.data, sp.first)
	}
	s.start += n
	s.at.inside = !done
	if done {
		s.at.first = false
	}
	return sp, nil
}

// fill reads once, behind what is held.
func (s *splitter) fill() {
	held := s.buf[s.start:s.end]
	if s.buf == nil || (len(s.buf) < windowBytes && s.end == len(s.buf)) {
		s.buf = make([]byte, min(windowBytes, max(firstBytes, 4*len(s.buf))))
	}
	if s.start > 0 || s.end > 0 {
		s.end = copy(s.buf, held)
		s.start = 0
	}
	for range maxEmptyReads {
		var n int
		n, s.err = s.from.Read(s.buf[s.end:])
		s.end += n
		if n > 0 || s.err != nil {
			return
		}
	}
	s.err = io.ErrNoProgress
}

// joiner leaves out the separator before the first piece that is kept.
type joiner struct {
	format format
	any    bool
}

func (j *joiner) keep(sp *span) []byte {
	data := sp.data
	if sp.begins && !sp.first && !j.any && j.format.joined() {
		data = data[1:]
	}
	j.any = true
	return data
}

// whole is a body that is not a form.
type whole struct{}

func (whole) end(window []byte, _ place) (int, bool) { return len(window), false }
func (whole) judge(_ []byte, _ bool) (role, string)  { return content, "" }
func (whole) long(_ []byte, _ bool) error            { return nil }
func (whole) joined() bool                           { return false }
func (whole) pair(span) (name, value string)         { return "", "" }
