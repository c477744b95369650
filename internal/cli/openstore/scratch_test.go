package openstore_test

import (
	"log/slog"
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/cli/openstore"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/store/groupcommit"
)

// Removing a scratch part leaves the records of the DSN alone, whatever the
// DSN says about where they are.
func TestScratchLeavesRecordsAlone(t *testing.T) {
	t.Parallel()
	addr := testserver.Redis(t)
	for _, name := range []string{"prefix", "%70refix", "semel_prefix"} {
		dsn := "redis://" + addr + "?" + name + "=" + testserver.RedisPrefix(t, addr)
		live, err := openstore.Open(t.Context(), dsn, nil)
		must(t, err)
		defer live.Close()
		claim(t, live, "live")
		scratch, err := openstore.NewScratch(dsn)
		must(t, err)
		store, err := scratch.Open(t.Context(), slog.New(slog.DiscardHandler))
		must(t, err)
		claim(t, store, "live") // which is not claimed there
		if err := store.Close(); err != nil {
			t.Error(err)
		}
		if err := scratch.Remove(); err != nil {
			t.Error(err)
		}
		digest := semel.Key{Scope: semel.ScopeGlobal, Name: "live"}.Digest()
		if _, err := live.Lookup(t.Context(), digest); err != nil {
			t.Errorf("%s: the live record, after the scratch part was removed: %v", name, err)
		}
	}
}

// Steps of many callers share scripts where one script may have the keys of all.
func TestRedisSharesScripts(t *testing.T) {
	t.Parallel()
	addr, nodes := testserver.Redis(t), testserver.RedisCluster(t)
	for dsn, want := range map[string]bool{
		"redis://" + addr + "?prefix=" + testserver.RedisPrefix(t, addr):                        true,
		"redis://" + addr + "?semel_group_commit=off&prefix=" + testserver.RedisPrefix(t, addr): false,
		"redis://" + nodes[0] + "?cluster=true&prefix=" + testserver.RedisPrefix(t, nodes...):   false,
	} {
		store, err := openstore.Open(t.Context(), dsn, nil)
		must(t, err)
		if _, got := semel.StoreAs[*groupcommit.Store](store); got != want {
			t.Errorf("Open(%q): shares scripts: %v, want %v", dsn, got, want)
		}
		must(t, store.Close())
	}
}
