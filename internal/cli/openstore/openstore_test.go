package openstore_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/cli/openstore"
	"github.com/semel-dev/semel/internal/testserver"
)

func TestOpenServes(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "records.db")
	for _, dsn := range []string{"memory:", "MEMORY:", "sqlite:" + file, "sqlite://" + file, "log:" + file + ".log"} {
		store, err := openstore.Open(t.Context(), dsn, nil)
		if err != nil {
			t.Fatalf("Open(%q): %v", dsn, err)
		}
		claim(t, store, dsn)
		if err := store.Close(); err != nil {
			t.Errorf("close the store of %q: %v", dsn, err)
		}
	}
	if _, err := os.Stat(file); err != nil {
		t.Errorf("the file was not created: %v", err)
	}
}

func claim(t *testing.T, store semel.Store, name string) {
	t.Helper()
	_, won, err := store.Claim(t.Context(), semel.ClaimParams{
		Digest: semel.Key{Scope: semel.ScopeGlobal, Name: name}.Digest(), Scope: semel.ScopeGlobal, Name: name,
		Owner: semel.Owner{1}, Lease: time.Minute, Retention: time.Hour,
	})
	if err != nil || !won {
		t.Errorf("claim in the store of %q: won %v, error %v", name, won, err)
	}
}

func TestOpenEmptyMeansDefault(t *testing.T) {
	t.Chdir(t.TempDir())
	store, err := openstore.Open(t.Context(), "", nil)
	must(t, err)
	defer store.Close()
	if _, err := os.Stat("semel.db"); err != nil {
		t.Errorf("the default store is not ./semel.db: %v", err)
	}
}

func TestOpenWrongDSN(t *testing.T) {
	t.Parallel()
	tests := map[string]string{ // DSN: what its error must say
		"semel.db":                  "sqlite:semel.db",
		`C:\data\semel.db`:          "which kind of store",
		"oracle://u:s3cret@host/db": `no store is called "oracle"`,
		"postgres://u:s3cret@host/db?semel_cache=12XB":          "write off, or a number",
		"postgres://u:s3cret@host/db?semel_cache=-1":            "write off, or a number",
		"postgres://u:s3cret@host/db?semel_cache=9000000000GiB": "write off, or a number",
		"postgres://u:s3cret@host/db?semel_group_commit=maybe":  "neither on nor off",
		"postgres://u:s3cret@host/db?semel_prefix=a":            "knows no parameter semel_prefix (its own are semel_schema, semel_cache, semel_group_commit)",
		"mysql://u:s3cret@host/db?x=1&semel_schema=a":           "knows no parameter semel_schema",
		"redis://:s3cret@host?semel_cash=1":                     "knows no parameter semel_cash",
		"postgres://u:s3cret@host:port/db":                      "the DSN cannot be read",
		"postgres://u:s3cret@host/db?semel_schema=pg_mine":      "keeps names with pg_ for itself",
		"mysql://u:s3cret@host/db?semel_max_conns=0":            "not a number from 1 to",
		"redis://:s3cret@host?semel_replicas=-1":                "not a number from 0 to",
		"redis://:s3cret@host?semel_replicas=all":               "not a number from 0 to",
		"redis://:s3cret@h?semel_cache=1&semel_cache=off":       "semel_cache twice",
		"mysql://u:s3cret@host/db?semel_max_conns=many":         "not a number from 1 to",
		"mysql://u:s3cret@host":                                 "names no database",
		"mysql://u:s3cret@host:port/db":                         "the DSN cannot be read",
		"mysql://u:s3cret@host/db?semel_prefix=A":               "lower-case letters",
		"redis://:s3cret@host/shop":                             "the number of a database",
		"redis://:s3cret@host?db=1":                             "unknown parameter",
		"nats://s3cret@host":                                    "nats is not built into this version",
		"u:s3cret@host":                                         "which kind of store",
		"s3cret@host:5432/db":                                   "does not name a kind of store",
		"host=db password=s3cret x:y":                           "does not name a kind of store",
		":s3cret":                                               "which kind of store",
		"memory:s3cret":                                         "write memory:",
		"sqlite:":                                               "needs a file",
		"sqlite::memory:":                                       "write memory:",
		"sqlite://semel.db":                                     "a path, not an address",
		"sqlite:semel.db?password=s3cret":                       "takes no parameters",
		"log:":                                                  "needs a directory",
		"log://records":                                         "a directory, not an address",
		"log:records?password=s3cret":                           "one parameter, semel_max_bytes",
		"log:records?max_bytes=s3cret":                          "write log:DIR, or log:DIR?semel_max_bytes=8GiB",
		"log:records?semel_cache=off":                           "knows no parameter semel_cache (its own are semel_max_bytes)",
		"log:records?semel_max_bytes=large":                     "not a size",
		"log:records?semel_max_bytes=-1":                        "not a size",
		"log:" + t.TempDir() + "?semel_max_bytes=1MiB":          "take 8 MiB or more",
	}
	for dsn, want := range tests {
		_, err := openstore.Open(t.Context(), dsn, nil)
		switch {
		case !errors.Is(err, openstore.ErrDSN):
			t.Errorf("Open(%q): got error %v, want one that wraps ErrDSN", dsn, err)
		case !strings.Contains(err.Error(), want):
			t.Errorf("Open(%q): error %q does not say %q", dsn, err, want)
		case strings.Contains(err.Error(), "s3cret"):
			t.Errorf("Open(%q): error %q repeats the secret", dsn, err)
		}
	}
}

