package cli

import (
	"cmp"
	"os/user"

	"github.com/spf13/cobra"

	"github.com/semel-dev/semel/operator"
)

// Identity is the operator in the flags.
type Identity struct {
	by  string
	Via string // the command, unless it is semel records
}

// Register adds the flag to a verb.
func (i *Identity) Register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&i.by, "by", "", "your `name` for the audit trail (default: the name of this machine's user)")
}

// Operator returns the operator for the audit trail.
func (i *Identity) Operator() (operator.Identity, error) {
	name := i.by
	if name == "" {
		if me, err := user.Current(); err == nil {
			name = me.Username
		}
	}
	switch {
	case name == "":
		return operator.Identity{}, Usagef("give your name with --by; it is kept in the audit trail")
	case len(name) > operator.MaxIdentityBytes:
		return operator.Identity{}, Usagef("--by has %d bytes, at most %d are kept", len(name), operator.MaxIdentityBytes)
	}
	return operator.Identity{Name: name, Via: cmp.Or(i.Via, "semel records")}, nil
}
