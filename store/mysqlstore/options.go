package mysqlstore

import (
	"cmp"
	"fmt"
	"log/slog"
	"regexp"
	"time"
)

const (
	defaultTablePrefix = "semel_"
	// maxPrefixBytes leaves room for the tables' own names within the 64
	// characters that an identifier may have.
	maxPrefixBytes  = 32
	defaultMaxConns = 32
)

// Options are the settings of [Open] and [New]. A nil *Options is complete.
type Options struct {
	// TablePrefix begins the names of the store's tables: lower-case letters,
	// digits and underscores, at most 32. Stores with different prefixes share
	// a database without seeing each other. Default: "semel_".
	TablePrefix string
	// SkipMigrations leaves the tables as they are, for users who run
	// [Migrations] by a tool of their own, or open the store as a user that
	// may not create tables. Missing or older tables are then an error.
	SkipMigrations bool
	// ReadOnly opens the store for Lookup and List only, on a replica too. It
	// implies SkipMigrations. The other verbs return an error.
	ReadOnly bool
	// MaxConns bounds the connections of a store opened by [Open], those of
	// verbs and those of transactions each for themselves; who needs one waits
	// for it. [New] leaves the caller's pool as it is. Default: 32.
	MaxConns int
	// Together lets calls of [Exec] and [Run] that are made at the same time share a
	// transaction, up to 32 of them, which takes a fraction of the server's work.
	// A row that one has written is locked until all have committed. A statement
	// that fails, or waits and runs longer than 100 ms (on MySQL: waits for a lock longer
	// than a second), undoes the transaction, and each call runs again alone. It needs connections of
	// this package ([Open], [NewConnector]), and opens up to two more.
	Together bool
	// Logger gets the rare warnings, among them those about a server that is
	// not durable. Default: none is written.
	Logger *slog.Logger

	now  string        // the expression for the database's clock; tests move it
	deny ways          // what the store does not use although it could; tests set it
	slow time.Duration // instead of heldUp; tests set it
}

func (o *Options) withDefaults() (Options, error) {
	var full Options
	if o != nil {
		full = *o
	}
	if full.TablePrefix == "" {
		full.TablePrefix = defaultTablePrefix
	}
	if full.MaxConns == 0 {
		full.MaxConns = defaultMaxConns
	}
	if full.Logger == nil {
		full.Logger = slog.New(slog.DiscardHandler)
	}
	full.slow = cmp.Or(full.slow, heldUp)
	if full.now == "" {
		full.now = nowSQL
	}
	switch {
	case full.MaxConns < 0:
		return full, fmt.Errorf("%w: Options.MaxConns is negative", errConfig)
	case !validPrefix(full.TablePrefix):
		return full, fmt.Errorf("%w: Options.TablePrefix %q is not made of 1 to %d lower-case letters, digits and underscores",
			errConfig, full.TablePrefix, maxPrefixBytes)
	}
	return full, nil
}

// validPrefix refuses what would need quoting, and upper case, which some
// servers fold.
func validPrefix(prefix string) bool {
	return len(prefix) <= maxPrefixBytes && regexp.MustCompile(`^[a-z0-9_]+$`).MatchString(prefix)
}
