package semelhttp

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
)

const (
	// minRead is the least room a read into memory is given.
	minRead = 512
	// maxTrust is the most memory that a declared length alone makes us take.
	maxTrust = 64 << 10
)

var (
	errBodyTooLarge   = errors.New("semelhttp: request body is too large")
	errBodyIncomplete = errors.New("semelhttp: request body could not be read to its end")
	errSpool          = errors.New("semelhttp: request body could not be kept")
)

// Body is the body of a request, read once and kept: in memory while it is
// small, beyond that in a temporary file. It is read when a [KeySource] or the
// fingerprint first asks for it. It is valid until the key source or
// fingerprint function it was given to returns, and not safe for concurrent
// use.
type Body struct {
	from     io.Reader
	declared int64 // Content-Length, -1 for unknown
	max      int64
	inMemory int64
	dir      string

	mem   []byte // all of it, or nothing when there is a file
	file  *os.File
	size  int64
	ready bool
	err   error
}

// Len returns the length of the whole body.
func (b *Body) Len() (int64, error) {
	b.spool()
	return b.size, b.err
}

// Open returns a reader over the whole body, from its start. Readers are
// independent of each other.
func (b *Body) Open() (io.ReadSeeker, error) {
	b.spool()
	if b.err != nil {
		return nil, b.err
	}
	if b.file != nil {
		return io.NewSectionReader(b.file, 0, b.size), nil
	}
	return bytes.NewReader(b.mem), nil
}

// spool reads the request's body; only the first call does anything.
func (b *Body) spool() {
	if b.ready {
		return
	}
	b.ready = true
	b.err = b.read()
	if b.err != nil {
		b.close()
	}
}

func (b *Body) read() error {
	switch {
	case b.declared > b.max:
		return errBodyTooLarge // not even asked for: no 100 Continue
	case b.declared == 0 || b.from == nil || b.from == http.NoBody:
		return nil
	}
	// One more than declared, to meet the end without growing.
	if need := min(b.declared+1, maxTrust); need > int64(cap(b.mem)) && b.declared <= b.inMemory {
		b.mem = make([]byte, 0, need)
	}
	for {
		if len(b.mem) == cap(b.mem) {
			b.mem = append(b.mem, make([]byte, max(minRead, len(b.mem)))...)[:len(b.mem)]
		}
		n, err := b.from.Read(b.mem[len(b.mem):cap(b.mem)])
		b.mem = b.mem[:len(b.mem)+n]
		b.size = int64(len(b.mem))
		switch {
		case b.size > b.max:
			return errBodyTooLarge
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return readError(err)
		case b.size > b.inMemory:
			return b.overflow()
		}
	}
}

// overflow moves what was read to a temporary file, and the rest after it.
func (b *Body) overflow() error {
	f, err := os.CreateTemp(b.dir, "semel-body-*")
	if err != nil {
		return fmt.Errorf("%w: %w", errSpool, err)
	}
	b.file = f
	_ = os.Remove(f.Name()) // where an open file can be removed, a crash leaves nothing; elsewhere close does it
	if _, err := f.Write(b.mem); err != nil {
		return fmt.Errorf("%w: %w", errSpool, err)
	}
	b.mem = b.mem[:cap(b.mem)]
	for {
		n, err := b.from.Read(b.mem)
		b.size += int64(n)
		if b.size > b.max {
			return errBodyTooLarge
		}
		if _, writeErr := f.Write(b.mem[:n]); writeErr != nil {
			return fmt.Errorf("%w: %w", errSpool, writeErr)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return readError(err)
		}
	}
}

func readError(err error) error {
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return fmt.Errorf("%w: %w", errBodyTooLarge, tooLarge)
	}
	return fmt.Errorf("%w: %w", errBodyIncomplete, err)
}

// close removes the temporary file. The memory goes back with the scratch.
func (b *Body) close() {
	if b.file == nil {
		return
	}
	_ = b.file.Close()
	_ = os.Remove(b.file.Name())
	b.file = nil
}

var errSeek = errors.New("semelhttp: the offset is outside of the body")

// bodyReader is the spooled body as the handler sees it. A handler may leave a
// goroutine behind that still reads (http.Transport does), so it is locked,
// and holds nothing after the request has ended.
type bodyReader struct {
	mu   sync.Mutex // guards the fields below
	body *Body
	at   int64
}

// Read implements io.Reader.
func (r *bodyReader) Read(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.body == nil {
		return 0, http.ErrBodyReadAfterClose
	}
	left := r.body.size - r.at
	if left == 0 {
		return 0, io.EOF
	}
	if int64(len(p)) > left {
		p = p[:left]
	}
	n, err := len(p), error(nil)
	if r.body.file != nil {
		n, err = r.body.file.ReadAt(p, r.at)
	} else {
		copy(p, r.body.mem[r.at:])
	}
	r.at += int64(n)
	return n, err
}

// Seek implements io.Seeker, for who has to know the whole body before the first
// byte of it goes anywhere.
func (r *bodyReader) Seek(offset int64, whence int) (int64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.body == nil:
		return 0, http.ErrBodyReadAfterClose
	case whence == io.SeekCurrent:
		offset += r.at
	case whence == io.SeekEnd:
		offset += r.body.size
	}
	if offset < 0 || offset > r.body.size {
		return 0, errSeek
	}
	r.at = offset
	return offset, nil
}

// Close implements io.Closer. It frees nothing: the body lives as long as the
// request.
func (r *bodyReader) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.body = nil
	return nil
}
