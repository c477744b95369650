package command

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/inbox"
	"github.com/semel-dev/semel/internal/cli"
	"github.com/semel-dev/semel/internal/cli/openstore"
	"github.com/semel-dev/semel/internal/cli/operatorview"
	"github.com/semel-dev/semel/operator"
)

func newInbox(p *cli.Process, logs *cli.LogFlags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "inbox",
		Short: "Decide on messages that a consumer could not handle",
		Long: `Works on the store of consumers that use package inbox, which may keep running.

A message that a consumer cannot handle is kept in quarantine: it failed too often,
it may have happened, its ID is missing or was used for another message, or it is too large.`,
		Example: `  semel inbox quarantine list --consumer billing`,
		RunE:    p.WantVerb,
	}
	f := &recordsFlags{logs: logs}
	quarantine := &cobra.Command{
		Use:     "quarantine",
		Short:   "List messages in quarantine, and release or drop them",
		Example: cmd.Example,
		RunE:    p.WantVerb,
	}
	f.registerStore(quarantine)
	quarantine.AddCommand(newQuarantineList(p, f), newQuarantineRelease(p, f), newQuarantineDrop(p, f))
	cmd.AddCommand(quarantine)
	return cmd
}

type quarantineFlags struct {
	*recordsFlags

	consumer string
	all      bool
	paging
}

func newQuarantineList(p *cli.Process, shared *recordsFlags) *cobra.Command {
	f := &quarantineFlags{recordsFlags: shared}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List messages in quarantine, newest first",
		Long: `Lists messages in quarantine, newest first: a table on a terminal, tab-separated
columns under one line of titles elsewhere, and with --json one object per line, with
the headers, and with key and body in base64.

The state of a message is waiting (for you), released (its consumer is about to handle it), and
with --all handled or dropped. A message that cannot be read, because its key is missing or
another version wrote it, is listed with the reason; it can be dropped. A list is read, and continued, like records list.`,
		Example: `  semel inbox quarantine list
  semel inbox quarantine list --consumer billing --all
  semel inbox quarantine list --json --examine 0 | jq -r '.body | @base64d'`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(); err != nil {
				return err
			}
			return f.with(cmd.Context(), p, openstore.Inspect, semel.Options{}, func(l *ledger) error {
				return f.list(cmd.Context(), p, l)
			})
		},
	}
	cmd.Flags().StringVar(&f.consumer, "consumer", "", "only messages of this `consumer`")
	cmd.Flags().BoolVar(&f.all, "all", false, "list handled and dropped messages as well")
	f.register(cmd)
	return cmd
}

func (f *quarantineFlags) list(ctx context.Context, p *cli.Process, l *ledger) error {
	var out cli.Listing[inbox.Held]
	if out = cli.JSONOf(p, viewHeld); !f.json {
		titles := []string{"DIGEST", "CONSUMER", "ID", "SUBJECT", "REASON", "ATTEMPTS", "AGE", "EXPIRES IN", "STATE", "WHY"}
		out = cli.SheetOf(cli.NewSheet(p, titles, "No messages in quarantine."), heldRow)
	}
	at, err := inbox.List(ctx, l.guard, f.consumer, operator.Search{After: f.after, Examine: f.examine}, func(h *inbox.Held) error {
		if !f.all && (h.Decision == "handled" || h.Decision == "dropped") {
			return nil
		}
		return out.Write(h)
	})
	if err != nil {
		return f.wrongCursor(err)
	}
	if err := out.End(); err != nil {
		return err
	}
	return f.remark(p, f.json, at)
}

// heldState is the word for how far a message in quarantine is.
func heldState(h *inbox.Held) string {
	if h.Decision == "" {
		return "waiting"
	}
	return h.Decision
}

func heldRow(h *inbox.Held) []string {
	return []string{
		h.Digest.String()[:digestShown], cli.Plain(h.Consumer), cli.OrDash(cli.Plain(h.Message.ID)), cli.OrDash(cli.Plain(h.Message.Subject)), cli.OrDash(string(h.Reason)),
		fmt.Sprint(h.Attempts), span(h.ReadAt.Sub(h.At)), span(h.Expires.Sub(h.ReadAt)), heldState(h), cli.Plain(cmp.Or(errorOf(h), h.Why)),
	}
}

// errorOf returns why a message cannot be read, or nothing.
func errorOf(h *inbox.Held) string {
	if h.Err == nil {
		return ""
	}
	return h.Err.Error()
}

