package ids

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/waiting"
)

const (
	defaultMachineBits = 10
	defaultMaxWait     = 100 * time.Millisecond

	timeBits       = 41
	lowBits        = 63 - timeBits // machine and sequence
	maxMachineBits = 16
)

func defaultEpoch() time.Time { return time.Date(2024, time.January, 1, 0, 0, 0, 0, time.UTC) }

// Snowflake is a number of 63 bits: 41 of milliseconds since an epoch, then the
// number of a machine, then a sequence. It sorts by time, and goes into a BIGINT
// as it is.
//
// In JSON it is a string: most of these numbers are beyond 2^53, where
// JavaScript's numbers begin to skip.
type Snowflake int64

// ParseSnowflake reads the decimal digits that [Snowflake.String] writes: no sign,
// no leading zeros. The error wraps [ErrMalformed].
func ParseSnowflake(s string) (Snowflake, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 || strconv.FormatInt(n, 10) != s {
		return 0, malformed("a Snowflake id is a decimal number without a sign, below 2^63")
	}
	return Snowflake(n), nil
}

// String writes decimal digits.
func (id Snowflake) String() string { return strconv.FormatInt(int64(id), 10) }

// MarshalText implements [encoding.TextMarshaler], for JSON as well.
func (id Snowflake) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler] with [ParseSnowflake].
func (id *Snowflake) UnmarshalText(text []byte) error {
	return unmarshal(id, ParseSnowflake, text)
}

// SnowflakeOptions are the settings of [Snowflakes]. All generators whose ids
// meet need the same Epoch and MachineBits. A nil *SnowflakeOptions is complete.
type SnowflakeOptions struct {
	// Epoch is the time that the ids count from. Default 1 January 2024, so that ids
	// last until 2093.
	Epoch time.Time
	// MachineBits is the machine's share of the lower 22 bits, 1 to 16; the others
	// are the sequence. Default 10, which leaves 4096 ids a millisecond.
	MachineBits int
	// MaxWait limits how long one New waits, in all, for a clock that went back.
	// Default 100 ms; [semel.NoWait] to take [ErrClockBack] at once.
	MaxWait time.Duration
	// Now is the clock; nil means [time.Now]. A leased machine ignores it and uses
	// the store's clock.
	Now func() time.Time
}

// Snowflakes makes Snowflake ids, each greater than the ones before it. It is
// safe for concurrent use. Make one with [NewSnowflakes] when the deployment
// gives every machine its number, or with [Machine.Snowflakes].
type Snowflakes struct {
	machine      int64
	epoch        int64 // milliseconds
	sequenceBits int
	maxWait      time.Duration
	now          func() (milli int64, err error)

	mu       sync.Mutex // guards the fields below
	last     int64      // milliseconds since the epoch
	sequence int64
}

// NewSnowflakes returns a generator for the machine with this number. The caller
// makes sure that no two generators use one number, even while one process takes
// over from another, and that the clock of a restarted process is not behind
// that of its predecessor. [LeaseMachine] does both.
func NewSnowflakes(machine int, o *SnowflakeOptions) (*Snowflakes, error) {
	if o == nil {
		o = &SnowflakeOptions{}
	}
	return newSnowflakes(machine, o, func() (int64, error) { return clock(o.Now).UnixMilli(), nil })
}

func newSnowflakes(machine int, o *SnowflakeOptions, now func() (int64, error)) (*Snowflakes, error) {
	bits, wait := cmp.Or(o.MachineBits, defaultMachineBits), cmp.Or(o.MaxWait, defaultMaxWait)
	epoch := o.Epoch
	if epoch.IsZero() {
		epoch = defaultEpoch()
	}
	switch {
	case bits < 1 || bits > maxMachineBits:
		return nil, fmt.Errorf("ids: new snowflakes: %d machine bits (1 to %d are possible)", bits, maxMachineBits)
	case machine < 0 || machine >= 1<<bits:
		return nil, fmt.Errorf("ids: new snowflakes: machine %d does not fit %d bits", machine, bits)
	case wait < 0 && wait != semel.NoWait:
		return nil, errors.New("ids: new snowflakes: MaxWait is negative (use semel.NoWait for none)")
	}
	return &Snowflakes{
		machine: int64(machine), epoch: epoch.UnixMilli(), sequenceBits: lowBits - bits, maxWait: max(0, wait), now: now, last: -1,
	}, nil
}

// New returns the next id. It waits for the next millisecond when this one has
// no number left, and for a clock that went back, within
// [SnowflakeOptions.MaxWait]; ctx ends either. The error is [ErrClockBack],
// [ErrMachineLost], that of ctx, or that of a clock outside of the layout, and no
// id was used up.
func (s *Snowflakes) New(ctx context.Context) (Snowflake, error) {
	patience := s.maxWait
	for {
		id, pause, err := s.try()
		switch {
		case err == nil && pause == 0:
			return id, nil
		case errors.Is(err, ErrClockBack):
			if pause > patience {
				return 0, err
			}
			patience -= pause
		case err != nil:
			return 0, err
		}
		if !waiting.Sleep(ctx, pause) {
			return 0, fmt.Errorf("ids: wait for the clock: %w", context.Cause(ctx))
		}
	}
}

// try returns an id, or how long to wait before the next try.
func (s *Snowflakes) try() (id Snowflake, pause time.Duration, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	milli, err := s.now()
	if err != nil {
		return 0, 0, err
	}
	milli -= s.epoch
	switch {
	case milli < 0 || milli >= 1<<timeBits:
		return 0, 0, errTimeRange
	case milli < s.last:
		back := time.Duration(s.last-milli) * time.Millisecond
		return 0, back, fmt.Errorf("%w by %v", ErrClockBack, back)
	case milli > s.last:
		s.last, s.sequence = milli, 0
	case s.sequence+1 == 1<<s.sequenceBits:
		return 0, time.Millisecond, nil
	default:
		s.sequence++
	}
	return Snowflake(s.last<<lowBits | s.machine<<s.sequenceBits | s.sequence), 0, nil
}

// Parts reads an id that a generator with the same epoch and bits made.
func (s *Snowflakes) Parts(id Snowflake) (at time.Time, machine, sequence int) {
	low := int64(id) & (1<<lowBits - 1)
	return time.UnixMilli(int64(id)>>lowBits + s.epoch).UTC(), int(low >> s.sequenceBits), int(low & (1<<s.sequenceBits - 1))
}
