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
	"github.com/semel-dev/semel/internal/cli/openstore/openlog"
	"github.com/semel-dev/semel/internal/cli/operatorview"
	"github.com/semel-dev/semel/internal/digest"
	"github.com/semel-dev/semel/outcomelog"
	"github.com/semel-dev/semel/outcomelog/archive"
)

type searchFlags struct {
	*recordsFlags

	query       archive.Query
	outcome     string
	key         string
	scope, name string
}

func newRecordsSearch(p *cli.Process, shared *recordsFlags) *cobra.Command {
	f := &searchFlags{recordsFlags: shared}
	cmd := &cobra.Command{
		Use:   "search",
		Short: "Search the outcome log: which request made invoice 77?",
		Long: `Searches the outcome log that a gateway with --outcome-log keeps in the store's
database, including requests whose records have expired. Entries hold no key and no
value of a field: only the digest of the key, as "semel records list" shows it, and
the path of the created resource.

A search reads at most --examine entries. If it ends before the log does, the last
line on stderr says how to continue with --after. By --made, --key, or --scope and
--name it reads matching entries only.`,
		Example: `  semel records search --made 77
  semel records search --made /invoices/77 --json
  semel records search --rule customer_email --outcome rejected`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.search(cmd.Context(), p) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.query.Made, "made", "", "only requests that created this `resource`: a path, or the last part of one")
	flags.StringVar(&f.key, "key", "", "only requests whose digest begins with these `digits`")
	flags.StringVar(&f.scope, "scope", "", "only requests of this `scope`; needs --name")
	flags.StringVar(&f.name, "name", "", "only requests of this `name`; needs --scope")
	flags.StringVar(&f.query.Rule, "rule", "", "only requests that this uniqueness `rule` decided")
	flags.StringVar(&f.query.Field, "field", "", "only requests that a rule with this `field` decided")
	flags.StringVar(&f.query.Route, "route", "", "only requests of this `route`")
	flags.StringVar(&f.outcome, "outcome", "", "only requests with this `outcome`, such as created, returned-existing, rejected or unknown")
	flags.IntVar(&f.query.Limit, "limit", 100, "list at most `n` requests, 1 to 1000")
	flags.StringVar(&f.query.After, "after", "", "continue at this `cursor` from the end of the previous page")
	flags.IntVar(&f.query.Examine, "examine", archive.MaxExamined, "read at most `n` entries, 1 to 20000")
	return cmd
}

// outcomeLog opens the log next to the records, to read it.
func (f *recordsFlags) outcomeLog(ctx context.Context) (*openlog.Log, error) {
	return openlog.Open(ctx, f.store, archive.Options{ReadOnly: true})
}

// outcomeLogError adds an exit code and advice.
func outcomeLogError(err error) error {
	switch {
	case errors.Is(err, archive.ErrNone):
		return cli.Found(fmt.Errorf("no outcome log is kept in this database (start a gateway with --outcome-log 720h)"))
	case errors.Is(err, openstore.ErrNoTables):
		return cli.Usage(err)
	}
	return storeError(err)
}

func (f *searchFlags) search(ctx context.Context, p *cli.Process) error {
	f.query.Outcome = outcomelog.Outcome(f.outcome)
	if (f.scope == "") != (f.name == "") {
		return cli.Usagef("--scope and --name belong together: neither identifies a key alone")
	}
	if f.scope != "" && f.key != "" {
		return cli.Usagef("--key and --scope exclude each other: both name a key")
	}
	if f.key != "" {
		if f.query.Keys = []string{strings.ToLower(f.key)}; strings.Trim(f.query.Keys[0], "0123456789abcdef") != "" {
			return cli.Usagef("--key %q is not a digest: give hexadecimal digits", f.key)
		}
	}
	if f.scope != "" {
		var err error
		if f.query.Keys, err = f.digests(p); err != nil {
			return err
		}
	}
	log, err := f.outcomeLog(ctx)
	if err != nil {
		return outcomeLogError(err)
	}
	page, err := log.Search(ctx, f.query)
	switch err = errors.Join(err, log.Close()); {
	case errors.Is(err, archive.ErrCursor):
		return cli.Usage(err)
	case err != nil:
		return cli.Unreachable(err)
	}
	return f.print(p, &page)
}

// digests returns the digests of the key under all secrets.
func (f *searchFlags) digests(p *cli.Process) (all []string, err error) {
	key := semel.Key{Scope: f.scope, Name: f.name}
	if err := key.Validate(); err != nil {
		return nil, cli.Usage(err)
	}
	var o semel.Options
	if err := f.keys.into(&o, p); err != nil {
		return nil, err
	}
	digesters, err := digest.Digesters(o.Secrets)
	if err != nil {
		return nil, cli.Usage(err)
	}
	for _, d := range digesters {
		all = append(all, semel.Digest(d.Of(f.scope, f.name)).String())
	}
	return all, nil
}

func (f *searchFlags) print(p *cli.Process, page *archive.Page) error {
	out := cli.SheetOf(cli.NewSheet(p, []string{"TIME", "OUTCOME", "MADE", "STATUS", "ROUTE", "RULE", "FIELDS", "DIGEST"}, "No requests."), outcomeRow)
	if f.json {
		out = cli.JSONOf(p, operatorview.ViewLogEntry)
	}
	for i := range page.Entries {
		if err := out.Write(&page.Entries[i]); err != nil {
			return err
		}
	}
	if err := out.End(); err != nil || page.Next == "" {
		return err
	}
	if f.json {
		return json.NewEncoder(p.Stderr).Encode(struct {
			Examined int    `json:"examined"`
			Next     string `json:"next"`
		}{page.Examined, page.Next})
	}
	_, err := fmt.Fprintf(p.Stderr, "Entries read: %d. Continue with --after %s\n", page.Examined, page.Next)
	return err
}

func outcomeRow(e *archive.Entry) []string {
	return []string{
		operatorview.Time(e.At), string(e.Outcome), cli.OrDash(cli.Plain(e.Made)), fmt.Sprint(e.Status), cli.OrDash(cli.Plain(e.Route)), cli.OrDash(cli.Plain(e.Rule)),
		cli.OrDash(cli.Plain(strings.Join(e.Fields, ", "))), cli.OrDash(e.Key[:min(len(e.Key), digestShown)]),
	}
}
