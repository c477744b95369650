package semelhttp

import (
	"github.com/semel-dev/semel"
)

const (
	// firstScratchBytes is the room a new buffer starts with.
	firstScratchBytes = 4 << 10
	// maxScratchBytes is the largest buffer that is kept for the next request.
	maxScratchBytes = 1 << 20
)

// scratch is the memory a request works in. It is reused by later ones, so
// nothing that a handler can reach may point into it after the request.
type scratch struct {
	hasher   semel.Hasher
	body     []byte  // of the request
	envelope []byte  // of the response
	summary  []byte  // of the response
	outer    []field // the response header before the handler ran
	sent     []field // the response header at WriteHeader
	late     []field // what changed after it
}

func (m *Middleware) takeScratch() *scratch {
	if s, ok := m.scratches.Get().(*scratch); ok {
		return s
	}
	return &scratch{body: make([]byte, 0, firstScratchBytes), envelope: make([]byte, 0, firstScratchBytes)}
}

func (m *Middleware) giveScratch(s *scratch) {
	s.body, s.envelope = reuse(s.body), reuse(s.envelope)
	s.summary = reuse(s.summary)
	clear(s.outer)
	clear(s.sent)
	clear(s.late)
	s.outer, s.sent, s.late = s.outer[:0], s.sent[:0], s.late[:0]
	m.scratches.Put(s)
}

func reuse(b []byte) []byte {
	if cap(b) > maxScratchBytes {
		return nil
	}
	return b[:0]
}
