package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

const childApp = "app"

// runApp serves an application that knows nothing of keys: every POST makes a
// row, and the answer is its number. Its arguments are the address, and driver
// and DSN of the rows. It ends when it is killed.
func runApp(ctx context.Context, args []string, _, stderr io.Writer) int {
	if len(args) != 3 {
		say(stderr, "usage: torture %s ADDRESS DRIVER DSN\n", childApp)
		return 2
	}
	db, err := sql.Open(args[1], args[2])
	if err != nil {
		say(stderr, "app: %v\n", err)
		return 3
	}
	db.SetMaxOpenConns(16)
	server := &http.Server{
		Addr: args[0], ReadHeaderTimeout: 10 * time.Second,
		Handler: &app{db: db, driver: args[1]},
	}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		say(stderr, "app: %v\n", err)
		return 3
	}
	return 0
}

type app struct {
	db     *sql.DB
	driver string
}

// ServeHTTP makes a row. It answers 500 when it does not know whether it did.
func (a *app) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var wish struct {
		Name string `json:"name"`
	}
	if err := json.NewDecoder(r.Body).Decode(&wish); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	id, err := insertRow(r.Context(), a.db, a.driver, wish.Name)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.WriteHeader(http.StatusCreated)
	_, _ = fmt.Fprintln(w, id) // the client may have gone
}

// execer is a pool or a transaction.
type execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// insertRow makes the row that must be made once.
func insertRow(ctx context.Context, db execer, driver, name string) (id int64, err error) {
	body := strings.Repeat("x", 300)
	if driver == "pgx" {
		err = db.QueryRowContext(ctx, "INSERT INTO business (name, body) VALUES ($1, $2) RETURNING id", name, body).Scan(&id)
		return id, err
	}
	res, err := db.ExecContext(ctx, "INSERT INTO business (name, body) VALUES (?, ?)", name, body)
	if err != nil {
		return 0, err
	}
	return res.LastInsertId()
}
