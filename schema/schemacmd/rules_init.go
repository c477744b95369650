package schemacmd

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/semel-dev/semel/internal/cli"
	"github.com/semel-dev/semel/internal/cli/opendb"
	"github.com/semel-dev/semel/internal/texts"
	"github.com/semel-dev/semel/schema/internal/draft"
)

func newRulesInit(p *cli.Process, shared *rulesFlags) *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Draft the rules file from an existing database",
		Long: `Writes a rules file with a rule for each unique index and constraint of the
database, except primary keys that only number rows. Sentences and scopes are
guessed from names: read and improve them. So are rules for columns that look
unique and that nothing enforces yet: each says how many rows break it, verify
reports it, and plan writes its index. Indexes that the file cannot express are
comments. The database is not changed.`,
		Example: `  semel rules init --dsn postgres://app@db.example/shop
  semel rules init --dsn sqlite:shop.db --rules -`,
		Annotations: map[string]string{"exit1": "the file already exists (see --force)"},
		Args:        cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := free(shared.file, force); err != nil {
				return err
			}
			return shared.with(cmd.Context(), func(db *opendb.Database) error {
				made, err := draft.Make(cmd.Context(), db.DB, db.Dialect)
				if err != nil {
					return err
				}
				if shared.file == "-" {
					_, err := p.Stdout.Write(made.Text)
					return err
				}
				if err := write(shared.file, made.Text, force); err != nil {
					return err
				}
				return tellDraft(p.Stdout, shared.file, made)
			})
		},
	}
	shared.register(cmd.Flags())
	cmd.Flags().BoolVar(&force, "force", false, "replace an existing file")
	return cmd
}

// free rejects an existing file that may not be replaced, before the work.
func free(name string, force bool) error {
	_, err := os.Lstat(name)
	if there := err == nil; name == "-" || force || !there { // writing will report other errors
		return nil
	}
	return cli.Found(fmt.Errorf("%s already exists (replace it with --force, or name another file with --rules; - prints)", name))
}

// write writes the file, and replaces an existing one only if allowed.
func write(name string, text []byte, force bool) error {
	flags := os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	if !force {
		flags = os.O_WRONLY | os.O_CREATE | os.O_EXCL
	}
	file, err := os.OpenFile(name, flags, 0o644) //nolint:gosec // named by the operator, and for others to read.
	if err != nil {
		return cli.Usage(err)
	}
	_, err = file.Write(text)
	if err := errors.Join(err, file.Close()); err != nil {
		return cli.Usage(err)
	}
	return nil
}

func tellDraft(w io.Writer, name string, made *draft.Draft) error {
	text := fmt.Sprintf("%s has %s, %d of them guesses that nothing enforces, and %d more as comments to review. Improve the sentences, then run: semel rules verify",
		name, texts.Count(made.Rules, "rule"), made.Guesses, made.Comments)
	if made.Rules == 0 {
		text = fmt.Sprintf("%s has no rule yet, and %d as comments to review: nothing in this database looks unique. Write a rule under unique:, then run: semel rules verify",
			name, made.Comments)
	}
	_, err := fmt.Fprintln(w, text)
	return err
}
