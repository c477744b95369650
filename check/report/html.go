package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/semel-dev/semel/check"
)

//go:embed page.html
var page string // the template of the page, with its styles

// view holds the contents of the page.
type view struct {
	*check.Report

	Headline string
	Grade    string // fine, failed or open: the colour of the headline
	Summary  string
	Start    string // the failure to look at first
	Effort   []string
	When     string
	Groups   []group
	Open     []group
}

// HTML writes the report as one page without other files or scripts, usable by keyboard and printable.
func HTML(w io.Writer, r *check.Report) error {
	made, err := template.New("page").Funcs(template.FuncMap{
		"class":   func(v check.Verdict) string { return string(v) },
		"verdict": verdictText,
		"symbol":  symbol,
		"failed": func(one *check.Result) bool {
			return one.Verdict == check.Fail || one.Verdict == check.Known || one.Verdict == check.Echo
		},
		"reproduce": Reproduce,
		"evidence":  func(e check.Exchange) check.Evidence { return e.Evidence() },
		"came":      func(e check.Exchange) string { return came(&e) },
		"list":      func(ids []string) string { return strings.Join(ids, ", ") },
		"manner":    mannerText,
		"clean":     clean,
	}).Parse(page)
	if err != nil {
		return fmt.Errorf("read the page's template: %w", err)
	}
	v := view{
		Report: r, Headline: Headline(r), Grade: "fine", Summary: summary(r.Count), Start: start(r), Effort: effort(r),
		When: r.Began.UTC().Format("2 January 2006, 15:04 UTC"), Groups: groups(r), Open: reasons(r, check.Incomplete),
	}
	switch {
	case r.Died != "" || r.Count(check.Fail) > 0:
		v.Grade = "failed"
	case len(v.Open) > 0:
		v.Grade = "open"
	}
	return made.Execute(w, &v)
}

// symbol is the mark of a verdict in the chart.
func symbol(v check.Verdict) string {
	switch v {
	case check.Pass:
		return "✓"
	case check.Fail, check.Known, check.Echo:
		return "✗"
	case check.Incomplete:
		return "?"
	case check.Skipped:
	}
	return "–"
}

// clean returns multi-line text without invisible or direction-changing characters.
func clean(text string) string {
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	for i, line := range lines {
		lines[i] = visible(strings.ReplaceAll(line, "\t", "    "))
	}
	return strings.Join(lines, "\n")
}

func mannerText(manner map[string]any) string {
	var parts []string
	for _, name := range []string{"fault", "chunked", "expect", "pieces", "pause_ms", "timeout_ms"} {
		if value, ok := manner[name]; ok {
			parts = append(parts, fmt.Sprintf("%s: %v", strings.ReplaceAll(name, "_ms", " in ms"), value))
		}
	}
	return strings.Join(parts, ", ")
}
