package forms

import (
	"errors"
	"io"
	"iter"
	"strings"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

const (
	// maxZstdWindow is the largest window that RFC 9659 allows in HTTP; a brotli
	// window is 16 MiB at most, and that of gzip 32 KiB.
	maxZstdWindow = 8 << 20
	decodeBytes   = 16 << 10
)

var errDecodingStopped = errors.New("gateway: decoding was stopped")

// decodable reports whether pages in this content coding can be read.
func decodable(coding string) bool {
	switch coding {
	case "", "identity", "gzip", "x-gzip", "br", "zstd":
		return true
	}
	return false
}

// decoder undoes a content coding, piece by piece: what can be decoded of a piece
// has been written when Write returns. Decoders pull, and answers are pushed, so
// the decoding runs as a coroutine. It ends with close or stop.
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

// putReader takes a reader back. What it last read from is not kept, where the
// reader can forget it without reading.
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

// Write decodes a piece. The error is that of the content.
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

// inlet is the reader of a decoder. At the end of a piece it yields until the next
// one arrives.
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

// readableCodings returns what an Accept-Encoding asks for without the codings
// that cannot be read here.
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
	// pageLevel is the level at which compressed pages are compressed again, while a
	// browser waits.
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

// putBuffer takes back a buffer that is no longer used.
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
