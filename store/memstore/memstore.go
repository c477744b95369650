package memstore

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/transition"
)

const (
	// defaultMaxBytes is the bound of outcomes and keys where Options names none.
	defaultMaxBytes = 256 << 20

	defaultMaxRecords = 1_000_000

	shardCount = 64 // a power of two
)

// Options are the bounds and the clock of a [Store]. The zero value and nil
// are complete.
type Options struct {
	// MaxRecords is the most records kept, expired ones that were not swept
	// yet included. Each costs about 300 bytes in addition to its key and outcome.
	// 0 means 1,000,000.
	MaxRecords int
	// MaxBytes is the most bytes of scopes, names and outcomes kept. Notes
	// (at most semel.MaxNoteBytes each) are not counted, so that a claim can
	// always be settled as unknown or cancelled. 0 means 256 MiB.
	MaxBytes int64
	// Now is the store's clock. It must not run backwards, and is called with
	// a lock held. nil means the host's clock when the store was made plus
	// the time that has passed since, so that later jumps of it do not matter.
	Now func() time.Time
}

// Store is a [semel.Store] in memory. It is safe for concurrent use. [New] is
// the only way to make one.
type Store struct {
	now        func() time.Time
	origin     int64 // the clock when the store was made, in ms
	maxRecords int64
	maxBytes   int64

	fence     atomic.Uint64 // the last one given
	records   atomic.Int64
	bytes     atomic.Int64
	sweepTurn atomic.Uint32 // the shard the next Sweep starts with
	closed    atomic.Bool
	shards    [shardCount]shard
}

var (
	_ semel.Store   = (*Store)(nil)
	_ semel.Lister  = (*Store)(nil)
	_ semel.Sweeper = (*Store)(nil)
	_ semel.Counter = (*Store)(nil)
)

// shard holds the records whose digests start with the same bits.
type shard struct {
	mu      sync.Mutex // guards the fields below
	entries index
	wheel   wheel
}

// New returns an empty store.
func New(o *Options) *Store {
	var opts Options
	if o != nil {
		opts = *o
	}
	if opts.MaxRecords <= 0 {
		opts.MaxRecords = defaultMaxRecords
	}
	if opts.MaxBytes <= 0 {
		opts.MaxBytes = defaultMaxBytes
	}
	if opts.Now == nil {
		started := time.Now()
		opts.Now = func() time.Time { return started.Add(time.Since(started)) }
	}
	started := opts.Now()
	s := &Store{
		now:        opts.Now,
		origin:     started.UnixMilli(),
		maxRecords: int64(opts.MaxRecords),
		maxBytes:   opts.MaxBytes,
	}
	// Microseconds since 1970: unless more than a million claims are won per
	// second for a whole life, the next life starts above the last fence.
	s.fence.Store(uint64(max(0, started.UnixMicro())))
	for i := range s.shards {
		s.shards[i].entries = index{}
	}
	return s
}

// Close forgets every record. Verbs called afterwards return
// [semel.ErrClosed]. A second Close returns nil.
func (s *Store) Close() error {
	if s.closed.Swap(true) {
		return nil
	}
	for i := range s.shards {
		sh := &s.shards[i]
		sh.mu.Lock()
		sh.entries, sh.wheel = nil, wheel{}
		sh.mu.Unlock()
	}
	return nil
}

// Count returns the number of records, expired ones that were not swept
// included.
func (s *Store) Count(ctx context.Context) (int64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if s.closed.Load() {
		return 0, semel.ErrClosed
	}
	return s.records.Load(), nil
}

// lock returns the shard of the digest, locked, and the store's clock in ms,
// read while the lock is held, so that the verbs of one key see time in order.
// The caller unlocks it even after an error.
func (s *Store) lock(d semel.Digest) (*shard, int64, error) {
	sh := &s.shards[d[0]&(shardCount-1)]
	sh.mu.Lock()
	if s.closed.Load() {
		return sh, 0, semel.ErrClosed
	}
	return sh, s.now().UnixMilli(), nil
}

// find returns the entry unless it is absent or has expired.
func (sh *shard) find(d semel.Digest, now int64) *entry {
	e := sh.entries.find(&d)
	if e == nil || transition.Reached(now, e.expires) {
		return nil
	}
	return e
}

// remove forgets the entry and gives its room back.
func (s *Store) remove(sh *shard, e *entry) {
	sh.wheel.unlink(e)
	sh.entries.remove(e)
	s.records.Add(-1)
	s.bytes.Add(-e.bytes())
}

// expireAt sets when the entry is forgotten.
func (s *Store) expireAt(sh *shard, e *entry, at int64) {
	e.expires = at
	sh.wheel.move(e, s.tick(at))
}

// tick is the wheel's measure of time: milliseconds since the store was made.
func (s *Store) tick(ms int64) uint64 {
	return min(uint64(max(0, ms-s.origin)), maxTick)
}

// reserve takes room, or says which bound is reached and takes nothing.
func (s *Store) reserve(records, bytes int64) error {
	if records > 0 && !reserve(&s.records, records, s.maxRecords) {
		return fmt.Errorf("memstore: %w: %d records are kept (raise Options.MaxRecords or shorten the retention)", semel.ErrFull, s.maxRecords)
	}
	if bytes != 0 && !reserve(&s.bytes, bytes, s.maxBytes) {
		s.records.Add(-records)
		return fmt.Errorf("memstore: %w: %d bytes do not fit next to those kept, at most %d together (raise Options.MaxBytes or shorten the retention)",
			semel.ErrFull, bytes, s.maxBytes)
	}
	return nil
}

// reserve adds n to used unless the sum would pass the bound; giving back
// (n < 0) always succeeds.
func reserve(used *atomic.Int64, n, bound int64) bool {
	for {
		before := used.Load()
		if n > 0 && before > bound-n {
			return false
		}
		if used.CompareAndSwap(before, before+n) {
			return true
		}
	}
}
