package logstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/internal/verb"
)

var (
	// ErrInUse means that another process has the log open.
	ErrInUse   = errors.New("in use by another process")
	errDamaged = errors.New("damaged")
)

// Store is a store in an append-only log. Open makes one.
type Store struct {
	clock   clock
	log     *journal
	maxOpen int64
	opened  atomic.Int64 // records in the shards' maps
	gate    verb.Gate
	logger  *slog.Logger
	lock    *os.File
	stop    chan struct{} // closed by Close
	expiry  sync.WaitGroup

	expiring sync.Mutex // one segment goes at a time
	shards   [shardCount]shard
}

var (
	_ semel.Store   = (*Store)(nil)
	_ semel.Lister  = (*Store)(nil)
	_ semel.Counter = (*Store)(nil)
	_ semel.Monitor = (*Store)(nil)
)

// shard holds the records whose hashes start with the same bits.
type shard struct {
	mu    sync.Mutex // guards the fields below
	held  map[semel.Digest]*held
	table table
}

// held is a record in memory: one that is not completed or cancelled, or not yet durably so.
type held struct {
	record // without outcome and note
	place  place
	batch  *batch // of its last change
	gone   bool   // released
}

// Open opens the log in a directory, which it creates if necessary. Only one process can have it open. The caller closes
// the store.
func Open(ctx context.Context, dir string, o *Options) (*Store, error) {
	opts, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Store{
		clock: clock{now: opts.Now}, maxOpen: int64(opts.MaxOpen), logger: opts.Logger, stop: make(chan struct{}),
		gate: verb.Gate{Name: "logstore"},
		log:  &journal{disk: opts.disk, name: dir, bytes: opts.segment, maxBytes: opts.MaxBytes},
	}
	for i := range s.shards {
		s.shards[i].held = map[semel.Digest]*held{}
	}
	if opts.disk == nil {
		if s.log.disk, s.lock, err = openDir(dir); err != nil {
			return nil, err
		}
	}
	if err := s.recover(ctx); err != nil {
		return nil, errors.Join(err, s.free())
	}
	s.log.begin()
	s.expiry.Go(s.expireAlways)
	return s, nil
}

// openDir locks the directory for this process.
func openDir(dir string) (disk, *os.File, error) {
	d, err := openFolder(dir)
	if err != nil {
		return nil, nil, err
	}
	f, err := lock(dir)
	return d, f, err
}

// free closes the files of a store that was not opened, and lets others have the directory.
func (s *Store) free() error {
	var errs []error
	if m := s.log.manifest; m != nil {
		errs = append(errs, m.f.Close())
	}
	for i := range s.log.window {
		if seg := s.log.window[i].Load(); seg != nil {
			errs = append(errs, seg.f.Close())
		}
	}
	return errors.Join(errors.Join(errs...), s.unlock())
}

func (s *Store) unlock() error {
	if s.lock == nil {
		return nil
	}
	return release(s.lock)
}

// Close waits for the verbs that run, syncs, and lets other processes have the directory. Verbs called afterwards return
// [semel.ErrClosed]. A second Close returns nil.
func (s *Store) Close() error {
	if !s.gate.Close() {
		return nil
	}
	s.gate.Wait()
	close(s.stop)
	s.expiry.Wait()
	err := s.log.close(s.clock.read())
	for i := range s.shards {
		sh := &s.shards[i]
		sh.mu.Lock()
		sh.held, sh.table = nil, table{}
		sh.mu.Unlock()
	}
	return errors.Join(err, s.unlock())
}

// Count returns the number of records, including expired ones whose segments still exist.
func (s *Store) Count(ctx context.Context) (int64, error) {
	if err := s.enter(ctx, "count", verb.Reads); err != nil {
		return 0, err
	}
	defer s.gate.Leave()
	n := int64(0)
	for i := range s.shards {
		sh := &s.shards[i]
		sh.mu.Lock()
		n += int64(sh.table.n)
		for _, h := range sh.held {
			if !h.gone {
				n++
			}
		}
		sh.mu.Unlock()
	}
	return n, nil
}

// Health returns the error for which the log refuses every verb, or nil.
func (s *Store) Health() error { return s.log.ended() }

// enter begins a verb; Leave of the gate must follow a success. A store whose log has ended answers nothing, because what
// is in memory may not be on the disk.
func (s *Store) enter(ctx context.Context, act string, writes bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.gate.Enter(act, writes); err != nil {
		return err
	}
	if err := s.log.ended(); err != nil {
		s.gate.Leave()
		return fmt.Errorf("%s: %w", act, err)
	}
	return nil
}

// wait waits until the batch is durable. An end of ctx leaves open whether it will be.
func wait(ctx context.Context, b *batch) error {
	select {
	case <-b.done:
		return b.err
	case <-ctx.Done():
		return ctx.Err()
	}
}
