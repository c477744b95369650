package main

import (
	"cmp"
	"context"
	"crypto/rand"
	_ "embed" // the statements below
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/semel-dev/semel/internal/bench/contest"
	"github.com/semel-dev/semel/internal/testserver/dbserver"
)

var (
	//go:embed sql/dedupe_tables.sql
	dedupeTables string
	//go:embed sql/dedupe_bare.sql
	dedupeBare string
)

const dedupeRule = `version: 1
unique:
  - {name: invoice_number, says: One number per tenant., table: invoice, scope: [tenant], fields: [number], except: [merged_into is set]}
`

const (
	aimBatches  = 1.5 // times the time of bare batches
	aimRowByRow = 20.0
	aimLock     = 250 * time.Millisecond
	aimMemory   = 200 // MiB
	// sampleLosers are merged row by row from a client, whose time for all of them is computed.
	sampleLosers = 1000
	// writers update rows while the program runs.
	writers = 4
	// networkTime is a round trip between two machines of a data centre.
	networkTime = 500 * time.Microsecond
)

// dedupeBench are copies of one database, on which each way merges the same duplicates.
type dedupeBench struct {
	server             *url.URL
	name, program, dir string
	admin              *pgx.Conn
	rows, losers       int
}

// benchDedupe merges the duplicates of a table: bare batches in a procedure, one row after the other from a client, and
// semel dedupe run, while others update rows.
func benchDedupe(rows int) func(context.Context, *contest.Settings) (*contest.Table, error) {
	return func(ctx context.Context, s *contest.Settings) (t *contest.Table, err error) {
		b := &dedupeBench{name: "bench_" + strings.ToLower(rand.Text()[:8]), dir: s.Dir, rows: rows, losers: rows / 20}
		dsn := os.Getenv("SEMEL_TEST_POSTGRES")
		if dsn == "" {
			return nil, fmt.Errorf("SEMEL_TEST_POSTGRES: %w", errNoServer)
		}
		if b.server, err = url.Parse(dsn); err != nil {
			return nil, err
		}
		if b.admin, err = pgx.Connect(ctx, dsn); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, b.drop(context.WithoutCancel(ctx))) }()
		if err := b.prepare(ctx); err != nil {
			return nil, err
		}
		t = &contest.Table{Title: fmt.Sprintf("dedupe: %d invoices on PostgreSQL, %d losers, 2 children of each, one of which collides", rows, b.losers), Times: "time"}
		return t, b.compare(ctx, t)
	}
}

func (b *dedupeBench) prepare(ctx context.Context) error {
	b.program = b.file("semel")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", b.program, "./cmd/semel").CombinedOutput(); err != nil { //nolint:gosec // the file lies in the folder of the benchmark.
		return fmt.Errorf("build semel: %w: %s", err, out)
	}
	if _, err := b.admin.Exec(ctx, "CREATE DATABASE "+b.name); err != nil {
		return err
	}
	if err := os.WriteFile(b.file("semel.yaml"), []byte(dedupeRule), 0o600); err != nil {
		return err
	}
	conn, err := pgx.Connect(ctx, b.at(b.name))
	if err != nil {
		return err
	}
	script := strings.ReplaceAll(strings.ReplaceAll(dedupeTables, "{rows}", fmt.Sprint(b.rows)), "{losers}", fmt.Sprint(b.losers))
	for statement := range strings.SplitSeq(script, ";\n") {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return errors.Join(fmt.Errorf("%s: %w", statement, err), conn.Close(ctx))
		}
	}
	return conn.Close(ctx)
}

// at is the DSN of a database of the server.
func (b *dedupeBench) at(name string) string {
	dsn := *b.server
	dsn.Path = "/" + name
	return dsn.String()
}

// copied calls work with a connection to a copy of the database.
func (b *dedupeBench) copied(ctx context.Context, work func(*pgx.Conn) error) (err error) {
	name := b.name + "_copy"
	for _, statement := range []string{"CREATE DATABASE " + name + " TEMPLATE " + b.name, "CHECKPOINT"} {
		if _, err := b.admin.Exec(ctx, statement); err != nil {
			return err
		}
	}
	defer func() {
		_, dropErr := b.admin.Exec(context.WithoutCancel(ctx), "DROP DATABASE "+name+" WITH (FORCE)")
		err = errors.Join(err, dropErr)
	}()
	conn, err := pgx.Connect(ctx, b.at(name))
	if err != nil {
		return err
	}
	return errors.Join(work(conn), conn.Close(ctx))
}

