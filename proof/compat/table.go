package main

// table is one of the page's.
type table struct {
	kind    string // its place in the page's frame, and the heading of its rows
	columns []string
	rows    []target
}

func tables() []table {
	return []table{
		{"server", []string{"contract", "transactions", "guards", "rules", "lint --prove", "dedupe", "messages and flows", "failover"}, servers()},
		{"proxy", []string{"semel check", "answers that get lost", "the same over HTTP/2", "changed keys", "reload under load", "kill -9 under load"}, proxies()},
		{"browser", []string{"forms", "forms without scripts", "offline queue", "console"}, browsers()},
	}
}

// targets returns the rows of all tables.
func targets() (all []target) {
	for _, t := range tables() {
		all = append(all, t.rows...)
	}
	return all
}
