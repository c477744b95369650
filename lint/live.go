package lint

import (
	"context"
	"fmt"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/lint/internal/live"
	"github.com/semel-dev/semel/lint/internal/parse"
	"github.com/semel-dev/semel/lint/internal/schema"
	"github.com/semel-dev/semel/lint/internal/tree"
)

// knownLive holds what a live database defines.
type knownLive struct {
	knowledge

	dialect dialect.Dialect
}

// ask reads the definitions of a live database. What of them cannot be read or understood may be about
// any table: then no write is called safe.
func ask(ctx context.Context, db *Database) (*knownLive, error) {
	d, err := dialect.Parse(db.Dialect)
	if err != nil {
		return nil, fmt.Errorf("lint: %w", err)
	}
	found, err := live.Read(ctx, db.DB, d)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDatabase, err)
	}
	strict := strings.Contains(found.Mode, "STRICT_")
	k := &knownLive{knowledge{schema: &schema.Schema{Refuses: strict, Clips: d == dialect.MySQL && !strict}}, d}
	for _, one := range found.Definitions {
		why := one.Why
		if why == "" {
			why = k.define(d, one, found.Database)
		}
		if why != "" && !strings.HasPrefix(one.Object, "view ") { // a view that is not known is a table that is not known
			k.schema.Doubt(one.Object + ": " + why)
		}
	}
	return k, nil
}

// define learns from one definition. It returns why it does not understand it.
func (k *knownLive) define(d dialect.Dialect, one live.Definition, database string) (why string) {
	parsed := parse.Statements(d, one.Text)
	if len(parsed) != 1 {
		return "its definition was not understood"
	}
	st, ok := parsed[0].Statement.(*tree.Define)
	if !ok {
		if opaque, ok := parsed[0].Statement.(*tree.Opaque); ok {
			return opaque.Why
		}
		return "it is not a definition"
	}
	if database != "" { // a name with another database means another table
		st.Name.Schema = database
		if st.Table != nil && strings.HasPrefix(st.Kind, "create table") {
			st.Table.Name.Schema = database
		}
	}
	k.schema.Apply(st)
	return ""
}
