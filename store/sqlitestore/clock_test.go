package sqlitestore_test

import (
	"bytes"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/store/sqlitestore"
)

// Promise 9: a wall clock that was set back between two runs does not bring a
// lapsed lease back to life; the store's clock goes on from where it was, and
// the log says how far the wall clock is behind.
func TestClockSetBackBetweenRuns(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "semel.db")
	clock := &claimtest.Clock{}
	s := open(t, path, &sqlitestore.Options{Now: clock.Now})
	rec := wins(t, s, params("k"))
	clock.Advance(2 * lease)
	if got, err := s.Lookup(t.Context(), rec.Digest); err != nil || !got.Lapsed() {
		t.Fatalf("got %+v, error %v, want a lapsed claim", got, err)
	}
	noError(t, s.Close())

	clock.Advance(-time.Hour)
	var logged bytes.Buffer
	s = open(t, path, &sqlitestore.Options{Now: clock.Now, Logger: slog.New(slog.NewTextHandler(&logged, nil))})
	if !strings.Contains(logged.String(), "behind=1h0m0s") || !strings.Contains(logged.String(), path) {
		t.Errorf("got %q, want a warning that says 1h0m0s and the file", logged.String())
	}
	back, err := s.Lookup(t.Context(), rec.Digest)
	if err != nil || !back.Lapsed() || back.ReadAt.Before(rec.ClaimedAt.Add(2*lease)) {
		t.Errorf("got it read at %v, error %v, want a lapsed claim read at %v or later", back.ReadAt, err, rec.ClaimedAt.Add(2*lease))
	}
	clock.Advance(time.Second)
	next, won, err := s.Claim(t.Context(), params("next"))
	if err != nil || !won || next.ClaimedAt.Sub(back.ReadAt) != time.Second {
		t.Errorf("a second later the clock shows %v after %v (error %v)", next.ClaimedAt, back.ReadAt, err)
	}
}

// Promise 9: nor does one that is set back while the store is open, and time
// goes on at its own pace after it.
func TestClockSetBackWhileOpen(t *testing.T) {
	t.Parallel()
	clock := &claimtest.Clock{}
	s := open(t, filepath.Join(t.TempDir(), "semel.db"), &sqlitestore.Options{Now: clock.Now})
	rec := wins(t, s, params("k"))
	for _, step := range []struct{ advance, want time.Duration }{
		{-time.Hour, 0}, {time.Second, time.Second}, {-time.Minute, time.Second}, {time.Second, 2 * time.Second},
	} {
		clock.Advance(step.advance)
		got, err := s.Lookup(t.Context(), rec.Digest)
		if err != nil || got.ReadAt.Sub(rec.ClaimedAt) != step.want {
			t.Fatalf("after %v: %v have passed, error %v, want %v", step.advance, got.ReadAt.Sub(rec.ClaimedAt), err, step.want)
		}
	}
}

// Two stores on one file agree on the time, even when their hosts' clocks do
// not: the later one leads.
func TestClocksOfTwoStoresAgree(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "semel.db")
	ahead, behind := &claimtest.Clock{}, &claimtest.Clock{}
	b := open(t, path, &sqlitestore.Options{Now: behind.Now})
	ahead.Advance(time.Minute)
	a := open(t, path, &sqlitestore.Options{Now: ahead.Now})
	rec := wins(t, a, params("k"))
	if got, err := b.Lookup(t.Context(), rec.Digest); err != nil || got.ReadAt.Before(rec.ClaimedAt) {
		t.Errorf("read at %v, before it was claimed at %v (error %v)", got.ReadAt, rec.ClaimedAt, err)
	}
	if page, err := b.List(t.Context(), listAll()); err != nil || len(page.Records) != 1 || page.Records[0].ReadAt.Before(rec.ClaimedAt) {
		t.Errorf("got %+v, error %v, want one record that was not read before it was claimed", page.Records, err)
	}
	next, _, err := b.Claim(t.Context(), params("next"))
	if err != nil || next.ClaimedAt.Before(rec.ClaimedAt) {
		t.Errorf("claimed at %v, error %v, want %v or later", next.ClaimedAt, err, rec.ClaimedAt)
	}
}
