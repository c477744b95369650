package dedupe_test

import (
	"strings"
	"testing"

	"github.com/semel-dev/semel/schema/dedupe"
)

// Columns that may refer to rows of a table without a foreign key are found by their names: in the singular, in camel case, with
// a role before, next to a column that names the table, in lists. Columns that refer to another table are not taken for one.
func TestSuspects(t *testing.T) {
	t.Parallel()
	everywhere(t, func(b *bench) {
		list, list2 := b.by("bigint[]", "json", "text"), b.by("text[]", "text", "json")
		b.exec("CREATE TABLE categories (id bigint PRIMARY KEY, name varchar(9) NOT NULL, parent_id bigint, merged_into bigint, merged_at "+b.by("timestamptz", "datetime", "text")+", merge_run bigint)",
			"CREATE TABLE category_groups (id bigint PRIMARY KEY, name varchar(9))",
			"CREATE TABLE posts (id bigint PRIMARY KEY, category_id bigint NOT NULL, main_category_id bigint, category_group_id bigint, known bigint, categories "+list+", category varchar(9), categorised bigint, category_count bigint, valid bigint, FOREIGN KEY (known) REFERENCES categories (id))",
			"CREATE TABLE comments (id bigint PRIMARY KEY, content_type_id int NOT NULL, object_id bigint NOT NULL, text varchar(9), kind varchar(9))",
			"CREATE TABLE files (id bigint PRIMARY KEY, res_model varchar(9), res_id bigint, size bigint)",
			"CREATE TABLE camel (id bigint PRIMARY KEY, categoryId bigint, ownerType varchar(9), ownerId bigint, CATEGORYIDS "+list2+")",
			"CREATE TABLE lines_of (id bigint PRIMARY KEY, entity_table varchar(9), entity_id bigint, table_name varchar(9), record_id bigint, created_at "+b.by("timestamptz", "datetime", "text")+")",
			"CREATE TABLE others (id bigint PRIMARY KEY, category_ids "+list2+", category_group_ids "+list+", tags "+list2+", categoryUUID bigint, category_id_text text, status_type varchar(9), status int, account_type varchar(9), account_id bigint)",
			"INSERT INTO categories (id, name) VALUES (1, 'a'), (2, 'a')")
		var got []string
		for _, line := range b.plan("categories", "name", marking()).Suspects {
			column, why, _ := strings.Cut(line, ": ")
			got = append(got, strings.ToLower(column[strings.Index(column, ".")+1:])+" "+strings.Fields(why)[0])
			if !strings.HasSuffix(line, " "+b.full("categories")) {
				b.Errorf("%s does not name the table", line)
			}
		}
		want := "camel.categoryid named, camel.ownerid next, camel.categoryids a, categories.parent_id named, comments.object_id next, files.res_id next, lines_of.entity_id next, lines_of.record_id next, " +
			"others.category_ids a, others.categoryuuid named, others.account_id next, posts.category_id named, posts.main_category_id named" + b.by(", posts.categories a", "", "")
		if text := strings.Join(got, ", "); text != want {
			b.Errorf("the suspects are\n%s, want\n%s", text, want)
		}
	})
}

// Rows of a child that are merged have suspects of their own: they are not deleted before the request says what each is, and what
// it says is followed, whatever else the column refers to.
func TestSuspectsOfChildren(t *testing.T) {
	t.Parallel()
	everywhere(t, func(b *bench) {
		list := b.by("bigint[]", "json", "json")
		b.exec("CREATE TABLE contact (id bigint PRIMARY KEY, email varchar(9) NOT NULL, merged_into bigint)",
			"CREATE TABLE membership (id bigint PRIMARY KEY, contact_id bigint NOT NULL, mtype int NOT NULL, UNIQUE (contact_id, mtype), FOREIGN KEY (contact_id) REFERENCES contact (id))",
			"CREATE TABLE line_item (id bigint PRIMARY KEY, entity_table varchar(12) NOT NULL, entity_id bigint NOT NULL, amount int NOT NULL)",
			"CREATE TABLE visit (id bigint PRIMARY KEY, membership_id bigint NOT NULL, amount int NOT NULL)",
			"CREATE TABLE grp (id bigint PRIMARY KEY, contact_ids "+list+", membership_ids "+list+")",
			"INSERT INTO contact (id, email) VALUES (1, 'a'), (2, 'a'), (3, 'b')", "INSERT INTO membership VALUES (1, 1, 1), (2, 2, 1), (3, 3, 1)",
			"INSERT INTO line_item VALUES (1, 'membership', 1, 10), (2, 'membership', 2, 50), (3, 'contact', 2, 5)", "INSERT INTO visit VALUES (1, 1, 1), (2, 2, 7), (3, 3, 1)")
		q := marking()
		_, err := b.tryPlan("contact", "email", q)
		b.refused(err, "rows of "+b.full("membership")+" would be deleted or get another key, and these columns may name them without a foreign key: grp.membership_ids, line_item.entity_id, visit.membership_id (")
		b.refused(err, `--reference "grp.membership_ids to none"`)
		q.References = []string{"line_item.entity_id to membership where entity_table = 'membership'", "visit.membership_id to membership"}
		_, err = b.tryPlan("contact", "email", q)
		b.refused(err, "without a foreign key: grp.membership_ids (")
		q.References = append(q.References, "grp.membership_ids to none")
		p := b.plan("contact", "email", q)
		if got := strings.Join(p.Suspects, "; "); len(p.Suspects) != 2 || strings.Contains(got, "membership") || !strings.Contains(got, "line_item.entity_id: next to entity_table, it may refer to rows of "+b.full("contact")) {
			b.Errorf("the marked contacts have the suspects %s", got)
		}
		q.References = append(q.References, "line_item.entity_id where entity_table = 'contact'")
		b.reversible(func() {
			run := b.merge(b.plan("contact", "email", q)).Run
			b.want("SELECT concat(entity_table, entity_id) FROM line_item ORDER BY id", "membership1 membership1 contact1")
			b.want("SELECT membership_id FROM visit ORDER BY id", "1 1 3")
			b.undo(run)
		})
		b.exec("CREATE TABLE more (id bigint PRIMARY KEY, membership_id bigint)")
		_, err = b.in.Run(b.Context(), p, &dedupe.Options{By: "test"})
		b.refused(err, "without a foreign key: more.membership_id (")
	})
}

