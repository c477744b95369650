package gateway_test

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/semel-dev/semel/gateway"
	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/internal/testserver/databases"
	"github.com/semel-dev/semel/outcomelog/archive"
)

const (
	dashboardFile  = "../deploy/semel-dashboard.json"
	alertsFile     = "../deploy/semel-alerts.yaml"
	alertTestsFile = "../deploy/semel-alerts.test.yaml"
	// consoleMetrics is the test that the console exposes the metrics that a gateway has not.
	consoleMetrics = "../cmd/semel/internal/command/testdata/script/console_metrics.txtar"
)

// grafanaSource names a data source of the dashboard.
type grafanaSource struct{ Type, UID string }

// grafanaBoard has what the tests read of the dashboard.
type grafanaBoard struct {
	UID           string
	SchemaVersion int
	Panels        []struct {
		ID         int
		Title      string
		Datasource grafanaSource
		Targets    []struct {
			Expr       string
			Datasource *grafanaSource // nil: that of the panel
		}
	}
	Templating struct {
		List []struct {
			Name, Type, Query string
			Datasource        grafanaSource
		}
	}
}

func dashboard(t *testing.T) (board grafanaBoard) {
	t.Helper()
	noError(t, json.Unmarshal(must.Get(os.ReadFile(dashboardFile)), &board))
	return board
}

// alertRule has what the tests read of an alert rule.
type alertRule struct {
	Alert, Expr string
	Annotations map[string]string
}

func alertRules(t *testing.T) (all []alertRule) {
	t.Helper()
	var file struct{ Groups []struct{ Rules []alertRule } }
	noError(t, yaml.Unmarshal(must.Get(os.ReadFile(alertsFile)), &file))
	for _, group := range file.Groups {
		all = append(all, group.Rules...)
	}
	return all
}

// expressions returns the queries of the dashboard and of the alert rules.
func expressions(t *testing.T) (all []string) {
	t.Helper()
	for _, rule := range alertRules(t) {
		all = append(all, rule.Expr)
	}
	board := dashboard(t)
	for _, panel := range board.Panels {
		for _, target := range panel.Targets {
			all = append(all, target.Expr)
		}
	}
	for _, variable := range board.Templating.List {
		all = append(all, variable.Query)
	}
	return all
}

// TestDashboard checks what Grafana needs to import the dashboard: without a schema version it would convert it from the first
// one, and panels with the same number replace each other. Every data source is the chosen one, not one of the Grafana in which it was drawn.
func TestDashboard(t *testing.T) {
	t.Parallel()
	board := dashboard(t)
	if board.UID == "" || board.SchemaVersion < 36 { // since then, a data source is an object
		t.Errorf("got uid %q and schema version %d", board.UID, board.SchemaVersion)
	}
	chosen := grafanaSource{"prometheus", "${datasource}"}
	seen := map[int]string{}
	for _, panel := range board.Panels {
		if other, twice := seen[panel.ID]; twice || panel.ID < 1 || panel.Title == "" || len(panel.Targets) == 0 {
			t.Errorf("panel %d, %q: its number must be its own (%q has it), and it needs a title and a query", panel.ID, panel.Title, other)
		}
		seen[panel.ID] = panel.Title
		if panel.Datasource != chosen {
			t.Errorf("panel %q: got the data source %v, want %v", panel.Title, panel.Datasource, chosen)
		}
		for _, target := range panel.Targets {
			if target.Datasource != nil && *target.Datasource != chosen {
				t.Errorf("panel %q: got the data source %v, want %v", panel.Title, *target.Datasource, chosen)
			}
		}
	}
	variables := map[string]string{}
	for _, variable := range board.Templating.List {
		variables[variable.Name] = variable.Type
		if variable.Type == "query" && variable.Datasource != chosen {
			t.Errorf("variable %q: got the data source %v, want %v", variable.Name, variable.Datasource, chosen)
		}
	}
	if variables["datasource"] != "datasource" || variables["job"] != "query" {
		t.Errorf("got the variables %v", variables)
	}
}

