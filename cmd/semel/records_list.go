package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/desk"
	"github.com/semel-dev/semel/internal/openstore"
)

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
			search, err := f.search()
			if err != nil {
				return err
			}
			return f.with(cmd.Context(), p, openstore.Inspect, semel.Options{}, func(l *ledger) error {
				return f.list(cmd.Context(), p, l, search)
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
	var names []string
	for _, s := range desk.SearchStates() {
		names = append(names, s.String())
	}
	return names
}

// search reads the flags.
func (f *listFlags) search() (*desk.Search, error) {
	if f.limit < 0 {
		return nil, usagef("--limit %d is negative (0 lists all)", f.limit)
	}
	search := &desk.Search{Scope: f.scope, Name: f.name, Before: semel.Fence(f.before)}
	for _, name := range f.states {
		s, ok := desk.ParseState(name)
		if !ok {
			return nil, usagef("--state %q is none of %s", name, strings.Join(listStates(), ", "))
		}
		search.States = append(search.States, s)
	}
	return search, nil
}

func (f *listFlags) list(ctx context.Context, p *process, l *ledger, search *desk.Search) error {
	out := f.writer(p)
	shown := 0
	var last semel.Fence
	for rec, err := range l.all(ctx, search.Params()) {
		if err != nil {
			return err
		}
		if !search.Shows(&rec) {
			continue
		}
		if f.limit > 0 && shown == f.limit {
			defer fmt.Fprintf(p.stderr, "There are more; go on with: --before %d\n", last) //nolint:errcheck // a remark.
			break
		}
		_ = desk.Reveal(l.guard, &rec) // what cannot be read is shown as encrypted
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

func (j jsonWriter) write(rec *semel.Record) error { return j.encoder.Encode(desk.ViewRecord(rec)) }
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
		fmt.Sprint(rec.Attempt), fmt.Sprint(rec.Fence), desk.Time(rec.ClaimedAt), span(rec.ReadAt.Sub(rec.ClaimedAt)),
		span(rec.RetentionLeft()), outcomeText(rec),
	}
}

// complete offers the values of a flag to the shell.
func complete(cmd *cobra.Command, flag string, values []string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)) // the flag was registered above
}