func (b *dedupeBench) drop(ctx context.Context) error {
	_, err := b.admin.Exec(ctx, "DROP DATABASE IF EXISTS "+b.name+" WITH (FORCE)")
	return errors.Join(err, b.admin.Close(ctx))
}

// compare measures the program and its rivals.
func (b *dedupeBench) compare(ctx context.Context, t *contest.Table) error {
	cells, err := b.bare(ctx, false)
	if err != nil {
		return err
	}
	rows, err := b.bare(ctx, true)
	if err != nil {
		return err
	}
	t.Rows = append(t.Rows,
		contest.Row{Subject: "bare batches of 1,000, which note changed cells", Time: seconds(cells)},
		contest.Row{Subject: "bare batches of 1,000, which also keep both rows whole", Time: seconds(rows)})
	if err := b.semel(ctx, t, cells, rows); err != nil {
		return err
	}
	return b.fromClient(ctx, t)
}

// bare finds the groups and merges them in a procedure of the server, with an audit of changed cells, and of whole rows.
func (b *dedupeBench) bare(ctx context.Context, keep bool) (took time.Duration, err error) {
	err = b.copied(ctx, func(conn *pgx.Conn) error {
		define, find, _ := strings.Cut(strings.ReplaceAll(dedupeBare, "{keep}", strconv.FormatBool(keep)), "-- measured\n")
		if _, err := conn.Exec(ctx, define); err != nil {
			return err
		}
		from := time.Now()
		for statement := range strings.SplitSeq(find, ";\n") {
			if _, err := conn.Exec(ctx, statement); err != nil {
				return fmt.Errorf("%s: %w", statement, err)
			}
		}
		took = time.Since(from)
		return b.merged(ctx, conn)
	})
	return took, err
}

// merged makes sure that a way did what it was measured for.
func (b *dedupeBench) merged(ctx context.Context, conn *pgx.Conn) error {
	var losers, lines, payments int
	err := conn.QueryRow(ctx, "SELECT (SELECT count(*) FROM invoice WHERE merged_into IS NOT NULL), (SELECT count(*) FROM line WHERE merged_into IS NOT NULL), "+
		"(SELECT count(*) FROM payment p JOIN invoice i ON i.id = p.invoice_id WHERE i.merged_into IS NOT NULL)").Scan(&losers, &lines, &payments)
	if err == nil && (losers != b.losers || lines != b.losers || payments != 0) {
		err = fmt.Errorf("%d invoices and %d lines were merged, want %d of both, and %d payments were left behind", losers, lines, b.losers, payments)
	}
	return err
}

// fromClient compares the program with a script that asks for each row: on one machine, and over a network.
func (b *dedupeBench) fromClient(ctx context.Context, t *contest.Table) (err error) {
	local := b.server.Host
	proxy, err := dbserver.OpenProxy(local, func(failed error) { err = errors.Join(err, failed) })
	if err != nil {
		return err
	}
	defer func() {
		b.server.Host = local
		proxy.Close()
	}()
	proxy.Latency(networkTime)
	for _, place := range []struct{ host, name string }{{local, "on the same machine"}, {proxy.Addr(), fmt.Sprintf("over a network whose round trip takes %v", networkTime)}} {
		b.server.Host = place.host
		row, err := b.rowByRow(ctx)
		if err != nil {
			return err
		}
		took, _, err := b.alone(ctx)
		if err != nil {
			return err
		}
		faster := row.Seconds() / took.Seconds()
		t.Rows = append(t.Rows,
			contest.Row{Subject: fmt.Sprintf("row by row from a client %s (a sample of %d)", place.name, sampleLosers), Time: seconds(row)},
			contest.Row{Subject: "semel dedupe run " + place.name, Time: seconds(took), Against: fmt.Sprintf("%.0f × as fast as row by row", faster), Aim: fmt.Sprintf("≥ %.0f ×", aimRowByRow), Met: contest.VerdictOf(faster >= aimRowByRow)})
	}
	return nil
}

