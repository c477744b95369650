package main

import "github.com/semel-dev/semel/internal/testserver/dbserver"

// servers are the mechanisms that keep the promises over what servers do: their settings, and how they end transactions.
func servers() []mutant {
	return []mutant{
		{
			"mysqlstore: a snapshot that is too old is claimed in again", 1, "store/mysqlstore/txerrors.go",
			"case errDeadlock, errRecordChanged, errCertification:", "case errDeadlock, errCertification:",
			"store/mysqlstore",
			[]string{"TestTx/open,_serializable_snapshots/tx/race"},
			dbserver.EnvMySQL,
		},
		{
			"mysqlstore: no commit begins another transaction", 1, "store/mysqlstore/dsn.go", "		\"completion_type\":          noChain,\n", "",
			"store/mysqlstore",
			[]string{"TestCommitsAreNotChained"},
			dbserver.EnvMySQL,
		},
		{
			"mysqlstore: a batch that frees claims reads them in its transaction", 1, "store/mysqlstore/settlebatch.go",
			"if a.state == semel.StateCompleted || a.state == semel.StateCancelled {", "if a.state != semel.StateAbsent {",
			"store/mysqlstore",
			[]string{"TestBatchReleasesBeforeTheNextClaim"},
			dbserver.EnvMySQL,
		},
		{
			"guard: a snapshot that is too old is ErrSerialization (D11)", 1, "dbguard/retryable.go",
			"return c.number == mysqlRecordChanged || c.number", "return c.number",
			"dbguard",
			[]string{"TestAdvanceFenceInSnapshots/mysql,_snapshots"},
			dbserver.EnvMySQL,
		},
		{
			"redisstore: the server's settings are watched", 1, "store/redisstore/watch.go",
			"			s.note(s.life, risks, err)\n", "			_ = risks\n",
			"store/redisstore",
			[]string{"TestEvictionSwitchedOn"},
			dbserver.EnvRedis,
		},
		{
			"redisstore: a new connection has the server checked", 1, "store/redisstore/store.go",
			"		s.redialled()\n", "		_ = s\n",
			"store/redisstore",
			[]string{"TestEvictionAfterReconnect"},
			dbserver.EnvRedis,
		},
		{
			"gateway: /readyz is red while the store's server breaks a promise", 1, "gateway/admin.go",
			"if monitor != nil && monitor.Health() != nil {", "if monitor != nil && monitor == nil {",
			"cmd/semel",
			[]string{"TestReadyzSeesEviction"},
			dbserver.EnvRedis,
		},
	}
}
