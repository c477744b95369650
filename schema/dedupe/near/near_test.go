package near_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/testserver/databases"
	"github.com/semel-dev/semel/schema/catalog"
	"github.com/semel-dev/semel/schema/dedupe/near"
)

var noError = claimtest.NoError

// people is a table whose rows 1 and 2, 3 and 4, and 5 and 6 are each one person.
func people(t *testing.T, d dialect.Dialect) *databases.Database {
	t.Helper()
	db := databases.Open(t, d)
	db.Exec(t,
		"CREATE TABLE people (id int PRIMARY KEY, name varchar(80), email varchar(80), phone varchar(80), merged_into int)",
		`INSERT INTO people VALUES (1, 'Åsa Öberg', 'asa@example.com', '+46 70 123 45 67', NULL), (2, ' OBERG,  Asa ', 'x@example.com', NULL, NULL),
		(3, 'Ada', 'Ada.Lovelace+shop@gmail.com', '1', NULL), (4, 'A. L.', 'adalovelace@googlemail.com', '1', NULL),
		(5, 'Grace', NULL, '070-123 45 67', NULL), (6, 'G', '', '0046701234567', NULL),
		(7, 'Åsa Öberg', 'asa@example.com', NULL, 1), (10, '=1+1', NULL, '12', NULL), (9, '', '-', '', NULL)`)
	return db
}

func find(t *testing.T, db *databases.Database, s near.Search) (*near.Result, error) {
	t.Helper()
	schema, err := catalog.Read(t.Context(), db.DB, db.Dialect)
	noError(t, err)
	for i := range schema.Tables {
		if schema.Tables[i].Name == "people" {
			s.Table = &schema.Tables[i]
		}
	}
	return near.Find(t.Context(), db.DB, db.Dialect, &s)
}

func by(t *testing.T, lists ...string) (all []near.By) {
	t.Helper()
	for _, text := range lists {
		b, err := near.ParseBy(text)
		noError(t, err)
		all = append(all, b)
	}
	return all
}

// groupsOf writes what was found as 1+2 and so on.
func groupsOf(r *near.Result) (all []string) {
	for _, g := range r.Groups {
		var keys []string
		for _, row := range g.Rows {
			keys = append(keys, strings.Join(row.Key, ","))
		}
		all = append(all, strings.Join(keys, "+"))
	}
	return all
}

// TestFind finds people by what their columns have in common, on every database; merged rows and empty values are not the same as
// anything.
func TestFind(t *testing.T) {
	t.Parallel()
	for _, d := range dialect.All() {
		t.Run(d.String(), func(t *testing.T) {
			t.Parallel()
			db := people(t, d)
			for _, c := range []struct {
				by   []string
				want []string
			}{
				{[]string{"name:letters"}, []string{"1+2"}},
				{[]string{"name:text"}, nil},
				{[]string{"email:mailbox"}, []string{"3+4"}},
				{[]string{"email:email"}, nil},
				{[]string{"phone:phone"}, []string{"1+5+6"}},
				{[]string{"phone"}, []string{"3+4"}},
				{[]string{"phone:digits,email:mailbox"}, []string{"3+4"}},
				{[]string{"name:letters", "phone", "email:mailbox"}, []string{"1+2", "3+4"}}, // listed once
			} {
				r, err := find(t, db, near.Search{By: by(t, c.by...)})
				noError(t, err)
				if got := groupsOf(r); !slices.Equal(got, c.want) {
					t.Errorf("by %q: got %q, want %q", c.by, got, c.want)
				}
			}
		})
	}
}

// A value that many rows have is not listed, but noted.
func TestManyRows(t *testing.T) {
	t.Parallel()
	db := people(t, dialect.SQLite)
	for i := range 60 {
		db.Exec(t, fmt.Sprintf("INSERT INTO people VALUES (%d, 'unknown', NULL, NULL, NULL)", 100+i))
	}
	r, err := find(t, db, near.Search{By: by(t, "name:letters")})
	noError(t, err)
	if got := groupsOf(r); !slices.Equal(got, []string{"1+2"}) || len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "60 rows") {
		t.Errorf("got %q and notes %q, want 1+2 and a note of 60 rows", got, r.Notes)
	}
}

