package command

import (
	"github.com/spf13/cobra"

	"github.com/semel-dev/semel/internal/cli"
)

func newKeys(p *cli.Process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "keys",
		Short: "Make keys that encrypt recorded answers",
		Long: `Helps with the file of --outcome-keys: one key per line, an id and 32 bytes in
base64. The first line encrypts new answers, every line decrypts. The file must
not be readable by others. Keep it apart from the store and its backups.`,
		Example: `  semel keys new`,
		RunE:    p.WantVerb,
	}
	cmd.AddCommand(newKeysNew(p))
	return cmd
}
