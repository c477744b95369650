package command

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/semel-dev/semel/console/operators"
	"github.com/semel-dev/semel/gateway"
	"github.com/semel-dev/semel/internal/cli"
	"github.com/semel-dev/semel/internal/cli/openstore"
	"github.com/semel-dev/semel/rules"
	"github.com/semel-dev/semel/store/memstore"
)

// withDryGateway calls work with a gateway that is never started, and whose store is empty.
func withDryGateway(c *gateway.Config, work func(*gateway.Gateway) error) error {
	store := memstore.New(nil)
	c.Store, c.Logger = store, slog.New(slog.DiscardHandler)
	g, err := gateway.New(c)
	if err != nil {
		return cli.Usage(errors.Join(err, store.Close()))
	}
	return errors.Join(work(g), g.Close(), store.Close())
}

// checkConfig looks at the flags and files as a start does.
func (f *gatewayFlags) checkConfig(p *cli.Process) error {
	if err := f.read(); err != nil {
		return err
	}
	if err := openstore.CheckKind(f.store); err != nil {
		return cli.Usage(err)
	}
	f.config.Operators = operators.Of(&f.config, f.operators)
	return withDryGateway(&f.config, func(*gateway.Gateway) error {
		_, err := fmt.Fprintln(p.Stdout, "The flags and the files are fine. The store was not opened: semel check-store tries one.")
		return err
	})
}

func newRulesCheck(p *cli.Process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check FILE",
		Short: "Check a rules file before a deploy",
		Long: `Reads a rules file as a gateway does, and reports all of its errors. It asks neither a
gateway nor a database: "semel gateway --check" also looks at flags and further
files, "semel rules verify" at the database.`,
		Example: `  semel rules check semel.yaml
  semel gateway --upstream http://127.0.0.1:9000 --rules semel.yaml --check`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return cli.Usagef("name one rules file, such as semel rules check semel.yaml")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			file, err := rules.Load(args[0])
			if err != nil {
				return cli.Usage(err)
			}
			return withDryGateway(&gateway.Config{Upstream: "http://127.0.0.1", Rules: file}, func(*gateway.Gateway) error {
				_, err := fmt.Fprintf(p.Stdout, "%s is fine (routes: %d, uniqueness rules: %d).\n", cli.PlainLine(args[0]), len(file.Routes), len(file.Unique))
				return err
			})
		},
	}
	cmd.Flags().SortFlags = false
	return cmd
}

// reloads asks the gateway to look at its files when the process gets a SIGHUP, until ctx ends. A terminal that is closed sends one
// as well, and means that the process is to end.
func (f *gatewayFlags) reloads(ctx context.Context, p *cli.Process) {
	if p.Hangup == nil || signal.Ignored(syscall.SIGHUP) || cli.IsTerminal(p.Stderr) {
		return
	}
	p.Hangup.Store(true)
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	var asks []chan struct{}
	asked := func() chan struct{} {
		asks = append(asks, make(chan struct{}))
		return asks[len(asks)-1]
	}
	if f.config.CertFile != "" {
		f.config.Reload = asked()
	}
	if f.tokens != "" {
		f.operators.Reload = asked()
	}
	go func() {
		defer signal.Stop(hangup)
		for {
			select {
			case <-ctx.Done():
				return
			case <-hangup:
			}
			if len(asks) == 0 {
				f.config.Logger.LogAttrs(ctx, slog.LevelWarn, "SIGHUP: no files to look at without --tls-cert or --admin-tokens-file; start a new process to change the rules")
			}
			for _, ask := range asks {
				select {
				case ask <- struct{}{}:
				case <-ctx.Done():
				}
			}
		}
	}()
}
