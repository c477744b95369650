package logstore

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

const scanBytes = 1 << 20 // read at once

// scanner reads a segment from one offset on.
type scanner struct {
	seg  *segment
	at   int64 // of the next entry
	buf  []byte
	from int64 // offset of buf
}

// peek returns at least n bytes from at on, or what the segment still has.
func (sc *scanner) peek(n int) ([]byte, error) {
	n = int(min(int64(n), sc.seg.bytes-sc.at))
	if have := sc.from + int64(len(sc.buf)) - sc.at; sc.at < sc.from || have < int64(n) {
		size := min(int64(max(n, scanBytes)), sc.seg.bytes-sc.at)
		if int64(cap(sc.buf)) < size {
			sc.buf = make([]byte, size)
		}
		sc.buf, sc.from = sc.buf[:size], sc.at
		n, err := sc.seg.f.ReadAt(sc.buf, sc.at)
		clear(sc.buf[n:])
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("read segment %s at %d: %w", segmentName(sc.seg.number), sc.at, err)
		}
	}
	return sc.buf[sc.at-sc.from:], nil
}

// next reads the entry at sc.at and moves on, or reports false and stays when no entry is there. The entry shares memory
// with the scanner until the next call.
func (sc *scanner) next(e *entry) (at int64, ok bool, err error) {
	b, err := sc.peek(entryHeader)
	if err != nil {
		return 0, false, err
	}
	size := entrySize(b)
	if size == 0 || int64(size) > sc.seg.bytes-sc.at {
		return 0, false, nil
	}
	if b, err = sc.peek(size); err != nil || !e.decode(b, sc.seg.salt) {
		return 0, false, err
	}
	at = sc.at
	sc.at += int64(padded(size))
	if e.kind == kindGap {
		sc.at += min(max(0, e.clock), sc.seg.bytes-sc.at)
	}
	return at, true, nil
}

// seek moves to the next place where an entry is, wherever it begins. dirty returns the end of the last bytes other than zero.
func (sc *scanner) seek(e *entry) (found bool, dirty int64, err error) {
	for sc.at < sc.seg.bytes {
		b, err := sc.peek(entryAlign)
		if err != nil {
			return false, dirty, err
		}
		zeros := leadingZeros(b)
		if sc.at += int64(zeros); len(b)-zeros < entryAlign {
			continue
		}
		from := sc.at
		if _, found, err := sc.next(e); found || err != nil {
			sc.at = from
			return found, from + entryAlign, err
		}
		dirty = from + entryAlign
		sc.at += entryAlign
	}
	return false, dirty, nil
}

var zeroBlock [4096]byte //nolint:gochecknoglobals // it is never changed.

// leadingZeros returns the length of b's leading run of zeros, rounded down to entryAlign.
func leadingZeros(b []byte) int {
	n := 0
	for len(b)-n >= len(zeroBlock) && bytes.Equal(b[n:n+len(zeroBlock)], zeroBlock[:]) {
		n += len(zeroBlock)
	}
	for n+entryAlign <= len(b) && [entryAlign]byte(b[n:]) == [entryAlign]byte{} {
		n += entryAlign
	}
	return n
}
