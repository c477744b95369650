package command

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/cli"
	"github.com/semel-dev/semel/internal/cli/openstore"
	"github.com/semel-dev/semel/operator"
)

type cancelFlags struct {
	selection
	cli.Identity
	sight

	reason    string
	retention time.Duration
	hideKeys  bool
}

func newRecordsCancel(p *cli.Process, shared *recordsFlags) *cobra.Command {
	f := &cancelFlags{}
	cmd := &cobra.Command{
		Use:   "cancel --scope SCOPE --name NAME | DIGEST",
		Short: "Prevent an intent from happening",
		Long: `Leaves a tombstone: until the retention ends, a request with that key is refused
with 409 cancelled. With --scope and --name it works even before the request has
arrived. On a record that is unknown or lapsed it needs the --fence that "semel
records show" prints: the intent may have happened, so look first. If a retry has
begun since then, nothing is changed, and the current record is printed.
Cancelling twice is harmless.`,
		Example: `  semel records cancel --scope "$scope" --name 8e03978e --reason "customer called, order 8 is void"
  semel records cancel 3f9a --fence 17 --reason "order 8 is void"`,
		Args:        oneDigest,
		Annotations: map[string]string{"environment": digestHelp, "exit1": "too late: it was completed, or is being executed; or it is not the record that you looked at"},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.read(args); err != nil {
				return err
			}
			if err := checkReason(f.reason); err != nil {
				return err
			}
			if f.digits != "" {
				if err := f.check(); err != nil {
					return err
				}
			}
			by, err := f.Operator()
			if err != nil {
				return err
			}
			opts := semel.Options{HideKeys: f.hideKeys, Policy: semel.Policy{Retention: f.retention}}
			return shared.with(cmd.Context(), p, openstore.Operate, opts, func(l *ledger) error {
				rec, err := f.cancel(cmd.Context(), l, by)
				if err != nil {
					return f.changed(p.Stdout, err, shared.json)
				}
				return report(p.Stdout, &rec, shared.json)
			})
		},
	}
	f.selection.register(cmd)
	f.Register(cmd)
	f.sight.register(cmd, " (required with a digest)")
	cmd.Flags().StringVar(&f.reason, "reason", "", "why; `text` of at most 255 bytes, kept in the record (required)")
	cmd.Flags().DurationVar(&f.retention, "retention", semel.DefaultRetention, "how long retries are refused")
	cmd.Flags().BoolVar(&f.hideKeys, "hide-keys", false, "keep scope and name out of the store, as the gateway does with the same setting")
	return cmd
}

func (f *cancelFlags) cancel(ctx context.Context, l *ledger, by operator.Identity) (semel.Record, error) {
	if f.digits == "" {
		return l.records.Cancel(ctx, by, semel.Key{Scope: f.scope, Name: f.name}, f.seen(), f.reason)
	}
	rec, err := f.find(ctx, l)
	if err != nil || rec.State == semel.StateCancelled {
		return rec, err
	}
	return l.records.Resolve(ctx, by, rec.Digest, f.seen(), semel.Settlement{State: semel.StateCancelled, Note: f.reason})
}
