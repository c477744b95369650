package semelhttp

import (
	"context"
	"io"
	"os"

	"github.com/semel-dev/semel"
)

// detached is a handler that goes on after its claim was settled: it streams its
// answer, or has taken the connection over. Its claim keeps its seat until the
// handler has returned.
type detached struct {
	*semel.Detached
	unwatch func() bool
}

// detach lets the handler go on after the settlement that follows. When the
// caller goes away, the handler has AbandonAfter for each further piece.
func (run *execution) detach() {
	work := run.claim.Detach()
	if work == nil {
		return
	}
	run.capture.stream = &detached{Detached: work, unwatch: func() bool { return true }}
	if patience := run.m.set.AbandonAfter; patience > 0 {
		run.capture.stream.unwatch = context.AfterFunc(run.request.Context(), func() { work.Abandon(patience) })
	}
}

// end is called when the handler has returned.
func (d *detached) end() {
	d.unwatch()
	d.End()
}

// wrote passes on what writing a piece of the stream returned, and notes that
// it moved.
func (d *detached) wrote(n int, err error) (int, error) {
	if d != nil && n > 0 && err == nil {
		d.Moved()
	}
	return n, err
}

// reading returns src, whose pieces are noted as they are copied to the caller.
// Files are returned as they are: they do not stall, and the fast way out
// wants to see them.
func (d *detached) reading(src io.Reader) io.Reader {
	switch src.(type) {
	case *os.File, *io.LimitedReader:
		return src
	}
	if d == nil {
		return src
	}
	return &movingReader{src, d}
}

type movingReader struct {
	io.Reader
	stream *detached
}

// Read implements io.Reader.
func (r *movingReader) Read(p []byte) (int, error) { return r.stream.wrote(r.Reader.Read(p)) }
