package dbguard_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/semel-dev/semel/dbguard"
	"github.com/semel-dev/semel/internal/guardtest"
	"github.com/semel-dev/semel/internal/testserver"
)

// typesOf are the words for types that dialects have different ones for.
func typesOf(d dbguard.Dialect) (stamp, bytes, text, document string) {
	switch d {
	case dbguard.MySQL:
		return "datetime", "varbinary(20)", "varchar(50)", "json"
	case dbguard.SQLite:
		return "timestamp", "blob", "text COLLATE NOCASE", "text"
	case dbguard.PostgreSQL:
	}
	return "timestamp(0)", "bytea", `varchar(50) COLLATE semel_ignore_case`, "json"
}

// ignoreCase makes the collation of [typesOf], which MySQL's default and SQLite have.
func ignoreCase(t *testing.T, db *guardtest.Database) {
	t.Helper()
	if db.Dialect() == dbguard.PostgreSQL {
		db.Run(t, "CREATE COLLATION semel_ignore_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false)")
	}
}

// A row is found again also where the column holds the value otherwise than it was
// sent: rounded to its scale, or without the fraction of a second.
func TestCreateOrReuseAsStored(t *testing.T) {
	t.Parallel()
	guardtest.Each(t, func(t *testing.T, db *guardtest.Database) {
		stamp, bytes, _, _ := typesOf(db.Dialect())
		db.Run(t, "CREATE TABLE things (id int, price decimal(10, 2) UNIQUE, made "+stamp+" UNIQUE, mark "+bytes+" UNIQUE)")
		create := func(id int, column string, value any) (int64, bool, error) {
			return dbguard.CreateOrReuse(t.Context(), db.Database, &dbguard.Insert{
				Table: "things", Columns: []string{"id", column}, Values: []any{id, value},
				Unique: dbguard.Target{Columns: []string{column}}, Returning: []string{"id"},
			}, scanID)
		}
		for column, value := range map[string]any{
			"price": "1.005", "made": time.Date(2026, time.May, 4, 3, 2, 1, 987654321, time.UTC), "mark": []byte{0, 0xFF},
		} {
			for id := range 3 {
				if got, created, err := create(id, column, value); got != 0 || created != (id == 0) || err != nil {
					t.Errorf("%s, call %d = row %d, %v, %v, want that of call 0", column, id, got, created, err)
				}
			}
		}
		if _, _, err := create(9, "mark", []byte(nil)); err == nil {
			t.Error("no bytes, which drivers send as NULL, were taken for the same thing")
		}
	})
}

// What an upsert may change gets the value that was sent, even where a collation
// takes the two for the same; what must not change is compared as strictly. JSON,
// which PostgreSQL cannot compare, is compared as text.
func TestUpsertBeyondCollations(t *testing.T) {
	t.Parallel()
	guardtest.Each(t, func(t *testing.T, db *guardtest.Database) {
		ignoreCase(t, db)
		_, _, text, document := typesOf(db.Dialect())
		db.Run(t, "CREATE TABLE people (id int PRIMARY KEY, name "+text+", data "+document+", code char(8), latin varchar(20), size int)")
		if db.Dialect() == dbguard.MySQL {
			db.Run(t, "ALTER TABLE people MODIFY latin varchar(20) CHARACTER SET latin1, ADD fixed binary(4)")
		}
		upsert := func(name, data string, size int) (string, dbguard.Upserted, error) {
			in := &dbguard.Upsertion{
				Insert: dbguard.Insert{
					Table: "people", Columns: []string{"id", "name", "data", "code", "latin", "size"},
					Values: []any{1, name, json.RawMessage(data), "x ", "Åse", size},
					Unique: dbguard.Target{Columns: []string{"id"}}, Returning: []string{"name"},
				},
				MayChange: []string{"name", "data", "code", "latin", "size"},
			}
			if db.Dialect() == dbguard.MySQL {
				in.Columns, in.Values, in.MayChange = append(in.Columns, "fixed"), append(in.Values, "ab"), append(in.MayChange, "fixed")
			}
			return dbguard.Upsert(t.Context(), db.Database, in, func(rows dbguard.Rows) (s string, err error) { return s, rows.Scan(&s) })
		}
		for i, step := range []struct {
			name, data string
			size       int
			want       dbguard.Upserted
		}{
			{"ada", `{"a":"x"}`, 1, dbguard.Upserted{Created: true}},
			{"ada", `{"a":"x"}`, 1, dbguard.Upserted{}},
			{"Ada", `{"a":"x"}`, 1, dbguard.Upserted{Updated: true}},
			{"Ada ", `{"a":"x"}`, 1, dbguard.Upserted{Updated: true}},
			{"Adá ", `{"a":"x"}`, 1, dbguard.Upserted{Updated: true}},
			{"Adá ", `{"a":"X"}`, 1, dbguard.Upserted{Updated: true}},
			{"Adá ", `{"a":"X"}`, 2, dbguard.Upserted{Updated: true}},
			{"Adá ", `{"a":"X"}`, 2, dbguard.Upserted{}},
		} {
			if got, change, err := upsert(step.name, step.data, step.size); got != step.name || change != step.want || err != nil {
				t.Errorf("step %d = %q, %v, %v, want %q, %v", i, got, change, err, step.name, step.want)
			}
		}
	})
}

// A MySQL table in another database is known by its own types, and not by those of
// a table of that name in this one.
func TestUpsertElsewhere(t *testing.T) {
	t.Parallel()
	db := guardtest.Open(t, dbguard.MySQL)
	config, err := mysql.ParseDSN(testserver.MySQLDatabase(t))
	if err != nil {
		t.Fatal(err)
	}
	table := config.DBName + ".prices"
	db.Run(t, "CREATE TABLE prices (id int PRIMARY KEY, price decimal(10, 0))", "CREATE TABLE "+table+" (id int PRIMARY KEY, price decimal(10, 2))")
	for i, want := range []dbguard.Upserted{{Created: true}, {}} {
		_, got, err := dbguard.Upsert(t.Context(), db.Database, &dbguard.Upsertion{
			Insert: dbguard.Insert{
				Table: table, Columns: []string{"id", "price"}, Values: []any{1, "1.255"},
				Unique: dbguard.Target{Columns: []string{"id"}}, Returning: []string{"id"},
			},
			MayChange: []string{"price"},
		}, scanID)
		if got != want || err != nil {
			t.Errorf("call %d = %v, %v, want %v", i, got, err, want)
		}
	}
}
