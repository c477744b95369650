package dbguard_test

import (
	"context"
	"strconv"
	"strings"
	"testing"

	"github.com/semel-dev/semel/internal/guardtest"
)

// The counter-example of every guard's race: to look first and to write then, each
// in a statement of its own, loses it on every database. A race that survives this shows nothing.
func TestLookThenWriteLoses(t *testing.T) {
	t.Parallel()
	const keys = 20
	for what, naive := range map[string]struct {
		table, row  string // as it is before
		look, write string // look for what is not 0, and then write
		lost        string // counts the keys that were not written once
	}{
		"a key": {
			"CREATE TABLE t (id int)", "",
			"SELECT CASE WHEN count(*) = 0 THEN 1 ELSE 0 END FROM t WHERE id = {key}", "INSERT INTO t VALUES ({key})",
			"SELECT count(*) FROM (SELECT id FROM t GROUP BY id HAVING count(*) > 1) AS g",
		},
		"a balance": {
			"CREATE TABLE t (id int PRIMARY KEY, balance int)", "INSERT INTO t VALUES ({key}, 150)",
			"SELECT count(*) FROM t WHERE balance >= 100 AND id = {key}", "UPDATE t SET balance = balance - 100 WHERE id = {key}",
			"SELECT count(*) FROM t WHERE balance < 0",
		},
		"a version": {
			"CREATE TABLE t (id int PRIMARY KEY, version int)", "INSERT INTO t VALUES ({key}, 1)",
			"SELECT count(*) FROM t WHERE version = 1 AND id = {key}", "UPDATE t SET version = version + 1 WHERE id = {key}",
			"SELECT count(*) FROM t WHERE version > 2",
		},
		"a state": {
			"CREATE TABLE t (id int PRIMARY KEY, status varchar(9), moves int)", "INSERT INTO t VALUES ({key}, 'new', 0)",
			"SELECT count(*) FROM t WHERE status = 'new' AND id = {key}", "UPDATE t SET status = 'paid', moves = moves + 1 WHERE id = {key}",
			"SELECT count(*) FROM t WHERE moves > 1",
		},
		"a stock": {
			"CREATE TABLE t (id int PRIMARY KEY, amount int, sold int)", "INSERT INTO t VALUES ({key}, 5, 0)",
			"SELECT amount FROM t WHERE id = {key}", "UPDATE t SET amount = {seen} - 1, sold = sold + 1 WHERE id = {key}",
			"SELECT count(*) FROM t WHERE sold > 5",
		},
		"a token": {
			"CREATE TABLE t (id int PRIMARY KEY, consumed int, effects int)", "INSERT INTO t VALUES ({key}, 0, 0)",
			"SELECT 1 - consumed FROM t WHERE id = {key}", "UPDATE t SET consumed = 1, effects = effects + 1 WHERE id = {key}",
			"SELECT count(*) FROM t WHERE effects > 1",
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			guardtest.Each(t, func(t *testing.T, db *guardtest.Database) {
				db.Run(t, naive.table)
				if naive.row != "" {
					db.Insert(t, keys, naive.row)
				}
				guardtest.Race(t, guardtest.Callers, keys, func(ctx context.Context, _, key int) error {
					id := strconv.Itoa(key)
					seen, err := guardtest.Number(ctx, db, strings.ReplaceAll(naive.look, "{key}", id))
					if err != nil || seen == 0 {
						return err
					}
					if err := guardtest.Meet(ctx); err != nil {
						return err
					}
					_, err = db.Exec(ctx, strings.NewReplacer("{key}", id, "{seen}", strconv.FormatInt(seen, 10)).Replace(naive.write))
					return err
				})
				if db.Number(t, naive.lost) == 0 {
					t.Error("every key was written once: the race shows nothing")
				}
			})
		})
	}
}
