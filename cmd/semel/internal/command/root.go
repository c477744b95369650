package command

import (
	"github.com/spf13/cobra"

	"github.com/semel-dev/semel/check/checkcmd"
	"github.com/semel-dev/semel/internal/cli"
	"github.com/semel-dev/semel/lint/lintcmd"
	"github.com/semel-dev/semel/schema/schemacmd"
)

const (
	rootLong = `Semel makes a create safe to send twice: however often the same request
arrives (double click, refresh, a client, browser or proxy that retries), it
happens once, and every caller gets the first answer.

Start with "semel demo", which shows the problem and the solution in your browser.
Then put "semel gateway" in front of an unchanged application.`

	rootExample = `  semel demo
  semel gateway --upstream http://127.0.0.1:9000 --store sqlite:semel.db
  semel records list --state unknown`

	// helpTemplate is the layout of every help text; only verbs that do something have the last two sections.
	helpTemplate = `{{with or .Long .Short}}{{. | trimTrailingWhitespaces}}

{{end}}Usage:
  {{if .HasAvailableSubCommands}}{{.CommandPath}} VERB{{else}}{{.UseLine}}{{end}}
{{if .HasExample}}
Examples:
{{.Example}}
{{end}}{{if .HasAvailableSubCommands}}
Verbs:{{range .Commands}}{{if .IsAvailableCommand}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}
{{end}}{{if .HasAvailableLocalFlags}}
Flags:
{{.LocalFlags.FlagUsagesWrapped 100 | trimTrailingWhitespaces}}
{{end}}{{if .HasAvailableInheritedFlags}}
Flags of every verb:
{{.InheritedFlags.FlagUsagesWrapped 100 | trimTrailingWhitespaces}}
{{end}}
Environment:
  Every flag can also be given as SEMEL_ and its name in capitals, with _ for -:
  SEMEL_LOG_FORMAT=json is --log-format json. A flag on the command line wins.
  Another name that begins with SEMEL_ is an error.
{{with index .Annotations "environment"}}{{.}}
{{end}}
Exit codes:
  0  fine
  1  {{with index .Annotations "exit1"}}{{.}}{{else}}a problem was found, or what was asked for does not exist{{end}}
  2  the command line, the environment or a file is wrong
  3  something that it needs is unreachable (a store, an address, a server)
`
)

// newRoot returns the command tree.
func newRoot(p *cli.Process, telemetry Telemetry) *cobra.Command {
	root := &cobra.Command{
		Use:           "semel",
		Short:         "Make a create safe to send twice",
		Long:          rootLong,
		Example:       rootExample,
		SilenceErrors: true,
		SilenceUsage:  true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkEnvironment(cmd.Root(), p.Environment); err != nil {
				return err
			}
			return p.ReadEnvironment(cmd.Flags())
		},
		Args: cobra.ArbitraryArgs,
		RunE: p.WantVerb,
	}
	root.SetIn(p.Stdin)
	root.SetOut(p.Stdout)
	root.SetErr(p.Stderr)
	root.SetHelpTemplate(helpTemplate)
	root.SetUsageTemplate(helpTemplate)
	root.SetFlagErrorFunc(cli.SuggestFlag)
	root.CompletionOptions.DisableDescriptions = false
	logs := &cli.LogFlags{}
	logs.Register(root)
	root.AddCommand(newDemo(p, logs), newGateway(p, logs, telemetry), newRecords(p, logs), newConsole(p, logs), newInbox(p, logs), newOutbox(p, logs), newKeys(p), newRules(p), schemacmd.NewDedupe(p), lintcmd.New(p), checkcmd.New(p, logs), newCheckStore(p, logs), newVersion(p))
	return root
}
