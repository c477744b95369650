package client

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/semel-dev/semel/examples/internal/sqlite"
	"github.com/semel-dev/semel/ids"
)

// Bounds of a queue.
const (
	MaxWaiting   = 10_000
	MaxStock     = 1000
	MaxRefBytes  = 200
	MaxBodyBytes = 1000 // of names and titles; the server has a narrower one
)

var (
	//go:embed sql/schema.sql
	schemaSQL string
	//go:embed sql/add.sql
	addSQL string
	//go:embed sql/take_from_stock.sql
	takeFromStockSQL string
	//go:embed sql/find.sql
	findSQL string
	//go:embed sql/find_row.sql
	findRowSQL string
	//go:embed sql/list.sql
	listSQL string
	//go:embed sql/counts.sql
	countsSQL string
)

// Errors of a [Queue]. Match with errors.Is.
var (
	// ErrFull: the queue holds as many waiting entries as it may. Nothing was
	// added.
	ErrFull = errors.New("client: the queue is full")
	// ErrRefTaken: the ref belongs to another entry. Nothing was added.
	ErrRefTaken = errors.New("client: the ref was used for something else")
	// ErrNoParent: no entry has this ref, it is not a mathematician, or it was
	// refused.
	ErrNoParent = errors.New("client: no such mathematician is in the queue")
	// ErrInvalid: a ref or a text is empty or too long.
	ErrInvalid = errors.New("client: invalid entry")
	// ErrSending: another process, or another Sync of this one, sends.
	ErrSending = errors.New("client: another process or Sync is sending this queue")
)

// Kind is the kind of thing that an entry creates.
type Kind string

// The kinds of entries.
const (
	Mathematician Kind = "mathematician"
	Paper         Kind = "paper"
)

// State is the state of an entry: see the package documentation.
type State string

// The states of an entry.
const (
	Waiting State = "waiting"
	Done    State = "done"
	Refused State = "refused"
)

// Entry is one thing to create.
type Entry struct {
	// Ref is the caller's own name of the entry. The same entry added twice is kept
	// once, so a caller that does not know whether it was added adds it again. Empty
	// for a fresh one.
	Ref  string
	Kind Kind
	// Parent is the ref of a paper's author.
	Parent string
	// Text is the name or the title.
	Text string
	// Unique is the server's id, once it is known. The queue also sets State, and
	// Reason if it was refused.
	Unique string
	State  State
	Reason string
}

// Options are the settings of a [Queue]. The zero value and nil are complete.
type Options struct {
	// Transport carries the requests. Default: one like http.DefaultTransport.
	Transport http.RoundTripper
	// Timeout bounds one request. Default 10 s.
	Timeout time.Duration
	// FirstPause and MostPause bound the pause between two attempts, which
	// doubles; half of it is chance. Default 200 ms and 1 minute.
	FirstPause, MostPause time.Duration
}

// Queue is the file and the way to the server. It is safe for concurrent use.
// [Open] is the only way to get one.
type Queue struct {
	db     *sql.DB
	path   string
	base   string
	client *http.Client
	opts   Options
	refs   ids.UUIDs
}

// Open opens the queue at path, creating it if absent, for the server at base,
// such as http://127.0.0.1:9200. It asks the server nothing.
func Open(path, base string, o *Options) (*Queue, error) {
	q := &Queue{base: strings.TrimSuffix(base, "/")}
	if o != nil {
		q.opts = *o
	}
	if u, err := url.Parse(base); err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, errors.New("client: the server's address is not an http or https URL")
	}
	if q.opts.Timeout <= 0 {
		q.opts.Timeout = 10 * time.Second
	}
	if q.opts.FirstPause <= 0 {
		q.opts.FirstPause = 200 * time.Millisecond
	}
	if q.opts.MostPause <= 0 {
		q.opts.MostPause = time.Minute
	}
	if q.opts.Transport == nil {
		q.opts.Transport = &http.Transport{Proxy: http.ProxyFromEnvironment, IdleConnTimeout: time.Minute}
	}
	q.client = &http.Client{
		Transport: q.opts.Transport,
		// An answer from elsewhere does not come from this server.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	var err error
	if q.path, err = filepath.Abs(path); err != nil {
		return nil, fmt.Errorf("client: find the queue: %w", err)
	}
	if q.db, err = sqlite.Open(context.Background(), q.path, schemaSQL); err != nil {
		return nil, fmt.Errorf("client: open %s: %w (is it a writable SQLite file of this program?)", path, err)
	}
	return q, nil
}

