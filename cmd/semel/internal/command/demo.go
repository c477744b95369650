package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/semel-dev/semel/demo/stage"
	"github.com/semel-dev/semel/internal/cli"
)

type demoFlags struct {
	logs      *cli.LogFlags
	listen    string
	readyFile string
	latency   time.Duration
	once      bool
	json      bool
}

func newDemo(p *cli.Process, logs *cli.LogFlags) *cobra.Command {
	f := &demoFlags{logs: logs}
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show the problem and the solution in your browser",
		Long: `Serves a small invoicing application side by side: unchanged, with the browser
client's script in its pages, and behind the gateway; and a page of it without forms,
whose button sends with fetch, unchanged and behind a gateway with "page: true". Open
the page that it prints, double-click "Create invoice" in each, and compare the
counts. The page can impair the network of each copy, and leads to the gateway's
console, where an outcome that is unknown after such a fault is settled.

The application has the bug that nearly every application has: a request that
arrives twice is executed twice. It is not changed for the gateway. All data is in
a temporary directory that is removed when the demo ends (Ctrl-C).

With --once no browser is needed: it replays the behaviour of people, browsers,
proxies and programs over real connections, and prints the results. Scripts need a
browser: the copy with only the script is left out, and for "page: true" the player
makes the keys that the script in the page would. The exit code is 0 only if behind
the gateway everything happened exactly once.`,
		Example: `  semel demo
  semel demo --listen 127.0.0.1:0
  semel demo --once
  semel demo --once --json | jq '.scenarios[].protected.invoices'`,
		Args:        cli.NoArgs,
		Annotations: map[string]string{"exit1": "with --once: something happened more or less than once behind the gateway"},
		RunE: func(cmd *cobra.Command, _ []string) error {
			log, err := logs.Logger(p)
			if err != nil {
				return err
			}
			opts := &stage.Options{Listen: f.listen, Latency: f.latency, Logger: log}
			if f.latency == 0 {
				opts.Latency = -1 // to the application, zero is its default
			}
			if f.once {
				return f.play(cmd.Context(), p, opts)
			}
			return f.serve(cmd.Context(), p, opts)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.listen, "listen", "127.0.0.1:8080", "`address` of the page; the copies and the console use the next six ports, or any free ones")
	flags.StringVar(&f.readyFile, "ready-file", "", "`file` that gets the addresses once they answer, as lines of name=URL")
	flags.DurationVar(&f.latency, "latency", 300*time.Millisecond, "how long the application takes to create something")
	flags.BoolVar(&f.once, "once", false, "play the scenarios without a browser, print the table, and exit")
	flags.BoolVar(&f.json, "json", false, "with --once: print one JSON object")
	return cmd
}

// serve runs the demo until it is interrupted.
func (f *demoFlags) serve(ctx context.Context, p *cli.Process, opts *stage.Options) error {
	if f.json {
		return cli.Usagef("--json needs --once")
	}
	if err := cli.CheckAddress("listen", f.listen); err != nil {
		return err
	}
	d, err := stage.Start(ctx, opts)
	if err != nil {
		return cli.Unreachable(fmt.Errorf("%w (choose another address with --listen, or any free port with --listen 127.0.0.1:0)", err))
	}
	at := d.URLs()
	err = announce(f.readyFile, []address{
		{"page", at.Page},
		{"unprotected", at.Unprotected},
		{"protected", at.Protected},
		{"guarded", at.Guarded},
		{"console", at.Console},
		{"scripts", at.Scripts},
		{"paged", at.Paged},
	})
	if err == nil {
		warnOpen(ctx, opts.Logger, "listen", f.listen)
		_, err = io.WriteString(p.Stdout, d.Welcome())
	}
	if err == nil {
		<-ctx.Done()
	}
	return errors.Join(err, d.Stop(ctx))
}

// played is the output of demo --once --json.
type played struct {
	Scenarios []stage.Result `json:"scenarios"`
	// Once reports whether everything happened exactly once behind the gateway.
	Once bool `json:"once"`
}

// play plays the scenarios and prints the results.
func (f *demoFlags) play(ctx context.Context, p *cli.Process, opts *stage.Options) error {
	opts.Listen = "" // the page is not used
	d, err := stage.Start(ctx, opts)
	if err != nil {
		return cli.Unreachable(err)
	}
	var after func(stage.Result)
	if cli.IsTerminal(p.Stderr) && !f.json {
		_, _ = fmt.Fprint(p.Stderr, "playing") // a sign of life
		after = func(stage.Result) { _, _ = fmt.Fprint(p.Stderr, ".") }
		defer fmt.Fprintln(p.Stderr) //nolint:errcheck // as above.
	}
	results, err := d.Play(ctx, after)
	if err := errors.Join(err, d.Stop(ctx)); err != nil {
		return cli.Unreachable(err)
	}
	return printPlayed(p, results, f.json)
}

// printPlayed prints the results; the error reports that something happened more or less than once behind the gateway.
func printPlayed(p *cli.Process, results []stage.Result, asJSON bool) error {
	said := played{Scenarios: results, Once: true}
	for i := range results {
		said.Once = said.Once && results[i].Once()
	}
	var err error
	if asJSON {
		err = json.NewEncoder(p.Stdout).Encode(said)
	} else {
		_, err = io.WriteString(p.Stdout, stage.Table(results, cli.IsTerminal(p.Stdout)))
	}
	if err == nil && !said.Once {
		err = cli.Found(errors.New("not everything happened exactly once behind the gateway"))
	}
	return err
}