// TestDeployedMetrics looks for the metrics of the dashboard and the alert rules at a gateway that has just begun: an increase
// from nothing is not seen, so counters that alerts look at are there from the start.
func TestDeployedMetrics(t *testing.T) {
	t.Parallel()
	log, err := archive.Open(t.Context(), databases.Open(t, dialect.SQLite).DB, nil)
	noError(t, err)
	t.Cleanup(func() { _ = log.Close() })
	dir := t.TempDir()
	certificate(t, dir, "server")
	d := open(t, upstream(t, func(http.ResponseWriter, *http.Request) {}), func(c *gateway.Config) {
		c.OutcomeLog, c.CertFile, c.KeyFile = log, filepath.Join(dir, "server.pem"), filepath.Join(dir, "server.key")
		c.Rules = parse(t, "version: 1\nroutes:\n  - {name: orders, match: {path: /orders}}\n")
	})
	exposed := d.operate(t, http.MethodGet, "/metrics").body
	all := expressions(t)
	if len(all) < 20 {
		t.Fatalf("only %d expressions were found", len(all))
	}
	script := string(must.Get(os.ReadFile(consoleMetrics)))
	name, label := regexp.MustCompile(`semel_[a-z_]+`), regexp.MustCompile(`(outcome|state)="([^"]+)"`)
	for _, expr := range all {
		for _, metric := range name.FindAllString(expr, -1) {
			byConsole := strings.HasPrefix(metric, "semel_outbox_") && strings.Contains(script, "\nstdout '^"+metric+" ")
			if !byConsole && !strings.Contains(exposed, "\n"+metric+"{") && !strings.Contains(exposed, "\n"+metric+" ") {
				t.Errorf("neither the gateway nor the script %s has %s of %s", consoleMetrics, metric, expr)
			}
		}
		for _, pair := range label.FindAllString(expr, -1) {
			if !strings.Contains(exposed, pair) {
				t.Errorf("the gateway does not expose %s of %s", pair, expr)
			}
		}
	}
}

// TestAlertRules has Prometheus's own tool read the rules and run their tests.
func TestAlertRules(t *testing.T) {
	t.Parallel()
	tool, err := exec.LookPath("promtool")
	if err != nil {
		testserver.Missing(t, "promtool", "apt-get install prometheus")
	}
	for _, args := range [][]string{{"check", "rules", alertsFile}, {"test", "rules", alertTestsFile}} {
		if out, err := exec.CommandContext(t.Context(), tool, args...).CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v: %s", strings.Join(args, " "), err, out)
		}
	}
}

// TestAlertsAreTested looks for a test of each alert in which it fires, and one in which nothing does.
func TestAlertsAreTested(t *testing.T) {
	t.Parallel()
	var file struct {
		Tests []struct {
			Promql []struct {
				Expr    string
				Samples []struct{ Value float64 } `yaml:"exp_samples"`
			} `yaml:"promql_expr_test"`
		}
	}
	noError(t, yaml.Unmarshal(must.Get(os.ReadFile(alertTestsFile)), &file))
	fires, silent := map[string]bool{}, map[string]bool{}
	name := regexp.MustCompile(`alertname="([^"]+)"`)
	for _, test := range file.Tests {
		for _, expect := range test.Promql {
			for _, alert := range name.FindAllStringSubmatch(expect.Expr, -1) {
				if len(expect.Samples) > 0 {
					fires[alert[1]] = true
				} else {
					silent[alert[1]] = true
				}
			}
		}
	}
	for _, rule := range alertRules(t) {
		if rule.Alert == "" || rule.Annotations["summary"] == "" || rule.Annotations["description"] == "" {
			t.Errorf("an alert has no name, summary or description: %+v", rule)
		}
		if !fires[rule.Alert] || !silent[rule.Alert] {
			t.Errorf("%s: a test in which it fires: %v, and one in which it does not: %v", rule.Alert, fires[rule.Alert], silent[rule.Alert])
		}
	}
}
