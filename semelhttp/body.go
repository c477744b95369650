package semelhttp

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"sync"
)

const (
	// minRead is the least room a read into memory is given.
	minRead = 512
	// maxTrust is the most memory that a declared length alone makes us take.
	maxTrust = 64 << 10
	// uncountedBodyBytes of each body are not counted towards the memory of all bodies. After them a declared length is believed.
	uncountedBodyBytes = 256 << 10
)

var (
	errBodyTooLarge   = errors.New("semelhttp: request body is too large")
	errBodyIncomplete = errors.New("semelhttp: request body could not be read to its end")
	errSpool          = errors.New("semelhttp: request body could not be kept")
)

// Body is the body of a request, read once and kept: in memory while it is small, beyond that in a temporary file. It is read
// when a [KeySource] or the fingerprint first asks for it. It is valid until the key source or fingerprint function it was given
// to returns, and not safe for concurrent use.
type Body struct {
	from     io.Reader
	declared int64 // Content-Length, -1 for unknown
	max      int64
	inMemory int64
	dir      string
	in       *exchange
	mem      []byte // all of it, or nothing when there is a file
	taken    int64  // for mem, of the memory of all bodies
	file     *os.File
	size     int64
	ready    bool
	err      error
}

// Len returns the length of the whole body.
func (b *Body) Len() (int64, error) {
	b.spool()
	return b.size, b.err
}

// Open returns a reader over the whole body, from its start. Readers are independent of each other.
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
	return b.readOn()
}

// readOn reads to the end.
func (b *Body) readOn() error {
	for {
		if b.file == nil && (b.size > b.inMemory || len(b.mem) == cap(b.mem) && !b.grow()) {
			if err := b.overflow(); err != nil {
				return fmt.Errorf("%w: %w", errSpool, err)
			}
		}
		n, err := b.from.Read(b.mem[len(b.mem):cap(b.mem)])
		b.size += int64(n)
		if b.size > b.max {
			return errBodyTooLarge
		}
		if b.file == nil {
			b.mem = b.mem[:b.size]
		} else if _, err := b.file.Write(b.mem[:n]); err != nil {
			return fmt.Errorf("%w: %w", errSpool, err)
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

// grow makes room for more of the body, or reports that there is none.
func (b *Body) grow() bool {
	more := int64(max(minRead, len(b.mem)))
	if b.size >= uncountedBodyBytes {
		more = min(max(b.declared, 2*b.size), b.inMemory) + 1 - b.size
		if b.declared > b.inMemory || !b.in.m.memory(b.in.request).Bodies.Take(more) {
			return false
		}
		b.taken += more
		if large, ok := b.in.m.large.Get().(*[]byte); ok && int64(cap(*large)) >= b.size+more && int64(cap(*large)) <= 2*(b.size+more) {
			b.mem = append((*large)[:0], b.mem...)
			return true
		}
	}
	b.mem = slices.Grow(b.mem, int(more))
	return true
}

// overflow moves what was read to a temporary file. The rest follows it through mem, which stays empty.
func (b *Body) overflow() error {
	f, err := os.CreateTemp(b.dir, "semel-body-*")
	if err != nil {
		return err
	}
	_ = os.Remove(f.Name()) // where an open file can be removed, a crash leaves nothing; elsewhere close does it
	b.file = f
	if _, err = f.Write(b.mem); b.taken > 0 {
		b.giveBack()
		b.mem = make([]byte, maxTrust)
	}
	b.mem = b.mem[:0]
	return err
}

// giveBack leaves the memory of all bodies to others.
func (b *Body) giveBack() {
	if b.taken > 0 {
		b.in.m.memory(b.in.request).Bodies.Return(b.taken)
		large := b.mem[:0]
		b.in.m.large.Put(&large)
		b.mem, b.taken = nil, 0
	}
}

// close removes the temporary file. The memory that is not of all bodies goes back with the scratch.
func (b *Body) close() {
	b.giveBack()
	if b.file == nil {
		return
	}
	_ = b.file.Close()
	_ = os.Remove(b.file.Name())
	b.file = nil
}

var errSeek = errors.New("semelhttp: the offset is outside of the body")

// bodyReader is the spooled body as the handler sees it. A handler may leave a goroutine behind that still reads (http.Transport
// does), so it is locked, and holds nothing after the request has ended.
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

// Seek implements io.Seeker. A proxy rewinds with it, and reads the whole body before it sends a byte.
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

// Close implements io.Closer. It frees nothing: the body lives as long as the request.
func (r *bodyReader) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.body = nil
	return nil
}
