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
		rec, _, err := s.Claim(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Settle(t.Context(), p.Digest, rec.Fence, outcome); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Stat(path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	if most := int64(outcomes * size * 3 / 4); info.Size() > most {
		t.Errorf("the log has %d MiB after %d MiB were written, want less than %d", info.Size()>>20, outcomes*size>>20, most>>20)
	}
	t.Logf("the log has %d MiB", info.Size()>>20)
}
