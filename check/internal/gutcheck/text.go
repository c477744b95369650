package gutcheck

import (
	"fmt"
	"io"
	"strings"

	"github.com/semel-dev/semel/internal/cli"
	"github.com/semel-dev/semel/internal/texts"
)

// Headline says in a sentence what was seen.
func (r *Report) Headline() string {
	ways := len(r.Results) - r.Count(LeftOut)
	switch {
	case r.Count(Twice) > 0:
		return fmt.Sprintf("In %d of %s the same form was carried out twice.", r.Count(Twice), texts.Count(ways, "way"))
	case r.Count(Unclear) > 0:
		return fmt.Sprintf("In %d of %s only the answers can be compared, which tells nothing: count effects with --count.", r.Count(Unclear), texts.Count(ways, "way"))
	case r.Count(Nothing)+r.Count(Unjudged) > 0:
		return fmt.Sprintf("%d of %s could not be judged.", r.Count(Nothing)+r.Count(Unjudged), texts.Count(ways, "way"))
	}
	return fmt.Sprintf("In none of %s was the same form carried out twice.", texts.Count(ways, "way"))
}

// Text writes the report for a person, 80 columns wide.
func Text(w io.Writer, r *Report) error {
	var b strings.Builder
	button := fmt.Sprintf("by its button %q", cli.PlainLine(r.Button))
	sends := "by a script"
	if r.Sends != "" {
		sends = cli.PlainLine(r.Sends)
	}
	fmt.Fprintf(&b, "%s in %s\nThe form is sent: %s, %s.\n", cli.PlainLine(r.URL), r.Browser, sends, button)
	if len(r.Counters) == 0 {
		b.WriteString("Nothing was counted, so this is about answers, not about effects.\n")
	}
	for _, counter := range r.Counters {
		fmt.Fprintf(&b, "Effects are counted by %s\n", cli.PlainLine(counter))
	}
	const titles = "SENT EFFECTS VERDICT"
	fmt.Fprintf(&b, "\n%-38s %-20s %s\n%-38s %s %s\n", "", "scripts", "no scripts", "THE PERSON", titles, titles)
	var reasons []string
	for _, way := range ways() {
		cells := make([]string, 0, len(modes()))
		for _, scripts := range modes() {
			cells = append(cells, r.cell(way.name, scripts, &reasons))
		}
		b.WriteString(strings.TrimRight(fmt.Sprintf("%-38s %-20s %-20s", way.name, cells[0], cells[1]), " ") + "\n")
	}
	b.WriteString("\n")
	for i, reason := range reasons {
		fmt.Fprintf(&b, "%d  %s\n", i+1, cli.PlainLine(reason))
	}
	if r.Scriptless != "" {
		fmt.Fprintf(&b, "Not tried without scripts: %s\n", cli.PlainLine(r.Scriptless))
	}
	for _, one := range r.Notes {
		fmt.Fprintf(&b, "Note: %s\n", cli.PlainLine(one))
	}
	fmt.Fprintf(&b, "\n%s\n", r.Headline())
	_, err := io.WriteString(w, b.String())
	return err
}

// cell is that of a way, with scripts or without.
func (r *Report) cell(way string, scripts bool, reasons *[]string) string {
	for i := range r.Results {
		if one := &r.Results[i]; one.Way == way && one.Scripts == scripts {
			mark := ""
			if one.Reason != "" {
				mark = note(reasons, one.Reason)
			}
			return one.cell(mark)
		}
	}
	return fmt.Sprintf("%4s %7s %s", "", "", "-")
}

// note returns the number of a reason.
func note(reasons *[]string, reason string) string {
	for i, had := range *reasons {
		if had == reason {
			return fmt.Sprint(" ", i+1)
		}
	}
	*reasons = append(*reasons, reason)
	return fmt.Sprint(" ", len(*reasons))
}

func (one *Result) cell(mark string) string {
	count := "?"
	if one.Effects >= 0 {
		count = fmt.Sprint(one.Effects)
	}
	word := map[Verdict]string{Once: "once", Twice: "TWICE", Another: "twice", Nothing: "NONE", Unclear: "?", LeftOut: "-", Unjudged: "?"}[one.Verdict]
	if one.Verdict == LeftOut {
		return fmt.Sprintf("%4s %7s %s", "", "", word+mark)
	}
	return fmt.Sprintf("%4d %7s %s", one.Sent, count, word+mark)
}
