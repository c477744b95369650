package sqlitestore

import (
	"context"
	"database/sql/driver"
	"errors"
	"log/slog"
	"sync/atomic"
)

const (
	// checkpointPages is about the growth of the write-ahead log, in pages, before
	// it is copied into the file.
	checkpointPages = 8000
	// walPages is the length of the log at which the commit that reaches it
	// does the copying itself, because the checkpointer cannot keep up.
	walPages = 32768
	// nearlyDone bounds the pages that the writer copies itself, so that the log
	// is empty for an instant and starts over.
	nearlyDone = 500
	// walKeepBytes is the size to which the log is cut after it was longer for a
	// while.
	walKeepBytes = 128 << 20
	// checkpointPasses bounds how often the checkpointer runs after the writer.
	checkpointPasses = 8
)

// checkpointer copies the write-ahead log into the file on a connection of its
// own, concurrently with the writer: claims touch pages all over a large file,
// and a commit that had to put thousands of them in their places would make its
// callers wait for tens of milliseconds.
//
// The log starts over only when all of it was copied and nothing was added,
// which never happens under a busy writer. So the checkpointer passes over the
// log until little is left, and then asks the writer to copy the rest between
// two batches.
type checkpointer struct {
	conn  *conn
	start chan struct{} // of length 1
	ended chan struct{} // closed when run has ended
	ask   atomic.Bool   // the writer is to copy the rest
	log   *slog.Logger
	path  string

	pages int // written since the last start; the writer's own
}

func openCheckpointer(ctx context.Context, path string, opts *Options) (*checkpointer, error) {
	c, err := openConn(path, opts.BusyTimeout, false)
	if err != nil {
		return nil, translate(path, "open", err)
	}
	if err := c.exec(ctx, "PRAGMA synchronous = FULL"); err != nil {
		return nil, errors.Join(translate(path, "open", err), c.close())
	}
	return &checkpointer{
		conn:  c,
		start: make(chan struct{}, 1),
		ended: make(chan struct{}),
		log:   opts.Logger,
		path:  path,
	}, nil
}

// keepShort copies whenever the writer asks for it, until start is closed.
func (k *checkpointer) keepShort(ctx context.Context) {
	defer close(k.ended)
	for range k.start {
		if err := k.chase(ctx); err != nil {
			// Nothing is lost: the log keeps what the file lacks.
			k.log.LogAttrs(ctx, slog.LevelWarn, "the write-ahead log could not be copied into the file",
				slog.Any("error", translate(k.path, "checkpoint", err)))
		}
	}
}

// chase passes over the log until little was added meanwhile.
func (k *checkpointer) chase(ctx context.Context) error {
	before := int64(0)
	for range checkpointPasses {
		length, copied, err := checkpoint(ctx, k.conn)
		if err != nil {
			return err
		}
		if length-before < nearlyDone || length >= walPages {
			break
		}
		before = copied
	}
	k.ask.Store(true)
	return nil
}

// wrote reports about how many pages a batch wrote.
func (k *checkpointer) wrote(pages int) {
	k.pages += pages
	if k.pages < checkpointPages {
		return
	}
	select {
	case k.start <- struct{}{}:
		k.pages = 0
	default: // it is still at the last one
	}
}

// checkpoint copies what it can without waiting, and returns the length of the
// log and how much of it the file now has, both in pages.
func checkpoint(ctx context.Context, c *conn) (length, copied int64, err error) {
	var busy int64
	err = c.query(ctx, "PRAGMA wal_checkpoint(PASSIVE)", func(row []driver.Value) error {
		return scan(row, &busy, &length, &copied)
	})
	return length, copied, err
}
