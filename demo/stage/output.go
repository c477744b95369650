package stage

import (
	"fmt"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// Welcome says where the copies and the console are.
func (d *Demo) Welcome() string {
	at := d.URLs()
	return fmt.Sprintf("Open %s in your browser.\n\n  unprotected           %s\n  script only           %s\n  behind semel gateway  %s\n  its console           %s (the page has the token)\n  a page without forms  %s/quick\n  with page: true       %s/quick\n\nStop with Ctrl-C.\n",
		at.Page, at.Unprotected, at.Guarded, at.Protected, at.Console, at.Scripts, at.Paged)
}

// Table draws the results of all scenarios, with lines for a terminal.
func Table(results []Result, terminal bool) string {
	t := table.NewWriter()
	t.SetStyle(table.StyleDefault)
	if terminal {
		t.SetStyle(table.StyleLight)
	}
	t.Style().Format.Header = text.FormatDefault
	t.AppendHeader(table.Row{"scenario", "unprotected rows", "protected rows", "what the second caller saw"})
	var bare, kept Tally
	for i := range results {
		r := &results[i]
		t.AppendRow(table.Row{r.Scenario, rows(&r.Unprotected), rows(&r.Protected), r.Protected.Saw})
		bare.Invoices, bare.Emails = bare.Invoices+r.Unprotected.Invoices, bare.Emails+r.Unprotected.Emails
		kept.Invoices, kept.Emails = kept.Invoices+r.Protected.Invoices, kept.Emails+r.Protected.Emails
	}
	return fmt.Sprintf("%s\n%d intents: %d invoices and %d e-mails unprotected, %d and %d behind the gateway.\n"+
		"No browser runs scripts here: the copy with only the script is not played, and in the last row the player makes the key that page.js would.\n",
		t.Render(), len(results), bare.Invoices, bare.Emails, kept.Invoices, kept.Emails)
}

// rows returns the number of invoices, and that of e-mails if it differs.
func rows(t *Tally) string {
	if t.Emails == t.Invoices {
		return fmt.Sprint(t.Invoices)
	}
	return fmt.Sprintf("%d (%d e-mails)", t.Invoices, t.Emails)
}
