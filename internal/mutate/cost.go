package main

import "github.com/semel-dev/semel/internal/testserver/dbserver"

// costs keep what a statement or a list reads bounded (promise 8).
func costs() []mutant {
	bound := []string{"TestStore/list/bound"}
	plans := []string{"TestPlansSurviveTheTableGrowing"}
	return []mutant{
		{
			"pgstore: a batch of settlements has one way to its rows", 8, "store/pgstore/sql/settle_batch.sql",
			"r.fence + 0 = i.fence\n  AND r.digest || ''::bytea = i.digest", "r.fence = i.fence\n  AND r.digest = i.digest",
			"store/pgstore", plans, dbserver.EnvPostgres,
		},
		{
			"pgstore: a waiter has one way to its row", 8, "store/pgstore/sql/await.sql", "r.fence + 0 = live.fence", "r.fence = live.fence",
			"store/pgstore", plans, dbserver.EnvPostgres,
		},
		{
			"pgstore: a former holder in the batch of the present one", 1, "store/pgstore/settlebatch.go", "done[at] || fences[at] == fence", "true",
			"store/pgstore",
			[]string{"TestStore/race/settle-holders"},
			dbserver.EnvPostgres,
		},
		{
			"memstore: a list looks at a bounded number of records", 8, "store/memstore/lookup.go", "examined > 0 && examined+len(sh.entries) > p.Examine", "false",
			"store/memstore", bound, "",
		},
		{
			"sqlitestore: a list looks at a bounded number of records", 8, "internal/listing/listing.go", "&& few < p.Examine {\n\t\tpage, err = t.window(p, before, p.Examine)", "{\n\t\tpage, err = t.window(p, before, semel.MaxListExamined)",
			"store/sqlitestore", bound, "",
		},
		{
			"pgstore: a list reads no further than it may", 8, "internal/listing/listing.go", "count, last, err := t.Count(before, 0, n)", "count, last, err := t.Count(before, 0, semel.MaxListExamined)",
			"store/pgstore", bound, dbserver.EnvPostgres,
		},
		{
			"redisstore: a list looks at a bounded number of keys", 8, "store/redisstore/list.go", "keys -= step", "",
			"store/redisstore", bound, dbserver.EnvRedis,
		},
		removed("a pass of the unattended reconciliation is bounded", 8, "operator/unattended.go", "most -= list.Examine", "most -= 0",
			".", "TestUnattendedLooksAtABoundedNumber"),
		{
			"dbguard: a sweep's limit is worked out once", 8, "dbguard/sql/lock_sweep_postgresql.sql",
			"= ANY (ARRAY(\n  SELECT name FROM {{table}}\n  WHERE lease_until_us < {{now}} - $1::bigint AND fence < {{now}} - $1::bigint\n  LIMIT $2::bigint FOR UPDATE SKIP LOCKED\n))", "IN (\n  SELECT name FROM {{table}}\n  WHERE lease_until_us < {{now}} - $1::bigint AND fence < {{now}} - $1::bigint\n  LIMIT $2::bigint FOR UPDATE SKIP LOCKED\n)",
			"dbguard",
			[]string{"TestSweepsKeepTheirLimit"},
			dbserver.EnvPostgres,
		},
	}
}
