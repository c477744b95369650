//go:build unix

package dbguard_test

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/dbguard"
	"github.com/semel-dev/semel/dbguard/redisguard"
	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/internal/testserver/databases"
)

// pausedEnv makes this binary hold a lock as a process of its own: where the
// rows are and where the lock is, how it writes, and the two addresses.
const pausedEnv = "SEMEL_DBGUARD_HOLDER"

// pausedPlace names the store of a lock and the database that its holder writes.
type pausedPlace struct {
	rows  dbguard.Dialect
	redis string // host:port, and the prefix; empty where the lock is in the rows' database
	dsn   string
}

func (p *pausedPlace) open() (locks dbguard.LockStore, db dbguard.Database, end func(), err error) {
	driver := map[dbguard.Dialect]string{dbguard.PostgreSQL: "pgx", dbguard.MySQL: "mysql", dbguard.SQLite: "sqlite"}[p.rows]
	pool, err := sql.Open(driver, p.dsn)
	if err != nil {
		return nil, nil, nil, err
	}
	db = dbguard.SQLDatabase(p.rows, pool)
	if p.redis == "" {
		return dbguard.LockTable{}.On(db), db, func() { pool.Close() }, nil
	}
	addr, prefix, _ := strings.Cut(p.redis, " ")
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}, DisableCache: true})
	if err != nil {
		return nil, nil, nil, err
	}
	return redisguard.NewLocks(client, prefix), db, func() { client.Close(); pool.Close() }, nil
}

// write is a holder's transaction, in which it does or does not look at its fence.
func (p *pausedPlace) write(ctx context.Context, db dbguard.Database, fence semel.Fence, checked bool) error {
	return db.InTx(ctx, func(ctx context.Context, tx dbguard.Session) error {
		check := func() error { return (dbguard.LockTable{}).CheckFence(ctx, tx, "job", fence) }
		switch {
		case !checked:
			check = func() error { return nil }
		case p.redis != "":
			check = func() error { return (dbguard.FenceTable{}).Advance(ctx, tx, "job", fence) }
		}
		if err := check(); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, "INSERT INTO written (fence) VALUES ("+dialect.Dialect(tx.Dialect()).Placeholder(1)+")", int64(fence))
		return err
	})
}

func pausedPlaces() map[string]func(*testing.T) *pausedPlace {
	beside := func(d dbguard.Dialect) func(*testing.T) *pausedPlace {
		return func(t *testing.T) *pausedPlace {
			t.Helper()
			made := databases.Open(t, dialect.Dialect(d))
			db := dbguard.SQLDatabase(d, made.DB)
			makeLocks(t, db)
			made.Exec(t, "CREATE TABLE written (fence BIGINT NOT NULL)")
			dsn := strings.TrimPrefix(made.DSN, "mysql:")
			if d == dbguard.SQLite {
				dsn = "file:" + strings.TrimPrefix(dsn, "sqlite:") + "?_txlock=immediate&_pragma=busy_timeout(30000)"
			}
			return &pausedPlace{rows: d, dsn: dsn}
		}
	}
	return map[string]func(*testing.T) *pausedPlace{
		"postgresql": beside(dbguard.PostgreSQL),
		"mysql":      beside(dbguard.MySQL),
		"sqlite":     beside(dbguard.SQLite),
		"redis and postgresql": func(t *testing.T) *pausedPlace {
			t.Helper()
			p := beside(dbguard.PostgreSQL)(t)
			p.redis = testserver.Redis(t) + " " + testserver.RedisPrefix(t)
			return p
		},
	}
}

const pausedLease = time.Second

