package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/desk"
	"github.com/semel-dev/semel/internal/openstore"
)

type auditFlags struct {
	*recordsFlags

	limit  int
	before uint64
}

func newRecordsAudit(p *process, shared *recordsFlags) *cobra.Command {
	f := &auditFlags{recordsFlags: shared}
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "List the verdicts of operators, the newest first",
		Long: `Lists who settled which record by hand, why and when, and what reconciliation in
the background found: a table on a terminal, tab-separated columns under one line
of titles elsewhere, and with --json one object a line.

An entry is written before its verdict takes effect, so none is missing. Should a
process end between the two, the record does not have the entry's fence and state.
The trail lies in the store, for 365 days unless the gateway was told otherwise.

When there are more than --limit, the last line on stderr says how to go on.`,
		Example: `  semel records audit
  semel records audit --json --limit 0 | jq -r 'select(.operator == "alice")'`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.limit < 0 {
				return usagef("--limit %d is negative (0 lists all)", f.limit)
			}
			return f.with(cmd.Context(), p, openstore.Inspect, semel.Options{}, func(l *ledger) error {
				return f.list(cmd.Context(), p, l)
			})
		},
	}
	cmd.Flags().IntVar(&f.limit, "limit", 100, "list at most `n` entries; 0 for all")
	cmd.Flags().Uint64Var(&f.before, "before", 0, "go on after the entry with this `position`")
	return cmd
}

func (f *auditFlags) list(ctx context.Context, p *process, l *ledger) error {
	write, end := f.writer(p)
	params := semel.AuditParams{Before: semel.Fence(f.before), Limit: semel.MaxListLimit}
	for shown := 0; ; {
		page, err := l.guard.Audit(ctx, params)
		if err != nil {
			return err
		}
		for i := range page {
			if f.limit > 0 && shown == f.limit {
				defer fmt.Fprintf(p.stderr, "There are more; go on with: --before %d\n", params.Before) //nolint:errcheck // a remark.
				return end()
			}
			if err := write(&page[i]); err != nil {
				return err
			}
			shown, params.Before = shown+1, page[i].Position
		}
		if len(page) < params.Limit {
			return end()
		}
	}
}

// writer returns how an entry is printed, and how the list ends.
func (f *auditFlags) writer(p *process) (write func(*semel.AuditEntry) error, end func() error) {
	if f.json {
		encoder := json.NewEncoder(p.stdout)
		return func(e *semel.AuditEntry) error { return encoder.Encode(desk.ViewAudit(e)) }, func() error { return nil }
	}
	out := newSheet(p, []string{"AT", "OPERATOR", "VIA", "ACT", "DIGEST", "SCOPE", "NAME", "AS", "REASON", "POSITION"}, "No verdicts.")
	return func(e *semel.AuditEntry) error {
		return out.line([]string{
			desk.Time(e.At), plain(e.Operator.Name), orDash(plain(e.Operator.Via)), e.Act, e.Digest.String()[:digestShown],
			orDash(plain(e.Scope)), orDash(plain(e.Name)), e.As.String(), plain(e.Reason), fmt.Sprint(e.Position),
		})
	}, out.end
}
