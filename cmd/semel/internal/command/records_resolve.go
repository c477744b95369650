package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/cli"
	"github.com/semel-dev/semel/internal/cli/openstore"
	"github.com/semel-dev/semel/internal/cli/operatorview"
	"github.com/semel-dev/semel/operator"
)

// resolveFlags is an operator's decision in the flags.
type resolveFlags struct {
	cli.Identity
	sight

	as          string
	reason      string
	retention   time.Duration
	status      int
	location    string
	contentType string
	bodyFile    string
	noBody      bool
	result      string
}

// decision is the verdict in the words of every operators' door.
func (v *resolveFlags) decision(p *cli.Process) *operatorview.RecordVerdict {
	d := &operatorview.RecordVerdict{
		As: v.as, Reason: v.reason, Retention: v.retention,
		Status: v.status, Location: v.location, ContentType: v.contentType, NoBody: v.noBody, Naming: flagOf,
	}
	if v.bodyFile != "" {
		d.Body = func() ([]byte, error) { return readBody(p, v.bodyFile) }
	}
	if v.result != "" {
		d.Result = json.RawMessage(v.result)
	}
	return d
}

func newRecordsResolve(p *cli.Process, f *recordsFlags) *cobra.Command {
	s := &selection{}
	v := &resolveFlags{}
	cmd := &cobra.Command{
		Use:   "resolve DIGEST | --scope SCOPE --name NAME",
		Short: "Settle an intent whose outcome is unknown",
		Long: `Settles a record that is unknown, or whose claim has lapsed, after you have found
out whether the intent happened:

  --as completed  it happened. Retries get the answer that you give with
                  --status, --location, --content-type and --body-file. With
                  --no-body they get 409 response-not-kept, with the status and
                  the location but not the rest. For a flow or a step of one, give
                  --result instead: what its function would have returned.
  --as released   it did not happen and cannot any more: the record is
                  forgotten, and a retry executes.
  --as cancelled  it did not happen and must not any more: retries are refused.

--fence is that of the record that you looked at: "semel records show" prints the
command with it. If a retry has begun since then, the verdict is refused, and the
current record is printed. The claim is taken over first, so a late holder cannot
overwrite the verdict. Your name and the reason are kept in the record and in the
audit trail (semel records audit), which is written before the verdict takes
effect. If the gateway encrypts answers, give its file with --outcome-keys as well:
without it, your answer is stored unencrypted.`,
		Example: `  semel records resolve 3f9a --fence 17 --as released --reason "not in the ledger"
  semel records resolve 3f9a --fence 17 --as completed --status 303 --location /invoices/17 --reason "invoice 17 is there"
  semel records resolve 3f9a --fence 17 --as completed --status 201 \
      --content-type application/json --body-file answer.json --reason "payment 99 is there, answer copied from it"
  semel records resolve 3f9a --fence 17 --as completed --status 201 --no-body --reason "paid, see bank statement"
  semel records resolve 2cf1 --fence 21 --as completed --result '"ch_17"' --reason "the service shows charge ch_17"`,
		Args:        oneDigest,
		Annotations: map[string]string{"environment": digestHelp, "exit1": "the record does not exist, is not the one that you looked at, is being executed, or is already settled"},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := s.read(args); err != nil {
				return err
			}
			decision := v.decision(p)
			settlement, err := decision.Settlement()
			if err != nil {
				return misused(err)
			}
			if err := v.check(); err != nil {
				return err
			}
			by, err := v.Operator()
			if err != nil {
				return err
			}
			return f.with(cmd.Context(), p, openstore.Operate, semel.Options{}, func(l *ledger) error {
				return v.resolve(cmd.Context(), p, l, s, by, decision, settlement, f.json)
			})
		},
	}
	s.register(cmd)
	v.register(cmd)
	v.Register(cmd)
	v.sight.register(cmd, " (required)")
	return cmd
}

func (v *resolveFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&v.as, "as", "", "the `verdict`: completed, released or cancelled (required)")
	flags.StringVar(&v.reason, "reason", "", "how you know; `text` of at most 255 bytes, kept in the record (required)")
	flags.DurationVar(&v.retention, "retention", 0, "how long the verdict is remembered (default 24h)")
	flags.IntVar(&v.status, "status", 0, "HTTP `status` of the answer that retries get")
	flags.StringVar(&v.location, "location", "", "`URL` in the Location header of that answer")
	flags.StringVar(&v.contentType, "content-type", "", "media `type` of that answer")
	flags.StringVar(&v.bodyFile, "body-file", "", "`file` with the body of that answer; - for standard input")
	flags.BoolVar(&v.noBody, "no-body", false, "the body of the answer is unknown")
	flags.StringVar(&v.result, "result", "", "result of a flow or of its step, as `JSON`")
	cli.Complete(cmd, "as", operatorview.Verdicts())
}

// misused makes a wrong field of a verdict an error of usage.
func misused(err error) error {
	if wrong, ok := errors.AsType[*operatorview.FieldError](err); ok {
		return cli.Usage(wrong)
	}
	return err
}

// flagOf returns the flag for a verdict's field.
func flagOf(f operatorview.Field) string {
	if f == operatorview.FieldBody {
		return "--body-file"
	}
	return "--" + strings.ReplaceAll(string(f), "_", "-")
}

// readBody reads an answer's body within the bound of what is kept.
func readBody(p *cli.Process, name string) ([]byte, error) {
	from := p.Stdin
	if name != "-" {
		file, err := os.Open(name) //nolint:gosec // the operator names the file.
		if err != nil {
			return nil, cli.Usage(fmt.Errorf("read the body: %w", err))
		}
		defer file.Close() //nolint:errcheck // only read.
		from = file
	}
	body, err := io.ReadAll(io.LimitReader(from, semel.DefaultMaxOutcomeBytes+1))
	switch {
	case err != nil:
		return nil, cli.Usage(fmt.Errorf("read the body: %w", err))
	case len(body) > semel.DefaultMaxOutcomeBytes:
		return nil, cli.Usagef("the body is larger than the %s that are kept; use --no-body", size(semel.DefaultMaxOutcomeBytes))
	}
	return body, nil
}

// checkReason rejects a verdict without a reason, or with one that would be cut.
func checkReason(reason string) error {
	return misused(operatorview.CheckReason(reason, flagOf))
}

func (v *resolveFlags) resolve(ctx context.Context, p *cli.Process, l *ledger, s *selection, by operator.Identity, d *operatorview.RecordVerdict, settlement semel.Settlement, asJSON bool) error {
	rec, err := s.find(ctx, l)
	if err != nil {
		return err
	}
	if err := d.Keep(&settlement, &rec); err != nil {
		return misused(err)
	}
	after, err := l.records.Resolve(ctx, by, rec.Digest, v.seen(), settlement)
	if err != nil {
		return v.changed(p.Stdout, err, asJSON)
	}
	return report(p.Stdout, &after, asJSON)
}

// report prints the new state of a record.
func report(w io.Writer, rec *semel.Record, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(w).Encode(operatorview.ViewRecord(rec))
	}
	after := "retries get the recorded answer"
	switch {
	case rec.State == semel.StateReleased:
		after = "it is forgotten, and a retry executes"
	case rec.State == semel.StateCancelled:
		after = "retries are refused for " + span(rec.RetentionLeft())
	case !rec.Kept:
		after = "retries learn the status, not the answer"
	}
	_, err := fmt.Fprintf(w, "%s is %s: %s\n", rec.Digest.String()[:digestShown], rec.State, after)
	return err
}
