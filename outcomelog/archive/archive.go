package archive

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/outcomelog"
)

const (
	// MaxRetention is the longest time, and the default, for which events are kept.
	MaxRetention = 30 * 24 * time.Hour
	// defaultRows is about 300 MB.
	defaultRows = 1_000_000
	// queueEvents bounds the events that wait for the writer.
	queueEvents = 4096
)

// Options are the settings of [Open]. A nil *Options is complete.
type Options struct {
	// Table names the table, with an optional schema and a dot in front. Default: semel_outcome.
	Table string
	// Retention is the time for which events are kept, at most [MaxRetention], the default.
	Retention time.Duration
	// MaxRows bounds the rows: the oldest go first. Default 1,000,000.
	MaxRows int64
	// ReadOnly opens the archive only for [Archive.Search]: nothing is created, kept or removed.
	ReadOnly bool
	// Logger gets a line when events cannot be written, and when they can again. Default: none.
	Logger *slog.Logger
}

func (o *Options) withDefaults() (Options, error) {
	var out Options
	if o != nil {
		out = *o
	}
	out.Table = cmp.Or(out.Table, "semel_outcome")
	out.Retention = cmp.Or(out.Retention, MaxRetention)
	out.MaxRows = cmp.Or(out.MaxRows, defaultRows)
	out.Logger = cmp.Or(out.Logger, slog.New(slog.DiscardHandler))
	switch {
	case !tablePattern.MatchString(out.Table):
		return out, fmt.Errorf("archive: %q does not name a table (letters, digits and underscores, at most 40, after a schema and a dot if need be)", out.Table)
	case out.Retention < time.Minute || out.Retention > MaxRetention:
		return out, fmt.Errorf("archive: events can be kept for a minute to %v, not %v", MaxRetention, out.Retention)
	case out.MaxRows < 1:
		return out, fmt.Errorf("archive: MaxRows %d is not positive", out.MaxRows)
	}
	return out, nil
}

// Archive keeps events. Make one with [Open]; Close ends it. Its methods are safe for concurrent use.
type Archive struct {
	table
	opts    Options
	queue   chan arrived // nil for one that is only read
	dropped atomic.Uint64
	ended   atomic.Bool
	stop    chan struct{} // closed by Close
	done    chan struct{} // closed when the writer has ended
	close   sync.Once

	writer  int64 // tells the repetitions of several processes apart
	repeats atomic.Pointer[outcomelog.Repeats]

	writing   sync.Mutex // guards the fields below
	written   time.Time  // repetitions before it are
	unwritten bool       // the last write of repetitions failed
}

// arrived is an event that waits for the writer.
type arrived struct {
	outcomelog.Event

	at time.Time
}

// Open detects the database behind db (PostgreSQL, MySQL, MariaDB or SQLite), creates the table if it is missing, and
// refuses one that a newer program created. Close the archive before db, which it does not own.
func Open(ctx context.Context, db *sql.DB, o *Options) (*Archive, error) {
	opts, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if db == nil {
		return nil, errors.New("archive: Open needs a database")
	}
	d, err := dialect.Find(ctx, db)
	if err != nil {
		return nil, fmt.Errorf("archive: open: %w", dialect.Discreet(err))
	}
	a := &Archive{table: newTable(db, d, opts.Table), opts: opts, stop: make(chan struct{}), done: make(chan struct{}), writer: rand.Int64()} //nolint:gosec // not a secret.
	if err := a.prepare(ctx, opts.ReadOnly); err != nil {
		return nil, err
	}
	if opts.ReadOnly {
		close(a.done)
		return a, nil
	}
	a.queue = make(chan arrived, queueEvents)
	go a.run() //nolint:gosec,contextcheck // it outlives ctx, and ends by Close.
	return a, nil
}

// Keep is a [outcomelog.Sink]: it returns at once, and drops the event where the queue is full.
func (a *Archive) Keep(_ context.Context, e outcomelog.Event) {
	if !kept(e.Outcome) {
		return
	}
	if !a.ended.Load() {
		select {
		case a.queue <- arrived{e, time.Now()}:
			return
		default:
		}
	}
	a.dropped.Add(1)
}

// Dropped returns how many events were not kept since the archive was opened: the queue was full, or the database did
// not answer until the end.
func (a *Archive) Dropped() uint64 { return a.dropped.Load() }

// Retention returns the time for which events are kept.
func (a *Archive) Retention() time.Duration { return a.opts.Retention }

// Close writes what is in the queue, for a few seconds at most, and ends the writer. A second Close returns nil.
func (a *Archive) Close() error {
	a.close.Do(func() {
		a.ended.Store(true)
		close(a.stop)
	})
	<-a.done
	return nil
}

// kept reports whether events of this outcome are kept: those of requests that ran.
func kept(o outcomelog.Outcome) bool {
	switch o { //nolint:exhaustive // the others are repetitions, or did not run.
	case outcomelog.Created, outcomelog.ReturnedExisting, outcomelog.Rejected, outcomelog.Failed, outcomelog.Unknown, outcomelog.Executed,
		outcomelog.NotStored, outcomelog.Unprotected, outcomelog.Released, outcomelog.RolledBack:
		return true
	}
	return false
}
