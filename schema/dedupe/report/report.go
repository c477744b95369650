// Package report writes the plan of a merge as a page for the people who have to agree to it.
package report

import (
	_ "embed" // the page
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/semel-dev/semel/schema/dedupe"
)

//go:embed page.html
var page string

// view holds the contents of the page.
type view struct {
	*dedupe.Plan
	dedupe.Estimate

	Duration string
	Columns  []column
	Flags    []warning
}

// column is a column of the row that stays, and how it changes.
type column struct{ Name, Policy string }

// warning is a list that has to be read before the run.
type warning struct {
	Title, Why string
	Lines      []string
}

// HTML writes the page: one file, without scripts.
func HTML(w io.Writer, p *dedupe.Plan) error {
	made, err := template.New("page").Funcs(template.FuncMap{"number": number, "key": key, "plain": plain, "differences": func(i int) []dedupe.Difference {
		if i < len(p.Differences) {
			return p.Differences[i]
		}
		return nil
	}}).Parse(page)
	if err != nil {
		return fmt.Errorf("read the page's template: %w", err)
	}
	v := view{Plan: p, Estimate: p.Estimate()}
	v.Duration = Duration(v.Time)
	for _, text := range p.Request.Columns {
		name, policy, _ := strings.Cut(text, "=")
		v.Columns = append(v.Columns, column{name, policy})
	}
	for _, f := range []warning{
		{"These fire while rows are merged", "Look at each: a trigger that sends or books something does so for every row that changes.", p.Triggers},
		{"These may refer to the rows without the database knowing", "References that are not declared keep pointing at rows that have been merged.", p.Suspects},
		{"Notes", "", p.Notes},
	} {
		if len(f.Lines) > 0 {
			v.Flags = append(v.Flags, f)
		}
	}
	return made.Execute(w, &v)
}

// Duration rounds a time to what an estimate is worth.
func Duration(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return "a few seconds"
	case d < 2*time.Minute:
		return fmt.Sprintf("about %d seconds", d.Round(10*time.Second)/time.Second)
	case d < 2*time.Hour:
		return fmt.Sprintf("about %d minutes", d.Round(time.Minute)/time.Minute)
	}
	return fmt.Sprintf("about %d hours", d.Round(time.Hour)/time.Hour)
}

// number groups the digits of a count.
func number(n int64) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + " " + text[i:] // thin enough, and it does not break
	}
	return text
}

// key writes the keys of rows, lists of texts one after the other, as a person reads them: the parts of a key between slashes, and quoted
// where they would not be seen as they are.
func key(lists string) string {
	var all []string
	for in := json.NewDecoder(strings.NewReader(lists)); in.More(); {
		var parts []string
		if err := in.Decode(&parts); err != nil {
			return strconv.Quote(lists)
		}
		for i, part := range parts {
			if quoted := strconv.Quote(part); quoted != `"`+part+`"` || part == "" || strings.ContainsAny(part, ",/ ") {
				parts[i] = quoted
			}
		}
		all = append(all, strings.Join(parts, " / "))
	}
	return strings.Join(all, ", ")
}

// plain quotes a value that would not be seen as it is.
func plain(value string) string {
	if quoted := strconv.Quote(value); quoted != `"`+value+`"` || value == "" {
		return quoted
	}
	return value
}
