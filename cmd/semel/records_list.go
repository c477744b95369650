package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/openstore"
)

// outcomePage is the size of a page whose records come with their answers,
// which may be large.
const outcomePage = 20

type listFlags struct {
	*recordsFlags

	states      []string
	scope, name string
	limit       int
	before      uint64
}

func newRecordsList(p *process, shared *recordsFlags) *cobra.Command {
	f := &listFlags{recordsFlags: shared}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List records, the newest claim first",
		Long: `Lists records, the newest claim first: a table on a terminal, tab-separated
columns under one line of titles elsewhere, and with --json one object a line.
The audit trail has a verb of its own.

When there are more than --limit, the last line on stderr says how to go on:
--before takes the fence of the last record shown.`,
		Example: `  semel records list
  semel records list --state unknown --state cancelled
  semel records list --json --limit 0 | jq -r 'select(.attempt > 1) | .digest'`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			wanted, err := f.wanted()
			if err != nil {
				return err
			}
			return f.with(cmd.Context(), p, openstore.Inspect, semel.Options{}, func(l *ledger) error {
				return f.list(cmd.Context(), p, l, wanted)
			})
		},
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&f.states, "state", nil, "only records in this `state` (claimed, completed, unknown, cancelled); can be repeated")
	flags.StringVar(&f.scope, "scope", "", "only records of this `scope`")
	flags.StringVar(&f.name, "name", "", "only records of this `name`")
	flags.IntVar(&f.limit, "limit", 100, "list at most `n` records; 0 for all")
	flags.Uint64Var(&f.before, "before", 0, "go on after the record with this `fence`")
	complete(cmd, "state", listStates())
	return cmd
}

func listStates() []string {
	return []string{"claimed", "completed", "unknown", "cancelled"}
}

// wanted reads --state; an empty result means all states.
func (f *listFlags) wanted() (map[semel.State]bool, error) {
	if f.limit < 0 {
		return nil, usagef("--limit %d is negative (0 lists all)", f.limit)
	}
	byName := map[string]semel.State{}
	for _, s := range []semel.State{semel.StateClaimed, semel.StateCompleted, semel.StateUnknown, semel.StateCancelled} {
		byName[s.String()] = s
	}
	wanted := map[semel.State]bool{}
	for _, name := range f.states {
		s, ok := byName[name]
		if !ok {
			return nil, usagef("--state %q is none of %s", name, strings.Join(listStates(), ", "))
		}
		wanted[s] = true
	}
	return wanted, nil
}

func (f *listFlags) list(ctx context.Context, p *process, l *ledger, wanted map[semel.State]bool) error {
	params := semel.ListParams{
		Scope: f.scope, Name: f.name, Before: semel.Fence(f.before), Limit: outcomePage, Outcomes: true,
	}
	for s := range wanted {
		params.States = append(params.States, s)
	}
	if wanted[semel.StateUnknown] && !wanted[semel.StateClaimed] {
		params.States = append(params.States, semel.StateClaimed) // lapsed ones count as unknown
	}
	out := f.writer(p)
	shown := 0
	var last semel.Fence
	for rec, err := range l.all(ctx, params) {
		if err != nil {
			return err
		}
		if (len(wanted) > 0 && !wanted[state(&rec)]) || (rec.Scope == semel.AuditScope && f.scope == "") {
			continue
		}
		if f.limit > 0 && shown == f.limit {
			defer fmt.Fprintf(p.stderr, "There are more; go on with: --before %d\n", last) //nolint:errcheck // a remark.
			break
		}
		_ = l.reveal(&rec) // what cannot be read is shown as encrypted
		if err := out.write(&rec); err != nil {
			return err
		}
		shown, last = shown+1, rec.Fence
	}
	return out.end()
}

// recordWriter prints records one after the other.
type recordWriter interface {
	write(rec *semel.Record) error
	end() error
}

func (f *listFlags) writer(p *process) recordWriter {
	if f.json {
		return jsonWriter{json.NewEncoder(p.stdout)}
	}
	return recordSheet{newSheet(p, titles(), "No records.")}
}

type jsonWriter struct{ encoder *json.Encoder }

func (j jsonWriter) write(rec *semel.Record) error { return j.encoder.Encode(viewRecord(rec)) }
func (j jsonWriter) end() error                    { return nil }

type recordSheet struct{ sheet }

func (s recordSheet) write(rec *semel.Record) error { return s.line(row(rec)) }

// titles are the columns of a list, and their order.
func titles() []string {
	return []string{"DIGEST", "SCOPE", "NAME", "STATE", "ATTEMPT", "FENCE", "CLAIMED", "AGE", "EXPIRES IN", "ANSWER"}
}

func row(rec *semel.Record) []string {
	return []string{
		rec.Digest.String()[:digestShown], orDash(plain(rec.Scope)), orDash(plain(rec.Name)), stateText(rec),
		fmt.Sprint(rec.Attempt), fmt.Sprint(rec.Fence), timeText(rec.ClaimedAt), span(rec.ReadAt.Sub(rec.ClaimedAt)),
		span(rec.RetentionLeft()), outcomeText(rec),
	}
}

// complete offers the values of a flag to the shell.
func complete(cmd *cobra.Command, flag string, values []string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)) // the flag was registered above
}
