package checkcmd

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/semel-dev/semel/check"
	"github.com/semel-dev/semel/internal/cli"
)

// maxBaselineBytes bounds the baseline file.
const maxBaselineBytes = 64 << 10

// readBaseline reads the ids of known failures: one a line, # begins a comment.
func (f *checkOutput) readBaseline(c *check.Config) error {
	if f.baseline == "" {
		return nil
	}
	file, err := os.Open(f.baseline)
	if err != nil {
		return cli.Usage(fmt.Errorf("--baseline: %w (make it with --write-baseline)", err))
	}
	defer func() { _ = file.Close() }() // only read
	lines := bufio.NewScanner(io.LimitReader(file, maxBaselineBytes))
	for number := 1; lines.Scan(); number++ {
		id, _, _ := strings.Cut(lines.Text(), "#")
		if id = strings.TrimSpace(id); id == "" {
			continue
		}
		if !isCheck(id) {
			return cli.Usagef("%s:%d: unknown check %q (see: semel check --list)", f.baseline, number, id)
		}
		c.Baseline = append(c.Baseline, strings.ToUpper(id))
	}
	if err := lines.Err(); err != nil {
		return cli.Usage(fmt.Errorf("--baseline: %w", err))
	}
	return nil
}

func isCheck(id string) bool {
	return slices.ContainsFunc(check.Catalog(), func(one check.Check) bool { return strings.EqualFold(one.ID, id) })
}

func writeBaseline(w io.Writer, r *check.Report) error {
	var text strings.Builder
	text.WriteString("# Checks that are known to fail (semel check --baseline). Remove a line when it is fixed.\n")
	for i := range r.Results {
		if one := &r.Results[i]; one.Verdict == check.Fail || one.Verdict == check.Known {
			text.WriteString(one.ID + " # " + cli.PlainLine(one.Says) + "\n")
		}
	}
	_, err := io.WriteString(w, text.String())
	return err
}
