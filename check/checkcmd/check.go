// Package checkcmd is the verb check of the command semel: its flags and its output.
package checkcmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/semel-dev/semel/check"
	"github.com/semel-dev/semel/check/internal/source"
	checkreport "github.com/semel-dev/semel/check/report"
	"github.com/semel-dev/semel/check/wire"
	"github.com/semel-dev/semel/internal/cli"
)

// checkFlags are the flags of semel check, by topic.
type checkFlags struct {
	config  check.Config // what they fill in directly
	request requestFlags
	key     keyPlaceFlags
	effects effectFlags
	users   userFlags
	service serviceFlags
	bounds  boundFlags
	browser browserFlags
	output  checkOutput
}

const checkLong = `Sends one request to an API in the ways in which requests repeat in the wild:
twice, at once, after a lost answer, with a broken body, under other keys; and
checks the result. The request is the curl command after --, or comes from a
file (--from). A URL before -- sends it to that service instead.

Places in the request are filled anew for each intent: {{n}} (a number of 16
digits), {{uuid}}, {{now}}, {{key}}, {{minted}} and {{var:NAME}}.

Answers can lie, so give --count. Without it, checks that need a count are not
judged. A URL that is only a path means the service under test:
  json:URL /pointer    the number there, or the length of the list
  header:URL NAME      the number in a response header
  html:URL SELECTOR    the elements of a page that match a CSS selector
  sql:QUERY            the number that the query returns from --dsn
  lines:FILE:TEXT      the lines of a file that contain the text
  command:COMMAND      the number that it prints; split on spaces, no shell is used
  calls:LISTEN=TARGET  the calls of the service to LISTEN, forwarded to TARGET

With --browser, URL is a page with a form. It is filled in (--var FIELD=VALUE
gives values that a guess misses) and sent in Chromium as people do: by a double
click, by Enter and a click, with a reload in the middle, after a lost answer,
after Back, in a second tab; with scripts, and without. Effects are counted
alike.

A run creates records. It announces how many requests it sends at most, and
sends none to another machine without --yes or a "y" at the terminal. Never
point it at a service whose records matter.`

// New returns the verb check.
func New(p *cli.Process, logs *cli.LogFlags) *cobra.Command {
	f := &checkFlags{config: check.Defaults()}
	cmd := &cobra.Command{
		Use:                   "check [flags] [URL] -- curl …",
		Short:                 "Find out whether an API survives being called twice",
		DisableFlagsInUseLine: true,
		Long:                  checkLong,
		Example: `  semel check --count json:/orders -- curl http://127.0.0.1:9000/orders -d 'number={{n}}' -d amount=1250
  semel check --from copied.curl --count 'sql:SELECT count(*) FROM orders' --dsn sqlite:shop.db
  semel check http://127.0.0.1:9000 --from api.yaml#createOrder --dry-run
  semel check --profile form --page /new -- curl http://127.0.0.1:9000/new -d title=Once
  semel check --browser http://127.0.0.1:9000/invoices/new --count 'json:/api/counts /invoices'
  semel check --list`,
		Annotations: map[string]string{
			"exit1": "a check failed, or one that must hold could not be judged",
			"environment": `  SEMEL_WEBHOOK_SECRET is the secret that signs webhooks (whsec_…). It has no flag
  but --webhook-secret-file, because other users can see flags.`,
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := logs.Logger(p); err != nil {
				return err
			}
			if f.output.list {
				return f.output.printCatalog(p)
			}
			at, curl, err := splitArgs(cmd, args)
			if err != nil {
				return err
			}
			if f.browser.on {
				return f.runBrowser(cmd.Context(), cmd, p, at, curl)
			}
			return f.runChecks(cmd.Context(), p, at, curl)
		},
	}
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return cli.Usagef("%w (the flags of curl follow it, after --: semel check [flags] -- curl …)", cli.SuggestFlag(cmd, err))
	})
	flags := cmd.Flags()
	flags.SortFlags = false
	f.request.register(flags)
	f.key.register(flags, &f.config)
	f.effects.register(flags)
	f.users.register(flags)
	f.service.register(flags, &f.config)
	f.bounds.register(flags, &f.config)
	f.browser.register(flags)
	f.output.register(flags)
	return cmd
}

