package command

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/cli"
	"github.com/semel-dev/semel/internal/cli/openstore"
	"github.com/semel-dev/semel/internal/cli/operatorview"
	"github.com/semel-dev/semel/operator"
)

type auditFlags struct {
	*recordsFlags

	limit int
	paging
}

func newRecordsAudit(p *cli.Process, shared *recordsFlags) *cobra.Command {
	f := &auditFlags{recordsFlags: shared}
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "List the verdicts of operators, newest first",
		Long: `Lists who settled which record by hand, why and when, and the results of background
reconciliation: a table on a terminal, tab-separated columns under one line of
titles elsewhere, and with --json one object per line.

An entry is written before its verdict takes effect, so none is missing. If a
process ends between the two, the record does not have the entry's fence and state.
The store keeps every entry for 365 days, which no flag changes.

The trail is stored among the records. It is read, and continued, like records list.`,
		Example: `  semel records audit
  semel records audit --json --limit 0 --examine 0 | jq -r 'select(.operator == "alice")'`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.limit < 0 {
				return cli.Usagef("--limit %d is negative (0 lists all)", f.limit)
			}
			if err := f.check(); err != nil {
				return err
			}
			return f.with(cmd.Context(), p, openstore.Inspect, semel.Options{}, func(l *ledger) error {
				return f.list(cmd.Context(), p, l)
			})
		},
	}
	cmd.Flags().IntVar(&f.limit, "limit", 100, "list at most `n` entries; 0 for all")
	f.register(cmd)
	return cmd
}

func (f *auditFlags) list(ctx context.Context, p *cli.Process, l *ledger) error {
	out := f.writer(p)
	at := operator.Progress{Next: f.after}
	for shown := 0; ; {
		params := operator.AuditParams{After: at.Next}
		if f.limit > 0 {
			params.Limit = min(semel.MaxListLimit, f.limit-shown)
		}
		if f.examine > 0 {
			params.Examine = min(semel.MaxListExamined, f.examine-at.Examined)
		}
		page, err := l.records.Audit(ctx, params)
		if err != nil {
			return f.wrongCursor(err)
		}
		for i := range page.Entries {
			if err := out.Write(&page.Entries[i]); err != nil {
				return err
			}
		}
		shown += len(page.Entries)
		at = operator.Progress{Examined: at.Examined + page.Examined, Next: page.Next, Unordered: at.Unordered || page.Unordered}
		if at.Next == "" || (f.limit > 0 && shown >= f.limit) || (f.examine > 0 && at.Examined >= f.examine) {
			break
		}
	}
	if err := out.End(); err != nil {
		return err
	}
	return f.remark(p, f.json, at)
}

// writer returns the listing of entries.
func (f *auditFlags) writer(p *cli.Process) cli.Listing[operator.Entry] {
	if f.json {
		return cli.JSONOf(p, operatorview.ViewAudit)
	}
	titles := []string{"AT", "OPERATOR", "VIA", "ACT", "DIGEST", "SCOPE", "NAME", "AS", "REASON", "POSITION"}
	return cli.SheetOf(cli.NewSheet(p, titles, "No verdicts."), func(e *operator.Entry) []string {
		return []string{
			operatorview.Time(e.At), cli.Plain(e.Operator.Name), cli.OrDash(cli.Plain(e.Operator.Via)), e.Act, e.Digest.String()[:digestShown],
			cli.OrDash(cli.Plain(e.Scope)), cli.OrDash(cli.Plain(e.Name)), e.As.String(), cli.Plain(e.Reason), fmt.Sprint(e.Position),
		}
	})
}
