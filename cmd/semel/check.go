package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/semel-dev/semel/check"
	checkreport "github.com/semel-dev/semel/check/report"
	"github.com/semel-dev/semel/check/source"
	"github.com/semel-dev/semel/check/wire"
)

// checkFlags are the flags of semel check, by what they are about.
type checkFlags struct {
	request requestFlags
	key     keyPlaceFlags
	effects effectFlags
	users   userFlags
	sender  senderFlags
	service serviceFlags
	bounds  boundFlags
	output  checkOutput
}

func newCheck(p *process, logs *logFlags) *cobra.Command {
	f := &checkFlags{}
	cmd := &cobra.Command{
		Use:   "check [URL]",
		Short: "Find out whether an API survives being called twice",
		Long: `Sends requests to an API as the world does: twice, together, with lost answers,
broken bodies, under other keys, and looks what became of it. The request is
given as curl takes it, or read from a curl command, a browser's recording, an
OpenAPI document or a .http file. Places in it are filled anew for each intent:
{{n}} a number, {{uuid}}, {{now}}, {{key}}, {{minted}} and {{var:NAME}}.

Answers can lie: say with --count-… how effects are counted. Checks that would
need to know are not judged otherwise.

It makes records, and says before how many requests it sends at most. To a host
other than this machine it sends nothing without --yes or a "y" at the terminal.
Never point it at anything whose records matter.`,
		Example: `  semel check http://127.0.0.1:9000/orders -d 'amount={{n}}' --count-json /orders
  semel check --curl @copied.txt --count-sql 'SELECT count(*) FROM orders' --dsn sqlite:shop.db
  semel check http://127.0.0.1:9000 --openapi api.yaml --operation createOrder --dry-run
  semel check http://127.0.0.1:9000/new --profile form --page /new -d title=Once
  semel check --list`,
		Annotations: map[string]string{
			"exit1": "a check failed, or one that must hold could not be judged",
			"environment": `  SEMEL_WEBHOOK_SECRET is the secret that signs webhooks (whsec_…). It has no flag
  but --webhook-secret-file, because flags can be seen by others.`,
		},
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := logs.logger(p); err != nil {
				return err
			}
			if f.output.list {
				return f.output.printCatalog(p)
			}
			return f.run(cmd.Context(), p, args)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	f.request.register(flags)
	f.key.register(flags)
	f.effects.register(flags)
	f.users.register(flags)
	f.sender.register(flags)
	f.service.register(flags)
	f.bounds.register(flags)
	f.output.register(flags)
	return cmd
}

// run plans the checks, asks whether they may be sent, and tells what they found.
func (f *checkFlags) run(ctx context.Context, p *process, args []string) (err error) {
	var open closers
	defer func() { err = errors.Join(err, open.close()) }()
	config, notes, err := f.config(ctx, p, args, &open)
	if err != nil {
		return err
	}
	var bar *progressBar
	config.Progress = func(done, all int, what string) { bar.set(done, all, what) }
	plan, err := check.NewPlan(config)
	if err != nil {
		return usage(err)
	}
	for _, note := range notes {
		_, _ = fmt.Fprintln(p.stderr, plainLine("note: "+note))
	}
	if f.output.dryRun {
		return f.output.printPlan(p, plan)
	}
	if err := f.output.consent(p, f.hosts(&config), plan.Requests); err != nil {
		return err
	}
	if plan.Waits > 0 {
		_, _ = fmt.Fprintf(p.stderr, "semel: it waits at least %s for keys to expire.\n", plan.Waits)
	}
	files, err := f.output.open()
	if err != nil {
		return err
	}
	bar = startProgress(p, "checks", len(plan.Checks))
	found, err := plan.Run(ctx)
	bar.stop()
	if err != nil && ctx.Err() == nil { // nothing was found, which is said below
		found.Notes = append(found.Notes, err.Error())
		return withVerdict(p, f.output.write(p, found, files), unreachable(err))
	}
	return withVerdict(p, f.output.tell(p, found, files), verdictOf(ctx, found))
}

// withVerdict says what went wrong with the reports, too: the verdict alone has
// an exit code.
func withVerdict(p *process, err, verdict error) error {
	if err == nil || verdict == nil {
		return errors.Join(err, verdict)
	}
	_, _ = fmt.Fprintln(p.stderr, "semel: "+plainLine(strings.ReplaceAll(err.Error(), "\n", "; ")))
	return verdict
}

// config reads all flags. What it opens is closed by open.
func (f *checkFlags) config(ctx context.Context, p *process, args []string, open *closers) (check.Config, []string, error) {
	request, err := f.request.read(p, args)
	if err != nil {
		return check.Config{}, nil, err
	}
	config := check.Config{Template: request.Template}
	for _, step := range []func() error{
		func() error { return f.bounds.into(&config, &request.Reach) },
		func() error { return f.key.into(&config, request.Key) },
		func() error { return f.users.into(&config) },
		func() error { return f.sender.into(p, &config) },
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
		notes = append(notes, "the service asks for "+auth+": give it with -H, or by a log-in")
	}
	return config, notes, nil
}

// verdictOf is the exit code of a report; the sentence is that of its headline.
func verdictOf(ctx context.Context, r *check.Report) error {
	switch {
	case r.Died != "":
		return unreachable(errors.New(plainLine(checkreport.Headline(r))))
	case ctx.Err() != nil:
		return found(errors.New("interrupted: the report has what was found so far"))
	case !r.Fine():
		return found(errors.New(plainLine(checkreport.Headline(r))))
	}
	return nil
}

// clientOf sends look-ups as the checks are sent.
func clientOf(c *check.Config) *wire.Client { return &wire.Client{TLS: c.TLS, Timeout: c.Timeout} }

// closers are closed in the order opposite to that of opening.
type closers []func() error

func (c *closers) add(one func() error) { *c = append(*c, one) }

func (c *closers) close() error {
	var errs []error
	for _, one := range slices.Backward(*c) {
		errs = append(errs, one())
	}
	return errors.Join(errs...)
}
