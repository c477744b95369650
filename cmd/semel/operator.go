package main

import (
	"os/user"

	"github.com/spf13/cobra"

	"github.com/semel-dev/semel"
)

// operator is who gives a verdict, as the flags say it.
type operator struct{ by string }

func (o *operator) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.by, "by", "", "`name` of who says so, for the audit trail (default: the name of this machine's user)")
}

// who returns the operator for the audit trail.
func (o *operator) who() (semel.Operator, error) {
	name := o.by
	if name == "" {
		if me, err := user.Current(); err == nil {
			name = me.Username
		}
	}
	switch {
	case name == "":
		return semel.Operator{}, usagef("say who you are with --by; it is kept in the audit trail")
	case len(name) > semel.MaxOperatorBytes:
		return semel.Operator{}, usagef("--by has %d bytes, at most %d are kept", len(name), semel.MaxOperatorBytes)
	}
	return semel.Operator{Name: name, Via: "semel records"}, nil
}
