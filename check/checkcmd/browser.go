package checkcmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/semel-dev/semel/check"
	"github.com/semel-dev/semel/check/internal/gutcheck"
	"github.com/semel-dev/semel/check/internal/source"
	"github.com/semel-dev/semel/internal/cli"
)

// browserFlags try a page in a browser instead of a request.
type browserFlags struct {
	on   bool
	form string
}

func (f *browserFlags) register(flags *pflag.FlagSet) {
	flags.BoolVar(&f.on, "browser", false, "send the form of the page at URL in Chromium, in the ways in which people send twice")
	flags.StringVar(&f.form, "form", "", "for --browser: the form, or its button, as a `CSS` selector (default: the only form without a password)")
}

// ofBrowser are the flags that a run in a browser has as well.
func ofBrowser() []string {
	return []string{"browser", "form", "count", "count-auth", "dsn", "header", "var", "timeout", "settle", "cacert", "insecure", "yes", "json", "dry-run", "log-level", "log-format"}
}

// runBrowser is semel check --browser.
func (f *checkFlags) runBrowser(ctx context.Context, cmd *cobra.Command, p *cli.Process, at string, curl []string) (err error) {
	var stray []string
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		if !slices.Contains(ofBrowser(), flag.Name) {
			stray = append(stray, "--"+flag.Name)
		}
	})
	target, parsed := url.Parse(at)
	switch {
	case len(stray) > 0:
		return cli.Usagef("%s cannot be used with --browser", strings.Join(stray, ", "))
	case parsed != nil, target.Host == "", target.Scheme != "http" && target.Scheme != "https", len(curl) > 0:
		return cli.Usagef("--browser opens one page: semel check --browser http://127.0.0.1:9000/orders/new")
	}
	var open closers
	defer func() { err = errors.Join(err, open.close()) }()
	config, err := f.browserConfig(ctx, at, &open)
	if err != nil {
		return err
	}
	if f.output.dryRun {
		_, err := fmt.Fprintf(p.Stdout, "The form of %s would be sent at most %d times.\n", cli.PlainLine(target.Redacted()), gutcheck.Requests())
		return err
	}
	hosts := []string{hostOf(at, nil)}
	for _, address := range f.effects.addresses(&check.Config{Template: check.Template{URL: at}}) {
		if host := hostOf(address, nil); !slices.Contains(hosts, host) {
			hosts = append(hosts, host)
		}
	}
	if err := f.output.consent(p, hosts, gutcheck.Requests()); err != nil {
		return err
	}
	config.Allowed = func(host string) bool { return f.output.yes || isThisMachine(host) }
	var bar *cli.ProgressBar
	config.Progress = func(done, all int, what string) {
		if bar == nil {
			bar = cli.StartProgress(p, "ways", all)
		}
		bar.Set(done, all, what)
	}
	report, err := gutcheck.Run(ctx, config)
	if bar != nil {
		bar.Stop()
	}
	return f.printBrowser(p, report, browserError(err))
}

// printBrowser prints what a run has found, which an error may have ended early.
func (f *checkFlags) printBrowser(p *cli.Process, report *gutcheck.Report, early error) error {
	if report == nil || early != nil && len(report.Results) == 0 {
		return early
	}
	text := gutcheck.Text
	if f.output.json {
		text = func(w io.Writer, r *gutcheck.Report) error { return json.NewEncoder(w).Encode(r) }
	}
	err := text(p.Stdout, report)
	if err == nil && early == nil && !report.Fine() {
		return cli.Found(errors.New(cli.PlainLine(report.Headline())))
	}
	return errors.Join(early, err)
}

// browserConfig reads the flags that a run in a browser shares.
func (f *checkFlags) browserConfig(ctx context.Context, at string, open *closers) (*gutcheck.Config, error) {
	shared := f.config
	shared.Template.URL = at
	if err := f.bounds.into(&shared, &source.Reach{}); err != nil {
		return nil, err
	}
	header, err := headerLines("-H", f.request.header)
	if err != nil {
		return nil, err
	}
	shared.Template.Header = header
	if err := f.effects.into(ctx, &shared, open); err != nil {
		return nil, err
	}
	var typed caller
	if err := f.users.addVars(&typed); err != nil {
		return nil, err
	}
	user, err := typed.user()
	if err != nil {
		return nil, err
	}
	config := &gutcheck.Config{
		URL: at, Form: f.browser.form, Values: map[string]string{}, Header: map[string]string{}, Counters: shared.Counters,
		Timeout: shared.Timeout, Settle: shared.Settle, TLS: shared.TLS,
	}
	if user != nil {
		for name, value := range user.Values {
			config.Values[strings.TrimPrefix(name, "var:")] = value
		}
	}
	for _, field := range header {
		config.Header[field.Name] = field.Value
	}
	return config, nil
}

// browserError gives an error its exit code.
func browserError(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*gutcheck.PremiseError](err); ok {
		return cli.Found(err)
	}
	if _, ok := errors.AsType[*gutcheck.FormError](err); ok {
		return cli.Usage(err)
	}
	return cli.Unreachable(err)
}
