package gateway_test

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel/gateway"
	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/internal/testserver/databases"
	"github.com/semel-dev/semel/outcomelog/archive"
)

// TestMetricNames compares the names, types and labels of the gateway's metrics with testdata/metrics.golden, because dashboards
// and alerts of users have them in their queries (docs/upgrade.md). SEMEL_UPDATE_GOLDEN=1 writes it.
func TestMetricNames(t *testing.T) {
	t.Parallel()
	log, err := archive.Open(t.Context(), databases.Open(t, dialect.SQLite).DB, nil)
	noError(t, err)
	t.Cleanup(func() { _ = log.Close() })
	d := open(t, upstream(t, func(http.ResponseWriter, *http.Request) {}), func(c *gateway.Config) { c.OutcomeLog = log })
	d.send(t, http.MethodPost, "/orders", "a", "Idempotency-Key", "k") // some have no series before the first request
	labels := map[string][]string{}
	var names []string
	types, series, label := regexp.MustCompile(`^# TYPE (semel_\w+) (\w+)$`), regexp.MustCompile(`^(semel_\w+?)(?:_bucket|_sum|_count)?\{(.*)\} `), regexp.MustCompile(`(\w+)="`)
	kinds := map[string]string{}
	for line := range strings.Lines(d.operate(t, http.MethodGet, "/metrics").body) {
		line = strings.TrimSuffix(line, "\n")
		if match := types.FindStringSubmatch(line); match != nil {
			names, kinds[match[1]] = append(names, match[1]), match[2]
		} else if match := series.FindStringSubmatch(line); match != nil {
			for _, pair := range label.FindAllStringSubmatch(match[2], -1) {
				if pair[1] != "le" && !slices.Contains(labels[match[1]], pair[1]) {
					labels[match[1]] = append(labels[match[1]], pair[1])
				}
			}
		}
	}
	var got strings.Builder
	for _, name := range names {
		got.WriteString(strings.TrimRight(name+" "+kinds[name]+" "+strings.Join(labels[name], ","), " ") + "\n")
	}
	golden := filepath.Join("testdata", "metrics.golden")
	if os.Getenv("SEMEL_UPDATE_GOLDEN") != "" {
		noError(t, os.WriteFile(golden, []byte(got.String()), 0o600))
	}
	if diff := cmp.Diff(string(must.Get(os.ReadFile(golden))), got.String()); diff != "" {
		t.Errorf("metrics (-want +got); a name that is gone or another one breaks queries of users: say so in CHANGELOG.md\n%s", diff)
	}
}