// TestSimilar compares by trigrams where the database can, and says what is missing elsewhere.
func TestSimilar(t *testing.T) {
	t.Parallel()
	similar, err := near.ParseSimilar("name=0.4")
	noError(t, err)
	db := people(t, dialect.PostgreSQL)
	db.Exec(t, "INSERT INTO people VALUES (20, 'Katherine Johnson'), (21, 'Catherine Johnson'), (22, 'Dorothy Vaughan')")
	search := near.Search{Similar: []near.Similar{similar}}
	if _, err := find(t, db, search); err == nil || !strings.Contains(err.Error(), "CREATE EXTENSION pg_trgm") {
		t.Errorf("got %v, want the statement that installs the extension", err)
	}
	db.Exec(t, "CREATE EXTENSION pg_trgm")
	r, err := find(t, db, search)
	noError(t, err)
	if got := groupsOf(r); !slices.Equal(got, []string{"20+21"}) {
		t.Errorf("got %q, want 20+21", got)
	}
	if _, err := find(t, people(t, dialect.SQLite), search); err == nil || !strings.Contains(err.Error(), "--by name:letters") {
		t.Errorf("got %v, want another way", err)
	}
}

// TestForms: what counts of a value.
func TestForms(t *testing.T) {
	t.Parallel()
	db := databases.Open(t, dialect.SQLite)
	db.Exec(t, "CREATE TABLE people (id text PRIMARY KEY, v text)")
	for _, c := range []struct {
		how, a, b string
		same      bool
	}{
		{"exact", "a", "A", false},
		{"text", "Straße  1", "STRASSE 1", true},
		{"text", "ｆｕｌｌ　width", "full width", true},
		{"text", "O'Neil", "ONeil", false},
		{"letters", "Müller, Jörg", "jorg MULLER", true},
		{"letters", "कु", "क", false}, // a vowel, not an accent
		{"email", " A@Example.COM", "a@example.com", true},
		{"email", "a+b@example.com", "a@example.com", false},
		{"mailbox", "a+b@example.com", "a@EXAMPLE.com", true},
		{"mailbox", "a.b@example.com", "ab@example.com", false},
		{"mailbox", "+a@example.com", "@example.com", false},
		{"digits", "No. 0042", "42", true},
		{"digits", "०१२-३", "123", true},
		{"digits", "𝟏𝟐", "12", true},
		{"phone", "+91 98765 43210", "098765-43210", true},
		{"phone", "1234", "1234", false}, // too few to be a number
		{"text", "", "", false},
		{"exact", "a · b", "a · b", true},
	} {
		db.Exec(t, "DELETE FROM people")
		_, err := db.DB.ExecContext(t.Context(), "INSERT INTO people VALUES ('a', ?), ('b', ?)", c.a, c.b)
		noError(t, err)
		r, err := find(t, db, near.Search{By: by(t, "v:"+c.how)})
		noError(t, err)
		if same := len(r.Groups) == 1; same != c.same {
			t.Errorf("%s: %q and %q are the same: %t, want %t", c.how, c.a, c.b, same, c.same)
		}
	}
}

// decided lists people of one name and returns the file of decisions, after a person has changed it.
func decided(t *testing.T, db *databases.Database, changes ...string) string {
	t.Helper()
	r, err := find(t, db, near.Search{By: by(t, "name:letters", "phone:phone", "email:mailbox"), Show: []string{"merged_into"}})
	noError(t, err)
	var file bytes.Buffer
	noError(t, r.Write(&file))
	return strings.NewReplacer(changes...).Replace(file.String())
}

