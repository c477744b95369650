package command

import (
	"crypto/rand"
	"encoding/hex"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/cli"
)

func newKeysNew(p *cli.Process) *cobra.Command {
	var id string
	cmd := &cobra.Command{
		Use:   "new",
		Short: "Print a fresh line for the file of --outcome-keys",
		Long: `Prints one line: an id and a random key. The line is secret: write it to a file
that no other user can read.

To replace a key while requests arrive, add the new line at the end of the file
everywhere and restart; then move it to the top everywhere and restart; remove
the old line after the longest retention has passed. At first, the first line
may be the word none: nothing is encrypted yet, but every gateway can read what
others encrypt.`,
		Example: `  (umask 077; semel keys new > outcome.keys)
  semel keys new --id k2 >> outcome.keys`,
		Args: cli.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if id == "" {
				var tail [3]byte
				rand.Read(tail[:]) // it never returns an error
				id = time.Now().UTC().Format("k20060102-") + hex.EncodeToString(tail[:])
			}
			key := semel.OutcomeKey{ID: id}
			rand.Read(key.Key[:]) // as above
			if err := key.Validate(); err != nil {
				return cli.Usage(err)
			}
			_, err := io.WriteString(p.Stdout, outcomeKeyLine(&key))
			return err
		},
	}
	cmd.Flags().StringVar(&id, "id", "", "`name` of the key in the store and in messages (default: the day and some random digits)")
	return cmd
}
