package logstore

import (
	"errors"
	"log/slog"
	"time"
)

const (
	defaultMaxOpen  = 1 << 20
	firstSegment    = 4 << 20
	minMaxBytes     = 2 * firstSegment
	maxOutcomeBytes = 16 << 20
)

// Options are the settings of [Open]. A nil *Options is complete.
type Options struct {
	// Now is the source of the store's clock; tests replace it. Default: time.Now.
	Now func() time.Time
	// MaxOpen bounds the claimed and unknown records, which are kept in memory. When it is reached, Claim
	// returns [semel.ErrFull]. Default: 1,048,576.
	MaxOpen int
	// MaxBytes bounds the files of the log, at least 8 MiB. When it is reached, Claim and Settle return [semel.ErrFull]
	// until records have expired. Default: 0, bounded only by the disk.
	MaxBytes int64
	// Logger gets the rare warnings. Default: none is written.
	Logger *slog.Logger

	segment int64 // bytes of every segment; tests set it
	disk    disk  // instead of the directory; tests set it
}

func (o *Options) withDefaults() (Options, error) {
	var full Options
	if o != nil {
		full = *o
	}
	if full.Now == nil {
		full.Now = time.Now
	}
	if full.MaxOpen == 0 {
		full.MaxOpen = defaultMaxOpen
	}
	if full.Logger == nil {
		full.Logger = slog.New(slog.DiscardHandler)
	}
	switch {
	case full.MaxOpen < 0:
		return full, errors.New("logstore: Options.MaxOpen is negative")
	case full.MaxBytes != 0 && full.MaxBytes < minMaxBytes && full.segment == 0:
		return full, errors.New("logstore: Options.MaxBytes is below 8 MiB")
	}
	return full, nil
}
