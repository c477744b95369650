package main

import "github.com/semel-dev/semel/internal/testserver/dbserver"

// guards are the mechanisms of package dbguard, the rules file and ids. Each names one of the promises D1 to D20,
// and counts for the one of the ten that it keeps for an application's own rows.
func guards() []mutant {
	const (
		postgres = dbserver.EnvPostgres
		mysql    = dbserver.EnvMySQL
	)
	of := func(mechanism string, promise int, file, old, with, server string, tests ...string) mutant {
		return mutant{"guard: " + mechanism, promise, "dbguard/" + file, old, with, "dbguard", tests, server}
	}
	return []mutant{
		of("a row is read as it is, not as the snapshot has it (D1)", 2, "create.go",
			`c.find(" LOCK IN SHARE MODE")`, `c.find("")`, mysql, "TestCreateOrReuseRepeatableRead"),
		of("what must not change does not (D2)", 6, "upsert.go",
			"refused := set(differ[:len(u.must)])", "refused := set(differ[:0])", "", "TestUpsert/sqlite"),
		of("a key is of what it was used for (D5)", 6, "dedup.go",
			"case found && string(asked) != string(fp[:]):", "case found && len(asked) != len(fp):", "", "TestDedupKeys/sqlite"),
		of("a change is of the version that was read (D6)", 1, "version.go",
			`add(" AND " + version + " = ").value(c.Version)`, `add(" AND " + version + " >= ").value(0)`, "", "TestVersionTellsApart/sqlite"),
		of("a row that is locked is locked (D7)", 1, "rowlock.go",
			"		forUpdate(how).first(ctx, tx, &one)", "		first(ctx, tx, &one)", postgres, "TestLockRowHeld"),
		of("only a free lock is taken (D10)", 1, "sql/lock_acquire_sqlite.sql",
			"WHERE l.lease_until_us <= {{now}} OR l.owner = excluded.owner", "WHERE true", "", "TestLockTable/sqlite"),
		of("a lock is renewed by its owner (D10)", 1, "sql/lock_renew.sql",
			"AND owner = {{3}} AND", "AND {{3}} IS NOT NULL AND", "", "TestLockTable/sqlite"),
		of("a lock's fences grow (D10)", 1, "sql/lock_acquire_sqlite.sql",
			"ELSE max(l.fence + 1, {{now}}) END", "ELSE l.fence END", "", "TestLockTable/sqlite"),
		of("a fence that is checked stays (D11)", 1, "sql/fence_check_postgresql.sql",
			" FOR KEY SHARE", "", postgres, "TestCheckFenceHoldsOffTakers"),
		of("a former holder's fence is refused (D11)", 1, "sql/fence_advance.sql",
			"WHERE f.fence <= excluded.fence", "WHERE true", "", "TestAdvanceFence/sqlite"),
		of("a token is consumed once (D12)", 1, "sql/token_consume.sql",
			"AND consumed_us = 0 AND", "AND consumed_us >= 0 AND", "", "TestTokens/sqlite"),
		of("a token expires (D12)", 2, "sql/token_consume.sql",
			" AND expires_us > {{now}}", " AND expires_us IS NOT NULL", "", "TestTokensExpire/sqlite"),
		{
			"guard: a message shows what show names (D3)", 5, "rules/message.go",
			` || !slices.Contains(u.Show, name) {`, ` {`,
			"rules",
			[]string{"TestMessageTellsNothing"},
			"",
		},
	}
}
