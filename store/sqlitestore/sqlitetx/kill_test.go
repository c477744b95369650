package sqlitetx_test

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/sqlitestore/sqlitetx"
)

func key(name string) semel.Key { return semel.Key{Scope: "tests", Name: name} }

// sameRequest is the fingerprint of every request: they differ by their keys.
func sameRequest() semel.Fingerprint { return semel.FingerprintOf("tests", "the same") }

// addRow is the work of most tests: one row, and an answer.
func addRow(ctx context.Context, g *semel.Guard, name string) (string, error) {
	return sqlitetx.Do(ctx, g, key(name), sameRequest(), func(ctx context.Context, tx *sql.Tx) (string, error) {
		if _, err := tx.ExecContext(ctx, "INSERT INTO rows (name) VALUES (?)", name); err != nil {
			return "", err
		}
		return "answer " + name, nil
	})
}

// childWork executes intents named after prefix, in order and in four
// goroutines, until it is killed, and prints the names of those it got an
// answer for. Its twin of the same prefix wants the same intents.
func childWork(path, prefix string) int {
	db, err := openDatabase(path, "")
	if err != nil {
		return complain(err)
	}
	s, err := sqlitetx.Open(context.Background(), db, nil)
	if err != nil {
		return complain(err)
	}
	g, err := semel.New(s, nil)
	if err != nil {
		return complain(err)
	}
	var mu sync.Mutex // guards standard output
	var wg sync.WaitGroup
	for lane := range 4 {
		wg.Go(func() {
			for i := 0; ; i++ {
				name := fmt.Sprintf("%s-%d-%d", prefix, lane, i)
				if _, err := addRow(context.Background(), g, name); err != nil {
					complain(err)
					return
				}
				mu.Lock()
				fmt.Fprintln(os.Stdout, name, ".")
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return 1
}

func complain(err error) int {
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// Promise 4: processes that are killed at any instant leave a record for every
// row and a row for every record, each once, whatever of the other process
// wanted the same, and no answer that was given is lost.
func TestKilled(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "app.db")
	db := database(t, path, "")
	s := mustOpen(t, db, nil)
	for round := range 8 {
		prefix := fmt.Sprint("round", round)
		answered := make([]map[string]bool, 2)
		var wg sync.WaitGroup
		for i := range answered {
			wg.Go(func() { answered[i] = killOne(t, path, prefix) })
		}
		wg.Wait()
		verify(t, path)
		names := wantRowsOfRecords(t, db, s)
		for i := range answered {
			for name := range answered[i] {
				if !names[name] {
					t.Errorf("%s was answered, but is not there", name)
				}
			}
		}
		t.Logf("round %d: %d and %d answered, %d rows in all", round, len(answered[0]), len(answered[1]), len(names))
		if len(answered[0])+len(answered[1]) == 0 {
			t.Error("nothing was answered: the round showed nothing")
		}
	}
	g := guard(t, s, nil)
	if _, err := addRow(t.Context(), g, "after all"); err != nil {
		t.Error(err)
	}
}

// killOne kills a child at some instant, and returns what it had answered.
func killOne(t *testing.T, path, prefix string) map[string]bool {
	t.Helper()
	cmd := childCommand(t, "work", path, prefix)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Error(err)
		return nil
	}
	lines := bufio.NewScanner(out)
	answered := map[string]bool{}
	var killer *time.Timer
	for lines.Scan() {
		if killer == nil { // counted from the first answer, however long the start took
			killer = time.AfterFunc(time.Duration(rand.IntN(150_000))*time.Microsecond, func() { _ = cmd.Process.Kill() })
		}
		if name, whole := strings.CutSuffix(lines.Text(), " ."); whole {
			answered[name] = true
		}
	}
	if err := cmd.Wait(); err == nil || err.Error() != "signal: killed" {
		t.Errorf("the child ended by itself: %v", err)
	}
	return answered
}

// wantRowsOfRecords fails unless every row has its completed record with its
// answer, and every record its row, each once. It returns their names.
func wantRowsOfRecords(t *testing.T, db *sql.DB, s *sqlitetx.Store) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	rows, err := db.QueryContext(t.Context(), "SELECT name, COUNT(*) FROM rows GROUP BY name")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		var n int
		if err := rows.Scan(&name, &n); err != nil {
			t.Fatal(err)
		}
		if n != 1 {
			t.Errorf("%s has %d rows", name, n)
		}
		names[name] = true
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	records := 0
	for p := (semel.ListParams{Outcomes: true}); ; {
		recs, err := s.List(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		for _, rec := range recs {
			records++
			p.Before = rec.Fence
			if rec.State != semel.StateCompleted || !names[rec.Name] || !strings.Contains(string(rec.Outcome), "answer "+rec.Name) {
				t.Errorf("the record of %s is %v with %q, and has a row: %v", rec.Name, rec.State, rec.Outcome, names[rec.Name])
			}
		}
		if len(recs) < semel.MaxListLimit {
			break
		}
	}
	if records != len(names) {
		t.Errorf("%d records, %d rows", records, len(names))
	}
	return names
}
