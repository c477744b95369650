package sqlitetx

import (
	"errors"
	"log/slog"
	"time"
)

const defaultBusyTimeout = 5 * time.Second

// Options are the settings of [Open]. A nil *Options is complete.
type Options struct {
	// Now is the source of the store's clock; tests replace it. Default: time.Now.
	Now func() time.Time
	// BusyTimeout limits how long a verb of the store waits for the write lock of the
	// file, and how long any call waits for a connection. A claim inside of a
	// transaction waits as the policy says. Default: 5 s.
	BusyTimeout time.Duration
	// AcceptLoss lets Open go on, with a warning, with settings under which a
	// power cut can take back a commit after its answer was given: synchronous
	// below FULL with a write-ahead log, synchronous OFF, or a journal in memory.
	// Rows and records are then lost together.
	AcceptLoss bool
	// Logger gets the rare warnings. Default: none is written.
	Logger *slog.Logger
}

func (o *Options) withDefaults() (Options, error) {
	var full Options
	if o != nil {
		full = *o
	}
	if full.Now == nil {
		full.Now = time.Now
	}
	if full.BusyTimeout == 0 {
		full.BusyTimeout = defaultBusyTimeout
	}
	if full.Logger == nil {
		full.Logger = slog.New(slog.DiscardHandler)
	}
	if full.BusyTimeout < 0 {
		return full, errors.New("sqlitetx: Options.BusyTimeout is negative")
	}
	return full, nil
}
