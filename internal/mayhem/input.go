package mayhem

import (
	"context"
	"io"
)

// UntilEnd returns a context that ends when the input does: a [Child] that is
// told to end sees that. The goroutine that reads lives as long as the input.
func UntilEnd(ctx context.Context, in io.Reader) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		_, _ = io.Copy(io.Discard, in) // nothing is said on it
		cancel()
	}()
	return ctx, cancel
}