// TestDecisions: what a person wrote into the file comes back, and nothing that they did not decide.
func TestDecisions(t *testing.T) {
	t.Parallel()
	db := people(t, dialect.SQLite)
	if d, err := near.ReadDecisions(strings.NewReader(decided(t, db))); err != nil || d.Groups != nil {
		t.Fatalf("got %v, %v from a file without decisions", d, err)
	}
	d, err := near.ReadDecisions(strings.NewReader("\ufeff" + decided(t, db, `1,,"[""1""]"`, `1,Keep ,"[""1""]"`, `1,,"[""2""]"`, `1,merge,"[""2""]"`, `3,,"[""3""]"`, `3,apart,"[""3""]"`)))
	noError(t, err)
	if len(d.Groups) != 1 || len(d.Groups[0].Losers) != 1 || d.Groups[0].Winner.Key[0] != "1" || d.Groups[0].Losers[0].Key[0] != "2" {
		t.Errorf("got %v, want 2 merged into 1", d.Groups)
	}
	if _, err := near.ReadDecisions(iotest.ErrReader(io.ErrClosedPipe)); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("a file that cannot be read: %v", err)
	}
	for _, c := range []struct{ file, want string }{
		{decided(t, db, `1,,"[""2""]"`, `1,merge,"[""2""]"`), "write keep"},
		{decided(t, db, `1,,"[""1""]"`, `1,keep,"[""1""]"`, `1,,"[""2""]"`, `1,keep,"[""2""]"`), "keeps two rows"},
		{decided(t, db, `1,,"[""1""]"`, `1,yes,"[""1""]"`), "not a decision"},
		{decided(t, db, `1,,"[""1""]"`, `1,keep,1`), "was changed"},
		{decided(t, db, `1,,"[""1""]"`, `1,keep,"[""1""]"`, `2,,"[""1""]"`, `2,merge,"[""1""]"`), "decided about the row"},
		{"id;name\n", "columns begin with"},
		{"", "not a file of decisions"},
		{"group,decision,key,seen,why,name\n1,merge\n", "want at least 5"},
	} {
		if _, err := near.ReadDecisions(strings.NewReader(c.file)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q of:\n%s", err, c.want, c.file)
		}
	}
}

// TestChangedSince: a decision about a row that is not any more as the person saw it does not count.
func TestChangedSince(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ change, want string }{
		{"SELECT 1", ""},
		{"UPDATE people SET name = 'Eva' WHERE id = 3", ""}, // it was not decided about
		{"UPDATE people SET name = 'Eva' WHERE id = 2", `line 3: the row ["2"] is not as the list has it`},
		{"UPDATE people SET merged_into = 9 WHERE id = 1", `line 2: the row ["1"] is not as the list has it`},
		{"DELETE FROM people", "as were 1 more"},
	} {
		db := people(t, dialect.SQLite)
		d, err := near.ReadDecisions(strings.NewReader(decided(t, db, `1,,"[""1""]"`, `1,keep,"[""1""]"`, `1,,"[""2""]"`, `1,merge,"[""2""]"`)))
		noError(t, err)
		db.Exec(t, c.change)
		schema, err := catalog.Read(t.Context(), db.DB, db.Dialect)
		noError(t, err)
		table, _ := schema.Table("people")
		if err := d.Check(t.Context(), db.DB, db.Dialect, table); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("after %s: got %v, want %q", c.change, err, c.want)
		}
	}
}

// A spreadsheet does not run what a customer wrote into a name.
func TestFormulas(t *testing.T) {
	t.Parallel()
	db := people(t, dialect.SQLite)
	db.Exec(t, "INSERT INTO people VALUES (30, '=1+1', '@x', '+46', NULL)")
	r, err := find(t, db, near.Search{By: by(t, "name"), Show: []string{"email", "phone"}})
	noError(t, err)
	var file bytes.Buffer
	noError(t, r.Write(&file))
	if !strings.Contains(file.String(), ",'=1+1,'@x,'+46\n") {
		t.Errorf("the file has formulas:\n%s", file.String())
	}
}

// FuzzDecisions: no file makes a decision that is not whole.
func FuzzDecisions(f *testing.F) {
	f.Add("group,decision,key,seen,why,name\n1,keep,\"[\"\"1\"\"]\",v,,\n1,merge,\"[\"\"2\"\"]\",v,,\n")
	f.Fuzz(func(t *testing.T, file string) {
		d, err := near.ReadDecisions(strings.NewReader(file))
		if err != nil {
			return
		}
		for _, g := range d.Groups {
			if len(g.Winner.Key) == 0 || len(g.Losers) == 0 {
				t.Errorf("got %v", g)
			}
		}
	})
}
