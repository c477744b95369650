package outbox_test

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/testserver/databases"
	"github.com/semel-dev/semel/outbox"
	"github.com/semel-dev/semel/store/sqlitestore"
)

const (
	folderVar = "SEMEL_OUTBOX_FOLDER" // makes the test binary a process with a relay
	driverVar = "SEMEL_OUTBOX_DRIVER" // and names the database by its driver
	sourceVar = "SEMEL_OUTBOX_SOURCE" // and its source

	killLease = 500 * time.Millisecond
)

func TestMain(m *testing.M) {
	if folder := os.Getenv(folderVar); folder != "" {
		if err := process(folder); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// process relays until it is killed.
func process(folder string) error {
	ctx := context.Background()
	db, err := sql.Open(os.Getenv(driverVar), os.Getenv(sourceVar))
	if err != nil {
		return err
	}
	out, err := outbox.Open(ctx, db, nil)
	if err != nil {
		return err
	}
	store, err := sqlitestore.Open(ctx, filepath.Join(folder, "leases.db"), nil)
	if err != nil {
		return err
	}
	guard, err := semel.New(store, nil)
	if err != nil {
		return err
	}
	to, err := openBook(folder)
	if err != nil {
		return err
	}
	relay, err := outbox.NewRelay(out, guard, to, &outbox.RelayOptions{Lease: killLease, Batch: 20, MinPause: time.Millisecond, MaxPause: 5 * time.Millisecond, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	return relay.Run(ctx)
}

// book is a publisher that writes each message as a line of a file: what is in it has
// arrived. Now and then it refuses one.
type book struct {
	mu   sync.Mutex // guards the file
	file *os.File
}

func openBook(folder string) (*book, error) {
	file, err := os.OpenFile(filepath.Join(folder, "book"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	return &book{file: file}, err
}

var errSometimes = errors.New("refused now and then")

// Publish implements [outbox.Publisher].
func (b *book) Publish(ctx context.Context, batch []outbox.Message) []error {
	errs := make([]error, len(batch))
	for i, m := range batch {
		switch {
		case ctx.Err() != nil:
			errs[i] = ctx.Err()
		case i > 0 && m.Key == batch[i-1].Key && errs[i-1] != nil, rand.IntN(50) == 0:
			errs[i] = errSometimes
		default:
			b.mu.Lock()
			_, errs[i] = fmt.Fprintf(b.file, "%s %s\n", m.Key, m.ID)
			b.mu.Unlock()
		}
	}
	return errs
}

// arrived returns the ids in the book, by key, in the order in which each arrived first.
func arrived(tb testing.TB, folder string) map[string][]string {
	tb.Helper()
	file, err := os.Open(filepath.Join(folder, "book"))
	claimtest.NoError(tb, err)
	defer file.Close()
	seen, all := map[string]bool{}, map[string][]string{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		key, id, _ := strings.Cut(lines.Text(), " ")
		if !seen[id] {
			seen[id] = true
			all[key] = append(all[key], id)
		}
	}
	return all
}

// TestRelaysKilled: writers commit and roll back, and two relays are killed by kill -9 and started again
// all the while. Every committed message arrives, none of a transaction that was rolled back, and
// those of a key in their order.
func TestRelaysKilled(t *testing.T) {
	t.Parallel()
	for _, driver := range []string{"sqlite", "pgx", "mysql"} {
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			relaysKilled(t, driver)
		})
	}
}

func relaysKilled(t *testing.T, driver string) {
	t.Helper()
	d := databases.Open(t, map[string]dialect.Dialect{"sqlite": dialect.SQLite, "pgx": dialect.PostgreSQL, "mysql": dialect.MySQL}[driver])
	source := strings.TrimPrefix(d.DSN, "mysql:")
	if driver == "sqlite" {
		source = "file:" + strings.TrimPrefix(d.DSN, "sqlite:") + "?_txlock=immediate&_pragma=busy_timeout(30000)"
	}
	folder := t.TempDir()
	p := at(t, d, nil)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	writing, written := context.WithCancel(ctx)
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			for ctx.Err() == nil {
				killed(ctx, writing, folder, driver, source)
			}
		})
	}
	want := writeAll(t, p)
	written()
	p.empties(t)
	stop()
	all.Wait()
	got := arrived(t, folder)
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if !slices.Equal(got[key], want[key]) {
			t.Errorf("key %s: got %d messages, want %d in their order\n%v\n%v", key, len(got[key]), len(want[key]), got[key], want[key])
		}
	}
	if len(got) != len(want) {
		t.Errorf("got %d keys, want %d", len(got), len(want))
	}
}

// killed runs a relay for a while, or to the end once all is written.
func killed(ctx, writing context.Context, folder, driver, source string) {
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), folderVar+"="+folder, driverVar+"="+driver, sourceVar+"="+source)
	cmd.Stderr = os.Stderr
	if cmd.Start() != nil {
		return
	}
	select {
	case <-time.After(300*time.Millisecond + rand.N(time.Second)):
	case <-ctx.Done():
	}
	if writing.Err() != nil {
		<-ctx.Done()
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

// writeAll writes the messages of some keys, each key by one writer, and returns those that
// were committed.
func writeAll(t *testing.T, p *place) map[string][]string {
	t.Helper()
	const keys, rounds = 8, 150
	var writers sync.WaitGroup
	var mu sync.Mutex
	want := map[string][]string{}
	for k := range keys {
		writers.Go(func() {
			key := fmt.Sprint("k", k)
			for i := range rounds {
				tx, err := p.DB.BeginTx(t.Context(), nil)
				if err != nil {
					t.Error(err)
					return
				}
				one, two := fmt.Sprintf("%s-%d-a", key, i), fmt.Sprintf("%s-%d-b", key, i)
				if messages := []outbox.Message{message(key, one), message(key, two)}; i%2 == 0 {
					err = p.out.Add(t.Context(), tx, messages...)
				} else {
					err = addByStatement(t.Context(), p.out, tx, messages...)
				}
				if err != nil {
					t.Error(err)
				}
				if rand.IntN(4) == 0 {
					_ = tx.Rollback()
				} else if err = tx.Commit(); err != nil {
					t.Error(err)
				} else {
					mu.Lock()
					want[key] = append(want[key], one, two)
					mu.Unlock()
				}
				<-time.After(rand.N(40 * time.Millisecond))
			}
		})
	}
	writers.Wait()
	return want
}
