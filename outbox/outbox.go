package outbox

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"

	"github.com/semel-dev/semel/ids"
	"github.com/semel-dev/semel/internal/dialect"
)

// maxMaxBody bounds Options.MaxBodyBytes: no database takes more in one value.
const maxMaxBody = 512 << 20

// ErrConflict says that another message with this id waits already. Roll the transaction
// back: other messages of the same call may have been added.
var ErrConflict = errors.New("outbox: the id belongs to another message")

// Options are the settings of [Open]. A nil *Options is complete.
type Options struct {
	// Table names the table, after a schema and a dot if need be; two more tables
	// have its name with _hold and _meta. Default semel_outbox.
	Table string
	// MaxBodyBytes bounds the body of a message. With more, raise the bounds of the receivers as
	// well: those of NATS, Kafka and inbox.Options.MaxBytes are about 1 MiB for the whole
	// message, and one that does not fit is given up. Default 960,000, at most 512 MiB.
	MaxBodyBytes int
	// SkipMigrations leaves the tables to the application's own migrations; see [Schema].
	SkipMigrations bool
}

// Outbox is a table of messages in the database whose transactions they belong to. Its
// methods are safe for concurrent use. Make one with Open.
type Outbox struct {
	db      *sql.DB
	names   names
	maxBody int
	uuids   ids.UUIDs
}

// Open finds out which database db is of, makes the tables where they are missing, and
// refuses those that a newer program has made. The outbox does not own db.
func Open(ctx context.Context, db *sql.DB, o *Options) (*Outbox, error) {
	if o == nil {
		o = &Options{}
	}
	maxBody := o.MaxBodyBytes
	if maxBody == 0 {
		maxBody = defaultMaxBodyBytes
	}
	switch {
	case db == nil:
		return nil, errors.New("outbox: Open needs a database")
	case maxBody < 0 || maxBody > min(maxMaxBody, math.MaxInt):
		return nil, fmt.Errorf("outbox: MaxBodyBytes %d is not between 1 and %d", maxBody, maxMaxBody)
	}
	d, err := dialect.Find(ctx, db)
	if err != nil {
		return nil, fmt.Errorf("outbox: open: %w", dialect.Discreet(err))
	}
	names, err := namesOf(d, o.Table)
	if err != nil {
		return nil, err
	}
	out := &Outbox{db: db, names: names, maxBody: maxBody}
	return out, out.prepare(ctx, o.SkipMigrations)
}
