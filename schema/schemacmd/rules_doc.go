package schemacmd

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/semel-dev/semel/internal/cli"
	"github.com/semel-dev/semel/rules"
)

func newRulesDoc(p *cli.Process, shared *rulesFlags) *cobra.Command {
	var format, lang string
	cmd := &cobra.Command{
		Use:   "doc",
		Short: "Describe the uniqueness rules for people and programs",
		Long: `Prints what callers may know about the rules: what counts as the same, in the words
that they send, and how a second one is answered. Tables, indexes, scopes and SQL
are left out.

markdown and html are pages for people, in their language; json is the member
"unique" of /.well-known/idempotency, where the gateway also publishes it.`,
		Example: `  semel rules doc > docs/uniqueness.md
  semel rules doc --format html --lang sv > unik.html`,
		Args: cli.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if !slices.Contains(rules.Languages(), lang) {
				return cli.Usagef("--lang %q must be one of %s", lang, strings.Join(rules.Languages(), ", "))
			}
			file, err := shared.loadUnique()
			if err != nil {
				return err
			}
			var text []byte
			switch format {
			case "markdown":
				text = file.PublishMarkdown(lang)
			case "html":
				text = file.PublishPage(lang)
			case "json":
				text = file.PublishJSON()
			default:
				return cli.Usagef("--format %q must be markdown, html or json", format)
			}
			_, err = p.Stdout.Write(text)
			return err
		},
	}
	cmd.Flags().StringVar(&format, "format", "markdown", "`format`: markdown, html or json")
	cmd.Flags().StringVar(&lang, "lang", "en", "`language` of the page: "+strings.Join(rules.Languages(), ", "))
	cli.Complete(cmd, "format", []string{"markdown", "html", "json"})
	cli.Complete(cmd, "lang", rules.Languages())
	return cmd
}
