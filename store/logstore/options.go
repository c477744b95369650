package logstore

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/semel-dev/semel/store/internal/verb"
)

const (
	defaultMaxOpen  = 1 << 20
	firstSegment    = 4 << 20
	minMaxBytes     = 2 * firstSegment
	maxOutcomeBytes = 16 << 20
)

// errConfig means that the options are wrong as written: nothing was opened.
var errConfig = verb.ConfigError("logstore: wrong configuration")

// Options are the settings of [Open]. A nil *Options is complete.
type Options struct {
	// Now is the source of the store's clock; tests replace it. Default: time.Now.
	Now func() time.Time
	// MaxOpen bounds the claimed and unknown records, which are kept in memory. When it is reached, Claim
	// returns [semel.ErrFull]. Default: 1,048,576.
	MaxOpen int
	// MaxBytes bounds the files of the log, at least 8 MiB. Of it a segment (an eighth, between 4 and 64 MiB) is kept to
	// remove expired records, and a quarter of one for those that hold claims. When the rest is used up, Claim returns
	// [semel.ErrFull] until records have expired; claims in flight can be renewed and settled within that quarter, and a
	// little longer without an outcome. Default: 0, bounded only by the disk.
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
		return full, fmt.Errorf("%w: Options.MaxOpen is negative", errConfig)
	case full.MaxBytes != 0 && full.MaxBytes < minMaxBytes && full.segment == 0:
		return full, fmt.Errorf("%w: a bound of %d bytes is too small (Options.MaxBytes, and semel_max_bytes of a DSN, take 8 MiB or more)", errConfig, full.MaxBytes)
	}
	return full, nil
}
