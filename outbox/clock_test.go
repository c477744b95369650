package outbox_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/testserver/databases"
	"github.com/semel-dev/semel/outbox"
)

// The lag is the age of the oldest message that waits for no operator, whether it is held or not.
func TestOldest(t *testing.T) {
	t.Parallel()
	databases.Each(t, func(t *testing.T, d *databases.Database) {
		p := at(t, d, nil)
		wantLag := func(least, most time.Duration) {
			t.Helper()
			stats, err := p.out.Stats(t.Context())
			if err != nil || stats.Oldest < least || stats.Oldest > most {
				t.Errorf("the oldest message is %v old, error %v, want %v to %v", stats.Oldest, err, least, most)
			}
		}
		p.adds(t, message("k", "a"), message("l", "b"))
		wantLag(0, time.Hour)
		d.Exec(t, "UPDATE semel_outbox SET added_ms = added_ms - 7200000")
		wantLag(2*time.Hour, 3*time.Hour)
		to := &receiver{}
		to.let(refuses("b"))
		var seen atomic.Int64
		o := quick()
		o.MaxAttempts = 1 << 20
		o.Observe = func(pass outbox.Pass) { seen.Store(max(seen.Load(), int64(pass.Oldest))) }
		_, stop := p.runs(t, to, o)
		p.holds(t, 1)
		wantLag(2*time.Hour, 3*time.Hour)
		stop()
		if got := time.Duration(seen.Load()); got < 2*time.Hour || got > 3*time.Hour {
			t.Errorf("the passes saw messages of %v, want 2 hours", got)
		}
	})
}

// holds waits until n messages are held.
func (p *place) holds(tb testing.TB, n int) {
	tb.Helper()
	eventually(tb, func() error {
		if held := p.list(tb); len(held) != n {
			return fmt.Errorf("%d are held, want %d", len(held), n)
		}
		return nil
	})
}

// A clock of the database that is set back by hours prolongs no pause.
func TestClockSetBack(t *testing.T) {
	t.Parallel()
	p := at(t, databases.Open(t, dialect.SQLite), nil)
	to := &receiver{}
	to.let(refuses("a"))
	p.adds(t, message("k", "a"), message("k", "b"), message("l", "c"))
	o := quick()
	o.MaxAttempts = 1 << 20
	_, stop := p.runs(t, to, o)
	p.holds(t, 1)
	to.wants(t, "l", "c")
	stop()
	p.Exec(t, "UPDATE semel_outbox_hold SET next_ms = next_ms + 36000000, since_ms = since_ms + 36000000")
	to.let(nil)
	p.runs(t, to, quick())
	to.wants(t, "k", "a", "b")
	p.empties(t)
	claimtest.WantRows(t, p.DB, "SELECT COUNT(*) FROM semel_outbox", "0")
}
