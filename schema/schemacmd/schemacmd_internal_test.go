package schemacmd

import (
	"bytes"
	"strings"
	"testing"

	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/semel-dev/semel/internal/cli"
	"github.com/semel-dev/semel/schema/dedupe"
)

// TestFindingsFitATerminal: a finding is readable on a terminal of 80 columns, however long its names are.
func TestFindingsFitATerminal(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	long := strings.Repeat("a_very_long_name", 5)
	printFindingsTable(&cli.Process{Stdout: &out},
		[]string{"where", "rule", "table", "found", "what it is", "what to do"},
		[][]string{{"semel.yaml:24", long, long, "missing_index", "no unique index of " + long + " has tenant_id", "run: semel rules plan"}})
	for line := range strings.Lines(out.String()) {
		if width := text.StringWidth(strings.TrimSuffix(line, "\n")); width > 80 {
			t.Errorf("%d columns wide: %s", width, line)
		}
	}
	if flat := strings.NewReplacer("│", "", " ", "", "\n", "").Replace(out.String()); !strings.Contains(flat, "missing_index") || !strings.Contains(flat, "→run:semelrulesplan") {
		t.Errorf("the output is incomplete:\n%s", out.String())
	}
}

// TestRunReport: a run that merged nothing offers no undo.
func TestRunReport(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := printRunReport(&cli.Process{Stdout: &out}, &dedupe.Report{Run: 1}); err != nil || out.String() != "Run 1: 0 losers merged, 0 open.\n" {
		t.Errorf("got %q, %v", out.String(), err)
	}
}
