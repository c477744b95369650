package command

import (
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/semel-dev/semel/check/checkcmd"
	"github.com/semel-dev/semel/internal/cli"
	"github.com/semel-dev/semel/internal/rules/spelling"
)

// otherVariables matches names that begin as ours do and mean something else: what Kubernetes sets for services whose names
// begin with "semel", and what Semel's own tests and examples read.
var otherVariables = regexp.MustCompile(`^SEMEL_(` +
	`([A-Z0-9_]+_)?SERVICE_(HOST|PORT(_[A-Z0-9_]+)?)|([A-Z0-9_]+_)?PORT(_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?|` +
	`(TEST|UPDATE|BENCH|PASTE|SHOP|MATHEMATICIANS|OPERATE|TEMPORAL)_[A-Z0-9_]+|` +
	`LONG|REQUIRE_STORES|PROVE(_[A-Z0-9_]+)?|OTLP_COMMAND|LINT_(TIMES|SEED)|(QUEUE|DEDUPE)_SEEDS)$`)

// checkEnvironment refuses a variable that no verb reads: a misspelt SEMEL_OUTCOME_KEYS would leave answers unencrypted.
func checkEnvironment(root *cobra.Command, environment []string) error {
	known := []string{secretVariable, formSecretsVariable, checkcmd.WebhookVariable}
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) { known = append(known, cli.Variable(f.Name)) })
		for _, verb := range cmd.Commands() {
			walk(verb)
		}
	}
	walk(root)
	for _, setting := range environment {
		name, value, _ := strings.Cut(setting, "=")
		if value == "" || !strings.HasPrefix(name, cli.VariablePrefix) || slices.Contains(known, name) || otherVariables.MatchString(name) {
			continue
		}
		if near := spelling.Nearest(name, known); near != "" {
			return cli.Usagef("the environment variable %s is unknown; did you mean %s?", name, near)
		}
		return cli.Usagef("the environment variable %s is unknown: unset it, or rename it, as names that begin with %s are Semel's", name, cli.VariablePrefix)
	}
	return nil
}
