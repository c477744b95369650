package schemacmd

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/semel-dev/semel/internal/cli"
	"github.com/semel-dev/semel/internal/cli/opendb"
	"github.com/semel-dev/semel/schema/dedupe"
)

func newDedupeLive(p *cli.Process, f *dedupeFlags) *cobra.Command {
	table, name, create := "", "", false
	cmd := &cobra.Command{
		Use:   "live",
		Short: "Write the view of the rows that are not merged",
		Long: `Writes the statement that makes a view of a table without its merged rows, and without
the columns that a merge writes. In PostgreSQL, MariaDB and MySQL, applications can also
write to it. Nothing drops the view but DROP VIEW: after an undo, it shows the rows again.`,
		Example: `  semel dedupe live --dsn postgres://app@db.example/shop --table customers
  semel dedupe live --dsn postgres://app@db.example/shop --table customers --view customer --create`,
		Annotations: map[string]string{"exit1": "the table keeps no merged rows, or the name is taken; see stderr"},
		Args:        cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if table == "" {
				return cli.Usagef("--table is missing: name the table of the view")
			}
			use := opendb.Read
			if create {
				use = opendb.Write
			}
			return f.with(cmd.Context(), use, func(db *dedupe.Database) error {
				view, err := db.Live(cmd.Context(), table, name, create)
				if err != nil {
					return err
				}
				return f.printLive(p, view)
			})
		},
	}
	cmd.Flags().StringVar(&table, "table", "", "`table` with the column merged_into (required)")
	cmd.Flags().StringVar(&name, "view", "", "`name` of the view, in the schema of the table (default TABLE_live)")
	cmd.Flags().BoolVar(&create, "create", false, "make the view")
	return cmd
}

// printLive prints SQL, with comments around the statement.
func (f *dedupeFlags) printLive(p *cli.Process, view *dedupe.View) error {
	if f.json {
		return json.NewEncoder(p.Stdout).Encode(view)
	}
	if view.Made {
		if _, err := fmt.Fprintf(p.Stdout, "-- The view %s is made.\n", cli.Plain(view.Name)); err != nil {
			return err
		}
	}
	var text strings.Builder
	for line := range strings.SplitSeq(view.SQL+";", "\n") {
		text.WriteString(cli.Plain(line) + "\n")
	}
	if _, err := fmt.Fprintf(p.Stdout, "%s-- Or in each statement that names %s: WHERE %s\n", text.String(), cli.Plain(view.Table), cli.Plain(view.Filter)); err != nil {
		return err
	}
	return printLines(p.Stdout, "-- note", view.Notes)
}
