package pgstore

import (
	"fmt"
	"log/slog"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	defaultSchema = "semel"
	// maxSchemaBytes leaves room, within the 63 bytes of a PostgreSQL name, for
	// what is put before it.
	maxSchemaBytes = 48
	// defaultPatience limits the age of a claim's statement when its row is
	// written, and grace how long a row stays after its claim. The fences of a
	// digest grow as long as grace is more than twice the patience; see "Fences"
	// in the package documentation.
	defaultPatience = time.Minute
	grace           = 5 * time.Minute
	// defaultRetryListenAfter is the pause before the store listens again after a failure.
	defaultRetryListenAfter = 5 * time.Second
	// clock is the database's clock in milliseconds.
	clock = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint"
)

// Options are the settings of [Open] and [New]. A nil *Options is complete.
type Options struct {
	// Schema is the database schema (namespace) that holds everything, at most
	// 48 bytes; stores with different ones know nothing of each other.
	// Default: semel.
	Schema string
	// MaxConns bounds the connections of the pool that Open makes. Default:
	// pool_max_conns of the DSN, or the greater of 4 and the number of CPUs. If work
	// takes a second connection while it holds a transaction, there must be more than
	// run at once: drivers of brokers handle 8 messages unless set otherwise.
	// New does not look at it. One connection more listens once Await is used.
	MaxConns int
	// SkipMigrations leaves the database's schema as it is, for those who run
	// [Migrations] with a tool of their own.
	SkipMigrations bool
	// ReadOnly opens the store for Lookup and List only; a replica will do. It
	// migrates nothing, and the other verbs return an error.
	ReadOnly bool
	// Together lets calls of [Exec], and those of [Run], that are made at the same time share a
	// transaction, up to 32 of them, which takes a fraction of the server's work.
	// They share its time, now(), and a row that one has written is locked until all
	// have committed. What fails, waits for a lock longer than 50 ms, or runs longer than
	// a second, undoes the transaction, and each of its statements is made again, alone: what a statement
	// does besides its rows, such as counting up a sequence, may happen twice. Statements of [Run]
	// must not change settings of their transaction by functions of their own: those of others would find them.
	Together bool
	// Logger gets the rare warnings. Default: none is written.
	Logger *slog.Logger

	now              string        // the SQL of the store's clock; tests replace it
	patience         time.Duration // tests shorten it
	retryListenAfter time.Duration // tests shorten it
	plain            bool          // the server is a CockroachDB or the like
}

func (o *Options) withDefaults() (Options, error) {
	var full Options
	if o != nil {
		full = *o
	}
	if full.Schema == "" {
		full.Schema = defaultSchema
	}
	if full.Logger == nil {
		full.Logger = slog.New(slog.DiscardHandler)
	}
	if full.now == "" {
		full.now = clock
	}
	if full.patience == 0 {
		full.patience = defaultPatience
	}
	if full.retryListenAfter == 0 {
		full.retryListenAfter = defaultRetryListenAfter
	}
	if full.MaxConns < 0 {
		return full, fmt.Errorf("%w: Options.MaxConns is negative", errConfig)
	}
	return full, checkSchemaName(full.Schema)
}

func checkSchemaName(name string) error {
	switch {
	case len(name) > maxSchemaBytes:
		return fmt.Errorf("%w: Options.Schema has %d bytes, at most %d will do", errConfig, len(name), maxSchemaBytes)
	case !utf8.ValidString(name) || strings.ContainsRune(name, 0):
		return fmt.Errorf("%w: Options.Schema is not text", errConfig)
	case strings.HasPrefix(strings.ToLower(name), "pg_"):
		return fmt.Errorf("%w: Options.Schema is %q, but PostgreSQL keeps names with pg_ for itself", errConfig, name)
	}
	return nil
}
