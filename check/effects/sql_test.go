package effects_test

import (
	"database/sql"
	"testing"

	"github.com/semel-dev/semel/check/effects"
	"github.com/semel-dev/semel/internal/cli/opendb"
	"github.com/semel-dev/semel/internal/testserver/databases"
)

func TestSQL(t *testing.T) {
	t.Parallel()
	databases.Each(t, func(t *testing.T, d *databases.Database) {
		d.Exec(t, "CREATE TABLE orders (id integer PRIMARY KEY, number bigint, name varchar(40))",
			"INSERT INTO orders VALUES (1, 16, 'u-16'), (2, 17, 'u-17'), (3, 17, 'u''17')")
		reader, err := opendb.Open(t.Context(), d.DSN, opendb.Read)
		if err != nil {
			t.Fatal(err)
		}
		defer reader.Close()
		for _, db := range []*sql.DB{reader.DB, d.DB} {
			for _, test := range []struct {
				query     string
				perIntent bool
				want      int64
				words     string
			}{
				{"SELECT count(*) FROM orders;", false, 3, ""},
				{"SELECT sum(id) FROM orders -- isn't it", false, 6, ""},
				{"SELECT count(*) FROM orders WHERE number = {{n}}", true, 2, ""},
				{"SELECT count(*) FROM orders WHERE name = {{ uuid }} AND number = {{n}}", true, 1, ""},
				{"SELECT count(*) FROM orders WHERE name LIKE 'u''%' AND number = {{n}}", true, 1, ""},
				{"SELECT count(*) FROM orders WHERE name = '{{uuid}}'", false, 0, "write it without quotes"},
				{"SELECT count(*) FROM orders /* {{n}} */", false, 0, "in a comment"},
				{"SELECT count(*) FROM orders WHERE number = {{m}}", false, 0, "unknown place {{m}}"},
				{"SELECT count(*) FROM orders WHERE name = {{minted}}", true, 0, "{{minted}} has no value"},
				{"SELECT id, number FROM orders", false, 0, "2 columns"},
				{"SELECT id FROM orders", false, 0, "several rows"},
				{"SELECT id FROM orders WHERE id > 3", false, 0, "no row"},
				{"SELECT sum(id) FROM orders WHERE id > 3", false, 0, "NULL instead of a number"},
				{"SELECT name FROM orders WHERE id = 1", false, 0, `"u-16" is not a number`},
				{"SELECT count(*) FROM absent", false, 0, "run the count"},
				{"", false, 0, "is empty"},
			} {
				o, err := effects.SQL("shop", db, d.Dialect, test.query)
				counts(t, o, err, of17, test.want, test.words)
				if err == nil && o.PerIntent() != test.perIntent {
					t.Errorf("%s: about one intent: %v", test.query, o.PerIntent())
				}
			}
		}
	})
}

// TestSQLDoesNotWrite: a count that writes has no lasting effect, even on a connection that may.
func TestSQLDoesNotWrite(t *testing.T) {
	t.Parallel()
	databases.Each(t, func(t *testing.T, d *databases.Database) {
		d.Exec(t, "CREATE TABLE orders (id integer)")
		o, err := effects.SQL("shop", d.DB, d.Dialect, "INSERT INTO orders VALUES (1) RETURNING id")
		if err != nil {
			t.Fatal(err)
		}
		_, _ = o.Count(t.Context(), same) // a number if the database allows it
		o, err = effects.SQL("shop", d.DB, d.Dialect, "SELECT count(*) FROM orders")
		counts(t, o, err, same, 0, "")
	})
}
