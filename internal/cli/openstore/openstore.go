package openstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/store/logstore"
	"github.com/semel-dev/semel/store/memstore"
	"github.com/semel-dev/semel/store/mysqlstore"
	"github.com/semel-dev/semel/store/pgstore"
	"github.com/semel-dev/semel/store/sqlitestore"
)

// Default is the DSN that is used when none is given.
const Default = "sqlite:semel.db"

// ErrDSN means that the DSN is wrong as written: nothing was opened, and
// trying again does not help.
var ErrDSN = errors.New("store: wrong DSN")

// Use is the purpose for which a store is opened.
type Use uint8

const (
	// Serve claims and settles, and creates the store where there is none.
	Serve Use = iota
	// Operate claims and settles in a store that must exist already.
	Operate
	// Inspect only reads a store that must exist already.
	Inspect
)

// Options are the settings of [Open]. A nil *Options is complete.
type Options struct {
	// Use is Serve unless set.
	Use Use
	// Logger gets the rare warnings of the store. Default: none is written.
	Logger *slog.Logger
}

// Open opens the store that the DSN names; an empty one means [Default]. The
// caller closes it. The error wraps [ErrDSN] when the DSN itself is wrong; any
// other error means that the store could not be opened. No error repeats a
// password.
func Open(ctx context.Context, dsn string, o *Options) (semel.Store, error) {
	if o == nil {
		o = &Options{}
	}
	scheme, rest, err := split(dsn)
	if err != nil {
		return nil, err
	}
	switch scheme {
	case "memory":
		return openMemory(rest, o)
	case "sqlite":
		return openSQLite(ctx, rest, o)
	case "log":
		return openLog(ctx, rest, o)
	case "postgres", "postgresql":
		return openPostgres(ctx, scheme, rest, o)
	case "mysql", "mariadb":
		return openMySQL(ctx, rest, o)
	default:
		return openRedis(ctx, scheme, rest, o)
	}
}

// CheckKind returns an error that wraps [ErrDSN] when the DSN names no kind of store. It opens nothing.
func CheckKind(dsn string) error {
	_, _, err := split(dsn)
	return err
}

// Redact returns the DSN in a form that may be logged: a path as it is, and
// only the kind of store of a DSN that could hold a password.
func Redact(dsn string) string {
	scheme, rest, err := split(dsn)
	switch {
	case err != nil:
		return "…"
	case scheme == "memory" || scheme == "sqlite" || scheme == "log":
		return scheme + ":" + rest
	}
	return scheme + ":…"
}

// Schemas returns, for each kind of store that keeps one, the newest schema
// that this program reads and writes.
func Schemas() (map[string]int, error) {
	schemas := map[string]int{}
	for name, newest := range map[string]func() (int, error){
		"sqlite": sqlitestore.SchemaVersion, "postgres": pgstore.SchemaVersion, "mysql": mysqlstore.SchemaVersion,
	} {
		schema, err := newest()
		if err != nil {
			return nil, fmt.Errorf("store: read the schema of %s: %w", name, err)
		}
		schemas[name] = schema
	}
	return schemas, nil
}

const (
	examples = "write memory:, sqlite:PATH, log:DIR, postgres://…, mysql://… or redis://…, such as " + Default + " or postgres://app@db.example/shop"
)

func split(dsn string) (scheme, rest string, err error) {
	if dsn == "" {
		dsn = Default
	}
	if scheme, rest, err = dialect.SplitDSN(dsn, "store"); err != nil {
		return scheme, rest, fmt.Errorf("%w: %w (%s)", ErrDSN, err, examples)
	}
	switch scheme {
	case "memory", "sqlite", "log", "postgres", "postgresql", "mysql", "mariadb", "redis", "rediss":
		return scheme, rest, nil
	case "nats":
		return scheme, rest, fmt.Errorf("%w: %s is not built into this version: a Go program of yours opens such a store with the module store/natsstore "+
			"(built in: memory, sqlite, log, postgres, mysql, redis; for example %s)", ErrDSN, scheme, Default)
	}
	return scheme, rest, fmt.Errorf("%w: no store is called %q (%s)", ErrDSN, scheme, examples)
}

