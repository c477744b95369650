package paste_test

import (
	"flag"
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel/internal/claimtest"
)

var update = flag.Bool("update", false, "write the transcripts of the drills")

// The operator of a drill sees what its transcript shows. The short form plays two of them.
func TestDrills(t *testing.T) {
	t.Parallel()
	scripts, err := filepath.Glob(filepath.Join(home, "examples", "drills", "*.sh"))
	must(t, err)
	played := 0
	for _, script := range scripts {
		name := strings.TrimSuffix(filepath.Base(script), ".sh")
		if name == "stage" || !claimtest.Long() && name != "unknown-payment" && name != "poison-message" {
			continue
		}
		played++
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seen, err := paste(t, t.TempDir(), "exec bash "+script)
			if err != nil {
				t.Fatalf("%v\n%s", err, seen)
			}
			seen = timeless(t, seen)
			golden := filepath.Join(home, "examples", "drills", name+".txt")
			if *update {
				must(t, os.WriteFile(golden, []byte(seen), 0o600))
			}
			want, err := os.ReadFile(golden)
			must(t, err)
			if diff := cmp.Diff(string(want), seen); diff != "" {
				t.Errorf("-transcript +seen\n%s", diff)
			}
		})
	}
	if played < 2 {
		t.Errorf("%d drills were found in examples/drills", played)
	}
}

// timeless replaces what differs between two plays: times, the operator's name and the names of new keys.
func timeless(t *testing.T, seen string) string {
	t.Helper()
	who, err := user.Current()
	must(t, err)
	for _, r := range []struct{ pattern, by string }{
		{`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`, "2026-11-27T08:00:00.000Z"},
		{`\d+m?s ago`, "2s ago"},
		{`\b23h\b`, "1d"}, // a retention of a day, read a moment later
		{`\t\d+m?s\t`, "\t2s\t"},
		{`\t` + regexp.QuoteMeta(who.Username) + `\t`, "\tada\t"},
	} {
		seen = regexp.MustCompile(r.pattern).ReplaceAllString(seen, r.by)
	}
	keys := map[string]string{}
	return regexp.MustCompile(`\bk\d{8}-[0-9a-f]{6}\b`).ReplaceAllStringFunc(seen, func(key string) string {
		if keys[key] == "" {
			keys[key] = "k" + string(rune('1'+len(keys)))
		}
		return keys[key]
	})
}
