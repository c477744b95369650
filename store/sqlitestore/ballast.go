package sqlitestore

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"syscall"

	"github.com/semel-dev/semel/store/sqlitestore/internal/result"
)

const (
	// ballastBytes is the size of a ballast, where an eighth of the free space is not less.
	ballastBytes    = 4 << 20
	minBallastBytes = 64 << 10
	// checkpointMargin is the part of the ballast that a checkpoint must leave.
	checkpointMargin = 64 << 10
)

// ballast is a file next to the store's that takes up room while there is some. A full disk lets the write-ahead log
// not grow, so that held claims could not be settled: the writer then removes the ballast, and has its room for
// settlements and renewals. New claims are refused until the disk has room for a ballast again. Whether there is one
// is read from the disk before each batch, so that all processes with the file open agree.
type ballast struct {
	path string // no ballast is kept while it is empty
	log  *slog.Logger
}

// openBallast takes up the room, unless the disk is full already.
func openBallast(ctx context.Context, file string, log *slog.Logger) ballast {
	b := ballast{path: file + "-ballast", log: log}
	b.refill(ctx)
	return b
}

// scarce reports whether the ballast is used up, after trying to take it up again.
func (b *ballast) scarce(ctx context.Context) bool {
	if b.path == "" {
		return false
	}
	if info, err := os.Stat(b.path); err == nil && info.Size() >= minBallastBytes {
		return false
	}
	return !b.refill(ctx)
}

// refill makes the file, and reports whether it is there. Only a disk without room for twice as much has none.
func (b *ballast) refill(ctx context.Context) bool {
	size := int64(ballastBytes)
	if free, known := freeBytes(b.path); known {
		size = min(size, free/8)
	}
	if size < minBallastBytes {
		return false
	}
	err := allocate(b.path, size)
	if err == nil {
		return true
	}
	_ = os.Remove(b.path) // what there is of it
	if isFull(err) {
		return false
	}
	b.log.LogAttrs(ctx, slog.LevelWarn, "no room can be kept for a full disk, on which held claims then cannot be settled",
		slog.String("path", b.path), slog.Any("error", err))
	b.path = ""
	return true
}

// fill writes bytes that no file system compresses.
func fill(f *os.File, size int64) error {
	noise := make([]byte, minBallastBytes)
	source := rand.NewChaCha8([32]byte{})
	for at := int64(0); at < size; at += minBallastBytes {
		_, _ = source.Read(noise) // never fails
		if _, err := f.WriteAt(noise, at); err != nil {
			return err
		}
	}
	return f.Sync()
}

// isFull reports whether a disk, or the quota of a user, has no room.
func isFull(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }

// release gives the room to the writer, and reports whether there was any.
func (b *ballast) release(ctx context.Context) bool {
	if b.path == "" {
		return false
	}
	err := os.Remove(b.path)
	if err == nil {
		b.log.LogAttrs(ctx, slog.LevelWarn, "the disk is full: held claims are settled in the room kept for them, new ones are refused until there is more",
			slog.String("path", b.path))
	}
	return err == nil || errors.Is(err, fs.ErrNotExist)
}

// close removes the file: a closed store has no claims to settle.
func (b *ballast) close() {
	if b.path != "" {
		_ = os.Remove(b.path) // one that stays is used by the next start
	}
}

// full reports whether the error of a transaction is a full disk's, rather than that of [Options.MaxBytes].
func (s *Store) full(ctx context.Context, err error) bool {
	if result.Primary(result.Code(err)) != result.Full {
		return false
	}
	pages, err := s.tx.conn.number(ctx, "PRAGMA page_count")
	return err == nil && (s.maxPages == 0 || pages+batchJobs < s.maxPages)
}

// checkpointFits reports whether the file can take the pages of the log: on a full disk a checkpoint that cannot end
// would use up the room of settlements.
func (s *Store) checkpointFits(ctx context.Context, room int64) bool {
	pages, err := s.tx.conn.number(ctx, "PRAGMA page_count")
	info, statErr := os.Stat(s.path)
	return err == nil && statErr == nil && pages*pageBytes-info.Size()+checkpointMargin <= room
}