func (f *checkFlags) runChecks(ctx context.Context, p *cli.Process, at string, curl []string) (err error) {
	if f.browser.form != "" {
		return cli.Usagef("--form needs --browser")
	}
	var open closers
	defer func() { err = errors.Join(err, open.close()) }()
	config, notes, err := f.read(ctx, p, at, curl, &open)
	if err != nil {
		return err
	}
	var bar *cli.ProgressBar
	config.Progress = func(done, all int, what string) { bar.Set(done, all, what) }
	plan, err := check.NewPlan(config)
	if err != nil {
		return cli.Usage(err)
	}
	for _, note := range notes {
		_, _ = fmt.Fprintln(p.Stderr, cli.PlainLine("note: "+note))
	}
	if f.output.dryRun {
		return f.output.printPlan(p, plan)
	}
	if err := f.output.consent(p, f.hosts(&config), plan.Requests); err != nil {
		return err
	}
	if plan.Waits > 0 {
		_, _ = fmt.Fprintf(p.Stderr, "semel: the run waits at least %s for keys to expire.\n", plan.Waits)
	}
	files, err := f.output.openFiles()
	if err != nil {
		return err
	}
	bar = cli.StartProgress(p, "checks", len(plan.Checks))
	found, err := plan.Run(ctx)
	bar.Stop()
	if err != nil && ctx.Err() == nil { // an interruption is reported below
		found.Notes = append(found.Notes, err.Error())
		return withVerdict(p, f.output.write(p, found, files), cli.Unreachable(err))
	}
	return withVerdict(p, f.output.emit(p, found, files), verdictOf(ctx, found))
}

// withVerdict prints an error of the reports and returns the verdict, which
// decides the exit code.
func withVerdict(p *cli.Process, err, verdict error) error {
	if err == nil || verdict == nil {
		return errors.Join(err, verdict)
	}
	_, _ = fmt.Fprintln(p.Stderr, "semel: "+cli.PlainLine(strings.ReplaceAll(err.Error(), "\n", "; ")))
	return verdict
}

// read reads all flags. open collects closers.
func (f *checkFlags) read(ctx context.Context, p *cli.Process, at string, curl []string, open *closers) (check.Config, []string, error) {
	request, err := f.request.read(p, at, curl)
	if err != nil {
		return check.Config{}, nil, err
	}
	config := f.config
	config.Template = request.Template
	for _, step := range []func() error{
		func() error { return f.bounds.into(&config, &request.Reach) },
		func() error { return f.key.into(&config, request.Key) },
		func() error { return f.users.into(p, &config) },
		func() error { return f.service.into(&config) },
		func() error { return f.effects.into(ctx, &config, open) },
		func() error { return f.output.readBaseline(&config) },
	} {
		if err := step(); err != nil {
			return check.Config{}, nil, err
		}
	}
	notes := request.Notes
	if t := &config.Template; config.Page == nil && !t.Varies() && !t.Has("key") {
		notes = append(notes, source.Suggest(t)...)
	}
	for _, auth := range request.Auth {
		notes = append(notes, "the service requires "+auth+": give it with -H, or log in with --as")
	}
	return config, notes, nil
}

// verdictOf returns an error with the exit code and the headline of a report.
func verdictOf(ctx context.Context, r *check.Report) error {
	switch {
	case r.Died != "":
		return cli.Unreachable(errors.New(cli.PlainLine(checkreport.Headline(r))))
	case ctx.Err() != nil:
		return cli.Found(errors.New("interrupted: the report has the results so far"))
	case !r.Fine():
		return cli.Found(errors.New(cli.PlainLine(checkreport.Headline(r))))
	}
	return nil
}

// clientOf sends look-ups the way the checks are sent.
func clientOf(c *check.Config) *wire.Client { return &wire.Client{TLS: c.TLS, Timeout: c.Timeout} }

// closers are closed in reverse order.
type closers []func() error

func (c *closers) add(one func() error) { *c = append(*c, one) }

func (c *closers) close() error {
	var errs []error
	for _, one := range slices.Backward(*c) {
		errs = append(errs, one())
	}
	return errors.Join(errs...)
}
