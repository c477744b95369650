package claimtest_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/semel-dev/semel/internal/claimtest"
)

// Each row of docs/names.md has a test that proves it.
func TestNamesAreProved(t *testing.T) {
	t.Parallel()
	var tests strings.Builder
	claimtest.NoError(t, filepath.WalkDir(filepath.Join("..", ".."), func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && (e.Name() == "node_modules" || e.Name() == ".git" || e.Name() == ".cache"):
			return filepath.SkipDir
		case e.Name() != "names_test.go":
			return nil
		}
		text, err := os.ReadFile(path)
		tests.Write(text)
		return err
	}))
	rows := claimtest.NamesTable(t)
	if len(rows) < 10 {
		t.Errorf("docs/names.md has %d rows", len(rows))
	}
	for door := range rows {
		if !strings.Contains(tests.String(), "Names(t, "+strconv.Quote(door)) {
			t.Errorf("no names_test.go proves the row %q of docs/names.md", door)
		}
	}
}