func openMemory(rest string, o *Options) (semel.Store, error) {
	switch {
	case rest != "":
		return nil, fmt.Errorf("%w: memory takes nothing behind the colon (write memory:)", ErrDSN)
	case o.Use != Serve:
		return nil, fmt.Errorf("%w: a store in memory lives and ends with the process that opened it (name the store of the running gateway, such as %s)", ErrDSN, Default)
	}
	return memstore.New(nil), nil
}

func openSQLite(ctx context.Context, path string, o *Options) (semel.Store, error) {
	switch {
	case path == "":
		return nil, fmt.Errorf("%w: sqlite needs a file (write sqlite:PATH, such as %s)", ErrDSN, Default)
	case path == ":memory:":
		return nil, fmt.Errorf("%w: sqlite keeps records in a file (for a store in memory write memory:)", ErrDSN)
	case strings.HasPrefix(path, "//") && !strings.HasPrefix(path, "///"):
		return nil, fmt.Errorf("%w: sqlite takes a path, not an address (write sqlite:semel.db, or sqlite:/var/lib/semel/semel.db)", ErrDSN)
	case strings.Contains(path, "?"):
		return nil, fmt.Errorf("%w: sqlite takes no parameters (write sqlite:PATH, such as %s)", ErrDSN, Default)
	}
	if o.Use != Serve {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("store: file %s does not exist (name the one the gateway uses with --store sqlite:PATH)", path)
		}
	}
	store, err := sqlitestore.Open(ctx, path, &sqlitestore.Options{ReadOnly: o.Use == Inspect, Logger: o.Logger})
	if err != nil {
		return nil, err
	}
	return store, nil
}

func openLog(ctx context.Context, rest string, o *Options) (semel.Store, error) {
	dir, p, err := readLog(rest, o.Use)
	if err != nil {
		return nil, err
	}
	store, err := logstore.Open(ctx, dir, &logstore.Options{MaxBytes: p.maxBytes, Logger: o.Logger})
	if err != nil {
		return nil, asDSN(err)
	}
	return store, nil
}

// readLog reads the part of a DSN behind its scheme, and refuses what does not name the directory of a log.
func readLog(rest string, use Use) (dir string, p parameters, err error) {
	dir, p, err = takeParameters(rest, paramMaxBytes)
	switch {
	case err != nil:
		return "", p, err
	case dir == "":
		return "", p, fmt.Errorf("%w: log needs a directory (write log:DIR, such as log:/var/lib/semel/log)", ErrDSN)
	case strings.HasPrefix(dir, "//") && !strings.HasPrefix(dir, "///"):
		return "", p, fmt.Errorf("%w: log takes a directory, not an address (write log:semel-log, or log:/var/lib/semel/log)", ErrDSN)
	case strings.Contains(dir, "?"):
		return "", p, fmt.Errorf("%w: log takes one parameter, %s (write log:DIR, or log:DIR?%s=8GiB)", ErrDSN, paramMaxBytes, paramMaxBytes)
	}
	if _, err := os.Stat(dir); use != Serve && errors.Is(err, fs.ErrNotExist) {
		return "", p, fmt.Errorf("store: directory %s does not exist (name the one the gateway uses with --store log:DIR)", dir)
	}
	return dir, p, nil
}

// LogReport holds the findings of a check or a repair of a log.
type LogReport = logstore.Report

// CheckLog reads the log that the DSN names, which no process may have open, and reports damage. repair also cuts it out.
func CheckLog(ctx context.Context, dsn string, repair bool) (LogReport, error) {
	scheme, rest, err := split(dsn)
	if err != nil {
		return LogReport{}, err
	}
	if scheme != "log" {
		return LogReport{}, fmt.Errorf("%w: only a log is checked by this (write log:DIR; databases have checks of their own)", ErrDSN)
	}
	dir, _, err := readLog(rest, Operate)
	if err != nil {
		return LogReport{}, err
	}
	if repair {
		return logstore.Repair(ctx, dir)
	}
	return logstore.Check(ctx, dir)
}
