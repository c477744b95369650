package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"github.com/semel-dev/semel/cmd/semel/internal/storecheck"
	"github.com/semel-dev/semel/internal/cli"
	"github.com/semel-dev/semel/internal/cli/openstore"
)

func newCheckStore(p *cli.Process, logs *cli.LogFlags) *cobra.Command {
	var asJSON bool
	var keys int
	cmd := &cobra.Command{
		Use:   "check-store DSN",
		Short: "Find out which promises your database keeps",
		Long: `Runs races on the database of the DSN, in a scratch part of it that is created
for this and removed at the end: many callers claim one key at once, holders
roll back while others wait, fences must only grow, leases must end by the
database's clock, an outcome must come back byte for byte, and business rows
must commit together with it. Then it reports which promises held.

It needs the rights that the gateway needs, and the right to remove the scratch
part. It takes under a minute and writes a few megabytes. A promise that did not
break is not proven; use the server, proxy and settings that you run in production.`,
		Example: `  semel check-store postgres://app@db.example/shop
  semel check-store "mysql://app@db.example/shop" --keys 500
  semel check-store redis://127.0.0.1:6379 --json`,
		Annotations: map[string]string{"exit1": "a promise was broken, can break with these settings, or could not be tried"},
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return cli.Usagef("name one store by its DSN, such as semel check-store postgres://app@db.example/shop")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if keys < 1 || keys > maxCheckKeys {
				return cli.Usagef("--keys %d is not between 1 and %d", keys, maxCheckKeys)
			}
			if _, err := logs.Logger(p); err != nil {
				return err
			}
			report, err := checkStore(cmd, p, args[0], keys)
			if err != nil {
				return err
			}
			return printStoreReport(p, &report, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	cmd.Flags().IntVar(&keys, "keys", 64, "race for `n` keys")
	return cmd
}

const (
	maxCheckKeys = 100_000
	sayWidth     = 72 // of the last column
)

// checkStore runs in a scratch part of the store and removes it.
func checkStore(cmd *cobra.Command, p *cli.Process, dsn string, keys int) (storecheck.Report, error) {
	ctx := cmd.Context()
	scratch, err := openstore.NewScratch(dsn)
	switch {
	case errors.Is(err, openstore.ErrDSN):
		return storecheck.Report{}, cli.Usage(err)
	case err != nil:
		return storecheck.Report{}, err
	}
	bar := cli.StartProgress(p, "checks", 0)
	report, err := storecheck.Run(ctx, storecheck.On(scratch), storecheck.Options{Keys: keys, Progress: bar.Set})
	bar.Stop()
	if removed := scratch.Remove(); removed != nil {
		err = errors.Join(err, fmt.Errorf("remove the scratch part (%s): %w", scratch.Name(), removed))
	}
	var unfit interface{ Unfit() }
	switch {
	case errors.As(err, &unfit): // the server was reached, and a promise would break on it
		err = cli.Found(err)
	case err != nil:
		err = storeError(err)
	}
	return report, err
}

// printStoreReport prints the report; its error is the exit code.
func printStoreReport(p *cli.Process, r *storecheck.Report, asJSON bool) error {
	if asJSON {
		if err := json.NewEncoder(p.Stdout).Encode(r); err != nil {
			return err
		}
	} else {
		printReport(p, r)
	}
	if !r.Fine() {
		return cli.Found(errors.New("this store breaks a promise, can break one with its settings, or could not be checked; see above"))
	}
	return nil
}

func printReport(p *cli.Process, r *storecheck.Report) {
	out := cli.NewTable(p, table.Row{"check", "promise", "", "what should hold, and what was seen"})
	for i := range r.Findings {
		f := &r.Findings[i]
		promise := ""
		if f.Promise > 0 {
			promise = fmt.Sprint(f.Promise)
		}
		lines := []string{text.WrapSoft(f.Says, sayWidth)}
		for _, detail := range f.Details {
			lines = append(lines, text.WrapSoft("· "+detail, sayWidth))
		}
		if f.Advice != "" {
			lines = append(lines, text.WrapSoft("→ "+f.Advice, sayWidth))
		}
		out.AppendRow(table.Row{f.Name, promise, f.Verdict, strings.Join(lines, "\n")})
		out.AppendSeparator()
	}
	out.Render()
}
