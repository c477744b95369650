package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/flow"
	"github.com/semel-dev/semel/internal/cli"
	"github.com/semel-dev/semel/internal/cli/openstore"
	"github.com/semel-dev/semel/internal/cli/operatorview"
	"github.com/semel-dev/semel/operator"
)

func newRecordsShow(p *cli.Process, f *recordsFlags) *cobra.Command {
	s := &selection{}
	var body bool
	cmd := &cobra.Command{
		Use:   "show DIGEST | --scope SCOPE --name NAME",
		Short: "Show one record, with the recorded answer",
		Long: `Shows everything in the store about one intent, with the status and the headers of
the recorded answer. --body prints only that answer's body, byte for byte, which
may contain personal data. An encrypted answer needs its key: give the gateway's
file with --outcome-keys.`,
		Example: `  semel records show 3f9a
  semel records show --scope "$scope" --name 8e03978e-40d5-43dd-bc93-6894a57f9324
  semel records show 3f9a --body | jq .`,
		Args:        oneDigest,
		Annotations: map[string]string{"environment": digestHelp, "exit1": "the record does not exist (or, with --body, has no recorded body)"},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := s.read(args); err != nil {
				return err
			}
			if body && f.json {
				return cli.Usagef("--body and --json exclude each other: a body is printed unchanged")
			}
			return f.with(cmd.Context(), p, openstore.Inspect, semel.Options{}, func(l *ledger) error {
				rec, err := s.find(cmd.Context(), l)
				if err != nil {
					return err
				}
				unreadable := operatorview.Reveal(l.guard, &rec)
				if body && unreadable != nil {
					return cli.Found(unreadable)
				}
				steps, err := flow.Steps(cmd.Context(), l.guard, &rec)
				if err != nil {
					return err
				}
				return show(p.Stdout, &rec, steps, f.json, body)
			})
		},
	}
	s.register(cmd)
	cmd.Flags().BoolVar(&body, "body", false, "print only the recorded body, unchanged")
	return cmd
}

// oneDigest accepts at most one argument.
func oneDigest(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return cli.Usagef("%q takes one digest, but %q came after it", cmd.CommandPath(), args[1])
	}
	return nil
}

func show(w io.Writer, rec *semel.Record, steps []flow.Step, asJSON, body bool) error {
	switch {
	case body:
		r := operatorview.ReadOutcome(rec)
		if r == nil || r.BodyOmitted {
			return cli.Found(errors.New("this record has no recorded body"))
		}
		_, err := w.Write(r.Body)
		return err
	case asJSON:
		return json.NewEncoder(w).Encode(viewSteps(rec, steps))
	}
	_, err := io.WriteString(w, describe(rec)+describeSteps(steps))
	return err
}

// flowView is a record in JSON, with the steps of a flow.
type flowView struct {
	operatorview.Record

	Steps []stepView `json:"steps,omitempty"`
}

type stepView struct {
	Number int    `json:"number"`
	Step   string `json:"step"` // empty as long as no result is recorded
	Undo   bool   `json:"undo"`
	operatorview.Record
}

func viewSteps(rec *semel.Record, steps []flow.Step) flowView {
	view := flowView{Record: operatorview.ViewRecord(rec)}
	for i := range steps {
		s := &steps[i]
		view.Steps = append(view.Steps, stepView{s.Number, s.Name, s.Undo, operatorview.ViewRecord(&s.Record)})
	}
	return view
}

// describeSteps formats the steps of a flow for people, one in a line.
func describeSteps(steps []flow.Step) string {
	var b strings.Builder
	for i := range steps {
		s := &steps[i]
		name, note := cli.OrDash(s.Name), s.Record.Note
		if s.Undo {
			name = cli.OrDash(strings.TrimPrefix(s.Name, "undo ")) + ", undone"
		}
		fmt.Fprintf(&b, "%-12s %s  %s  %s\n", fmt.Sprintf("step %d", s.Number), s.Record.Digest.String()[:digestShown], stateText(&s.Record), cli.Plain(name))
		if failed := operatorview.ViewRecord(&s.Record).Failure; failed != nil {
			note = failed.Error
		}
		if note != "" {
			fmt.Fprintf(&b, "%-12s %s\n", "", cli.Plain(note))
		}
	}
	return b.String()
}

// describe formats a record for people, one fact per line.
func describe(rec *semel.Record) string {
	var b strings.Builder
	fact := func(title, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%-12s %s\n", title, cli.Plain(value))
		}
	}
	fact("digest", rec.Digest.String())
	fact("scope", cli.OrDash(rec.Scope))
	fact("name", cli.OrDash(rec.Name))
	fact("state", stateText(rec))
	fact("note", rec.Note)
	fact("attempt", fmt.Sprint(rec.Attempt))
	fact("fence", fmt.Sprint(rec.Fence))
	fact("fingerprint", fmt.Sprintf("%x", rec.Fingerprint[:]))
	fact("claimed", operatorview.Time(rec.ClaimedAt)+", "+span(rec.ReadAt.Sub(rec.ClaimedAt))+" ago")
	if rec.State == semel.StateClaimed {
		lease := "ran out " + span(rec.ReadAt.Sub(rec.LeaseUntil)) + " ago"
		if !rec.Lapsed() {
			lease = span(rec.LeaseLeft()) + " left"
		}
		fact("lease", operatorview.Time(rec.LeaseUntil)+", "+lease)
	}
	fact("settled", operatorview.Time(rec.SettledAt))
	fact("expires", operatorview.Time(rec.ExpiresAt)+", in "+span(rec.RetentionLeft()))
	view := operatorview.ViewRecord(rec)
	switch {
	case view.Failure != nil:
		fact("error", view.Failure.Error)
		fact("failed step", view.Failure.Step)
		fact("undone", strings.Join(view.Failure.Undone, ", "))
	case rec.State == semel.StateCompleted:
		fact("answer", outcomeText(rec))
	}
	if r := operatorview.ReadOutcome(rec); r != nil {
		for _, name := range slices.Sorted(maps.Keys(r.Header)) {
			for _, value := range r.Header[name] {
				fact("", name+": "+value)
			}
		}
	}
	if operator.State(rec) == semel.StateUnknown {
		result := ""
		if _, err := flow.Outcome(rec, nil); err == nil {
			result = " --result JSON"
		}
		fact("next", fmt.Sprintf("find out whether it happened, then: semel records resolve %s --fence %d --as completed|released|cancelled%s --reason TEXT", rec.Digest.String()[:digestShown], rec.Fence, result))
	}
	return b.String()
}
