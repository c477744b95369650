package waiting

import (
	"context"
	"sync/atomic"
)

// MostCaptured bounds the answers that are held back at one time, in bytes, unless set otherwise.
const MostCaptured = 32 << 20

// Bytes is memory that many share. Most is set before its first use.
type Bytes struct {
	Most int64
	used atomic.Int64
}

// Take takes n bytes. It reports false, and takes none, when they exceed Most.
func (b *Bytes) Take(n int64) bool {
	if b.used.Add(n) > b.Most {
		b.used.Add(-n)
		return false
	}
	return true
}

// Return gives n bytes back.
func (b *Bytes) Return(n int64) { b.used.Add(-n) }

// Used returns the bytes that are taken.
func (b *Bytes) Used() int64 { return b.used.Load() }

type bytesKey struct{}

// With returns a context whose work shares the memory.
func (b *Bytes) With(ctx context.Context) context.Context {
	return context.WithValue(ctx, bytesKey{}, b)
}

// SharedBytes returns the memory that work under ctx shares, or nil.
func SharedBytes(ctx context.Context) *Bytes {
	b, _ := ctx.Value(bytesKey{}).(*Bytes)
	return b
}
