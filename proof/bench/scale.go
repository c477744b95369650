package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/redis/rueidis"

	"github.com/semel-dev/semel/internal/cli/openstore"
)

const (
	scaleRecords = 100_000
	ticks        = 100 // of /proc/stat in a second
)

// usage holds what a store uses at a moment. Kept is on disk, or in memory for Redis; written is of its log, 0 for Redis.
type usage struct{ kept, written float64 }

// benchScale measures what an intent costs on each store, its claim and its settlement together.
func benchScale(ctx context.Context, s *settings) (*table, error) {
	stores, forget, err := overloadStores(ctx, s)
	if err != nil {
		return nil, err
	}
	defer forget()
	uses := map[string]func(context.Context, string) (usage, error){
		"SQLite": fileUsage, "log": fileUsage, "PostgreSQL": postgresUsage, "MariaDB": mysqlUsage, "Redis": redisUsage,
	}
	t := &table{Title: fmt.Sprintf("scale: %d intents by %d callers, %d bytes; CPU of client and server together", scaleRecords, manyCallers, rowBytes), Times: "an intent"}
	for _, store := range stores {
		if err := scaleOf(ctx, t, store, uses[store.name]); err != nil {
			return nil, fmt.Errorf("%s: %w", store.name, err)
		}
	}
	return t, nil
}

// scaleOf adds the rows of a store.
func scaleOf(ctx context.Context, t *table, s namedStore, use func(ctx context.Context, dsn string) (usage, error)) error {
	store, err := openstore.Open(ctx, s.dsn, nil)
	if err != nil {
		return err
	}
	defer shut(store)
	cycles := newCycler(store, "scale", manyCallers)
	if err := cycles.run(ctx, scaleRecords/10); err != nil { // warms up
		return err
	}
	before, err := use(ctx, s.dsn)
	if err != nil {
		return err
	}
	took, ran, err := timed(func() error { return cycles.run(ctx, scaleRecords) })
	if err != nil {
		return err
	}
	after, err := use(ctx, s.dsn)
	if err != nil {
		return err
	}
	again, ranAgain, err := timed(func() error { return newCycler(store, "scale", manyCallers).replay(ctx, scaleRecords) })
	if err != nil {
		return err
	}
	cpu, kept, written := ran/scaleRecords, (after.kept-before.kept)/scaleRecords, (after.written-before.written)/scaleRecords
	t.Rows = append(t.Rows,
		row{Subject: s.name + ", executed", Time: nanosText(took / scaleRecords), Allocs: nanosText(cpu) + " CPU", Against: fmt.Sprintf("keeps %.0f bytes, writes %.0f", kept, written)},
		row{Subject: s.name + ", replayed", Time: nanosText(again / scaleRecords), Allocs: nanosText(ranAgain/scaleRecords) + " CPU"})
	return nil
}

// timed returns the nanoseconds that work takes, and those that the processors of the machine worked meanwhile.
func timed(work func() error) (took, ran float64, err error) {
	before, err := machineTime()
	if err != nil {
		return 0, 0, err
	}
	began := time.Now()
	if err := work(); err != nil {
		return 0, 0, err
	}
	took = float64(time.Since(began))
	after, err := machineTime()
	return took, after - before, err
}

// machineTime returns the nanoseconds that all processors have worked.
func machineTime() (float64, error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, fmt.Errorf("this section runs on Linux only: %w", err)
	}
	first, _, _ := strings.Cut(string(text), "\n")
	var user, nice, system, idle, wait, irq, soft float64
	if _, err := fmt.Sscanf(first, "cpu %f %f %f %f %f %f %f", &user, &nice, &system, &idle, &wait, &irq, &soft); err != nil {
		return 0, fmt.Errorf("read /proc/stat: %w", err)
	}
	return (user + nice + system + irq + soft) * float64(time.Second) / ticks, nil
}

// fileUsage measures a store in this process. A log writes each place twice, zeros first.
func fileUsage(_ context.Context, dsn string) (u usage, err error) {
	kind, path, _ := strings.Cut(dsn, ":")
	text, err := os.ReadFile("/proc/self/io")
	if err != nil {
		return u, err
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "wchar: "); ok {
			u.written, err = strconv.ParseFloat(strings.TrimSpace(value), 64)
		}
	}
	if kind == "log" {
		u.kept = u.written / 2
		return u, err
	}
	info, failed := os.Stat(path)
	if failed == nil {
		u.kept = float64(info.Size())
	}
	if errors.Is(failed, fs.ErrNotExist) {
		failed = nil
	}
	return u, errors.Join(err, failed)
}

func postgresUsage(ctx context.Context, dsn string) (u usage, err error) {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return u, err
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	err = conn.QueryRow(ctx, "SELECT pg_database_size(current_database()), pg_current_wal_insert_lsn() - '0/0'::pg_lsn").Scan(&u.kept, &u.written)
	return u, err
}

func mysqlUsage(ctx context.Context, dsn string) (u usage, err error) {
	config, name, _ := strings.Cut(strings.TrimPrefix(dsn, "mysql://"), "/")
	own, err := mysql.ParseDSN(os.Getenv("SEMEL_TEST_MYSQL"))
	if err != nil {
		return u, fmt.Errorf("%s: %w", config, err)
	}
	own.DBName = name
	db, err := sql.Open("mysql", own.FormatDSN())
	if err != nil {
		return u, err
	}
	defer shut(db)
	err = db.QueryRowContext(ctx, "SELECT SUM(file_size) FROM information_schema.innodb_sys_tablespaces WHERE name LIKE CONCAT(DATABASE(), '/%')").Scan(&u.kept)
	if err != nil {
		return u, err
	}
	var status string
	err = db.QueryRowContext(ctx, "SHOW GLOBAL STATUS LIKE 'Innodb_os_log_written'").Scan(&status, &u.written)
	return u, err
}

func redisUsage(ctx context.Context, dsn string) (u usage, err error) {
	options, err := rueidis.ParseURL(dsn)
	if err != nil {
		return u, err
	}
	options.DisableCache = true
	client, err := rueidis.NewClient(options)
	if err != nil {
		return u, err
	}
	defer client.Close()
	text, err := client.Do(ctx, client.B().Info().Section("memory").Build()).ToString()
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(line, "used_memory:"); ok && err == nil {
			u.kept, err = strconv.ParseFloat(strings.TrimSpace(value), 64)
		}
	}
	return u, err
}