// Close closes the file. What waits is sent by the next process that syncs.
func (q *Queue) Close() error {
	q.client.CloseIdleConnections()
	return q.db.Close()
}

// Add keeps the entry on the disk and returns it as it is kept. Kind and Text are
// needed, and Parent for a paper; the parent need not have been sent. When Add
// fails with anything but the errors of this package, it may have been added:
// add it again with the same ref.
func (q *Queue) Add(ctx context.Context, e Entry) (Entry, error) {
	if e.Ref == "" {
		e.Ref = q.refs.New().String()
	}
	switch {
	case e.Kind != Mathematician && e.Kind != Paper, (e.Kind == Paper) != (e.Parent != ""):
		return Entry{}, fmt.Errorf("%w: a mathematician has no parent, a paper has one, and there is nothing else", ErrInvalid)
	case len(e.Ref) > MaxRefBytes, len(e.Text) > MaxBodyBytes, e.Text == "":
		return Entry{}, fmt.Errorf("%w: a ref has at most %d bytes, a name or title 1 to %d", ErrInvalid, MaxRefBytes, MaxBodyBytes)
	}
	var kept Entry
	err := sqlite.InTransaction(ctx, q.db, func(tx *sql.Tx) error {
		err := kept.scan(tx.QueryRowContext(ctx, findSQL, e.Ref))
		if errors.Is(err, sql.ErrNoRows) {
			kept, err = insert(ctx, tx, e)
		}
		if err == nil && (kept.Kind != e.Kind || kept.Parent != e.Parent || kept.Text != e.Text) {
			return ErrRefTaken
		}
		return err
	})
	if err != nil {
		return Entry{}, err
	}
	return kept, nil
}

// insert adds an entry whose ref is new.
func insert(ctx context.Context, tx *sql.Tx, e Entry) (kept Entry, err error) {
	var parent any // NULL
	if e.Parent != "" {
		if parent, err = parentRow(ctx, tx, e.Parent); err != nil {
			return Entry{}, err
		}
	}
	if _, err := tx.ExecContext(ctx, addSQL, e.Ref, e.Kind, parent, e.Text, MaxWaiting); err != nil {
		return Entry{}, fmt.Errorf("client: add: %w", err)
	}
	if _, err := tx.ExecContext(ctx, takeFromStockSQL, e.Ref); err != nil {
		return Entry{}, fmt.Errorf("client: take an id from the stock: %w", err)
	}
	err = kept.scan(tx.QueryRowContext(ctx, findSQL, e.Ref))
	if errors.Is(err, sql.ErrNoRows) {
		err = ErrFull
	}
	return kept, err
}

// parentRow returns the row of a parent that children may be added to.
func parentRow(ctx context.Context, tx *sql.Tx, ref string) (row int64, err error) {
	var kind Kind
	var state State
	err = tx.QueryRowContext(ctx, findRowSQL, ref).Scan(&row, &kind, &state)
	switch {
	case errors.Is(err, sql.ErrNoRows), err == nil && (kind != Mathematician || state == Refused):
		return 0, ErrNoParent
	case err != nil:
		return 0, fmt.Errorf("client: look for the parent: %w", err)
	}
	return row, nil
}

func (e *Entry) scan(row sqlite.Row) error {
	err := row.Scan(&e.Ref, &e.Kind, &e.Parent, &e.Text, &e.Unique, &e.State, &e.Reason)
	if err != nil {
		return fmt.Errorf("client: read an entry: %w", err)
	}
	return nil
}

// List returns all entries in the order in which they were added.
func (q *Queue) List(ctx context.Context) ([]Entry, error) {
	return sqlite.List(ctx, q.db, "client: list", (*Entry).scan, listSQL)
}

// Counts says how many entries are in each state.
type Counts struct{ Waiting, Done, Refused int }

// Counts counts the entries.
func (q *Queue) Counts(ctx context.Context) (Counts, error) {
	var c Counts
	if err := q.db.QueryRowContext(ctx, countsSQL).Scan(&c.Waiting, &c.Done, &c.Refused); err != nil {
		return Counts{}, fmt.Errorf("client: count: %w", err)
	}
	return c, nil
}
