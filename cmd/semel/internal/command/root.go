package command

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/semel-dev/semel/internal/rules/spelling"
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
func newRoot(p *process) *cobra.Command {
	root := &cobra.Command{
		Use:           "semel",
		Short:         "Make a create safe to send twice",
		Long:          rootLong,
		Example:       rootExample,
		SilenceErrors: true,
		SilenceUsage:  true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkEnvironment(cmd.Root(), p.environment); err != nil {
				return err
			}
			return p.readEnvironment(cmd.Flags())
		},
		Args: cobra.ArbitraryArgs,
		RunE: p.wantVerb,
	}
	root.SetIn(p.stdin)
	root.SetOut(p.stdout)
	root.SetErr(p.stderr)
	root.SetHelpTemplate(helpTemplate)
	root.SetUsageTemplate(helpTemplate)
	root.SetFlagErrorFunc(suggestFlag)
	root.CompletionOptions.DisableDescriptions = false
	logs := &logFlags{}
	logs.register(root)
	root.AddCommand(newDemo(p, logs), newGateway(p, logs), newRecords(p, logs), newConsole(p, logs), newInbox(p, logs), newOutbox(p, logs), newKeys(p), newRules(p), newDedupe(p), newLint(p), newCheck(p, logs), newCheckStore(p, logs), newVersion(p))
	return root
}

// wantVerb rejects a command line without a valid verb.
func (p *process) wantVerb(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		cmd.SuggestionsMinimumDistance = 2
		return usagef("unknown verb %q in %q%s", args[0], cmd.CommandPath(), didYouMean(cmd.SuggestionsFor(args[0])))
	}
	cmd.SetOut(p.stderr)
	if err := cmd.Help(); err != nil {
		return err
	}
	return usage(nil)
}

func didYouMean(suggestions []string) string {
	if len(suggestions) == 0 {
		return ""
	}
	return "; did you mean " + strings.Join(suggestions, " or ") + "?"
}

// suggestFlag adds the flag that was meant to the error about an unknown one.
func suggestFlag(cmd *cobra.Command, err error) error {
	var names []string
	cmd.Flags().VisitAll(func(flag *pflag.Flag) { names = append(names, flag.Name) })
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok && spelling.Nearest(unknown.GetSpecifiedName(), names) != "" {
		return usagef("%w; did you mean --%s?", err, spelling.Nearest(unknown.GetSpecifiedName(), names))
	}
	return usage(err)
}

// readEnvironment sets every flag that was not given to the value of its variable.
func (p *process) readEnvironment(flags *pflag.FlagSet) error {
	var errs []error
	flags.VisitAll(func(flag *pflag.Flag) {
		if flag.Changed || flag.Name == "help" {
			return
		}
		name := variable(flag.Name)
		value := p.getenv(name)
		if value == "" {
			return
		}
		if err := flags.Set(flag.Name, value); err != nil {
			// pflag's text is about a flag on the command line.
			errs = append(errs, fmt.Errorf("the environment variable %s: %q is not a valid value of --%s (%s)", name, value, flag.Name, flag.Value.Type()))
		}
	})
	if err := errors.Join(errs...); err != nil {
		return usage(err)
	}
	return nil
}

// variable returns the environment variable for a flag.
func variable(flag string) string {
	return variablePrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}