// heldView is a message in quarantine in JSON.
type heldView struct {
	Digest     string              `json:"digest"`
	Consumer   string              `json:"consumer"`
	ID         string              `json:"id"`
	Subject    string              `json:"subject"`
	Key        []byte              `json:"key,omitzero"`
	Header     map[string]string   `json:"header,omitempty"`
	Repeated   map[string][]string `json:"repeated,omitempty"`
	Sent       string              `json:"sent_at,omitempty"`
	Body       []byte              `json:"body"`
	Deliveries int                 `json:"deliveries,omitempty"`
	Reason     string              `json:"reason"`
	Why        string              `json:"why"`
	Attempts   int                 `json:"attempts"`
	Earlier    int                 `json:"released_before"`
	At         string              `json:"at"`
	Expires    string              `json:"expires_at"`
	State      string              `json:"state"`
	Error      string              `json:"error,omitempty"`
}

func viewHeld(h *inbox.Held) heldView {
	return heldView{
		Digest: h.Digest.String(), Consumer: h.Consumer, ID: h.Message.ID, Subject: h.Message.Subject, Key: h.Message.Key,
		Header: h.Message.Header, Repeated: h.Message.Repeated, Sent: operatorview.Time(h.Message.Time), Body: h.Message.Body, Deliveries: h.Message.Deliveries,
		Reason: string(h.Reason), Why: h.Why, Attempts: h.Attempts, Earlier: h.Earlier,
		At: operatorview.Time(h.At), Expires: operatorview.Time(h.Expires), State: heldState(h), Error: errorOf(h),
	}
}

// quarantineVerdict is an operator's decision on a message.
type quarantineVerdict struct {
	selection
	cli.Identity

	reason string
	decide func(context.Context, *semel.Guard, operator.Identity, semel.Digest, string) (*inbox.Held, error)
	after  string // what happens now
}

func newQuarantineRelease(p *cli.Process, shared *recordsFlags) *cobra.Command {
	v := &quarantineVerdict{decide: inbox.Release, after: "a running consumer handles it again"}
	cmd := v.command(p, shared)
	cmd.Use, cmd.Short = "release DIGEST", "Have a message handled again"
	cmd.Long = `Has a message from quarantine handled again, by a running consumer that calls
Inbox.Released, as a new series of attempts. If it may have happened (reason unknown), find that
out first: it is handled regardless. What is not taken up within the consumer's retention waits for
you again.`
	cmd.Example = `  semel inbox quarantine release 3f9a --reason "the customer is there now"`
	return cmd
}

func newQuarantineDrop(p *cli.Process, shared *recordsFlags) *cobra.Command {
	v := &quarantineVerdict{decide: inbox.Drop, after: "it is not handled any more"}
	cmd := v.command(p, shared)
	cmd.Use, cmd.Short = "drop DIGEST", "Give a message up"
	cmd.Long = `Gives a message in quarantine up: it is not handled any more, and list leaves it out. It is
kept until it expires.`
	cmd.Example = `  semel inbox quarantine drop 3f9a --reason "a test message"`
	return cmd
}

func (v *quarantineVerdict) command(p *cli.Process, shared *recordsFlags) *cobra.Command {
	v.Via = "semel inbox"
	cmd := &cobra.Command{
		Args:        oneDigest,
		Annotations: map[string]string{"exit1": "the message does not exist, or was decided on before"},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := v.read(args); err != nil {
				return err
			}
			if err := checkReason(v.reason); err != nil {
				return err
			}
			by, err := v.Operator()
			if err != nil {
				return err
			}
			return shared.with(cmd.Context(), p, openstore.Operate, semel.Options{}, func(l *ledger) error {
				return v.settle(cmd.Context(), p, l, by, shared.json)
			})
		},
	}
	v.Register(cmd)
	cmd.Flags().StringVar(&v.reason, "reason", "", "why; `text` of at most 255 bytes, kept in the audit trail (required)")
	return cmd
}

func (v *quarantineVerdict) settle(ctx context.Context, p *cli.Process, l *ledger, by operator.Identity, asJSON bool) error {
	rec, err := v.find(ctx, l)
	if err != nil {
		return err
	}
	h, err := v.decide(ctx, l.guard, by, rec.Digest, v.reason)
	switch {
	case errors.Is(err, semel.ErrSettled) && h != nil && h.Decision != "":
		return cli.Found(fmt.Errorf("message %s is already %s", rec.Digest.String()[:digestShown], h.Decision))
	case err != nil:
		return err
	case asJSON:
		return json.NewEncoder(p.Stdout).Encode(viewHeld(h))
	}
	_, err = fmt.Fprintf(p.Stdout, "%s is %s: %s\n", h.Digest.String()[:digestShown], h.Decision, v.after)
	return err
}
