//go:build cgo

// Package mattn_test is about SQLite in C, by cgo.
package mattn_test

import (
	"database/sql"
	"path/filepath"
	"testing"

	_ "github.com/mattn/go-sqlite3"

	"github.com/semel-dev/semel/proof/integration/sqlitedrivers"
	"github.com/semel-dev/semel/store/storetest"
)

func open(path string) (*sql.DB, error) {
	return sql.Open("sqlite3", "file:"+filepath.ToSlash(path)+"?_busy_timeout=5000&_journal_mode=WAL&_synchronous=OFF")
}

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, sqlitedrivers.Open(open).Instance)
}

func TestTx(t *testing.T) {
	t.Parallel()
	storetest.RunTx(t, sqlitedrivers.Open(open).TxInstance)
}
