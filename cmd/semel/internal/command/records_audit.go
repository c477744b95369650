package command

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/openstore"
	"github.com/semel-dev/semel/internal/operatorview"
	"github.com/semel-dev/semel/operator"
)

type auditFlags struct {
	*recordsFlags

	limit int
	paging
}

func newRecordsAudit(p *process, shared *recordsFlags) *cobra.Command {
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
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.limit < 0 {
				return usagef("--limit %d is negative (0 lists all)", f.limit)
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

func (f *auditFlags) list(ctx context.Context, p *process, l *ledger) error {
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
			if err := out.write(&page.Entries[i]); err != nil {
				return err
			}
		}
		shown += len(page.Entries)
		at = operator.Progress{Examined: at.Examined + page.Examined, Next: page.Next, Unordered: at.Unordered || page.Unordered}
		if at.Next == "" || (f.limit > 0 && shown >= f.limit) || (f.examine > 0 && at.Examined >= f.examine) {
			break
		}
	}
	if err := out.end(); err != nil {
		return err
	}
	return f.remark(p, f.json, at)
}

// writer returns the listing of entries.
func (f *auditFlags) writer(p *process) listing[operator.Entry] {
	if f.json {
		return jsonOf(p, operatorview.ViewAudit)
	}
	titles := []string{"AT", "OPERATOR", "VIA", "ACT", "DIGEST", "SCOPE", "NAME", "AS", "REASON", "POSITION"}
	return sheetOf(newSheet(p, titles, "No verdicts."), func(e *operator.Entry) []string {
		return []string{
			operatorview.Time(e.At), plain(e.Operator.Name), orDash(plain(e.Operator.Via)), e.Act, e.Digest.String()[:digestShown],
			orDash(plain(e.Scope)), orDash(plain(e.Name)), e.As.String(), plain(e.Reason), fmt.Sprint(e.Position),
		}
	})
}
