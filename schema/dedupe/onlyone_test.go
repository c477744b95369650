package dedupe_test

import (
	"strings"
	"testing"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/schema/dedupe"
)

// primaries makes two entries of one person, each with a primary address of its own; an order was shipped to the second.
func (b *bench) primaries() {
	b.Helper()
	flag := b.by("boolean", "tinyint(1)", "boolean")
	b.exec("CREATE TABLE people (id int PRIMARY KEY, mail varchar(9))",
		"CREATE TABLE addresses (id int PRIMARY KEY, person int NOT NULL, street varchar(20), is_primary "+flag+", created_at "+b.by("timestamptz", "datetime", "text")+
			b.by("", ", main_of int AS (CASE WHEN is_primary THEN person END) VIRTUAL", "")+", FOREIGN KEY (person) REFERENCES people (id))",
		"CREATE TABLE orders (id int PRIMARY KEY, shipped_to int NOT NULL, FOREIGN KEY (shipped_to) REFERENCES addresses (id))",
		"INSERT INTO people VALUES (1, 'a'), (2, 'a'), (3, 'b')",
		"INSERT INTO addresses (id, person, street, is_primary, created_at) VALUES (11, 1, 'Old Road', true, '2026-02-01'), (12, 2, 'New Street', true, '2026-01-01'), (13, 2, 'Side Way', false, '2026-03-01')",
		b.by("CREATE UNIQUE INDEX one_primary ON addresses (person) WHERE is_primary", "CREATE UNIQUE INDEX one_primary ON addresses (main_of)", "CREATE UNIQUE INDEX one_primary ON addresses (person) WHERE is_primary"),
		"INSERT INTO orders VALUES (101, 12)")
}

// A unique key over the reference alone does not say that two children are the same: without a word about them, their group is
// refused, and the plan says how many and in what they differ. With one, the others give up the flag, or are merged.
func TestOnlyOneForEachParent(t *testing.T) {
	t.Parallel()
	everywhere(t, func(b *bench) {
		b.primaries()
		q := request()
		p := b.plan("people", "mail", q)
		if c := p.Collisions; len(c) != 1 || c[0].Rows != 1 || c[0].Key != "one_primary" || !strings.HasPrefix(c[0].Does, "their groups are refused") || len(c[0].Differences) != 2 || c[0].Differences[0].String() != "street (not shown)" {
			b.Errorf("the plan says %+v", c)
		}
		all := "SELECT concat(id, '@', person, ' ', street, ' ', coalesce(" + b.by("is_primary::int", "is_primary", "is_primary") + ", 0)) FROM addresses ORDER BY id"
		report := b.try(p)
		if len(report.Refusals) != 1 || !strings.Contains(report.Refusals[0].Reason, b.full("addresses")+" would be one of several where the unique key one_primary allows one") {
			b.Errorf("the refusals are %+v", report.Refusals)
		}
		b.want(all, "11@1 Old Road 1 12@2 New Street 1 13@2 Side Way 0")
		b.undo(report.Run)
		for _, one := range []struct{ yields, want, shipped, does string }{
			{"addresses=winner:is_primary=false", "11@1 Old Road 1 12@1 New Street 0 13@1 Side Way 0", "12", "get another is_primary; the winner's stays as it is"},
			{"addresses=oldest:is_primary=false", "11@1 Old Road 0 12@1 New Street 1 13@1 Side Way 0", "12", "get another is_primary; the oldest stays as it is"},
			{"addresses=newest: is_primary = NULL; street = 'moved'", "11@1 Old Road 1 12@1 moved 0 13@1 Side Way 0", "12", "get another is_primary, get another street; the newest stays as it is"},
			{"addresses=newest:street='a;b: c=d';is_primary=false", "11@1 Old Road 1 12@1 a;b: c=d 0 13@1 Side Way 0", "12", "get another street, get another is_primary; the newest stays as it is"},
			{"addresses=winner", "11@1 Old Road 1 13@1 Side Way 0", "11", "deleted, and kept in the audit"},
			{"addresses=oldest", "12@1 New Street 1 13@1 Side Way 0", "12", "deleted, and kept in the audit"},
		} {
			b.reversible(func() {
				q.Yields = []string{one.yields}
				p := b.plan("people", "mail", q)
				if c := p.Collisions[0]; c.Rows != 1 || c.Does != one.does {
					b.Errorf("with %s, the plan says %+v", one.yields, c)
				}
				run := b.merge(p).Run
				b.want(all, one.want)
				b.want("SELECT shipped_to FROM orders", one.shipped)
				b.undo(run)
			})
		}
		q.Yields = []string{"addresses=winner:street='same'"}
		report = b.try(b.plan("people", "mail", q))
		if len(report.Refusals) != 1 || !strings.Contains(report.Refusals[0].Reason, "what --child sets does not take the others out of the key") {
			b.Errorf("a value that leaves rows in the key: %+v", report.Refusals)
		}
	})
}

