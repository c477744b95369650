package sqlitetx_test

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
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

// raceKeys is how many intents several processes want at once.
const raceKeys = 100

// childRace opens the database, waits until its standard input ends, and
// prints the answer it got for every intent, in an order of its own.
func childRace(path, who string) int {
	db, err := openDatabase(path, "")
	if err != nil {
		return complain(err)
	}
	s, err := sqlitetx.Open(context.Background(), db, nil)
	if err != nil {
		return complain(err)
	}
	g, err := semel.New(s, &semel.Options{Policy: semel.Policy{Wait: time.Minute}})
	if err != nil {
		return complain(err)
	}
	fmt.Fprintln(os.Stdout, "ready")
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return complain(err)
	}
	for _, i := range rand.Perm(raceKeys) {
		name := fmt.Sprint("k", i)
		answer, err := sqlitetx.Do(context.Background(), g, key(name), sameRequest(), func(ctx context.Context, tx *sql.Tx) (string, error) {
			_, err := tx.ExecContext(ctx, "INSERT INTO rows (name) VALUES (?)", name)
			return who, err
		})
		if err != nil {
			return complain(err)
		}
		fmt.Fprintln(os.Stdout, name, answer)
	}
	if err := errors.Join(g.Close(), s.Close(), db.Close()); err != nil {
		return complain(err)
	}
	return 0
}

// Promises 2 and 4 between processes: each intent is executed once, and all
// processes get the same answer. The tables do not exist at first, so the
// processes also race to create them.
func TestProcessesShareOneFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "app.db")
	db := database(t, path, "")
	answers := make([]map[string]string, 3)
	start := make(chan struct{})
	var ready, done sync.WaitGroup
	ready.Add(len(answers))
	for i := range answers {
		done.Go(func() { answers[i] = raceOne(t, path, string(rune('a'+i)), &ready, start) })
	}
	ready.Wait()
	close(start)
	done.Wait()
	winners := map[string]int{}
	for i := range raceKeys {
		name := fmt.Sprint("k", i)
		winners[answers[0][name]]++
		for _, got := range answers {
			if got[name] == "" || got[name] != answers[0][name] {
				t.Errorf("%s: got %q and %q", name, got[name], answers[0][name])
			}
		}
		if n, err := count(t.Context(), db, name); err != nil || n != 1 {
			t.Errorf("%s: %d rows, error %v", name, n, err)
		}
	}
	t.Logf("executed by: %v", winners)
	verify(t, path)
}

// raceOne is one process of the race.
func raceOne(t *testing.T, path, who string, ready *sync.WaitGroup, start chan struct{}) map[string]string {
	t.Helper()
	cmd := childCommand(t, "race", path, who)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Error(err)
		ready.Done()
		return nil
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Error(err)
		ready.Done()
		return nil
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() || lines.Text() != "ready" {
		t.Errorf("process %s said %q", who, lines.Text())
	}
	ready.Done()
	<-start
	_ = in.Close()
	answers := map[string]string{}
	for lines.Scan() {
		name, answer, _ := strings.Cut(lines.Text(), " ")
		answers[name] = answer
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("process %s: %v", who, err)
	}
	return answers
}
