package plan_test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/testserver/databases"
	"github.com/semel-dev/semel/schema/internal/plan"
)

// The texts are golden: SEMEL_UPDATE_GOLDEN=1 writes them anew.
func TestFiles(t *testing.T) {
	t.Parallel()
	databases.Each(t, func(t *testing.T, d *databases.Database) {
		d.Exec(t, schema(d.Dialect)...)
		p := mustMake(t, d, parse(t, rich), nil)
		for _, format := range plan.Formats() {
			files, err := p.Files(format, 7)
			if format == plan.Tern && d.Dialect != dialect.PostgreSQL {
				if !errors.Is(err, plan.ErrFormat) {
					t.Errorf("tern for %s: %v, want ErrFormat", d.Dialect, err)
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			golden(t, d.Dialect.String()+"."+string(format), files)
		}
	})
}

func golden(t *testing.T, name string, files []plan.File) {
	t.Helper()
	var b strings.Builder
	for _, f := range files {
		b.WriteString("==> " + f.Name + "\n" + f.Text)
	}
	got := regexp.MustCompile(`(Made by .* for \w+) .*\.`).ReplaceAllString(b.String(), "$1 VERSION.")
	path := filepath.Join("testdata", name+".txt")
	if os.Getenv("SEMEL_UPDATE_GOLDEN") != "" {
		noError(t, os.WriteFile(path, []byte(got), 0o600))
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}
