package semelhttp

import (
	"cmp"
	"net/http"
	"slices"

	"github.com/semel-dev/semel/internal/waiting"
)

const (
	// uncountedBytes of each answer are not counted towards MaxCapturedBytes, and kept for the next request.
	uncountedBytes = 16 << 10
	// chunkBytes of longer ones are taken at a time.
	chunkBytes = 32 << 10
)

// memory returns the memory that holds the answer to a request: this middleware's or, in a gateway, the one that all its
// routes share.
func (m *Middleware) memory(r *http.Request) *waiting.Bytes {
	return cmp.Or(waiting.SharedBytes(r.Context()), m.set.captured)
}

type chunk [chunkBytes]byte

// free returns room for more of the body: the rest of the envelope or of the last chunk, or another chunk out of the memory of all
// answers. Where that is used up, the answer streams, or its transaction is rolled back. [capture.filled] follows.
func (c *capture) free() ([]byte, error) {
	s := c.mem
	if len(s.chunks) == 0 {
		e := s.envelope
		if len(e) == cap(e) && cap(e) < uncountedBytes {
			e = slices.Grow(e, cap(e))
			s.envelope = e
		}
		if len(e) < cap(e) {
			return e[len(e):cap(e)], nil
		}
	}
	switch full := s.beyond == len(s.chunks)*chunkBytes; {
	case !full:
	case c.memory.Take(chunkBytes):
		s.taken += chunkBytes
		another, _ := c.m.chunks.Get().(*chunk)
		s.chunks = append(s.chunks, another)
	case c.held:
		c.unfit = errNoRoom
		return nil, errNoRoom
	default:
		c.startStream()
		return nil, nil
	}
	return s.chunks[len(s.chunks)-1][s.beyond-(len(s.chunks)-1)*chunkBytes:], nil
}

// filled adds the first n bytes of the room to the body; with a negative n it takes away what was added last.
func (c *capture) filled(n int) {
	if s := c.mem; len(s.chunks) > 0 {
		s.beyond += n
	} else {
		s.envelope = s.envelope[:len(s.envelope)+n]
	}
}

// length returns how much of the body is held back.
func (c *capture) length() int { return len(c.mem.envelope) - c.bodyAt + c.mem.beyond }

// parts returns the body as it is held back, in pieces.
func (c *capture) parts(yield func([]byte) bool) {
	s := c.mem
	if first := s.envelope[c.bodyAt:]; len(first) > 0 && !yield(first) {
		return
	}
	for i, b := range s.chunks {
		if !yield(b[:min(chunkBytes, s.beyond-i*chunkBytes)]) {
			return
		}
	}
}

// first returns up to n bytes of the beginning of the body.
func (c *capture) first(n int) (b []byte) {
	for part := range c.parts {
		b = append(b, part[:min(len(part), n-len(b))]...)
	}
	return b
}

// joined returns the body as it is held back, in one piece at the end of the envelope. It counts until the answer has ended.
func (c *capture) joined() []byte {
	if s := c.mem; len(s.chunks) > 0 {
		e := slices.Grow(slices.Clip(s.envelope), s.beyond)
		for i, b := range s.chunks {
			e = append(e, b[:min(chunkBytes, s.beyond-i*chunkBytes)]...)
		}
		s.envelope = e
		c.leaveChunks(false)
	}
	return c.mem.envelope[c.bodyAt:]
}

// leaveChunks lets later answers use the chunks, unless a goroutine that the handler left behind may still write to them.
func (c *capture) leaveChunks(strayed bool) {
	s := c.mem
	if !strayed {
		for _, b := range s.chunks {
			c.m.chunks.Put(b)
		}
	}
	s.chunks, s.beyond = nil, 0
}

// giveBack returns the memory to that of all answers.
func (c *capture) giveBack(strayed bool) {
	c.leaveChunks(strayed)
	c.memory.Return(c.mem.taken)
	c.mem.taken = 0
}

// shrink gives memory back once the answer streams: an endless one must not keep it.
func (c *capture) shrink() {
	c.giveBack(false)
	c.mem.envelope = c.mem.envelope[:c.bodyAt]
}
