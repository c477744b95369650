package sqlitestore

import (
	"errors"
	"log/slog"
	"time"
)

const (
	defaultCacheBytes  = 32 << 20
	defaultBusyTimeout = 5 * time.Second
	minMaxBytes        = 64 << 10
	pageBytes          = 4096
)

// Options are the settings of [Open]. A nil *Options is complete.
type Options struct {
	// Now is the source of the store's clock; tests replace it. Default: time.Now.
	Now func() time.Time
	// CacheBytes bounds the memory that the writing connection uses for pages
	// of the file. Default: 32 MiB. Each reading connection has 2 MiB more.
	CacheBytes int64
	// BusyTimeout limits how long a step waits for another process that holds the
	// file locked. Default: 5 s.
	BusyTimeout time.Duration
	// MaxBytes bounds the size of the file, at least 64 KiB; its write-ahead
	// log comes on top. When it is reached, Claim and Settle return
	// [semel.ErrFull] until something was swept. Default: 0, no bound but
	// the disk.
	MaxBytes int64
	// ReadOnly opens the file for Lookup, List, Count and Check only, and
	// neither creates nor migrates it. The other verbs return an error.
	ReadOnly bool
	// Logger gets the rare warnings. Default: none is written.
	Logger *slog.Logger

	batch int // the most steps that share a commit; tests set it
}

func (o *Options) withDefaults() (Options, error) {
	var full Options
	if o != nil {
		full = *o
	}
	if full.Now == nil {
		full.Now = time.Now
	}
	if full.CacheBytes == 0 {
		full.CacheBytes = defaultCacheBytes
	}
	if full.BusyTimeout == 0 {
		full.BusyTimeout = defaultBusyTimeout
	}
	if full.batch == 0 {
		full.batch = batchJobs
	}
	if full.Logger == nil {
		full.Logger = slog.New(slog.DiscardHandler)
	}
	switch {
	case full.CacheBytes < 0:
		return full, errors.New("sqlitestore: Options.CacheBytes is negative")
	case full.BusyTimeout < 0:
		return full, errors.New("sqlitestore: Options.BusyTimeout is negative")
	case full.MaxBytes != 0 && full.MaxBytes < minMaxBytes:
		return full, errors.New("sqlitestore: Options.MaxBytes is below 64 KiB")
	}
	return full, nil
}
