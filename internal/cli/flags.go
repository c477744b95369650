package cli

import (
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/semel-dev/semel/internal/rules/spelling"
)

// VariablePrefix begins the environment variables of flags.
const VariablePrefix = "SEMEL_"

// WantVerb rejects a command line without a valid verb.
func (p *Process) WantVerb(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		cmd.SuggestionsMinimumDistance = 2
		return Usagef("unknown verb %q in %q%s", args[0], cmd.CommandPath(), didYouMean(cmd.SuggestionsFor(args[0])))
	}
	cmd.SetOut(p.Stderr)
	if err := cmd.Help(); err != nil {
		return err
	}
	return Usage(nil)
}

func didYouMean(suggestions []string) string {
	if len(suggestions) == 0 {
		return ""
	}
	return "; did you mean " + strings.Join(suggestions, " or ") + "?"
}

// SuggestFlag adds the flag that was meant to the error about an unknown one.
func SuggestFlag(cmd *cobra.Command, err error) error {
	var names []string
	cmd.Flags().VisitAll(func(flag *pflag.Flag) { names = append(names, flag.Name) })
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok && spelling.Nearest(unknown.GetSpecifiedName(), names) != "" {
		return Usagef("%w; did you mean --%s?", err, spelling.Nearest(unknown.GetSpecifiedName(), names))
	}
	return Usage(err)
}

// ReadEnvironment sets every flag that was not given to the value of its variable.
func (p *Process) ReadEnvironment(flags *pflag.FlagSet) error {
	var errs []error
	flags.VisitAll(func(flag *pflag.Flag) {
		if flag.Changed || flag.Name == "help" {
			return
		}
		name := Variable(flag.Name)
		value := p.Getenv(name)
		if value == "" {
			return
		}
		if err := flags.Set(flag.Name, value); err != nil {
			// pflag's text is about a flag on the command line.
			errs = append(errs, fmt.Errorf("the environment variable %s: %q is not a valid value of --%s (%s)", name, value, flag.Name, flag.Value.Type()))
		}
	})
	if err := errors.Join(errs...); err != nil {
		return Usage(err)
	}
	return nil
}

// Variable returns the environment variable for a flag.
func Variable(flag string) string {
	return VariablePrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// NoArgs is cobra.NoArgs with a clearer message.
func NoArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return Usagef("%q takes no argument, but %q was given", cmd.CommandPath(), args[0])
	}
	return nil
}

// Complete offers the values of a flag to the shell.
func Complete(cmd *cobra.Command, flag string, values []string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)) // the flag is registered above
}

// CheckAddress rejects an invalid address.
func CheckAddress(flag, value string) error {
	if _, _, err := net.SplitHostPort(value); err != nil {
		return Usagef("--%s %q is not an address (write it like 127.0.0.1:8080, or 127.0.0.1:0 for any free port)", flag, value)
	}
	return nil
}
