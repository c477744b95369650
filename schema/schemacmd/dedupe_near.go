package schemacmd

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/semel-dev/semel/internal/cli"
	"github.com/semel-dev/semel/internal/cli/opendb"
	"github.com/semel-dev/semel/internal/texts"
	"github.com/semel-dev/semel/schema/catalog"
	"github.com/semel-dev/semel/schema/dedupe"
	"github.com/semel-dev/semel/schema/dedupe/near"
)

type dedupeNearFlags struct {
	*dedupeFlags

	table   string
	by      []string
	similar []string
	show    []string
	out     string
}

func newDedupeNear(p *cli.Process, shared *dedupeFlags) *cobra.Command {
	f := &dedupeNearFlags{dedupeFlags: shared}
	cmd := &cobra.Command{
		Use:   "near",
		Short: "List rows that may be duplicates, for a person to decide",
		Long: `Lists rows of a table that have something in common which no unique index would
notice, such as a name in other letters. Nothing is merged: the list is a CSV file, and
a person writes "keep" at the row of a group that stays, and "merge" at those that are
the same. Groups without a decision stay as they are.

Each --by is a way to be the same: columns, separated by commas, each with what counts
of its values. Empty values are never the same.
  exact    all of it
  text     not upper and lower case, nor how many spaces
  letters  nor accents, punctuation and the order of words
  email    as text
  mailbox  nor the tag behind +, and the dots of Gmail
  digits   only digits, of any script, without zeros in front
  phone    only the last nine digits

--similar compares by trigrams (PostgreSQL with the extension pg_trgm).`,
		Example: `  semel dedupe near --dsn postgres://app@db.example/shop --table customers --by email:mailbox --by phone:phone,name:letters
  semel dedupe near --dsn postgres://app@db.example/shop --table customers --similar name=0.6 --show created_at,city`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			search, err := f.search()
			if err != nil {
				return err
			}
			return f.with(cmd.Context(), opendb.Read, func(db *dedupe.Database) error {
				schema, err := catalog.Read(cmd.Context(), db.DB, db.Dialect)
				if err != nil {
					return err
				}
				table, ok := schema.Table(f.table)
				if !ok {
					return cli.Found(schema.NoTable(cli.PlainLine(f.table)))
				}
				search.Table = table
				bar := cli.StartProgress(p, "rows read", 0)
				search.Progress = func(rows int) { bar.Set(rows, 0, "") }
				result, err := near.Find(cmd.Context(), db.DB, db.Dialect, search)
				bar.Stop()
				if err != nil {
					return cli.Found(err)
				}
				return f.write(p, result)
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.table, "table", "", "`table` with the rows (required)")
	flags.StringArrayVar(&f.by, "by", nil, "`COLUMN:FORM,…` that rows have in common; can be repeated")
	flags.StringArrayVar(&f.similar, "similar", nil, "`COLUMN=SIMILARITY` above 0 and at most 1; can be repeated")
	flags.StringSliceVar(&f.show, "show", nil, "further `columns` that help to decide, separated by commas")
	flags.StringVar(&f.out, "out", "semel-near.csv", "`file` for the list; it must not exist")
	return cmd
}

// search returns the search that the flags ask for, without its table.
func (f *dedupeNearFlags) search() (*near.Search, error) {
	search := &near.Search{Show: f.show}
	for _, text := range f.by {
		by, err := near.ParseBy(text)
		if err != nil {
			return nil, cli.Usagef("--by %v", err)
		}
		search.By = append(search.By, by)
	}
	for _, text := range f.similar {
		similar, err := near.ParseSimilar(text)
		if err != nil {
			return nil, cli.Usagef("--similar %v", err)
		}
		search.Similar = append(search.Similar, similar)
	}
	if f.table == "" || len(search.By)+len(search.Similar) == 0 {
		return nil, cli.Usagef("name a --table, and with --by or --similar what its rows may have in common")
	}
	return search, nil
}

// write writes the list, and says how many groups it has.
func (f *dedupeNearFlags) write(p *cli.Process, result *near.Result) error {
	if f.json {
		return json.NewEncoder(p.Stdout).Encode(result)
	}
	if err := printLines(p.Stderr, "note", result.Notes); err != nil {
		return err
	}
	if len(result.Groups) == 0 {
		_, err := fmt.Fprintln(p.Stdout, "No rows look alike.")
		return err
	}
	file, err := os.OpenFile(f.out, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return cli.Usagef("%s exists, and may hold decisions: name another file with --out", f.out)
	}
	if err != nil {
		return cli.Usage(err)
	}
	if err := errors.Join(result.Write(file), file.Close()); err != nil {
		return fmt.Errorf("write %s: %w", f.out, err)
	}
	_, err = fmt.Fprintf(p.Stdout, "%s in %s: write keep and merge into the column \"decision\".\n", texts.Count(len(result.Groups), "group"), f.out)
	return err
}