// rowByRow merges a sample as a script does that asks for each row, and returns the time of all losers.
func (b *dedupeBench) rowByRow(ctx context.Context) (all time.Duration, err error) {
	err = b.copied(ctx, func(conn *pgx.Conn) error {
		from := time.Now()
		for i := range sampleLosers {
			loser := int64(b.rows - b.losers + 1 + i)
			if err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error { return mergeOne(ctx, tx, loser) }); err != nil {
				return err
			}
		}
		all = time.Duration(float64(time.Since(from)) * float64(b.losers) / sampleLosers)
		return nil
	})
	return all, err
}

// mergeOne merges one invoice into the older one of its number; there is one, so no order makes the planner walk the table.
func mergeOne(ctx context.Context, tx pgx.Tx, loser int64) error {
	var winner int64
	err := tx.QueryRow(ctx, "SELECT w.id FROM invoice l JOIN invoice w ON w.tenant = l.tenant AND w.number = l.number AND w.id < l.id WHERE l.id = $1 FOR UPDATE", loser).Scan(&winner)
	if err != nil {
		return err
	}
	for table, live := range map[string]string{"payment": "", "line": " AND merged_into IS NULL"} { // as its index has it
		found, err := tx.Query(ctx, "SELECT id FROM "+table+" WHERE invoice_id = $1"+live, loser)
		if err != nil {
			return err
		}
		ids, err := pgx.CollectRows(found, pgx.RowTo[int64])
		if err != nil {
			return err
		}
		for _, id := range ids {
			if err := moveOne(ctx, tx, table, id, loser, winner); err != nil {
				return err
			}
		}
	}
	return merge(ctx, tx, "invoice", loser, winner)
}

// moveOne moves a child, or merges it where the winner has one of the same place.
func moveOne(ctx context.Context, tx pgx.Tx, table string, id, loser, winner int64) error {
	if table == "line" {
		var other int64
		err := tx.QueryRow(ctx, "SELECT o.id FROM line o JOIN line l ON l.pos = o.pos WHERE l.id = $1 AND o.invoice_id = $2 AND o.merged_into IS NULL", id, winner).Scan(&other)
		switch {
		case err == nil:
			return merge(ctx, tx, table, id, other)
		case !errors.Is(err, pgx.ErrNoRows):
			return err
		}
	}
	//semel:safe the rows are those of a copy that is dropped
	if _, err := tx.Exec(ctx, "UPDATE "+table+" SET invoice_id = $2 WHERE id = $1", id, winner); err != nil {
		return err
	}
	return note(ctx, tx, table, id, "invoice_id", fmt.Sprint(loser), winner)
}

func merge(ctx context.Context, tx pgx.Tx, table string, id, into int64) error {
	//semel:safe the second run writes the same
	if _, err := tx.Exec(ctx, "UPDATE "+table+" SET merged_into = $2 WHERE id = $1", id, into); err != nil {
		return err
	}
	return note(ctx, tx, table, id, "merged_into", "", into)
}

func note(ctx context.Context, tx pgx.Tx, table string, id int64, column, before string, after int64) error {
	//semel:safe the rows are those of a copy that is dropped
	_, err := tx.Exec(ctx, "INSERT INTO audit (tbl, pk, col, o, n) VALUES ($1, $2, $3, $4, $5)", table, id, column, before, fmt.Sprint(after))
	return err
}

// alone runs the program on a copy that nothing else uses.
func (b *dedupeBench) alone(ctx context.Context) (took time.Duration, memory float64, err error) {
	err = b.planned(ctx, func() (err error) {
		took, memory, err = b.call(ctx, "run", b.file("plan.json"), "--by", "bench")
		return err
	})
	return took, memory, err
}

// planned calls work on a copy with a plan, which it must carry out.
func (b *dedupeBench) planned(ctx context.Context, work func() error) error {
	return b.copied(ctx, func(conn *pgx.Conn) error {
		if _, _, err := b.call(ctx, "plan", "--rules", b.file("semel.yaml"), "--out", b.file("plan.json")); err != nil {
			return err
		}
		if _, err := b.admin.Exec(ctx, "CHECKPOINT"); err != nil {
			return err
		}
		return cmp.Or(work(), b.merged(ctx, conn))
	})
}

