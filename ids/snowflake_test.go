package ids_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/ids"
)

func snowflakes(t *testing.T, machine int, o *ids.SnowflakeOptions) *ids.Snowflakes {
	t.Helper()
	s, err := ids.NewSnowflakes(machine, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

type parts struct {
	At                time.Time
	Machine, Sequence int
}

func partsOf(s *ids.Snowflakes, id ids.Snowflake) parts {
	at, machine, sequence := s.Parts(id)
	return parts{at, machine, sequence}
}

func epoch() time.Time { return time.Date(2024, time.January, 1, 0, 0, 0, 0, time.UTC) }

// 41 bits of time, 10 of the machine, 12 of the sequence; or as the options say.
func TestSnowflakeLayout(t *testing.T) {
	t.Parallel()
	now := epoch().Add(5 * time.Millisecond)
	clock := func() time.Time { return now }
	s := snowflakes(t, 3, &ids.SnowflakeOptions{Now: clock})
	for sequence := range 3 {
		id, err := s.New(t.Context())
		if want := ids.Snowflake(5<<22 | 3<<12 | sequence); err != nil || id != want {
			t.Errorf("got %d, %v; want %d", id, err, want)
		}
		if diff := cmp.Diff(parts{now, 3, sequence}, partsOf(s, id)); diff != "" {
			t.Errorf("parts (-want +got):\n%s", diff)
		}
	}
	wide := snowflakes(t, 65535, &ids.SnowflakeOptions{Now: clock, MachineBits: 16, Epoch: now.Add(-time.Millisecond)})
	if id, err := wide.New(t.Context()); err != nil || id != 1<<22|65535<<6 {
		t.Errorf("got %d, %v", id, err)
	}
	for _, wrong := range []func() (*ids.Snowflakes, error){
		func() (*ids.Snowflakes, error) { return ids.NewSnowflakes(1024, nil) },
		func() (*ids.Snowflakes, error) { return ids.NewSnowflakes(-1, nil) },
		func() (*ids.Snowflakes, error) { return ids.NewSnowflakes(0, &ids.SnowflakeOptions{MachineBits: 17}) },
		func() (*ids.Snowflakes, error) { return ids.NewSnowflakes(0, &ids.SnowflakeOptions{MachineBits: -1}) },
		func() (*ids.Snowflakes, error) { return ids.NewSnowflakes(0, &ids.SnowflakeOptions{MaxWait: -2}) },
	} {
		if _, err := wrong(); err == nil {
			t.Error("options that cannot be were taken")
		}
	}
}

// The sequence is used up: the next id is of the next millisecond, and as many were made before as there are.
func TestSnowflakeSequenceWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := snowflakes(t, 1, &ids.SnowflakeOptions{Epoch: time.UnixMilli(1)}) // a bubble's time begins in 2000
		begin := time.Now()
		for range 4096 {
			if _, err := s.New(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(begin); took != 0 {
			t.Errorf("it waited %v before the sequence was used up", took)
		}
		id, err := s.New(t.Context())
		if diff := cmp.Diff(parts{begin.Add(time.Millisecond).UTC(), 1, 0}, partsOf(s, id)); err != nil || diff != "" {
			t.Errorf("%v, parts (-want +got):\n%s", err, diff)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for range 4096 {
			_, err = s.New(ctx)
		}
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want the end of the context", err)
		}
	})
}

// A clock that goes back is waited for within the bound; otherwise New says so. No id comes twice, and none is smaller.
func TestSnowflakeClockBack(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		wait, back time.Duration
		refused    bool
	}{
		"a little":           {wait: 0, back: 20 * time.Millisecond},
		"as far as allowed":  {wait: 50 * time.Millisecond, back: 50 * time.Millisecond},
		"too far":            {wait: 50 * time.Millisecond, back: 51 * time.Millisecond, refused: true},
		"by default":         {wait: 0, back: 101 * time.Millisecond, refused: true},
		"nobody waits":       {wait: semel.NoWait, back: time.Millisecond, refused: true},
		"an hour, with time": {wait: 2 * time.Hour, back: time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var behind time.Duration
				s := snowflakes(t, 1, &ids.SnowflakeOptions{Epoch: time.UnixMilli(1), MaxWait: test.wait, Now: func() time.Time { return time.Now().Add(-behind) }})
				first, err := s.New(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				begin := time.Now()
				behind = test.back
				second, err := s.New(t.Context())
				took := time.Since(begin)
				switch {
				case test.refused && (!errors.Is(err, ids.ErrClockBack) || took != 0):
					t.Errorf("got %v after %v, want ErrClockBack at once", err, took)
				case !test.refused && (err != nil || second <= first || took != test.back):
					t.Errorf("got %v, %v after %v; want more than %v after %v", second, err, took, first, test.back)
				}
				time.Sleep(test.back + time.Millisecond)
				if third, err := s.New(t.Context()); err != nil || third <= max(first, second) {
					t.Errorf("got %v, %v after the clock had caught up", third, err)
				}
			})
		})
	}
}

// A clock that stays behind is not waited for again and again: the bound is that of all waits.
func TestSnowflakeClockBackForever(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		now := epoch().Add(time.Hour)
		s := snowflakes(t, 1, &ids.SnowflakeOptions{Now: func() time.Time { return now }})
		if _, err := s.New(t.Context()); err != nil {
			t.Fatal(err)
		}
		now = now.Add(-10 * time.Millisecond) // for good
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		begin := time.Now()
		_, err := s.New(ctx)
		if took := time.Since(begin); !errors.Is(err, ids.ErrClockBack) || took != 100*time.Millisecond {
			t.Errorf("got %v after %v, want ErrClockBack after 100 ms", err, took)
		}
	})
}

func TestSnowflakeTimeRange(t *testing.T) {
	t.Parallel()
	const year = 365 * 24 * time.Hour
	for name, after := range map[string]time.Duration{"before the epoch": -time.Millisecond, "after 70 years": 70 * year} {
		s := snowflakes(t, 1, &ids.SnowflakeOptions{Now: func() time.Time { return epoch().Add(after) }})
		if id, err := s.New(t.Context()); err == nil || !strings.Contains(err.Error(), "epoch") {
			t.Errorf("%s: got %d, %v; want an error about the epoch", name, id, err)
		}
	}
	last := snowflakes(t, 1023, &ids.SnowflakeOptions{Now: func() time.Time { return epoch().Add((1<<41 - 1) * time.Millisecond) }})
	if id, err := last.New(t.Context()); err != nil || id < 0 {
		t.Errorf("got %d, %v; want the last millisecond", id, err)
	}
}

func TestSnowflakeText(t *testing.T) {
	t.Parallel()
	const id = ids.Snowflake(1<<63 - 1)
	text, err := json.Marshal(id)
	if err != nil || string(text) != `"9223372036854775807"` {
		t.Errorf("got %s, %v; want a string", text, err)
	}
	var back ids.Snowflake
	if err := json.Unmarshal(text, &back); err != nil || back != id {
		t.Errorf("got %v, %v", back, err)
	}
	for _, wrong := range []string{"", "-1", "+1", "01", "1.0", "9223372036854775808", " 1", "1_0", "0x1", "\x001", "１"} {
		if got, err := ids.ParseSnowflake(wrong); !errors.Is(err, ids.ErrMalformed) || got != 0 {
			t.Errorf("%q: got %v, %v; want ErrMalformed", wrong, got, err)
		}
	}
}
