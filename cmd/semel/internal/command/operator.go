package command

import (
	"cmp"
	"os/user"

	"github.com/spf13/cobra"

	"github.com/semel-dev/semel/operator"
)

// identity is the operator in the flags.
type identity struct {
	by  string
	via string // the command, unless it is semel records
}

func (i *identity) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&i.by, "by", "", "your `name` for the audit trail (default: the name of this machine's user)")
}

// who returns the operator for the audit trail.
func (i *identity) who() (operator.Identity, error) {
	name := i.by
	if name == "" {
		if me, err := user.Current(); err == nil {
			name = me.Username
		}
	}
	switch {
	case name == "":
		return operator.Identity{}, usagef("give your name with --by; it is kept in the audit trail")
	case len(name) > operator.MaxIdentityBytes:
		return operator.Identity{}, usagef("--by has %d bytes, at most %d are kept", len(name), operator.MaxIdentityBytes)
	}
	return operator.Identity{Name: name, Via: cmp.Or(i.via, "semel records")}, nil
}
