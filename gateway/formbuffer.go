package gateway

import (
	"io"
	"sync"

	"github.com/klauspost/compress/gzip"
)

const (
	// maxKeptBuffer is the largest buffer that the next page takes over.
	maxKeptBuffer = 512 << 10
	// pageLevel is how hard pages are compressed that came compressed: a browser
	// waits for them.
	pageLevel = 3
)

// pageBuffer holds what there is of a page: as it came, and as it goes out.
type pageBuffer struct{ held, out []byte }

// pagePool lends pages the memory that others are done with. Its zero value is
// empty.
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

// putBuffer takes a buffer back that nobody looks at any more.
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
