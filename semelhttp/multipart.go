package semelhttp

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash"
	"io"
)

const (
	// maxBoundaryBytes is RFC 2046's bound.
	maxBoundaryBytes = 70
	// multipartWindow is the part of a body that is examined at a time.
	multipartWindow = 8 << 10
)

// canonicalMultipart digests a multipart body without its boundary: SHA-256
// over the parts in their order, each as its length (8 bytes, big-endian)
// after its SHA-256. A part is the text between two delimiter lines, its
// header lines and its content byte by byte.
//
// It returns errNotCanonical, and the raw bytes should count, for whatever
// readers disagree about or what is over a bound: text before the first or
// after the last delimiter, padding, lines that end in LF only, the boundary
// anywhere else, a missing end, no part at all, more than maxBytes bytes. Any
// other error is one of reading.
func canonicalMultipart(r io.Reader, boundary string, maxBytes int64) ([sha256.Size]byte, error) {
	var sum [sha256.Size]byte
	if boundary == "" || len(boundary) > maxBoundaryBytes {
		return sum, errNotCanonical
	}
	in := &canonicalReader{from: r, left: maxBytes}
	c := multipartCanon{
		in:    bufio.NewReaderSize(in, multipartWindow),
		dash:  []byte("--" + boundary),
		part:  sha256.New(),
		parts: sha256.New(),
	}
	if !c.readParts() {
		return sum, in.verdict()
	}
	c.parts.Sum(sum[:0])
	return sum, in.err
}

// multipartCanon is one run of canonicalMultipart. Its methods report false
// when the body is to be counted raw.
type multipartCanon struct {
	in    *bufio.Reader
	dash  []byte // "--" and the boundary
	part  hash.Hash
	parts hash.Hash
}

func (c *multipartCanon) readParts() bool {
	if !c.literal(c.dash) || !c.literal([]byte("\r\n")) {
		return false
	}
	for {
		if !c.readPart() {
			return false
		}
		var after [2]byte
		if _, err := io.ReadFull(c.in, after[:]); err != nil {
			return false
		}
		switch string(after[:]) {
		case "\r\n":
		case "--":
			return c.atEnd()
		default:
			return false
		}
	}
}

// readPart hashes up to the next delimiter, CR LF and the boundary, and skips
// that.
func (c *multipartCanon) readPart() bool {
	c.part.Reset()
	var size uint64
	for {
		window, err := c.in.Peek(c.in.Size())
		if err != nil && !errors.Is(err, io.EOF) {
			return false
		}
		n, found := c.find(window)
		if n < 0 {
			return false
		}
		c.part.Write(window[:n])
		size += uint64(n)
		if found {
			n += len("\r\n") + len(c.dash)
		}
		if _, discardErr := c.in.Discard(n); discardErr != nil {
			return false
		}
		if found {
			c.endPart(size)
			return true
		}
		if err != nil { // the body ended inside the part
			return false
		}
	}
}

// find returns how much of the window belongs to the part and whether a
// delimiter follows it there; n is negative for a boundary elsewhere.
func (c *multipartCanon) find(window []byte) (n int, found bool) {
	switch i := bytes.Index(window, c.dash); {
	case i < 0:
		// A delimiter may have begun at the end of the window.
		return max(0, len(window)-len(c.dash)-len("\r\n")+1), false
	case i < 2 || window[i-2] != '\r' || window[i-1] != '\n':
		return -1, false
	default:
		return i - 2, true
	}
}

func (c *multipartCanon) endPart(size uint64) {
	var buf [sha256.Size + 8]byte
	c.part.Sum(buf[:0])
	binary.BigEndian.PutUint64(buf[sha256.Size:], size)
	c.parts.Write(buf[:])
}

// literal reads exactly these bytes.
func (c *multipartCanon) literal(want []byte) bool {
	got, err := c.in.Peek(len(want))
	if err != nil || !bytes.Equal(got, want) {
		return false
	}
	_, err = c.in.Discard(len(want))
	return err == nil
}

// atEnd reports whether nothing but one CR LF follows.
func (c *multipartCanon) atEnd() bool {
	rest, err := c.in.Peek(3)
	return errors.Is(err, io.EOF) && (len(rest) == 0 || string(rest) == "\r\n")
}
