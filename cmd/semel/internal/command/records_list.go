package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/cli"
	"github.com/semel-dev/semel/internal/cli/openstore"
	"github.com/semel-dev/semel/internal/cli/operatorview"
	"github.com/semel-dev/semel/operator"
)

type listFlags struct {
	*recordsFlags

	states      []string
	scope, name string
	limit       int
	paging
}

// paging has the flags that a list shares with the audit trail.
type paging struct {
	after   string
	examine int
}

func (g *paging) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&g.after, "after", "", "continue at this `cursor` from the end of the previous page")
	cmd.Flags().IntVar(&g.examine, "examine", semel.MaxListExamined, "read at most `n` records of the store; 0 for all")
}

func (g *paging) check() error {
	if g.examine < 0 {
		return cli.Usagef("--examine %d is negative (0 reads all)", g.examine)
	}
	return nil
}

// remark reports on stderr how far a list went, unless it is complete.
func (g *paging) remark(p *cli.Process, asJSON bool, at operator.Progress) error {
	if at.Next == "" {
		return nil
	}
	if asJSON {
		return json.NewEncoder(p.Stderr).Encode(struct {
			Examined  int    `json:"examined"`
			Next      string `json:"next"`
			Unordered bool   `json:"unordered,omitempty"`
		}{at.Examined, at.Next, at.Unordered})
	}
	which := "the newest " // of those after the cursor
	if at.Unordered {
		which = ""
	}
	if g.after != "" {
		which = "the next "
	}
	_, err := fmt.Fprintf(p.Stderr, "Read %s%d records; continue with --after %s\n", which, at.Examined, at.Next)
	return err
}

// wrongCursor names the flag that a store rejected.
func (g *paging) wrongCursor(err error) error {
	if errors.Is(err, semel.ErrCursor) {
		return cli.Usagef("--after %q is not a cursor of this store", g.after)
	}
	return err
}

func newRecordsList(p *cli.Process, shared *recordsFlags) *cobra.Command {
	f := &listFlags{recordsFlags: shared}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List records, newest claim first",
		Long: `Lists records, newest claim first: a table on a terminal, tab-separated columns
under one line of titles elsewhere, and with --json one object per line. The audit
trail has its own verb.

A list reads at most --examine records, however few of them pass the filters. If
it ends before the store does, the last line on stderr says how many records were
read, and how to continue with --after; with --json that line is an object with
the fields examined and next.`,
		Example: `  semel records list
  semel records list --state unknown --state cancelled
  semel records list --json --limit 0 --examine 0 | jq -r 'select(.attempt > 1) | .digest'`,
		Args: cli.NoArgs,
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
	flags.StringSliceVar(&f.states, "state", nil, "only records in this `state` (claimed, completed, failed, unreadable, unknown, cancelled); can be repeated")
	flags.StringVar(&f.scope, "scope", "", "only records of this `scope`")
	flags.StringVar(&f.name, "name", "", "only records of this `name`")
	flags.IntVar(&f.limit, "limit", 100, "list at most `n` records; 0 for all")
	f.register(cmd)
	cli.Complete(cmd, "state", listStates())
	return cmd
}

func listStates() []string {
	var names []string
	for _, s := range operatorview.SearchStates() {
		names = append(names, s.String())
	}
	return names
}

// search reads the flags.
func (f *listFlags) search() (*operator.Search, error) {
	if f.limit < 0 {
		return nil, cli.Usagef("--limit %d is negative (0 lists all)", f.limit)
	}
	if err := f.check(); err != nil {
		return nil, err
	}
	search := &operator.Search{Scope: f.scope, Name: f.name, After: f.after, Limit: f.limit, Examine: f.examine}
	for _, name := range f.states {
		s, ok := operatorview.ParseState(name)
		if !ok {
			return nil, cli.Usagef("--state %q must be one of %s", name, strings.Join(listStates(), ", "))
		}
		search.States = append(search.States, s)
	}
	return search, nil
}

func (f *listFlags) list(ctx context.Context, p *cli.Process, l *ledger, search *operator.Search) error {
	out := f.writer(p)
	at, err := l.records.List(ctx, *search, func(rec *semel.Record) error {
		_ = operatorview.Reveal(l.guard, rec) // unreadable answers are shown as encrypted
		return out.Write(rec)
	})
	if err != nil {
		return f.wrongCursor(err)
	}
	if err := out.End(); err != nil {
		return err
	}
	return f.remark(p, f.json, at)
}

func (f *listFlags) writer(p *cli.Process) cli.Listing[semel.Record] {
	if f.json {
		return cli.JSONOf(p, operatorview.ViewRecord)
	}
	return cli.SheetOf(cli.NewSheet(p, titles(), "No records."), row)
}

// titles returns the columns of a list, in order.
func titles() []string {
	return []string{"DIGEST", "SCOPE", "NAME", "STATE", "ATTEMPT", "FENCE", "CLAIMED", "AGE", "EXPIRES IN", "ANSWER"}
}

func row(rec *semel.Record) []string {
	return []string{
		rec.Digest.String()[:digestShown], cli.OrDash(cli.Plain(rec.Scope)), cli.OrDash(cli.Plain(rec.Name)), stateText(rec),
		fmt.Sprint(rec.Attempt), fmt.Sprint(rec.Fence), operatorview.Time(rec.ClaimedAt), span(rec.ReadAt.Sub(rec.ClaimedAt)),
		span(rec.RetentionLeft()), outcomeText(rec),
	}
}
