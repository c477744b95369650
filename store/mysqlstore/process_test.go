package mysqlstore_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/store/mysqlstore"
	"github.com/semel-dev/semel/store/storetest"
)

// processes share the tables of a database, and half of them bring a pool of
// their own. A place is a DSN.
func processes() storetest.Processes {
	return storetest.Processes{
		Name: "mysqlstore",
		Place: func(tb testing.TB) string {
			tb.Helper()
			dsn := testserver.MySQLDatabase(tb)
			execute(tb, quietPool(tb, dsn), business)
			return dsn
		},
		Open: func(ctx context.Context, dsn string) (semel.Store, error) {
			if rand.IntN(2) == 0 {
				return mysqlstore.Open(ctx, dsn, &mysqlstore.Options{MaxConns: 4, Together: rand.IntN(2) == 0})
			}
			db, err := sql.Open("mysql", dsn)
			if err != nil {
				return nil, err
			}
			db.SetMaxOpenConns(4)
			s, err := mysqlstore.New(ctx, db, nil)
			if err != nil {
				return nil, errors.Join(err, db.Close())
			}
			return &claimtest.Owned{Store: s, DB: db}, nil
		},
		Check: func(tb testing.TB, dsn string) { tb.Helper(); check(tb, quietPool(tb, dsn), "semel_") },
		Do: func(ctx context.Context, g *semel.Guard, name string) (string, error) {
			switch rand.IntN(3) {
			case 0:
				made, err := mysqlstore.Exec(ctx, g, key(name), asked(), insertSQL, name)
				return fmt.Sprint(made.LastInsertID), err
			case 1:
				made, err := mysqlstore.Run(ctx, g, key(name), asked(), []mysqlstore.Query{ask(name)}, func(all []mysqlstore.Result) (mysqlstore.Result, error) { return all[0], nil })
				return fmt.Sprint(made.LastInsertID), err
			}
			made, err := mysqlstore.Do(ctx, g, key(name), asked(), func(ctx context.Context, tx *sql.Tx) (made mysqlstore.Result, err error) {
				res, err := tx.ExecContext(ctx, insertSQL, name)
				if err == nil {
					made.LastInsertID, err = res.LastInsertId()
				}
				return made, err
			})
			return fmt.Sprint(made.LastInsertID), err
		},
		Rows: func(tb testing.TB, dsn string) map[string]int {
			tb.Helper()
			db := pool(tb, dsn, "group_concat_max_len=10000000")
			db.SetMaxOpenConns(1)
			// It waits for every transaction on them; INNODB_TRX would show those too,
			// but keeps its contents for as long as it is read every 100 ms.
			execute(tb, db, "LOCK TABLES business WRITE, semel_record WRITE")
			execute(tb, db, "UNLOCK TABLES")
			rows := map[string]int{}
			for name := range strings.FieldsSeq(value(tb, db, "SELECT COALESCE(GROUP_CONCAT(name SEPARATOR ' '), '') FROM business")) {
				rows[name]++
			}
			return rows
		},
	}
}

// business makes the table of the application's rows.
const business = "CREATE TABLE business (n INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(300) NOT NULL) ENGINE = InnoDB"

func TestProcesses(t *testing.T) {
	t.Parallel()
	storetest.RunProcesses(t, processes())
}
