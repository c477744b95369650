package main

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// frame is the page around the tables.
//
//go:embed compatibility.md
var frame string

// page is docs/compatibility.md for these results.
func page(all results) string {
	pairs := []string{"](../../docs/", "](", "{{failures}}\n", failures(all), "{{unavailable}}\n", absences()}
	for _, t := range tables() {
		pairs = append(pairs, "{{"+t.kind+"}}\n", t.text(all))
	}
	return strings.NewReplacer(pairs...).Replace(frame)
}

// text is the table of what passed.
func (t *table) text(all results) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| %s | version | run on | %s |\n|---|---|---|%s\n", t.kind, strings.Join(t.columns, " | "), strings.Repeat("---|", len(t.columns)))
	for _, p := range t.rows {
		row, found := all[p.name]
		if !found {
			fmt.Fprintf(&b, "| %s | | not yet |%s\n", p.label(), strings.Repeat(" |", len(t.columns)))
			continue
		}
		fmt.Fprintf(&b, "| %s | %s | %s |", p.label(), row.Version, row.Date)
		for _, column := range t.columns {
			fmt.Fprintf(&b, " %s |", p.show(row.Cells, column))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// label is the name with the settings.
func (p *target) label() string {
	label := []string{p.name}
	for _, name := range slices.Sorted(maps.Keys(p.conf)) {
		for setting := range strings.FieldsSeq(p.conf[name]) {
			label = append(label, "`"+setting+"`")
		}
	}
	return strings.Join(label, ", ")
}

// show is a cell: how many tests passed and failed.
func (p *target) show(cells map[string]cell, column string) string {
	c, ran := cells[column]
	switch {
	case ran && len(c.Failed) > 0:
		return fmt.Sprintf("%d, **%d failed**", c.Passed, len(c.Failed))
	case ran:
		return fmt.Sprint(c.Passed)
	case slices.ContainsFunc(p.suites, func(s suite) bool { return s.column == column }):
		return "not yet"
	}
	return "–"
}

// failures lists what failed, by the reasons.
func failures(all results) string {
	var b strings.Builder
	for _, t := range tables() {
		for _, p := range t.rows {
			for _, column := range t.columns {
				p.explain(&b, column, all[p.name].Cells[column].Failed)
			}
		}
	}
	if b.Len() == 0 {
		return "No test failed.\n"
	}
	return "| on | suite | tests | reason |\n|---|---|---|---|\n" + b.String()
}

// explain writes a line for each reason of the failures.
func (p *target) explain(b *strings.Builder, column string, failed map[string]string) {
	tests := map[string][]string{} // by the reason
	for _, name := range slices.Sorted(maps.Keys(failed)) {
		reason := p.reason(name, failed[name])
		if reason == "" {
			reason = "not explained yet: `" + strings.ReplaceAll(failed[name], "|", "\\|") + "`"
		}
		tests[reason] = append(tests[reason], "`"+name+"`")
	}
	for _, reason := range slices.Sorted(maps.Keys(tests)) {
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", p.name, column, some(tests[reason]), reason)
	}
}

// mostNamed bounds how many tests are named; of more, the number counts.
const mostNamed = 6

func some(tests []string) string {
	if len(tests) > mostNamed {
		return fmt.Sprint(len(tests))
	}
	return strings.Join(tests, ", ")
}

// absences lists the servers of which there is none to test on.
func absences() string {
	var b strings.Builder
	b.WriteString("| server | reason |\n|---|---|\n")
	reasons := unavailable()
	for _, name := range slices.Sorted(maps.Keys(reasons)) {
		fmt.Fprintf(&b, "| %s | %s |\n", name, reasons[name])
	}
	return b.String()
}
