package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/semel-dev/semel/internal/testserver"
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
	step(exitFound, "has no column merged_into", plan...)
	if _, err := os.Stat(file); err == nil {
		t.Error("a refused plan was written")
	}
	plan = append(plan, "--losers", "delete")
	step(exitFound, "keep, fill, longest", append(plan, "--column", "phone=most")...)
	step(exitFine, "public.orders (customer_id)\tpublic.customers\t1\t-", append(plan, "--column", "phone=fill", "--check", "orders.total")...)
	step(exitFine, `"winner": "oldest"`, append(plan, "--json")...)
	step(exitFine, "", "status")
	step(exitFine, "No guard was found.", "guard", "--remove")
	step(exitFine, "The guard of customers on public.customers is installed.", "guard", file, "--by", "ada")
	if _, err = conn.Exec(t.Context(), "INSERT INTO customers VALUES (9, ' b@X', NULL)"); err == nil || !strings.Contains(err.Error(), `"customers_email_key" (SQLSTATE 23505)`) {
		t.Errorf("a duplicate meets %v", err)
	}
	step(exitFine, "public.customers: semel_dedupe_guard_customers_insert", "status")
	step(exitFine, "Run 1: 1 loser merged, 0 open.", "run", file, "--by", "ada")
	step(exitFine, "No duplicates were found.", "run", file)
	step(exitFine, "public.customers has the unique index customers_email_key, which is valid.\nThe guard is removed.", "finish", file)
	step(exitFine, `"built":false`, "finish", file, "--json")
	step(exitFine, "No plan is written.", plan...)
	step(exitFine, `public.customers	["2"]	["1"]	1	1`, "show", "2")
	step(exitFound, "no row 3 was merged", "show", "3")
	step(exitFine, "ada\tfinished\t1\t0\t0\t0", "status")
	_, err = conn.Exec(t.Context(), "UPDATE orders SET customer_id = 3 WHERE id = 2")
	noError(t, err)
	step(exitFound, "let the guard take its place with --drop-index", "undo", "1")
	step(exitFound, `public.orders ["2"]: customer_id is 3, and the merge wrote 1`, "undo", "1", "--drop-index")
	step(exitFound, "such as 1 and 2 (merge them with semel dedupe run", "finish", file)
	step(exitFine, `"state":"installed"`, "guard", "--remove", "--json")
	step(exitFound, "was undone already", "undo", "1")
	step(exitFine, "undone", "status", "--json")
}

// TestErrorsOfRows: what a row holds does not steer the terminal on which an error is printed.
func TestErrorsOfRows(t *testing.T) {
	t.Parallel()
	dsn := testserver.PostgresDatabase(t)
	conn, err := pgx.Connect(t.Context(), dsn)
	noError(t, err)
	t.Cleanup(func() { noError(t, conn.Close(context.WithoutCancel(t.Context()))) })
	_, err = conn.Exec(t.Context(), `CREATE TABLE people (id int PRIMARY KEY, name text); INSERT INTO people VALUES (1, E'\x1b[2J'), (2, E'\x1b[2J')`)
	noError(t, err)
	code, stdout, stderr := semelCommand(t, "dedupe", "plan", "--table", "people", "--key", "name", "--losers", "delete", "--winner", "order by name::int", "--out", filepath.Join(t.TempDir(), "plan"), "--dsn", dsn)
	if text := stdout + stderr; code != exitUsage || !strings.Contains(text, `\u001b[2J`) || strings.Contains(text, "\x1b") {
		t.Errorf("exit %d, want 2 and an error with the value, and without its control sequence: %q", code, text)
	}
}