// semel measures the program: alone, and then while others write.
func (b *dedupeBench) semel(ctx context.Context, t *contest.Table, cells, rows time.Duration) error {
	took, memory, err := b.alone(ctx)
	if err != nil {
		return err
	}
	var usual, longest time.Duration
	err = b.planned(ctx, func() (err error) {
		usual, longest, err = b.underWriters(ctx)
		return err
	})
	if err != nil {
		return err
	}
	against := func(bare time.Duration, what string) contest.Row {
		times := took.Seconds() / bare.Seconds()
		return contest.Row{Subject: "semel dedupe run", Time: seconds(took), Against: fmt.Sprintf("%.2f × the bare batches %s", times, what), Aim: fmt.Sprintf("≤ %.1f ×", aimBatches), Met: contest.VerdictOf(times <= aimBatches)}
	}
	t.Rows = append(t.Rows, against(cells, "that note cells"), against(rows, "that keep whole rows, as it does"),
		contest.Row{Subject: "its memory", Time: fmt.Sprintf("%.0f MiB", memory), Aim: fmt.Sprintf("≤ %d MiB", aimMemory), Met: contest.VerdictOf(memory <= aimMemory)},
		contest.Row{Subject: fmt.Sprintf("longest update of %d writers meanwhile", writers), Time: contest.NanosText(float64(longest)), Against: "without it: " + contest.NanosText(float64(usual)), Aim: fmt.Sprintf("≤ %v", aimLock), Met: contest.VerdictOf(longest <= aimLock)},
	)
	return nil
}

func (b *dedupeBench) file(name string) string { return filepath.Join(b.dir, name) }

// call runs the program on the copy, and returns its time and its memory in MiB.
func (b *dedupeBench) call(ctx context.Context, verb string, args ...string) (time.Duration, float64, error) {
	cmd := exec.CommandContext(ctx, b.program, append([]string{"dedupe", verb, "--dsn", b.at(b.name + "_copy")}, args...)...) //nolint:gosec // the program was just built.
	from := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		return 0, 0, fmt.Errorf("semel dedupe %s: %w: %s", verb, err, out)
	}
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0, 0, errors.New("this system does not say how much memory a program used")
	}
	return time.Since(from), float64(usage.Maxrss) / 1024, nil
}

// underWriters returns the longest update of writers, first without the program and then while it runs.
func (b *dedupeBench) underWriters(ctx context.Context) (usual, longest time.Duration, err error) {
	usual, err = b.writing(ctx, func() error {
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
		return ctx.Err()
	})
	if err != nil {
		return 0, 0, err
	}
	longest, err = b.writing(ctx, func() error {
		_, _, err := b.call(ctx, "run", b.file("plan.json"), "--by", "bench")
		return err
	})
	return usual, longest, err
}

// writing calls work while writers update payments and invoices that are merged, each row in turn, and returns the longest
// time of an update.
func (b *dedupeBench) writing(ctx context.Context, work func() error) (longest time.Duration, err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var mu sync.Mutex
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			one, failed := b.write(ctx, i)
			mu.Lock()
			defer mu.Unlock()
			longest, err = max(longest, one), errors.Join(err, failed)
		})
	}
	worked := work()
	stop()
	wg.Wait()
	return longest, errors.Join(worked, err)
}

// write updates rows until ctx ends.
func (b *dedupeBench) write(ctx context.Context, number int) (longest time.Duration, err error) {
	conn, err := pgx.Connect(ctx, b.at(b.name+"_copy"))
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	statements := []string{"UPDATE payment SET amount = amount + 0 WHERE id = $1", "UPDATE invoice SET tenant = tenant + 0 WHERE id = $1"}
	for i := number; ctx.Err() == nil; i += writers {
		from := time.Now()
		//semel:safe it writes what is there
		_, err := conn.Exec(context.WithoutCancel(ctx), statements[i/writers%len(statements)], b.rows-i%b.losers)
		if err != nil {
			return longest, err
		}
		longest = max(longest, time.Since(from))
	}
	return longest, nil
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }
