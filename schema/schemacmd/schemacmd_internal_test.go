package command

import (
	"bytes"
	"strings"
	"testing"

	"github.com/jedib0t/go-pretty/v6/text"
)

// TestFindingsFitATerminal: a finding is readable on a terminal of 80 columns, however long its names are.
func TestFindingsFitATerminal(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	long := strings.Repeat("a_very_long_name", 5)
	printFindingsTable(&process{stdout: &out},
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
