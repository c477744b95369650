package main

// suite is one column of the page for one target: Go packages, or a configuration of Playwright's and its files.
type suite struct {
	column    string
	packages  []string
	config    string
	run, skip string // as go test and Playwright take them
	long      bool   // the long form of the tests
}

const (
	// transactions are the tests of transaction mode in the packages of the stores.
	transactions = "^(Test|Example)(Do|Tx|Exec|Run|Join|Together|Queries|SQL|Sealed|Nested|Work|Commit|Deadlock|Conflict|Isolation)"
	// notPostgres and notMySQL are the subtests of other databases.
	notPostgres = "/(mysql|mariadb|sqlite)"
	notMySQL    = "/(postgres.*|pgx.*|sqlite)"
)

func postgresSuites() []suite {
	return append([]suite{
		{column: "contract", packages: []string{"./store/pgstore"}, skip: transactions},
		{column: "transactions", packages: []string{"./store/pgstore"}, run: transactions},
		{column: "failover", packages: []string{"./proof/integration/failover"}},
	}, sqlSuites(notPostgres)...)
}

// poolerSuites leave out the tests of what a session keeps, those that set search_path when they connect, and those that end servers.
func poolerSuites() []suite {
	return []suite{
		{column: "contract", packages: []string{"./store/pgstore"}, run: "^TestStore(UnderFaults)?$|^TestGroupCommit$"},
		{column: "transactions", packages: []string{"./store/pgstore"}, run: "^Test(Tx|Exec|Do|TxSQL|Join.*)$"},
		{column: "rules", packages: []string{"./schema/internal/serversql", "./schema/catalog", "./schema/verify", "./schema/internal/plan"}, skip: notPostgres},
		{column: "messages and flows", packages: []string{"./outbox", "./inbox", "./flow"}, skip: notPostgres},
	}
}

func mysqlSuites() []suite {
	return append([]suite{
		{column: "contract", packages: []string{"./store/mysqlstore"}, skip: transactions, long: true},
		{column: "transactions", packages: []string{"./store/mysqlstore"}, run: transactions},
	}, sqlSuites(notMySQL)...)
}

// sqlSuites run on every SQL database.
func sqlSuites(skip string) []suite {
	return []suite{
		{column: "guards", packages: []string{"./dbguard"}, skip: skip},
		{column: "rules", packages: []string{"./schema/internal/serversql", "./schema/catalog", "./schema/verify", "./schema/internal/plan"}, skip: skip},
		{column: "lint --prove", packages: []string{"./lint/internal/rerun"}, skip: skip},
		{column: "dedupe", packages: []string{"./schema/dedupe"}, skip: skip},
		{column: "messages and flows", packages: []string{"./outbox", "./inbox", "./flow"}, skip: skip},
	}
}

// replication are the tests that lose a server of Redis.
const replication = "Failover|Replica|Demoted|NodeOfACluster"

func redisSuites() []suite {
	return []suite{
		{column: "contract", packages: []string{"./store/redisstore"}, skip: replication + "|Cluster|Slot|Reshard"},
		{column: "guards", packages: []string{"./dbguard/redisguard"}},
		{column: "failover", packages: []string{"./store/redisstore"}, run: replication, skip: "Cluster"},
	}
}

func clusterSuites() []suite {
	return []suite{
		{column: "contract", packages: []string{"./store/redisstore"}, run: "Cluster|Slot|Reshard", skip: replication, long: true},
		{column: "failover", packages: []string{"./store/redisstore"}, run: "(Replica|Node).*Cluster", long: true},
	}
}