// A late row that would be the second of its kind yields as it would have in the merge. An undo cannot give two rows one place.
func TestLateRowYields(t *testing.T) {
	t.Parallel()
	everywhere(t, func(b *bench) {
		b.primaries()
		b.exec("ALTER TABLE people ADD merged_into int")
		q := marking()
		q.Yields = []string{"addresses=winner:is_primary=false"}
		p := b.plan("people", "mail", q)
		run := b.merge(p).Run
		b.exec("INSERT INTO addresses (id, person, street, is_primary) VALUES (14, 2, 'Late Lane', true)")
		report, err := b.in.Run(b.Context(), p, &dedupe.Options{By: "test"})
		noError(b.T, err)
		if report.Swept != 1 || len(report.Late) > 0 {
			b.Errorf("the sweep: %+v", report)
		}
		b.want("SELECT concat(id, '@', person) FROM addresses WHERE is_primary ORDER BY id", "11@1")
		if undone, err := b.in.Undo(b.Context(), dedupe.Target{Run: run}, &dedupe.Options{By: "test"}); err != nil || len(undone.Kept) != 1 || !strings.Contains(undone.Kept[0].Reason, "group 1 stays merged") {
			b.Errorf("both were primary at the same parent, and the undo says %+v, %v", undone, err)
		}
		b.want("SELECT concat(id, '@', person) FROM addresses WHERE is_primary ORDER BY id", "11@1")
	})
}

// Which unique keys say that rows are the same: those with more than the reference, and what it fixes.
func TestKeysThatTellRowsApart(t *testing.T) {
	t.Parallel()
	everywhere(t, func(b *bench) {
		b.exec("CREATE TABLE a (id int PRIMARY KEY, tenant_id int, account_id int, k varchar(9), pos int, UNIQUE (account_id, k))",
			"CREATE TABLE c (id int PRIMARY KEY, a_id int NOT NULL, tenant_id int, account_id int, main "+b.by("boolean", "tinyint(1)", "boolean")+", kind varchar(9), pos int, label varchar(9), gone varchar(9), is_home int NOT NULL, deleted_at varchar(9)"+
				b.by("", ", main_of int AS (if(main, a_id, NULL)) VIRTUAL, one int AS (CASE WHEN main THEN 1 END) VIRTUAL, named varchar(9) AS (lower(label)) VIRTUAL, live int AS (CASE WHEN gone IS NULL THEN 1 END) VIRTUAL", "")+
				", FOREIGN KEY (a_id) REFERENCES a (id))",
			"CREATE INDEX c_a ON c (a_id)", "INSERT INTO a VALUES (1, 1, 1, 'x', 1), (2, 1, 2, 'x', 1)")
		alone := []string{"(a_id)", "(a_id, main)", "(tenant_id, a_id)", "(a_id, account_id)", "(a_id, is_home)", "(a_id, deleted_at)"}
		more := []string{"(a_id, pos)", "(a_id, kind)", "(a_id, label, main)", "(a_id, tenant_id, pos)"}
		if b.Dialect == dialect.MySQL {
			alone = append(alone, "(main_of)", "(main_of, main)", "(a_id, one)", "(a_id, live)")
			more = append(more, "(a_id, named)", "(main_of, pos)", "(a_id, label, live)", "(a_id, label(3))")
		} else {
			alone = append(alone, "(a_id) WHERE main", "(a_id, main) WHERE main", "(a_id, kind) WHERE kind = 'home'", "(a_id, kind) WHERE kind = 'home' AND gone IS NULL", "(a_id, (CASE WHEN main THEN 1 END))", "(a_id, (1))",
				"((CASE WHEN main THEN a_id END))", "(a_id, (CASE WHEN pos > 3 THEN label ELSE 'x' END))", "(a_id, kind) WHERE kind = 'home' OR kind = 'home '", "(coalesce(a_id, 0))", "(a_id, (coalesce(deleted_at, '')))")
			more = append(more, "(a_id, pos) WHERE main", "(a_id, lower(label))", "(a_id, kind) WHERE gone IS NULL", "(a_id, kind) WHERE kind <> 'home'", "(a_id, pos) WHERE pos > 3", "(a_id, (label || kind))")
		}
		for _, keys := range []struct {
			all  []string
			does string
		}{{alone, "their groups are refused"}, {more, "deleted, and kept in the audit"}} {
			for _, key := range keys.all {
				columns, where, _ := strings.Cut(key, " WHERE ")
				if where != "" {
					where = " WHERE " + where
				}
				b.exec("CREATE UNIQUE INDEX k ON c " + columns + where)
				q := request()
				q.References = []string{"c.account_id to none"}
				p := b.plan("a", "k", q)
				if len(p.Collisions) != 1 || !strings.HasPrefix(p.Collisions[0].Does, keys.does) {
					b.Errorf("%s: %+v, want %s", key, p.Collisions, keys.does)
				}
				b.exec("DROP INDEX k" + b.by("", " ON c", ""))
			}
		}
	})
}

