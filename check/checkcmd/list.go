package checkcmd

import (
	"encoding/json"
	"fmt"

	"github.com/semel-dev/semel/check"
	"github.com/semel-dev/semel/internal/cli"
	"github.com/semel-dev/semel/internal/texts"
)

// listed is a check in the output of --list and --dry-run with --json.
type listed struct {
	ID     string      `json:"id"`
	Group  string      `json:"group"`
	Level  check.Level `json:"level"`
	Says   string      `json:"says"`
	Source string      `json:"source"`
	// Counter means that the check is only judged if effects are counted.
	Counter bool `json:"needs_count"`
	// Left is the reason why it does not run.
	Left string `json:"left_out,omitempty"`
}

// planned is the output of --dry-run with --json.
type planned struct {
	Checks   []listed `json:"checks"`
	Left     []listed `json:"left_out"`
	Requests int      `json:"requests"`
}

func listedOf(checks []check.Check) []listed {
	all := make([]listed, len(checks))
	for i := range checks {
		one := &checks[i]
		all[i] = listed{ID: one.ID, Group: one.Group, Level: one.Level, Says: one.Says, Source: one.Source, Counter: one.NeedsCount}
	}
	return all
}

func (f *checkOutput) printCatalog(p *cli.Process) error {
	all := listedOf(check.Catalog())
	if f.json {
		return json.NewEncoder(p.Stdout).Encode(all)
	}
	var rows [][]string
	for _, one := range all {
		rows = append(rows, []string{one.ID, string(one.Level), needs(&one), one.Says})
	}
	return cli.PrintSheet(p, []string{"ID", "LEVEL", "NEEDS", "WHAT IS CHECKED"}, "No checks.", rows)
}

func needs(one *listed) string {
	if one.Counter {
		return "--count"
	}
	return ""
}

func (f *checkOutput) printPlan(p *cli.Process, plan *check.Plan) error {
	said := planned{Checks: listedOf(plan.Checks), Left: []listed{}, Requests: plan.Requests}
	left := map[string]string{}
	for i := range plan.Left {
		left[plan.Left[i].ID] = plan.Left[i].Reason
	}
	for _, one := range listedOf(check.Catalog()) {
		if why, ok := left[one.ID]; ok {
			one.Left = why
			said.Left = append(said.Left, one)
		}
	}
	if f.json {
		return json.NewEncoder(p.Stdout).Encode(said)
	}
	var rows [][]string
	for _, one := range said.Checks {
		rows = append(rows, []string{one.ID, "yes", one.Says})
	}
	for _, one := range said.Left {
		rows = append(rows, []string{one.ID, "no", one.Left})
	}
	if err := cli.PrintSheet(p, []string{"ID", "RUNS", "WHAT IS CHECKED, OR WHY NOT"}, "No checks.", rows); err != nil {
		return err
	}
	_, err := fmt.Fprintf(p.Stdout, "%s would send at most %s.\n", texts.Count(len(said.Checks), "check"), texts.Count(said.Requests, "request"))
	return err
}