// A row whose key is the reference gets another key even where its parent is only marked: a column that may name it has to be declared.
func TestSuspectsOfRowsThatGetAnotherKey(t *testing.T) {
	t.Parallel()
	everywhere(t, func(b *bench) {
		b.exec("CREATE TABLE people (id int PRIMARY KEY, mail varchar(9), merged_into int)",
			"CREATE TABLE profiles (person int PRIMARY KEY, FOREIGN KEY (person) REFERENCES people (id))",
			"CREATE TABLE roles (person int NOT NULL, role int NOT NULL, PRIMARY KEY (person, role), FOREIGN KEY (person) REFERENCES people (id), FOREIGN KEY (role) REFERENCES people (id))",
			"CREATE TABLE attachments (id int PRIMARY KEY, profile_id int NOT NULL)", "CREATE TABLE remarks (id int PRIMARY KEY, owner_type varchar(9), owner_id int)",
			"INSERT INTO people VALUES (1, 'a', NULL), (2, 'a', NULL)", "INSERT INTO profiles VALUES (2)", "INSERT INTO attachments VALUES (9, 2)", "INSERT INTO remarks VALUES (8, 'profile', 2)")
		q := marking()
		_, err := b.tryPlan("people", "mail", q)
		b.refused(err, "rows of "+b.full("profiles")+" would be deleted or get another key, and these columns may name them without a foreign key: attachments.profile_id, remarks.owner_id (")
		q.References = []string{"attachments.profile_id to profiles", "remarks.owner_id to profiles where owner_type = 'profile'"}
		b.reversible(func() {
			run := b.merge(b.plan("people", "mail", q)).Run
			b.want("SELECT person FROM profiles", "1")
			b.want("SELECT profile_id FROM attachments UNION ALL SELECT owner_id FROM remarks", "1 1")
			b.undo(run)
		})
	})
}

// A column has one meaning for each row: declarations that give it two are refused, whatever their order.
func TestDeclarationsContradict(t *testing.T) {
	t.Parallel()
	everywhere(t, func(b *bench) {
		b.exec("CREATE TABLE a (id int PRIMARY KEY, k varchar(9))", "CREATE TABLE b (id int PRIMARY KEY)",
			"CREATE TABLE c (id int PRIMARY KEY, kind varchar(9), a_id int, own_id int, FOREIGN KEY (own_id) REFERENCES a (id))", "INSERT INTO a VALUES (1, 'x'), (2, 'x')")
		for _, one := range []struct{ first, second, want string }{
			{"c.a_id", "c.a_id to b", "(leave out one, or say of each with a where which rows refer to it)"},
			{"c.a_id where kind = 'a'", "c.A_ID to b", "(leave out one, or say of each with a where which rows refer to it)"},
			{"c.a_id where kind = 'a'", "c.a_id to b where kind = 'a'", "(leave out one, or say of each with a where which rows refer to it)"},
			{"c.a_id", "c.a_id to none", "(leave out one, or say of each with a where which rows refer to it)"},
			{"c.a_id where kind = 'a'", "c.a_id to none", ""},
			{"c.a_id", "c.a_id to a", "is declared to " + b.full("a") + " twice (leave out one"},
			{"c.a_id", "c.a_id where kind = 'a'", "twice (leave out one, or say with a where of each"},
			{"c.a_id to none", "c.own_id to none", b.full("c") + ".own_id is declared to none, and is in a foreign key to " + b.full("a") + ", which moves (leave out the declaration)"},
			{"c.a_id where kind = 'a'", "c.a_id to b where kind = 'b'", ""},
		} {
			for _, both := range [][]string{{one.first, one.second}, {one.second, one.first}} {
				q := request()
				q.References = both
				_, err := b.tryPlan("a", "k", q)
				if one.want == "" && err != nil {
					b.Errorf("%v: %v", both, err)
				} else if one.want != "" {
					b.refused(err, one.want)
				}
			}
		}
	})
}

// A reference that is declared wrongly says how to write it.
func TestDeclarationsAreChecked(t *testing.T) {
	t.Parallel()
	b := setup(t, "CREATE TABLE a (id int PRIMARY KEY, k text)", "CREATE TABLE c (id int PRIMARY KEY, a_id int, a_ids int[])", "INSERT INTO a VALUES (1, 'x'), (2, 'x')")
	for reference, want := range map[string]string{
		"a_id":                      "write TABLE.COLUMN",
		"c.a_id to":                 "has no column a_id to",
		"c.a_id to none where true": "or TABLE.COLUMN to none",
		"c.a_id to b":               "the database has no table b",
		"c.b_id":                    "the table c has no column b_id",
		"c.a_ids":                   `c.a_ids is a list, which a merge does not change (--reference "c.a_ids to none" where that may be)`,
		"c.a_id,id to a":            "c has 2 columns, and a row of public.a is named by 1",
	} {
		q := request()
		q.References = []string{reference}
		_, err := b.tryPlan("a", "k", q)
		b.refused(err, want)
	}
}