func TestRedact(t *testing.T) {
	t.Parallel()
	for dsn, want := range map[string]string{
		"":                            openstore.Default,
		"memory:":                     "memory:",
		"sqlite:/var/lib/semel.db":    "sqlite:/var/lib/semel.db",
		"log:/var/lib/semel":          "log:/var/lib/semel",
		"postgres://u:s3cret@host/db": "postgres:…",
		"s3cret@host":                 "…",
	} {
		if got := openstore.Redact(dsn); got != want {
			t.Errorf("Redact(%q): got %q, want %q", dsn, got, want)
		}
	}
}

func TestOpenForOperatorsCreatesNothing(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "absent.db")
	for _, use := range []openstore.Use{openstore.Operate, openstore.Inspect} {
		_, err := openstore.Open(t.Context(), "sqlite:"+file, &openstore.Options{Use: use})
		if err == nil || errors.Is(err, openstore.ErrDSN) || !strings.Contains(err.Error(), "--store sqlite:PATH") {
			t.Errorf("use %d of an absent file: got error %v, want one that says how to name the file", use, err)
		}
		if _, err := os.Stat(file); err == nil {
			t.Errorf("use %d created the file", use)
		}
		if _, err := openstore.Open(t.Context(), "memory:", &openstore.Options{Use: use}); !errors.Is(err, openstore.ErrDSN) {
			t.Errorf("use %d of a new store in memory: got error %v, want one that wraps ErrDSN", use, err)
		}
	}
}

func TestInspectBesideAWriter(t *testing.T) {
	t.Parallel()
	dsn := "sqlite:" + filepath.Join(t.TempDir(), "records.db")
	writer, err := openstore.Open(t.Context(), dsn, nil)
	must(t, err)
	defer writer.Close()
	claim(t, writer, "k1")
	reader, err := openstore.Open(t.Context(), dsn, &openstore.Options{Use: openstore.Inspect})
	must(t, err)
	defer reader.Close()
	rec, err := reader.Lookup(t.Context(), semel.Key{Scope: semel.ScopeGlobal, Name: "k1"}.Digest())
	if err != nil || rec.Name != "k1" {
		t.Errorf("look up next to the writer: got %q, error %v", rec.Name, err)
	}
}

func TestOpenRefusesAForeignFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "letter.txt")
	text := bytes.Repeat([]byte("Dear Sir or Madam, "), 200)
	must(t, os.WriteFile(file, text, 0o600))
	_, err := openstore.Open(t.Context(), "sqlite:"+file, nil)
	if err == nil || errors.Is(err, openstore.ErrDSN) || !strings.Contains(err.Error(), file) {
		t.Errorf("got error %v, want one that names the file", err)
	}
	if after, _ := os.ReadFile(file); !bytes.Equal(after, text) {
		t.Error("the file was changed")
	}
}

// A DSN of Redis demands replicas: nothing is acknowledged that the primary alone has.
func TestReplicas(t *testing.T) {
	t.Parallel()
	store, err := openstore.Open(t.Context(), "redis://"+testserver.Redis(t)+"?semel_replicas=1&semel_prefix="+testserver.RedisPrefix(t), nil)
	must(t, err)
	defer store.Close()
	_, _, err = store.Claim(t.Context(), claimtest.Params("k1"))
	claimtest.Words(t, err, "0 of 1 replicas")
}

// Promise 8: a DSN bounds the files of a log. What is refused says what to change, and claims in flight are still settled.
func TestLogIsBounded(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "records")
	dsn := "log:" + dir + "?semel_max_bytes=8MiB"
	store, err := openstore.Open(t.Context(), dsn, nil)
	must(t, err)
	inFlight := claimtest.Wins(t, store, claimtest.Params("in flight"))
	large := claimtest.Completed(strings.Repeat("x", 200<<10))
	first := claimtest.Wins(t, store, claimtest.Params("0"))
	claimtest.Settles(t, store, first, large)
	for i := 1; err == nil && i < 100; i++ {
		var rec semel.Record
		if rec, _, err = store.Claim(t.Context(), claimtest.Params(strconv.Itoa(i))); err == nil {
			err = store.Settle(t.Context(), rec.Digest, rec.Fence, large)
		}
	}
	claimtest.WantErr(t, "", err, semel.ErrFull)
	claimtest.Words(t, err, dir, "reached its bound of 8388608", "semel_max_bytes", "shorten the retention")
	claimtest.Settles(t, store, inFlight, claimtest.Completed("done"))
	files, err := filepath.Glob(filepath.Join(dir, "*.semel"))
	must(t, err)
	bytes := int64(0)
	for _, name := range files {
		info, err := os.Stat(name)
		must(t, err)
		bytes += info.Size()
	}
	if bytes > 8<<20 {
		t.Errorf("the files have %d bytes, at most 8 MiB were allowed", bytes)
	}
	must(t, store.Close())
	_, err = openstore.CheckLog(t.Context(), dsn, false)
	must(t, err)
	store, err = openstore.Open(t.Context(), dsn, nil)
	must(t, err)
	claimtest.WantFound(t, store, first.Digest, semel.StateCompleted)
	claimtest.WantFound(t, store, inFlight.Digest, semel.StateCompleted)
	must(t, store.Close())
}

// A log belongs to one process at a time; the error of a second one says what to do instead.
func TestLogInUse(t *testing.T) {
	t.Parallel()
	dsn := "log:" + filepath.Join(t.TempDir(), "records")
	if _, err := openstore.Open(t.Context(), dsn, &openstore.Options{Use: openstore.Inspect}); err == nil || !strings.Contains(err.Error(), "--store log:DIR") {
		t.Errorf("inspect a log that does not exist: got error %v, want one that says how to name it", err)
	}
	store, err := openstore.Open(t.Context(), dsn, nil)
	must(t, err)
	defer store.Close()
	_, openErr := openstore.Open(t.Context(), dsn, &openstore.Options{Use: openstore.Inspect})
	_, checkErr := openstore.CheckLog(t.Context(), dsn, false)
	claimtest.Words(t, openErr, "in use by another process", "admin API", "SQLite")
	claimtest.Words(t, checkErr, "in use by another process")
	_, err = openstore.CheckLog(t.Context(), "sqlite:x.db", true)
	claimtest.WantErr(t, "", err, openstore.ErrDSN)
}

var must = claimtest.NoError
