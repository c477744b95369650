package mysqlstore_test

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/store/mysqlstore"
)

// childTx executes intents named after prefix, each with two rows, in several
// goroutines until it is killed, and prints what was acknowledged: "done NAME".
// Several processes with one prefix are duplicates of each other.
func childTx(dsn, prefix, how string) int {
	ctx := context.Background()
	s, err := openChild(ctx, dsn, how)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	g, err := semel.New(s, nil)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	var mu sync.Mutex // guards the lines
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for n := 0; ; n++ {
				name := fmt.Sprintf("%s-%d-%d", prefix, i, n)
				answer, err := mysqlstore.Do(ctx, g, key(name), asked(), func(ctx context.Context, tx *sql.Tx) (string, error) {
					if err := insert(ctx, tx, name); err != nil {
						return "", err
					}
					return "answer " + name, insert(ctx, tx, name)
				})
				if err != nil || answer != "answer "+name {
					fmt.Fprintln(os.Stderr, "do:", answer, err)
					return
				}
				mu.Lock()
				fmt.Fprintln(os.Stdout, "done", name)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return 1
}

func openChild(ctx context.Context, dsn, how string) (*mysqlstore.Store, error) {
	if how == "open" {
		return mysqlstore.Open(ctx, dsn, &mysqlstore.Options{MaxConns: 4})
	}
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(4)
	return mysqlstore.New(ctx, db, nil)
}

// Promise 4: processes that are killed at any instant leave rows and records
// that agree: two rows for each completed record, none without one, and all
// that was acknowledged.
func TestTxKilled(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"open", "new"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			b := setUpTx(t, door{}, nil)
			done := 0
			for round := range 4 {
				done += killPair(t, b, fmt.Sprint("round", round), how)
				b.wantAgreement(t)
				b.goesOn(t)
			}
			if done == 0 {
				t.Error("nothing was acknowledged: the test showed nothing")
			}
			t.Logf("%d acknowledged", done)
		})
	}
}

// killPair kills two processes that are twins, and says how much they did.
func killPair(t *testing.T, b *txBundle, prefix, how string) (done int) {
	t.Helper()
	var wg sync.WaitGroup
	var mu sync.Mutex // guards done
	for range 2 {
		cmd := childCommand(t, "tx", b.dsn, prefix, how)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			lines := bufio.NewReader(out)
			if _, err := lines.Peek(1); err != nil { // it works
				t.Error(err)
				return
			}
			killer := time.AfterFunc(time.Duration(20+rand.IntN(150))*time.Millisecond, func() { _ = cmd.Process.Kill() })
			defer killer.Stop()
			for scanner := bufio.NewScanner(lines); scanner.Scan(); {
				var name string
				if n, _ := fmt.Sscanf(scanner.Text()+"\n", "done %s\n", &name); n == 1 {
					mu.Lock()
					done++
					mu.Unlock()
				}
			}
			if err := cmd.Wait(); err == nil || err.Error() != "signal: killed" {
				t.Errorf("the child ended too early: %v", err)
			}
		})
	}
	wg.Wait()
	return done
}

// wantAgreement fails unless every completed record has its two rows, and
// every row its record.
func (b *txBundle) wantAgreement(t *testing.T) {
	t.Helper()
	settled(t, b.db)
	for what, query := range map[string]string{
		"records without their rows": `SELECT COUNT(*) FROM semel_record r WHERE state = 'completed'
AND (SELECT COUNT(*) FROM business WHERE business.name = CONVERT(r.name USING utf8mb4)) <> 2`,
		"rows without a record": `SELECT COUNT(*) FROM business
WHERE NOT EXISTS (SELECT 1 FROM semel_record r WHERE CONVERT(r.name USING utf8mb4) = business.name AND state = 'completed')`,
		"records that are not completed": "SELECT COUNT(*) FROM semel_record WHERE state <> 'completed'",
	} {
		if n := value(t, b.db, query); n != "0" {
			t.Errorf("%s %s", n, what)
		}
	}
	execute(t, b.db, "DELETE FROM semel_record")
	execute(t, b.db, "DELETE FROM business")
}

// settled waits until no transaction on the tables is open any more. LOCK
// TABLES waits for each of them; information_schema.INNODB_TRX would show them
// too, but keeps its contents for as long as it is read every 100 ms.
func settled(t *testing.T, db *sql.DB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c, err := db.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	for _, statement := range []string{"LOCK TABLES business WRITE, semel_record WRITE", "UNLOCK TABLES"} {
		if _, err := c.ExecContext(ctx, statement); err != nil {
			t.Fatalf("a transaction is still open: %s: %v", statement, err)
		}
	}
}

// The same for the server: what it had not committed when it was killed is
// gone, row and record.
func TestTxServerKilled(t *testing.T) {
	t.Parallel()
	server := testserver.StartMySQL(t, nil)
	cfg, err := mysql.ParseDSN(server.DSN())
	if err != nil {
		t.Fatal(err)
	}
	admin := quietPool(t, cfg.FormatDSN())
	execute(t, admin, "CREATE DATABASE app")
	cfg.DBName = "app"
	b := &txBundle{door: door{}, dsn: cfg.FormatDSN()}
	b.db = quietPool(t, b.dsn)
	execute(t, b.db, "CREATE TABLE business (n INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(300) NOT NULL) ENGINE = InnoDB")
	b.store, b.guard = b.second(t, &semel.Options{StoreTimeout: 100 * time.Millisecond})
	acknowledged := 0
	for round := range 3 {
		var wg sync.WaitGroup
		var mu sync.Mutex // guards acknowledged
		stop := make(chan struct{})
		for i := range 4 {
			wg.Go(func() {
				for n := 0; ; n++ {
					select {
					case <-stop:
						return
					default:
					}
					name := fmt.Sprintf("round%d-%d-%d", round, i, n)
					_, err := b.do(t.Context(), name, func(ctx context.Context, tx *sql.Tx) (string, error) {
						if err := insert(ctx, tx, name); err != nil {
							return "", err
						}
						return "answer", insert(ctx, tx, name)
					})
					if err == nil {
						mu.Lock()
						acknowledged++
						mu.Unlock()
					}
				}
			})
		}
		pause(t.Context(), time.Duration(50+rand.IntN(100))*time.Millisecond)
		server.Kill()
		close(stop)
		wg.Wait()
		server.Start()
		if n := value(t, b.db, "SELECT COUNT(*) FROM semel_record"); acknowledged > 0 && n == "0" {
			t.Error("what was acknowledged is gone")
		}
		b.wantAgreement(t)
	}
	if acknowledged == 0 {
		t.Error("nothing was acknowledged: the test showed nothing")
	}
}
