package openstore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/semel-dev/semel"
)

// removeTime bounds the removal of a scratch part.
const removeTime = 30 * time.Second

// Scratch is a part of a database that is made for a check and removed after
// it: a schema, tables or keys with names of its own.
type Scratch struct {
	dsn    string // with the scratch part in it
	kind   string
	name   string
	path   string // of a file
	levels []string
}

// NewScratch names a scratch part of the database of the DSN. Nothing is made
// before it is opened. The error wraps [ErrDSN].
func NewScratch(dsn string) (*Scratch, error) {
	scheme, rest, err := split(dsn)
	if err != nil {
		return nil, err
	}
	s := &Scratch{kind: scheme, name: "semel_check_" + strings.ToLower(rand.Text()[:12])}
	switch scheme {
	case "memory":
		return nil, fmt.Errorf("%w: a store in memory belongs to this process alone, so it needs no check", ErrDSN)
	case "log":
		return nil, fmt.Errorf("%w: a log belongs to one process at a time, so there is nothing to race for (its files are checked by: semel records check --store log:DIR)", ErrDSN)
	case "sqlite":
		s.path = rest + "." + s.name
		s.dsn = scheme + ":" + s.path
	case "postgres", "postgresql":
		s.kind, s.levels = "postgres", []string{"repeatable read", "serializable"}
		s.dsn = scheme + ":" + with(rest, paramSchema, s.name)
	case "mysql", "mariadb":
		s.kind, s.levels = "mysql", []string{"READ-COMMITTED", "SERIALIZABLE"}
		s.dsn = scheme + ":" + with(rest, paramPrefix, s.name+"_")
	case "redis", "rediss":
		s.kind = "redis"
		s.dsn = scheme + ":" + with(rest, paramPrefix, s.name)
	default:
		return nil, fmt.Errorf("%w: no store is called %q (%s)", ErrDSN, scheme, examples)
	}
	return s, nil
}

// with sets a parameter in the part of a DSN behind its scheme, in the place of the one that is there.
func with(rest, name, value string) string {
	rest, _ = cut(rest, name)
	sep := "?"
	if strings.Contains(rest, "?") {
		sep = "&"
	}
	return rest + sep + name + "=" + url.PathEscape(value)
}

// Kind returns the kind of store.
func (s *Scratch) Kind() string { return s.kind }

// Name returns the name of the scratch part in the database.
func (s *Scratch) Name() string { return s.name }

// Isolations returns the isolation levels, in addition to the usual one, that
// the database could have as its default.
func (s *Scratch) Isolations() []string { return s.levels }

// Open opens a store on the scratch part, as it would be opened to serve.
func (s *Scratch) Open(ctx context.Context, log *slog.Logger) (semel.Store, error) {
	return Open(ctx, s.dsn, &Options{Logger: log})
}

// OpenAt opens it with one of Isolations as the default of its connections.
func (s *Scratch) OpenAt(ctx context.Context, level string) (semel.Store, error) {
	if s.kind == "postgres" {
		return Open(ctx, with(s.dsn, "default_transaction_isolation", level), nil)
	}
	store, err := Open(ctx, with(s.dsn, "transaction_isolation", "'"+level+"'"), nil)
	if err != nil { // MariaDB's name for it
		store, err = Open(ctx, with(s.dsn, "tx_isolation", "'"+level+"'"), nil)
	}
	return store, err
}

// dropper is a store that can remove everything it made.
type dropper interface {
	Drop(ctx context.Context) error
}

// Remove removes everything that the scratch part holds. Its stores must be
// closed.
func (s *Scratch) Remove() error {
	if s.path != "" {
		var errs []error
		for _, suffix := range []string{"", "-wal", "-shm"} {
			if err := os.Remove(s.path + suffix); !errors.Is(err, fs.ErrNotExist) {
				errs = append(errs, err)
			}
		}
		return errors.Join(errs...)
	}
	ctx, cancel := context.WithTimeout(context.Background(), removeTime)
	defer cancel()
	store, err := Open(ctx, s.dsn, nil)
	if err != nil {
		return err
	}
	d, ok := semel.StoreAs[dropper](store)
	if !ok {
		return errors.Join(fmt.Errorf("store: %s cannot remove what it made", s.kind), store.Close())
	}
	return errors.Join(dropBusiness(ctx, store, s.name), d.Drop(ctx), store.Close())
}
