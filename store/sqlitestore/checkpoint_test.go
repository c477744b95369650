package sqlitestore_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The write-ahead log begins anew while the writer is busy (promise 8).
func TestLogStaysBounded(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "semel.db")
	s := open(t, path, nil)
	const outcomes, size = 100, 1 << 20
	outcome := completed(strings.Repeat("x", size))
	for i := range outcomes {
		p := params(fmt.Sprint(i))
		rec := wins(t, s, p)
		noError(t, s.Settle(t.Context(), p.Digest, rec.Fence, outcome))
	}
	info, err := os.Stat(path + "-wal")
	noError(t, err)
	if most := int64(outcomes * size * 3 / 4); info.Size() > most {
		t.Errorf("the log has %d MiB after %d MiB were written, want less than %d", info.Size()>>20, outcomes*size>>20, most>>20)
	}
	t.Logf("the log has %d MiB", info.Size()>>20)
}
