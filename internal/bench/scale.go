package main

import (
	"bytes"
	"context"
	"database/sql"
	_ "embed"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the driver that fills the large file

	"github.com/semel-dev/semel/store/sqlitestore"
)

const (
	smallRecords   = 10_000
	aimScale       = 1.5
	aimResidentMiB = 200
	fillStep       = 1_000_000 // records a transaction
)

//go:embed fill.sql
var fillSQL string

// benchScale compares a store of ten thousand live records with one of ten
// million, and weighs a gateway in front of the large one.
func benchScale(ctx context.Context, s *settings) (*table, error) {
	small, large := filepath.Join(s.dir, "small.db"), filepath.Join(s.dir, "large.db")
	if err := fill(ctx, s.log, small, smallRecords); err != nil {
		return nil, err
	}
	if err := fill(ctx, s.log, large, s.records); err != nil {
		return nil, err
	}
	t := &table{title: fmt.Sprintf("sqlite: %d against %d live records (files of %s and %s)",
		smallRecords, s.records, fileSize(small), fileSize(large))}
	for _, callers := range []int{1, manyCallers} {
		one, err := compareScale(ctx, s, small, large, callers)
		if err != nil {
			return nil, err
		}
		t.rows = append(t.rows, one...)
	}
	resident, err := gatewayResident(ctx, s, large)
	if err != nil {
		return nil, err
	}
	t.rows = append(t.rows, row{
		"gateway, resident after 20 000 keyed POSTs on the large file", fmt.Sprintf("%d MiB", resident), "", "",
		fmt.Sprintf("≤ %d MiB", aimResidentMiB), verdictOf(resident <= aimResidentMiB),
	})
	return t, nil
}

func compareScale(ctx context.Context, s *settings, small, large string, callers int) ([]row, error) {
	a, err := sqlitestore.Open(ctx, small, nil)
	if err != nil {
		return nil, err
	}
	defer shut(a)
	b, err := sqlitestore.Open(ctx, large, nil)
	if err != nil {
		return nil, err
	}
	defer shut(b)
	prefix := strconv.Itoa(callers) + "-"
	samples, err := measure(ctx, s, []subject{
		{"small", newCycler(a, prefix, callers).run},
		{"large", newCycler(b, prefix, callers).run},
	})
	if err != nil {
		return nil, err
	}
	ratio := samples[1].nanos / samples[0].nanos
	name := fmt.Sprintf("claim + settle, %d callers, ", callers)
	return []row{
		{name + "small", nanosText(samples[0].nanos), allocsText(samples[0].allocs), "", "", noAim},
		{
			name + "large", nanosText(samples[1].nanos), allocsText(samples[1].allocs),
			fmt.Sprintf("%.2f× the small one", ratio), fmt.Sprintf("≤ %.1f×", aimScale), verdictOf(ratio <= aimScale),
		},
	}, nil
}

// fill makes a store with n live, completed records as the store itself would
// have written them, only not durably: record by record into the index, so that
// its pages are as full as those of an index that has grown.
func fill(ctx context.Context, log io.Writer, path string, n int) error {
	store, err := sqlitestore.Open(ctx, path, nil)
	if err != nil {
		return err
	}
	if err := store.Close(); err != nil {
		return err
	}
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		return err
	}
	defer shut(db)
	db.SetMaxOpenConns(1)
	for _, stmt := range []string{"PRAGMA journal_mode = OFF", "PRAGMA synchronous = OFF", "PRAGMA cache_size = -2097152"} {
		if _, err := db.ExecContext(ctx, stmt); err != nil {
			return err
		}
	}
	now := time.Now().UnixMilli()
	for from := 1; from <= n; from += fillStep {
		to := min(n, from+fillStep-1)
		say(log, "\rfilling %s: %d of %d records", filepath.Base(path), to, n)
		if _, err := db.ExecContext(ctx, fillSQL, from, to, now, now+(24*time.Hour).Milliseconds()); err != nil {
			return err
		}
	}
	defer say(log, " done\n")
	for _, stmt := range []string{
		"UPDATE meta SET fence = (SELECT max(fence) FROM records), count = (SELECT count(*) FROM records)",
		"PRAGMA journal_mode = WAL",
	} {
		if _, err := db.ExecContext(ctx, stmt); err != nil {
			return err
		}
	}
	return nil
}

func fileSize(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return "unknown size"
	}
	return fmt.Sprintf("%d MiB", info.Size()>>20)
}

// gatewayResident runs the real binary on the file, sends keyed requests
// through it and returns its resident memory in MiB.
func gatewayResident(ctx context.Context, s *settings, file string) (int, error) {
	binary := filepath.Join(s.dir, "semel")
	build := exec.CommandContext(ctx, "go", "build", "-o", binary, "github.com/semel-dev/semel/cmd/semel") //nolint:gosec // our own command.
	build.Stderr = s.log
	if err := build.Run(); err != nil {
		return 0, fmt.Errorf("build the gateway: %w", err)
	}
	upstream := httptest.NewServer(http.HandlerFunc(invoiceHandler))
	defer upstream.Close()
	front, err := freeAddress(ctx)
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var logs bytes.Buffer
	cmd := exec.CommandContext(ctx, binary, "gateway", "--upstream", upstream.URL, //nolint:gosec // our own binary.
		"--listen", front, "--admin", "127.0.0.1:0", "--store", "sqlite:"+file)
	cmd.Stderr = &logs
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("start the gateway: %w", err)
	}
	defer func() {
		cancel()
		_ = cmd.Wait() // killed on purpose
	}()
	load := newLoad("http://"+front+"/invoices", manyCallers, "resident")
	defer load.close()
	if err := load.ready(ctx); err != nil {
		return 0, fmt.Errorf("%w: %s", err, logs.String())
	}
	if err := load.run(ctx, 20_000); err != nil {
		return 0, err
	}
	return residentMiB(cmd.Process.Pid)
}

func residentMiB(pid int) (int, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, fmt.Errorf("read resident memory: %w", err)
	}
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, err := strconv.Atoi(strings.Fields(value)[0])
			return kib >> 10, err
		}
	}
	return 0, fmt.Errorf("no VmRSS in /proc/%d/status", pid)
}
