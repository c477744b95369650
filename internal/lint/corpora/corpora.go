package main

// corpus is a public project, at one commit.
type corpus struct {
	name, url, commit string
	parts             []part
}

// part is one dialect of a project.
type part struct {
	label, dialect string
	paths          []string // patterns of folders with the statements
	schema         []string // patterns of files that define the tables
	module, inside string   // a module of the project whose file, inside of it, defines more of them
	bare           bool     // without the schema
}

// corpora lists the projects: sqlc with PostgreSQL, constants of Go in two dialects, and templates in three.
func corpora() []corpus {
	hatchet := part{
		label: "hatchet, PostgreSQL", dialect: "postgresql", paths: []string{"pkg/repository"},
		schema: []string{"sql/schema/v0.sql", "sql/schema/v1-core.sql", "sql/schema/v1-olap.sql", "sql/schema/pg-stubs.sql", "pkg/repository/sqlcv1/concurrency-additional-tables.sql"},
		module: "github.com/hatchet-dev/pgoutbox", inside: "sqlc/schema.sql", // its triggers write to that
	}
	without := hatchet
	without.label, without.bare = "hatchet without its schema", true
	const plugins = "common/persistence/sql/sqlplugin/"
	return []corpus{
		{
			"hatchet", "https://github.com/hatchet-dev/hatchet", "89d130f303c9561442804c9c32b8748e699d5139",
			[]part{hatchet, without},
		},
		{
			"dendrite", "https://github.com/element-hq/dendrite", "08cac1ccf0a45471132ad24a29e3ec15643675fa",
			[]part{
				{label: "dendrite, PostgreSQL", dialect: "postgresql", paths: []string{"*/storage/postgres"}, schema: []string{"*/storage/postgres/*.go"}},
				{label: "dendrite, SQLite", dialect: "sqlite", paths: []string{"*/storage/sqlite3"}, schema: []string{"*/storage/sqlite3/*.go"}},
			},
		},
		{
			"temporal", "https://github.com/temporalio/temporal", "6805caea59e35d0611ed96be69641b8d86bff11c",
			[]part{
				{label: "temporal, MySQL", dialect: "mysql", paths: []string{plugins + "mysql"}, schema: []string{"schema/mysql/v8/*/schema.sql"}},
				{label: "temporal, PostgreSQL", dialect: "postgresql", paths: []string{plugins + "postgresql"}, schema: []string{"schema/postgresql/v12/*/schema.sql"}},
				{label: "temporal, SQLite", dialect: "sqlite", paths: []string{plugins + "sqlite"}, schema: []string{"schema/sqlite/v3/*/schema.sql"}},
			},
		},
	}
}
