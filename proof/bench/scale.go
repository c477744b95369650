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

	"github.com/semel-dev/semel/internal/bench/contest"
	"github.com/semel-dev/semel/internal/bench/cycle"
	"github.com/semel-dev/semel/internal/openstore"
)

const (
	scaleRecords = 100_000
	day          = 24 * time.Hour
	gigabyte     = 1e9
	ticks        = 100 // of /proc/stat in a second
)

// scaleRates returns the intents in a second that the section computes machines for.
func scaleRates() []int { return []int{1_000, 10_000, 100_000} }

// usage holds what a store uses at a moment. Kept is on disk, or in memory for Redis; written is of its log, 0 for Redis.
type usage struct{ kept, written float64 }

// scaled is a store with a way to ask what it uses.
type scaled struct {
	namedStore
	use func(ctx context.Context, dsn string) (usage, error)
}

// benchScale measures what an intent costs on each store, its claim and its settlement together, and computes what
// higher rates need.
func benchScale(ctx context.Context, s *contest.Settings) (*contest.Table, error) {
	stores, forget, err := overloadStores(ctx, s)
	if err != nil {
		return nil, err
	}
	defer forget()
	uses := map[string]func(context.Context, string) (usage, error){
		"SQLite": fileUsage, "log": fileUsage, "PostgreSQL": postgresUsage, "MariaDB": mysqlUsage, "Redis": redisUsage,
	}
	t := &contest.Table{Title: fmt.Sprintf("scale: %d intents by %d callers, %d bytes; CPU of client and server together", scaleRecords, manyCallers, cycle.OutcomeBytes), Times: "an intent"}
	for _, store := range stores {
		if err := scaleOf(ctx, t, scaled{store, uses[store.name]}); err != nil {
			return nil, fmt.Errorf("%s: %w", store.name, err)
		}
	}
	return t, nil
}

// scaleOf adds the rows of a store.
func scaleOf(ctx context.Context, t *contest.Table, s scaled) error {
	store, err := openstore.Open(ctx, s.dsn, nil)
	if err != nil {
		return err
	}
	defer shut(store)
	cycles := cycle.New(store, "scale", manyCallers)
	if err := cycles.Run(ctx, scaleRecords/10); err != nil { // warms up
		return err
	}
	before, err := s.use(ctx, s.dsn)
	if err != nil {
		return err
	}
	took, ran, err := timed(func() error { return cycles.Run(ctx, scaleRecords) })
	if err != nil {
		return err
	}
	after, err := s.use(ctx, s.dsn)
	if err != nil {
		return err
	}
	again, ranAgain, err := timed(func() error { return cycle.New(store, "scale", manyCallers).Replay(ctx, scaleRecords) })
	if err != nil {
		return err
	}
	cpu, kept, written := ran/scaleRecords, (after.kept-before.kept)/scaleRecords, (after.written-before.written)/scaleRecords
	t.Rows = append(t.Rows,
		contest.Row{Subject: s.name + ", executed", Time: contest.NanosText(took / scaleRecords), Allocs: contest.NanosText(cpu) + " CPU", Against: fmt.Sprintf("keeps %.0f bytes, writes %.0f", kept, written)},
		contest.Row{Subject: s.name + ", replayed", Time: contest.NanosText(again / scaleRecords), Allocs: contest.NanosText(ranAgain/scaleRecords) + " CPU"})
	for _, rate := range scaleRates() {
		perDay := float64(rate) * day.Seconds() / gigabyte
		t.Rows = append(t.Rows, contest.Row{
			Subject: fmt.Sprintf("%s, %d/s", s.name, rate), Time: fmt.Sprintf("%.1f CPUs", float64(rate)*cpu/1e9),
			Against: fmt.Sprintf("keeps %.0f GB for a day's retention, writes %.0f GB a day", perDay*kept, perDay*written),
		})
	}
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