// TestHolder is the other process: it takes the lock, says so, waits for a
// line, and then writes.
func TestHolder(t *testing.T) {
	t.Parallel()
	words := strings.Split(os.Getenv(pausedEnv), "|")
	if len(words) != 4 {
		return // it was not requested
	}
	rows, err := dialect.Parse(words[0])
	if err != nil {
		t.Fatal(err)
	}
	p := &pausedPlace{rows: dbguard.Dialect(rows), redis: words[2], dsn: words[3]}
	locks, db, end, err := p.open()
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	locker := dbguard.NewLocker(locks)
	defer locker.Close()
	lock, err := locker.Lock(t.Context(), "job", &dbguard.LockOptions{Lease: pausedLease})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(os.Stdout, "held %d\n", lock.Fence())
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	writeErr := p.write(t.Context(), db, lock.Fence(), words[1] == "checked")
	<-lock.Context().Done()
	fmt.Fprintf(os.Stdout, "wrote %v, fenced %v, lost %v, unlocking lost %v\n", writeErr == nil, errors.Is(writeErr, dbguard.ErrFenced),
		errors.Is(context.Cause(lock.Context()), dbguard.ErrLost), errors.Is(lock.Unlock(t.Context()), dbguard.ErrLost))
}

// holder is the other process, once it holds the lock.
type holder struct {
	fence semel.Fence
	cmd   *exec.Cmd
	in    io.Writer
	out   *bufio.Scanner
}

func startHolder(t *testing.T, p *pausedPlace, mode string) *holder {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestHolder$")
	cmd.Env = append(os.Environ(), pausedEnv+"="+strings.Join([]string{p.rows.String(), mode, p.redis, p.dsn}, "|"))
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	noError(t, cmd.Start())
	h := &holder{cmd: cmd, in: in, out: bufio.NewScanner(out)}
	if _, err := fmt.Sscanf(h.line(t), "held %d", &h.fence); err != nil {
		t.Fatal(err)
	}
	return h
}

func (h *holder) line(t *testing.T) string {
	t.Helper()
	if !h.out.Scan() {
		t.Fatalf("the other process says nothing: %v", h.out.Err())
	}
	return h.out.Text()
}

func (h *holder) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	noError(t, h.cmd.Process.Signal(s))
}

// A holder that was suspended for longer than its lease wakes up and writes. The
// check of its fence refuses that; without it, the write counts.
func TestPausedHolder(t *testing.T) {
	t.Parallel()
	for name, place := range pausedPlaces() {
		for mode, want := range map[string]string{
			"checked":   "wrote false, fenced true, lost true, unlocking lost true",
			"unchecked": "wrote true, fenced false, lost true, unlocking lost true",
		} {
			t.Run(name+"/"+mode, func(t *testing.T) {
				t.Parallel()
				p := place(t)
				h := startHolder(t, p, mode)
				h.signal(t, syscall.SIGSTOP)
				fence := takeOver(t, p)
				if fence <= h.fence {
					t.Errorf("the second holder has fence %d, want more than %d", fence, h.fence)
				}
				h.signal(t, syscall.SIGCONT)
				if _, err := io.WriteString(h.in, "write\n"); err != nil {
					t.Fatal(err)
				}
				if got := h.line(t); got != want {
					t.Errorf("the paused holder: %s, want %s", got, want)
				}
				if err := h.cmd.Wait(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// The lock of a holder that was killed is free when its lease ends, for a
// holder with a greater fence.
func TestKilledHolder(t *testing.T) {
	t.Parallel()
	for name, place := range pausedPlaces() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := place(t)
			h := startHolder(t, p, "checked")
			h.signal(t, syscall.SIGKILL)
			if err := h.cmd.Wait(); err == nil {
				t.Error("the holder was not killed")
			}
			if fence := takeOver(t, p); fence <= h.fence {
				t.Errorf("the second holder has fence %d, want more than %d", fence, h.fence)
			}
		})
	}
}

// takeOver waits for the lock, writes under it and keeps it until the test ends.
func takeOver(t *testing.T, p *pausedPlace) semel.Fence {
	t.Helper()
	locks, db, end, err := p.open()
	if err != nil {
		t.Fatal(err)
	}
	locker := dbguard.NewLocker(locks)
	t.Cleanup(func() { locker.Close(); end() })
	lock, err := locker.Lock(t.Context(), "job", &dbguard.LockOptions{Wait: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.write(t.Context(), db, lock.Fence(), true); err != nil {
		t.Errorf("the present holder cannot write: %v", err)
	}
	return lock.Fence()
}
