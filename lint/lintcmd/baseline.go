package lintcmd

import (
	"fmt"
	"os"

	"github.com/semel-dev/semel/internal/cli"
	"github.com/semel-dev/semel/lint"
	"github.com/semel-dev/semel/lint/internal/baseline"
)

// loadBaseline reads the baseline, if one is named.
func (f *lintFlags) loadBaseline() (*baseline.File, error) {
	if f.baseline == "" || f.writeBaseline != "" {
		return nil, nil //nolint:nilnil // there is none.
	}
	known, err := baseline.Load(f.baseline)
	if err != nil {
		return nil, cli.Usage(err)
	}
	return known, nil
}

// entryOf is the entry of a finding.
func entryOf(b *baseline.File, one *lint.Finding) baseline.Entry {
	return baseline.Entry{Fingerprint: one.Fingerprint, Rule: one.Rule, File: b.Path(one.File), Text: one.Text}
}

// judgedFiles are the files that were judged, as a baseline names them.
func judgedFiles(b *baseline.File, names []string, all []lint.Finding) map[string]bool {
	judged := map[string]bool{}
	for _, name := range names {
		judged[b.Path(name)] = true
	}
	for i := range all {
		judged[b.Path(all[i].File)] = true
	}
	return judged
}

// reportLeft reports the entries that are not found anymore.
func reportLeft(p *cli.Process, gone []baseline.Entry) {
	const most = 10
	for i := range gone {
		if i == most {
			fmt.Fprintf(p.Stderr, "  and %d more\n", len(gone)-most) //nolint:errcheck // a remark.
			break
		}
		if i == 0 {
			fmt.Fprintf(p.Stderr, "The baseline has %s without a finding; remove the line, or write the baseline again with --write-baseline:\n", countOf(len(gone), "entry", "entries")) //nolint:errcheck // a remark.
		}
		fmt.Fprintf(p.Stderr, "  %s: %s [%s]\n", cli.PlainLine(gone[i].File), cli.PlainLine(gone[i].Text), cli.PlainLine(gone[i].Rule)) //nolint:errcheck // a remark.
	}
}

func countOf(n int, one, several string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, several)
}

// saveBaseline writes what is open as known. Entries of files that were not judged are kept.
func (f *lintFlags) saveBaseline(p *cli.Process, names []string, all []lint.Finding) error {
	b, err := baseline.New(f.writeBaseline)
	if err != nil {
		return err
	}
	judged := judgedFiles(b, names, all)
	for i := range all {
		if all[i].Open() {
			b.Add(entryOf(b, &all[i]))
		}
	}
	if _, err := os.Stat(f.writeBaseline); err == nil {
		old, err := baseline.Load(f.writeBaseline)
		if err != nil {
			return cli.Usage(fmt.Errorf("%w; %s was left unchanged", err, f.writeBaseline))
		}
		b.Keep(old, func(path string) bool { return judged[path] })
	}
	if err := os.WriteFile(f.writeBaseline, b.Bytes(), 0o644); err != nil { //nolint:gosec // it is reviewed and committed.
		return cli.Usage(fmt.Errorf("--write-baseline: %w", err))
	}
	fmt.Fprintf(p.Stderr, "%s has %s. They are not reported with --baseline %s.\n", f.writeBaseline, countOf(b.Len(), "finding", "findings"), f.writeBaseline) //nolint:errcheck // a remark.
	return nil
}
