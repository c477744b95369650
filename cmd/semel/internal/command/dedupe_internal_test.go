package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/semel-dev/semel/internal/cli"
	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/internal/testserver/databases"
)

// TestDedupe: plan, run, show, status and undo on a real database, with their exit codes.
func TestDedupe(t *testing.T) {
	t.Parallel()
	dsn := testserver.PostgresDatabase(t)
	conn, err := pgx.Connect(t.Context(), dsn)
	noError(t, err)
	t.Cleanup(func() { noError(t, conn.Close(context.WithoutCancel(t.Context()))) })
	_, err = conn.Exec(t.Context(), `CREATE TABLE customers (id int PRIMARY KEY, email text, phone text);
CREATE TABLE orders (id int PRIMARY KEY, customer_id int REFERENCES customers (id), total int);
INSERT INTO customers VALUES (1, 'a@x', NULL), (2, ' A@x', '12'), (3, 'b@x', NULL);
INSERT INTO orders VALUES (1, 1, 10), (2, 2, 20)`)
	noError(t, err)
	file := filepath.Join(t.TempDir(), "plan.json")
	step := func(code int, want string, args ...string) {
		t.Helper()
		got, stdout, stderr := semelCommand(t, append([]string{"dedupe"}, append(args, "--dsn", dsn)...)...)
		if got != code || !strings.Contains(stdout+stderr, want) {
			t.Errorf("semel dedupe %s: exit %d, want %d with %q:\n%s%s", strings.Join(args, " "), got, code, want, stdout, stderr)
		}
	}
	plan := []string{"plan", "--table", "customers", "--key", "lower(trim(email))", "--out", file}
	step(cli.ExitFound, "has no column merged_into", plan...)
	if _, err := os.Stat(file); err == nil {
		t.Error("a refused plan was written")
	}
	plan = append(plan, "--losers", "delete")
	step(cli.ExitUsage, "keep, fill, longest", append(plan, "--column", "phone=most")...)
	step(cli.ExitFine, "public.orders (customer_id)\tpublic.customers\t1\n", append(plan, "--column", "phone=fill", "--check", "orders.total")...)
	step(cli.ExitFine, `"winner": "oldest"`, append(plan, "--json")...)
	step(cli.ExitFine, "", "status")
	step(cli.ExitFine, "No guard was found.", "guard", "--remove")
	step(cli.ExitFine, "The guard of customers on public.customers is installed.", "guard", file, "--by", "ada")
	if _, err = conn.Exec(t.Context(), "INSERT INTO customers VALUES (9, ' b@X', NULL)"); err == nil || !strings.Contains(err.Error(), `"customers_email_key" (SQLSTATE 23505)`) {
		t.Errorf("a duplicate meets %v", err)
	}
	step(cli.ExitFine, "public.customers: semel_dedupe_guard_customers_insert", "status")
	step(cli.ExitFine, "Run 1: 1 loser merged, 0 open.", "run", file, "--by", "ada")
	step(cli.ExitFine, "No duplicates were found.", "run", file)
	step(cli.ExitFine, "public.customers has the unique index customers_email_key, which is valid.\nThe guard is removed.", "finish", file)
	step(cli.ExitFine, `"built":false`, "finish", file, "--json")
	step(cli.ExitFine, "No plan is written.", plan...)
	step(cli.ExitFine, `public.customers	["2"]	["1"]	1	1`, "show", "2")
	step(cli.ExitFound, "no row 3 was merged", "show", "3")
	step(cli.ExitFine, "ada\tfinished\t1\t0\t0\t0", "status")
	_, err = conn.Exec(t.Context(), "UPDATE orders SET customer_id = 3 WHERE id = 2")
	noError(t, err)
	step(cli.ExitFound, "let the guard take its place with --drop-index", "undo", "1")
	step(cli.ExitFound, `public.orders ["2"]: customer_id was changed since the merge`, "undo", "1", "--drop-index")
	step(cli.ExitFound, "such as 1 and 2 (merge them with semel dedupe run", "finish", file)
	step(cli.ExitFine, `"state":"installed"`, "guard", "--remove", "--json")
	step(cli.ExitFound, "was undone already", "undo", "1")
	step(cli.ExitFine, "undone", "status", "--json")
}

