package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/cli"
	"github.com/semel-dev/semel/internal/cli/operatorview"
)

// sight is the attempt that the operator looked at before a verdict, as the flag says.
type sight struct{ fence uint64 }

func (s *sight) register(cmd *cobra.Command, required string) {
	cmd.Flags().Uint64Var(&s.fence, "fence", 0, "`number` of the attempt that you looked at, which \"semel records show\" prints; the verdict applies to no other"+required)
}

// seen returns the fence for the guard; zero for none.
func (s *sight) seen() semel.Fence { return semel.Fence(s.fence) }

// check rejects a verdict on a record without the attempt that was seen.
func (s *sight) check() error {
	if s.fence == 0 {
		return cli.Usagef("give the attempt that you looked at with --fence; \"semel records show\" prints it. A retry may have begun since then, and the verdict must not apply to it")
	}
	return nil
}

// changed prints the current record if the verdict was about an earlier one.
func (s *sight) changed(w io.Writer, err error, asJSON bool) error {
	refused, ok := errors.AsType[*semel.Error](err)
	if !ok || refused.Record == nil || !errors.Is(err, semel.ErrChanged) {
		return err
	}
	rec := refused.Record
	if asJSON {
		err = json.NewEncoder(w).Encode(operatorview.ViewRecord(rec))
	} else {
		_, err = io.WriteString(w, describe(rec))
	}
	if err != nil {
		return err
	}
	digest := rec.Digest.String()[:digestShown]
	if s.fence == 0 {
		return cli.Found(fmt.Errorf("nothing was changed: record %s exists, and the intent may have happened (find out, then give --fence %d)", digest, rec.Fence))
	}
	return cli.Found(fmt.Errorf("nothing was changed: record %s now has fence %d, but you looked at %d (it is printed above: find out what that attempt did, then decide again)",
		digest, rec.Fence, s.fence))
}
