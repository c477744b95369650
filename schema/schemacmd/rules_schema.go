package schemacmd

import (
	"github.com/spf13/cobra"

	"github.com/semel-dev/semel/internal/cli"
	"github.com/semel-dev/semel/rules"
)

func newRulesSchema(p *cli.Process) *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON schema of the rules file, for editors",
		Long: `Prints the JSON schema of the rules file, which lets editors complete keys and show
mistakes while you type. Many read it from a comment at the top of the file:

  # yaml-language-server: $schema=semel.schema.json

Only semel itself checks combinations of keys.`,
		Example: `  semel rules schema > semel.schema.json`,
		Args:    cli.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := p.Stdout.Write(rules.Schema())
			return err
		},
	}
}
