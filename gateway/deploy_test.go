package gateway_test

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/semel-dev/semel/gateway"
	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/testserver/databases"
	"github.com/semel-dev/semel/outcomelog/archive"
)

const (
	dashboardFile = "../deploy/semel-dashboard.json"
	alertsFile    = "../deploy/semel-alerts.yaml"
)

// expressions returns the queries of the dashboard and of the alert rules.
func expressions(t *testing.T) []string {
	t.Helper()
	var board struct {
		Panels []struct {
			Targets []struct {
				Expr string `json:"expr"`
			} `json:"targets"`
		} `json:"panels"`
	}
	text, err := os.ReadFile(dashboardFile)
	noError(t, err)
	noError(t, json.Unmarshal(text, &board))
	var alerts struct {
		Groups []struct {
			Rules []struct {
				Alert, Expr string
				Annotations map[string]string
			}
		}
	}
	text, err = os.ReadFile(alertsFile)
	noError(t, err)
	noError(t, yaml.Unmarshal(text, &alerts))
	var all []string
	for _, group := range alerts.Groups {
		for _, rule := range group.Rules {
			if rule.Alert == "" || rule.Annotations["summary"] == "" || rule.Annotations["description"] == "" {
				t.Errorf("an alert has no name, summary or description: %+v", rule)
			}
			all = append(all, rule.Expr)
		}
	}
	for _, panel := range board.Panels {
		for _, target := range panel.Targets {
			all = append(all, target.Expr)
		}
	}
	return all
}

// TestDeployedMetrics looks for the metrics of the dashboard and the alert rules at a gateway that has just begun: an increase
// from nothing is not seen, so counters that alerts look at are there from the start.
func TestDeployedMetrics(t *testing.T) {
	t.Parallel()
	log, err := archive.Open(t.Context(), databases.Open(t, dialect.SQLite).DB, nil)
	noError(t, err)
	t.Cleanup(func() { _ = log.Close() })
	d := open(t, upstream(t, func(http.ResponseWriter, *http.Request) {}), func(c *gateway.Config) {
		c.OutcomeLog = log
		c.Rules = parse(t, "version: 1\nroutes:\n  - {name: orders, match: {path: /orders}}\n")
	})
	exposed := d.operate(t, http.MethodGet, "/metrics").body
	all := expressions(t)
	if len(all) < 20 {
		t.Fatalf("only %d expressions were found", len(all))
	}
	name, label := regexp.MustCompile(`semel_[a-z_]+`), regexp.MustCompile(`(outcome|state)="([^"]+)"`)
	for _, expr := range all {
		for _, metric := range name.FindAllString(expr, -1) {
			if strings.HasPrefix(metric, "semel_outbox_") {
				continue // semel console exposes it, see its script
			}
			if !strings.Contains(exposed, "\n"+metric+"{") && !strings.Contains(exposed, "\n"+metric+" ") {
				t.Errorf("the gateway does not expose %s of %s", metric, expr)
			}
		}
		for _, pair := range label.FindAllString(expr, -1) {
			if !strings.Contains(exposed, pair) {
				t.Errorf("the gateway does not expose %s of %s", pair, expr)
			}
		}
	}
}

// TestAlertRules has Prometheus's own tool read the rules.
func TestAlertRules(t *testing.T) {
	t.Parallel()
	tool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed: apt-get install prometheus")
	}
	if out, err := exec.CommandContext(t.Context(), tool, "check", "rules", alertsFile).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
