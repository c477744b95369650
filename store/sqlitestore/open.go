package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/waiting"
	"github.com/semel-dev/semel/store/internal/verb"
	"github.com/semel-dev/semel/store/sqlitestore/internal/clock"
	"github.com/semel-dev/semel/store/sqlitestore/internal/result"
	"github.com/semel-dev/semel/store/sqlitestore/internal/table"
)

// readerCount bounds the reads that run at once; further ones wait their turn.
const readerCount = 4

// walPause is about the pause of useWAL between two attempts.
const walPause = 10 * time.Millisecond

var (
	_ semel.Store   = (*Store)(nil)
	_ semel.Lister  = (*Store)(nil)
	_ semel.Sweeper = (*Store)(nil)
	_ semel.Counter = (*Store)(nil)
)

// Store keeps records in one SQLite file. [Open] is the only door. It is safe
// for concurrent use, and several processes may have the same file open.
type Store struct {
	path    string
	clock   *clock.Clock
	log     *slog.Logger
	engine  table.Engine
	readers chan *conn

	batch   int           // the most steps that share a commit
	queue   chan *job     // read-only stores have none
	written chan struct{} // closed when the writer has ended
	tx      *tx           // the writer's own
	copier  *checkpointer
	places  []openedFile // of the files, as they were opened; none when read-only

	ballast  ballast // the writer's own
	maxPages int64   // 0 for no bound

	gate verb.Gate
}

// Open opens the store in the file at path and creates the file, readable by
// its owner only, where there is none; the directory must exist. The path is
// taken literally. A file of an older schema is migrated; a newer one, another
// application's database or a damaged header is refused with an error that
// says what to do, and stays as it is. Close the store to free it.
func Open(ctx context.Context, path string, o *Options) (*Store, error) {
	opts, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := ensureFile(path, opts.ReadOnly); err != nil {
		return nil, err
	}
	s := &Store{
		path:    path,
		clock:   clock.New(opts.Now),
		log:     opts.Logger,
		batch:   opts.batch,
		readers: make(chan *conn, readerCount),
		gate:    verb.Gate{Name: names.Package, ReadOnly: opts.ReadOnly},
	}
	s.engine = table.Engine{Names: names, Clock: s.clock, Write: s.do, Read: s.read}
	if err := s.open(ctx, &opts); err != nil {
		return nil, errors.Join(err, s.release())
	}
	if s.tx != nil {
		s.maxPages = opts.MaxBytes / pageBytes
		s.ballast = openBallast(ctx, path, s.log)
		s.queue = make(chan *job, queueJobs)
		s.written = make(chan struct{})
		go s.write(context.WithoutCancel(ctx))
		go s.copier.keepShort(context.WithoutCancel(ctx))
	}
	return s, nil
}

func (s *Store) open(ctx context.Context, opts *Options) error {
	var floor int64
	if !opts.ReadOnly {
		w, err := openWriter(ctx, s.path, opts)
		if err != nil {
			return err
		}
		if s.tx, err = newTx(ctx, w, s.clock); err != nil {
			return errors.Join(s.translate("open", err), w.close())
		}
		if floor, err = s.tx.touch(context.WithoutCancel(ctx)); err != nil {
			return s.translate("open", err)
		}
		if s.copier, err = openCheckpointer(ctx, s.path, opts); err != nil {
			return err
		}
		if s.places, err = locate(s.path); err != nil {
			return s.translate("open", err)
		}
	}
	for range readerCount {
		r, err := openReader(ctx, s.path, opts)
		if err != nil {
			return err
		}
		s.readers <- r
	}
	if behind := s.clock.Behind(floor); behind > time.Second {
		s.log.LogAttrs(ctx, slog.LevelWarn, "the wall clock is behind the store's clock, which goes on from where it was",
			slog.String("path", s.path), slog.Duration("behind", behind))
	}
	return nil
}

// openWriter opens the connection that writes, with the file identified
// before anything in it is changed, and migrated after.
func openWriter(ctx context.Context, path string, opts *Options) (*conn, error) {
	c, err := openConn(path, opts.BusyTimeout, false)
	if err != nil {
		return nil, translate(path, "open", err)
	}
	if err := setUpWriter(ctx, c, path, opts); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

func setUpWriter(ctx context.Context, c *conn, path string, opts *Options) error {
	if err := known(ctx, c, path, false); err != nil {
		return err
	}
	if err := useWAL(ctx, c, opts.BusyTimeout); err != nil {
		return translate(path, "open", err)
	}
	pragmas := fmt.Sprintf(`PRAGMA synchronous = FULL;
PRAGMA cache_size = -%d;
PRAGMA wal_autocheckpoint = %d;
PRAGMA journal_size_limit = %d;`, max(1, opts.CacheBytes>>10), walPages, walKeepBytes)
	if opts.MaxBytes > 0 {
		pragmas += fmt.Sprintf("PRAGMA max_page_count = %d;", opts.MaxBytes/pageBytes)
	}
	if err := c.exec(ctx, pragmas); err != nil {
		return translate(path, "open", err)
	}
	if err := migrate(ctx, c); err != nil {
		return translate(path, "open", err)
	}
	return known(ctx, c, path, false)
}

// known refuses a file that is not ours, or of a newer schema.
func known(ctx context.Context, c *conn, path string, readOnly bool) error {
	if err := c.exec(ctx, "BEGIN"); err != nil {
		return translate(path, "open", err)
	}
	schema, err := identify(ctx, c)
	rollback(ctx, c)
	if err != nil {
		return translate(path, "open", err)
	}
	latest, err := SchemaVersion()
	if err != nil {
		return translate(path, "open", err)
	}
	return checkSchema(path, schema, latest, readOnly)
}

// useWAL switches the file to a write-ahead log. SQLite does not wait for the
// lock here, so useWAL does.
func useWAL(ctx context.Context, c *conn, busy time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, busy)
	defer cancel()
	return waiting.Backoff{First: walPause, Most: walPause}.Do(ctx, result.IsBusy, func() error {
		mode, err := c.value(context.WithoutCancel(ctx), "PRAGMA journal_mode = WAL")
		if err == nil && mode != "wal" {
			err = fmt.Errorf("the file system gives no write-ahead log (journal mode stays %v); keep the file on a local disk", mode)
		}
		return err
	})
}

// Close waits for the steps that were begun, and frees the file. Steps begun
// afterwards return [semel.ErrClosed].
func (s *Store) Close() error {
	if !s.gate.Close() {
		return nil
	}
	s.gate.Wait()
	if s.queue != nil {
		close(s.queue)
		<-s.written
		s.ballast.close()
		close(s.copier.start)
		<-s.copier.ended
		ctx := context.Background()
		if _, err := s.tx.touch(ctx); err != nil {
			s.log.LogAttrs(ctx, slog.LevelWarn, "the store's clock could not be written down",
				slog.Any("error", s.translate("close", err)))
		}
	}
	return s.release()
}

// release closes the connections; no step is running any more.
func (s *Store) release() error {
	var errs []error
	for {
		select {
		case r := <-s.readers:
			errs = append(errs, r.close())
			continue
		default:
		}
		break
	}
	if s.copier != nil {
		errs = append(errs, s.copier.conn.close())
	}
	if s.tx != nil {
		errs = append(errs, s.tx.conn.close())
	}
	if err := errors.Join(errs...); err != nil {
		return s.translate("close", err)
	}
	return nil
}
