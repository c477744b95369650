package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/semel-dev/semel/internal/cli"
	"github.com/semel-dev/semel/internal/cli/openstore"
)

const checkHelp = `A log that lost acknowledged entries (a flipped bit, a truncated or removed file) is
not opened, because intents could be executed twice. What a crash left of an
interrupted sync is not damage: none of it was acknowledged, and the next start cuts
it off.`

func newRecordsCheck(p *cli.Process, f *recordsFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "check",
		Short: "Read a log (log:DIR) from end to end and report damage",
		Long: `Reads every entry of a log (log:DIR) and reports damage. It changes nothing. Stop the
gateway that uses the log first.

` + checkHelp,
		Example: `  semel records check --store log:/var/lib/semel/log`,
		Args:    cli.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return f.checkLog(cmd, p, false) },
	}
}

func newRecordsRepair(p *cli.Process, f *recordsFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "repair",
		Short: "Cut damage out of a log (log:DIR) and report missing entries",
		Long: `Cuts damage out of a log (log:DIR) and reports missing entries. It keeps a copy of
every file that it changes, in the same directory. If you have a backup that is newer
than the damage, restore that instead. Stop the gateway that uses the log first.

` + checkHelp + `

The report cannot name the intents of missing entries. Check what your application
did in the time that it gives: those requests may be sent and executed again.`,
		Example: `  semel records repair --store log:/var/lib/semel/log`,
		Args:    cli.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return f.checkLog(cmd, p, true) },
	}
}

func (f *recordsFlags) checkLog(cmd *cobra.Command, p *cli.Process, repair bool) error {
	report, err := openstore.CheckLog(cmd.Context(), f.store, repair)
	if err != nil {
		return storeError(err)
	}
	if f.json {
		err = json.NewEncoder(p.Stdout).Encode(report)
	} else {
		err = printLog(p, report, repair)
	}
	if err == nil && len(report.Damage) > 0 && !repair {
		err = cli.Found(errors.New("the log is damaged (restore a backup, or run: semel records repair)"))
	}
	return err
}

func printLog(p *cli.Process, r openstore.LogReport, repaired bool) error {
	damage := "damage in"
	if repaired {
		damage = "cut out of"
	}
	_, err := fmt.Fprintf(p.Stdout, "entries: %d, segments: %d, bytes: %d\n", r.Entries, r.Segments, r.Bytes)
	if r.Unacknowledged > 0 && err == nil {
		_, err = fmt.Fprintf(p.Stdout, "%d bytes at the end were never acknowledged; the next start cuts them off\n", r.Unacknowledged)
	}
	for _, d := range r.Damage {
		missing := fmt.Sprintf("entries missing: %d", d.Entries)
		if d.Entries == 0 {
			missing = "entries missing: unknown"
		}
		if !d.From.IsZero() {
			missing += fmt.Sprintf(", from %s to %s", d.From.Format(time.RFC3339), d.To.Format(time.RFC3339))
		}
		if d.Saved != "" {
			missing += "; the original file: " + d.Saved
		}
		if err == nil {
			_, err = fmt.Fprintf(p.Stdout, "%s %s at byte %d: %s\n", damage, d.Segment, d.At, missing)
		}
	}
	switch {
	case !repaired || err != nil:
	case len(r.Damage) == 0:
		_, err = fmt.Fprintln(p.Stderr, "The log has no damage; nothing was changed.")
	default:
		_, err = fmt.Fprintln(p.Stderr, "The log can be opened again. The intents of missing entries may be executed again: check what your application did in that time.")
	}
	return err
}
