// Package ncruces_test is about SQLite in WebAssembly.
package ncruces_test

import (
	"database/sql"
	"path/filepath"
	"testing"

	_ "github.com/ncruces/go-sqlite3/driver"
	_ "github.com/ncruces/go-sqlite3/embed"

	"github.com/semel-dev/semel/proof/integration/sqlitedrivers"
	"github.com/semel-dev/semel/store/storetest"
)

func open(path string) (*sql.DB, error) {
	return sql.Open("sqlite3", "file:"+filepath.ToSlash(path)+"?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(OFF)")
}

func TestTx(t *testing.T) {
	t.Parallel()
	storetest.RunTx(t, sqlitedrivers.Open(open).TxInstance)
}
