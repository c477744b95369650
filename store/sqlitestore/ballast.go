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
	// ballastBytes is the size of the ballast, or an eighth of the free space if that is less; below minBallastBytes there is
	// none.
	ballastBytes    = 4 << 20
	minBallastBytes = 64 << 10
	// checkpointMargin is the part of the ballast that a checkpoint has to leave.
	checkpointMargin = 64 << 10
)

// ballast is a file next to the store's that reserves room while there is some. On a full disk the write-ahead log cannot
// grow, and held claims could not be settled. The writer then removes the ballast, and uses its room for settlements and
// renewals. New claims are refused until the disk has room for a ballast again. The writer looks for the file before each
// batch, so that all processes with the store open agree.
type ballast struct {
	path string // no ballast is kept while it is empty
	log  *slog.Logger
}

// openBallast reserves the room, unless the disk is full already.
func openBallast(ctx context.Context, file string, log *slog.Logger) ballast {
	b := ballast{path: file + "-ballast", log: log}
	b.refill(ctx)
	return b
}

// scarce reports whether the ballast is used up and cannot be made again.
func (b *ballast) scarce(ctx context.Context) bool {
	if b.path == "" {
		return false
	}
	if info, err := os.Stat(b.path); err == nil && info.Size() >= minBallastBytes {
		return false
	}
	return !b.refill(ctx)
}

// refill makes the file, and reports whether claims can go on: there is room, or none can be reserved on this disk.
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
	_ = os.Remove(b.path) // or the part that was written
	if isFull(err) {
		return false
	}
	b.log.LogAttrs(ctx, slog.LevelWarn, "room for a full disk cannot be reserved: on one, held claims cannot be settled",
		slog.String("path", b.path), slog.Any("error", err))
	b.path = ""
	return true
}

// allocate makes a file that takes up its size.
func allocate(path string, size int64) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) //nolint:gosec // next to the operator's file.
	if err != nil {
		return err
	}
	if err = reserve(f, size); errors.Is(err, errors.ErrUnsupported) {
		err = fill(f, size)
	}
	return errors.Join(err, f.Close())
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

// full reports whether a transaction failed because the disk is full, and not because of [Options.MaxBytes].
func (s *Store) full(ctx context.Context, err error) bool {
	if result.Primary(result.Code(err)) != result.Full {
		return false
	}
	pages, err := s.tx.conn.number(ctx, "PRAGMA page_count")
	return err == nil && (s.maxPages == 0 || pages+batchJobs < s.maxPages)
}

// checkpointFits reports whether the file can take the pages of the log. On a full disk a checkpoint that cannot finish
// would use up the room for settlements.
func (s *Store) checkpointFits(ctx context.Context, room int64) bool {
	pages, err := s.tx.conn.number(ctx, "PRAGMA page_count")
	info, statErr := os.Stat(s.path)
	return err == nil && statErr == nil && pages*pageBytes-info.Size()+checkpointMargin <= room
}