// What a request says of children that may be one is checked.
func TestYieldsAreChecked(t *testing.T) {
	t.Parallel()
	everywhere(t, func(b *bench) {
		b.primaries()
		for yields, want := range map[string]string{
			"addresses":                              "write TABLE= and winner, oldest or newest",
			"addresses=first":                        "write TABLE= and winner, oldest or newest",
			"addresses=winner:is_primary":            "write COLUMN=VALUE",
			"addresses=winner:street='a;b":           "what follows the colon is not SQL: line 1: ",
			"addresses=winner:primary=false":         "has no column primary",
			"addresses=winner:person=NULL":           "person of " + b.full("addresses") + " is a key or a reference, which stays",
			"addresses=winner:is_primary=is_primary": "child " + b.full("addresses") + ": is_primary: the database does not take the SQL of the request",
			"orders=winner":                          "no unique key of " + b.full("orders") + " is over a reference alone",
			"houses=winner":                          "the database has no table houses",
			"addresses=winner:PERSON=NULL":           "person of " + b.full("addresses") + " is a key or a reference, which stays",
		} {
			q := request()
			q.Yields = []string{yields}
			if _, err := b.tryPlan("people", "mail", q); err == nil || !strings.Contains(err.Error(), want) {
				b.Errorf("%s: %v, want %q", yields, err, want)
			}
		}
		q := request()
		q.Yields = []string{"addresses=winner", "addresses = newest:is_primary=false"}
		_, err := b.tryPlan("people", "mail", q)
		b.refused(err, "addresses is there twice")
		q.Yields = []string{"addresses=winner:IS_PRIMARY=false"}
		b.reversible(func() { b.undo(b.merge(b.plan("people", "mail", q)).Run) })
	})
}

// Rows whose key is the reference have one place at each parent, and so have theirs: a plan counts those that meet, at every depth.
func TestChainOfOnlyOnes(t *testing.T) {
	t.Parallel()
	everywhere(t, func(b *bench) {
		b.exec("CREATE TABLE people (id int PRIMARY KEY, mail varchar(9))",
			"CREATE TABLE profiles (person int PRIMARY KEY, bio varchar(9), FOREIGN KEY (person) REFERENCES people (id))",
			"CREATE TABLE avatars (profile int PRIMARY KEY, bio varchar(9), FOREIGN KEY (profile) REFERENCES profiles (person))",
			"CREATE TABLE thumbs (avatar int PRIMARY KEY, bio varchar(9), FOREIGN KEY (avatar) REFERENCES avatars (profile))",
			"CREATE TABLE clicks (id int PRIMARY KEY, thumb int NOT NULL, FOREIGN KEY (thumb) REFERENCES thumbs (avatar))",
			"INSERT INTO people VALUES (1, 'a'), (2, 'a'), (3, 'b'), (4, 'b')", "INSERT INTO profiles VALUES (1, 'p1'), (2, 'p2'), (4, 'p4')",
			"INSERT INTO avatars VALUES (1, 'a1'), (2, 'a2'), (4, 'a4')", "INSERT INTO thumbs VALUES (1, 't1'), (2, 't2'), (4, 't4')", "INSERT INTO clicks VALUES (1, 1), (2, 2), (3, 4)")
		q := request()
		for _, child := range []string{"profiles", "avatars", "thumbs"} {
			report := b.try(b.plan("people", "mail", q))
			if report.Merged != 1 || len(report.Refusals) != 1 || !strings.Contains(report.Refusals[0].Reason, "the row [\"2\"] of "+b.full(child)+" would be one of several where the unique key ") {
				b.Errorf("%s is not declared, and the run says %+v", child, report)
			}
			b.undo(report.Run)
			q.Yields = append(q.Yields, child+"=winner")
		}
		for _, child := range []string{"thumbs=newest", "thumbs=oldest"} {
			other := q
			other.Yields = []string{child}
			_, err := b.tryPlan("people", "mail", other)
			b.refused(err, "are named by the reference that moves, and only the winner's can stay: write thumbs=winner")
		}
		p := b.plan("people", "mail", q)
		if len(p.Collisions) != 3 {
			b.Fatalf("the plan says %+v", p.Collisions)
		}
		for _, c := range p.Collisions {
			if c.Rows != 1 || strings.Join(c.Sample, "") != `["1"]["2"]` || len(c.Differences) != 1 {
				b.Errorf("the plan says %+v", c)
			}
		}
		b.reversible(func() {
			run := b.merge(p).Run
			b.want("SELECT concat(avatar, bio) FROM thumbs ORDER BY avatar", "1t1 3t4")
			b.want("SELECT thumb FROM clicks ORDER BY id", "1 1 3")
			b.undo(run)
		})
	})
}
