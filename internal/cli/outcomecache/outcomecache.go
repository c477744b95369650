package outcomecache

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/semel-dev/semel"
)

const (
	// DefaultMaxBytes is the default of [Options.MaxBytes].
	DefaultMaxBytes = 32 << 20
	minMaxBytes     = 64 << 10
	shardCount      = 16
)

// Options are the settings of [New]. A nil *Options is complete.
type Options struct {
	// MaxBytes bounds the memory of all cached records, at least 64 KiB.
	// Default DefaultMaxBytes.
	MaxBytes int64
	// MaxRecordBytes is the largest record that is cached, at most a sixteenth
	// of MaxBytes, which is the default.
	MaxRecordBytes int64

	now func() time.Time // tests move it with the store's clock
}

// Store is a [semel.Store] that answers for completed records from memory. It
// is safe for concurrent use. Make one with [New]; optional interfaces of the
// store below are found through Unwrap.
type Store struct {
	inner  semel.Store
	now    func() time.Time
	shards [shardCount]shard
	closed atomic.Bool
}

var _ semel.Store = (*Store)(nil)

// New puts a cache before the store, which Close closes.
func New(store semel.Store, o *Options) (*Store, error) {
	if store == nil {
		return nil, errors.New("outcomecache: store is nil")
	}
	var opts Options
	if o != nil {
		opts = *o
	}
	if opts.MaxBytes == 0 {
		opts.MaxBytes = DefaultMaxBytes
	}
	perShard := opts.MaxBytes / shardCount
	if opts.MaxRecordBytes == 0 {
		opts.MaxRecordBytes = perShard
	}
	if opts.now == nil {
		opts.now = time.Now
	}
	switch {
	case opts.MaxBytes < minMaxBytes:
		return nil, fmt.Errorf("outcomecache: MaxBytes is %d, at least %d is needed (to have no cache, leave it out)", opts.MaxBytes, minMaxBytes)
	case opts.MaxRecordBytes < 0 || opts.MaxRecordBytes > perShard:
		return nil, fmt.Errorf("outcomecache: MaxRecordBytes is %d, it must be between 0 and %d (a sixteenth of MaxBytes)", opts.MaxRecordBytes, perShard)
	}
	s := &Store{inner: store, now: opts.now}
	for i := range s.shards {
		s.shards[i].init(perShard, opts.MaxRecordBytes)
	}
	return s, nil
}

// Unwrap returns the store below.
func (s *Store) Unwrap() semel.Store { return s.inner }

// Claim implements [semel.Store]. A completed record that is in memory is
// returned from there: no claim can win it.
func (s *Store) Claim(ctx context.Context, p semel.ClaimParams) (semel.Record, bool, error) {
	asked := s.now()
	rec, era, ok := s.hit(ctx, &p.Digest, asked)
	if ok && p.Validate() == nil {
		return rec, false, nil
	}
	rec, won, err := s.inner.Claim(ctx, p)
	if err == nil && !won {
		s.keep(&rec, asked, era)
	}
	return rec, won, err
}

// Lookup implements [semel.Store].
func (s *Store) Lookup(ctx context.Context, d semel.Digest) (semel.Record, error) {
	asked := s.now()
	rec, era, ok := s.hit(ctx, &d, asked)
	if ok {
		return rec, nil
	}
	rec, err := s.inner.Lookup(ctx, d)
	if err == nil {
		s.keep(&rec, asked, era)
	}
	return rec, err
}

// Recall returns what a guard asks in transaction mode before it claims.
func (s *Store) Recall(ctx context.Context, d semel.Digest) (rec semel.Record, keep func(*semel.Record), ok bool) {
	asked := s.now()
	rec, era, ok := s.hit(ctx, &d, asked)
	return rec, func(rec *semel.Record) { s.keep(rec, asked, era) }, ok
}

// Renew implements [semel.Store].
func (s *Store) Renew(ctx context.Context, d semel.Digest, f semel.Fence, lease time.Duration) error {
	return s.inner.Renew(ctx, d, f, lease)
}

// Settle implements [semel.Store].
func (s *Store) Settle(ctx context.Context, d semel.Digest, f semel.Fence, v semel.Settlement) error {
	return s.inner.Settle(ctx, d, f, v)
}

// Forget removes the record from memory, for a caller that has erased it in the
// database; what is just being read is not kept either. Other processes keep
// what they have seen.
func (s *Store) Forget(d semel.Digest) { s.shard(&d).forget(&d) }

// Bytes is about the memory that cached records take now.
func (s *Store) Bytes() (n int64) {
	for i := range s.shards {
		n += s.shards[i].size()
	}
	return n
}

// Close forgets everything and closes the store below.
func (s *Store) Close() error {
	s.closed.Store(true)
	for i := range s.shards {
		s.shards[i].clear()
	}
	return s.inner.Close()
}

func (s *Store) shard(d *semel.Digest) *shard { return &s.shards[d[0]%shardCount] }

// hit returns the record as it is now, if it is in memory and surely lives.
func (s *Store) hit(ctx context.Context, d *semel.Digest, now time.Time) (rec semel.Record, era uint64, ok bool) {
	if s.closed.Load() || ctx.Err() != nil {
		return rec, 0, false
	}
	return s.shard(d).get(d, now)
}

// keep remembers a completed record that the store was asked for at that time
// and in that era.
func (s *Store) keep(rec *semel.Record, asked time.Time, era uint64) {
	if rec.State == semel.StateCompleted && !s.closed.Load() {
		s.shard(&rec.Digest).put(rec, asked, era)
	}
}
