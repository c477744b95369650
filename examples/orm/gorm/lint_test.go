package gorm_test

import (
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/glebarez/sqlite"
	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"

	"github.com/semel-dev/semel/examples/orm/gorm/testdata/calls"
	"github.com/semel-dev/semel/lint"
	"github.com/semel-dev/semel/lint/vet"
)

// semel lint judges the statements that GORM writes: those of the calls in testdata, but for the values and what is returned.
func TestStatements(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]gorm.Dialector{
		"postgresql": postgres.Open("host=localhost"),
		"mysql":      mysql.New(mysql.Config{DSN: "root@tcp(localhost)/", SkipInitializeWithVersion: true}),
		"sqlite":     sqlite.Open(":memory:"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, err := gorm.Open(open, &gorm.Config{DisableAutomaticPing: true, Logger: logger.Discard})
			if err != nil {
				t.Fatal(err)
			}
			if pool, err := db.DB(); err == nil {
				t.Cleanup(func() {
					if err := pool.Close(); err != nil {
						t.Error(err)
					}
				})
			}
			compare(t, name, db)
		})
	}
}

// compare fails where semel lint writes another statement than GORM.
func compare(t *testing.T, dialect string, db *gorm.DB) {
	t.Helper()
	file := filepath.Join("testdata", "calls", "calls.go")
	found, err := vet.Run(t.Context(), []string{file}, &lint.Options{Dialect: dialect, Models: true})
	if err != nil {
		t.Fatal(err)
	}
	written := map[int]string{}
	for _, f := range found {
		if f.File == filepath.ToSlash(file) {
			written[f.Line] = f.SQL
		}
	}
	for _, call := range calls.All() {
		_, line := runtime.FuncForPC(reflect.ValueOf(call).Pointer()).FileLine(reflect.ValueOf(call).Pointer())
		if written[line] == "" { // the call has a line of its own
			line++
		}
		if written[line] == "" {
			t.Errorf("line %d: semel lint wrote nothing", line)
			continue
		}
		dry := db.Session(&gorm.Session{DryRun: true, SkipDefaultTransaction: true})
		done := call(dry).Statement
		got, want := kind(written[line]), kind(done.SQL.String())
		if strings.HasPrefix(got, "INSERT") && strings.HasPrefix(want, "UPDATE") { // of Save, the upsert for a missing row, which a dry run does not reach
			want = kind(dry.Clauses(clause.OnConflict{UpdateAll: true}).Create(done.Dest).Statement.SQL.String())
		}
		if got != want {
			t.Errorf("line %d: semel lint wrote\n%s\nand GORM\n%s", line, got, want)
		}
	}
}

// kind is a statement without its values, the tables in front of its columns, and what it returns.
func kind(sql string) string {
	for _, r := range []struct{ from, to string }{
		{"`", `"`},
		{`\?`, "?"},
		{` RETURNING .*`, ""},
		{`;.*`, ""},
		{`IS NULL`, "IS_NULL"},
		{`(?i)CURRENT_TIMESTAMP|extract\(epoch from now\(\)\)::bigint|unix_timestamp\(\)|unixepoch\(\)|\$\d+|'[^']*'|\b\d+(\.\d+)?\b|\b(true|false|NULL)\b`, "?"},
		{`"(users|orders|categories)"\.`, ""},
		{`NOT \(([^()]*)\)`, "NOT $1"},
		{`\s*([=,()])\s*`, "$1"},
		{`\s+`, " "},
	} {
		sql = regexp.MustCompile(r.from).ReplaceAllString(sql, r.to)
	}
	return strings.TrimSpace(sql)
}