// TestErrorsOfRows: an error holds no value of a row, so that none steers the terminal on which it is printed.
func TestErrorsOfRows(t *testing.T) {
	t.Parallel()
	dsn := testserver.PostgresDatabase(t)
	conn, err := pgx.Connect(t.Context(), dsn)
	noError(t, err)
	t.Cleanup(func() { noError(t, conn.Close(context.WithoutCancel(t.Context()))) })
	_, err = conn.Exec(t.Context(), `CREATE TABLE people (id int PRIMARY KEY, name text); INSERT INTO people VALUES (1, E'\x1b[2J'), (2, E'\x1b[2J')`)
	noError(t, err)
	code, stdout, stderr := semelCommand(t, "dedupe", "plan", "--table", "people", "--key", "name", "--losers", "delete", "--winner", "order by name::int", "--out", filepath.Join(t.TempDir(), "plan"), "--dsn", dsn)
	if text := stdout + stderr; code != cli.ExitUsage || !strings.Contains(text, "SQLSTATE 22P02") || strings.Contains(text, "[2J") {
		t.Errorf("exit %d, want 2 and an error with the database's code, and without the value: %q", code, text)
	}
}

// TestDedupeInterrupted: an interrupt ends a pause of a real process between batches, and the same call goes on.
func TestDedupeInterrupted(t *testing.T) {
	t.Parallel()
	program, err := os.Executable()
	noError(t, err)
	for _, pause := range []struct {
		name  string
		flags []string
		done  int // losers that are merged by then
	}{
		{"rest", []string{"--rest", "1h"}, 250},
		{"lag", []string{"--pause-when-lag", "1s", "--lag-query", "SELECT 60"}, 0},
	} {
		t.Run(pause.name, func(t *testing.T) {
			t.Parallel()
			db := databases.Open(t, dialect.SQLite)
			db.Exec(t, "CREATE TABLE customers (id INTEGER PRIMARY KEY, email TEXT)", "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 600) INSERT INTO customers SELECT i, i % 300 FROM n")
			file := filepath.Join(t.TempDir(), "plan.json")
			if code, _, stderr := semelCommand(t, "dedupe", "plan", "--table", "customers", "--key", "email", "--losers", "delete", "--out", file, "--dsn", db.DSN); code != cli.ExitFine {
				t.Fatal(stderr)
			}
			run := []string{"dedupe", "run", file, "--dsn", db.DSN, "--by", "ada"}
			var stderr bytes.Buffer
			child := exec.CommandContext(t.Context(), program)
			child.Args, child.Stderr = append(append([]string{"semel"}, run...), pause.flags...), &stderr
			noError(t, child.Start())
			testserver.Eventually(t, "the run pauses", func() bool {
				var there bool
				var open, merged int
				noError(t, db.DB.QueryRowContext(t.Context(), "SELECT count(*) > 0 FROM sqlite_schema WHERE name = 'semel_dedupe_map'").Scan(&there))
				if there {
					noError(t, db.DB.QueryRowContext(t.Context(), "SELECT count(*) - coalesce(sum(state), 0), coalesce(sum(state), 0) FROM semel_dedupe_map").Scan(&open, &merged))
				}
				return open > 0 && merged == pause.done
			})
			noError(t, child.Process.Signal(os.Interrupt))
			ended, ok := errors.AsType[*exec.ExitError](child.Wait())
			if !ok || ended.ExitCode() != cli.ExitFound || !strings.Contains(stderr.String(), "stopped; what is done is done, and the next call goes on from there") {
				t.Errorf("the process ends with %v: %s", ended, stderr.String())
			}
			if code, stdout, stderr := semelCommand(t, run...); code != cli.ExitFine || !strings.Contains(stdout, fmt.Sprintf("Run 1, continued: %d losers merged, 0 open.", 300-pause.done)) {
				t.Errorf("the next call: exit %d: %s%s", code, stdout, stderr)
			}
		})
	}
}
