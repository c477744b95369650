package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/cli"
	"github.com/semel-dev/semel/internal/cli/opendb"
	"github.com/semel-dev/semel/internal/cli/openstore"
	"github.com/semel-dev/semel/internal/cli/operatorview"
	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/operator"
	"github.com/semel-dev/semel/outbox"
)

// outboxFlags are the flags that the verbs about an outbox share.
type outboxFlags struct {
	dsn, table string
	json       bool
	limit      int
	dialect    string
}

func newOutbox(p *cli.Process, logs *cli.LogFlags) *cobra.Command {
	f := &outboxFlags{}
	cmd := &cobra.Command{
		Use:   "outbox",
		Short: "Show messages that could not be published, and release or skip them",
		Long: `Works on the outbox in an application's database, while its relays run. A message
that fails is tried again with growing pauses, and the later ones of its key wait
behind it. One that is given up is stopped, with its key, until you release or skip
it; or it is skipped at once, if the relay says so.`,
		Example: `  semel outbox list --dsn postgres://app@db.example/shop
  semel outbox release ID --dsn sqlite:shop.db --store sqlite:semel.db --reason "the queue exists now"`,
		RunE: p.WantVerb,
	}
	flags := cmd.PersistentFlags()
	flags.StringVar(&f.dsn, "dsn", "", "`DSN` of the application's database: postgres://…, mysql://…, sqlite:PATH (required, but for schema)")
	flags.StringVar(&f.table, "table", "semel_outbox", "`name` of the table")
	cmd.AddCommand(newOutboxList(p, f), newOutboxRelease(p, f, logs), newOutboxSkip(p, f, logs), newOutboxSchema(p, f))
	return cmd
}

// with opens the outbox, calls work, and always closes the database.
func (f *outboxFlags) with(ctx context.Context, use opendb.Use, work func(*outbox.Outbox) error) error {
	if f.dsn == "" {
		return cli.Usagef("--dsn is missing: name the application's database (or set %s)", cli.Variable("dsn"))
	}
	if _, err := outbox.Schema(dialect.PostgreSQL.String(), f.table); err != nil {
		return cli.Usage(err)
	}
	db, err := opendb.Open(ctx, f.dsn, use)
	if err != nil {
		return storeError(err)
	}
	out, err := outbox.Open(ctx, db.DB, &outbox.Options{Table: f.table, SkipMigrations: true})
	if err == nil {
		err = work(out)
	}
	return errors.Join(cli.AsUnreachable(err), db.Close())
}

func newOutboxList(p *cli.Process, f *outboxFlags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List messages that are held back, those that failed first at the front",
		Example: `  semel outbox list --dsn sqlite:shop.db
  semel outbox list --dsn sqlite:shop.db --json | jq -r 'select(.state == "stopped") | .id'`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.limit < 1 || f.limit > outbox.MaxList {
				return cli.Usagef("--limit %d is not between 1 and %d", f.limit, outbox.MaxList)
			}
			return f.with(cmd.Context(), opendb.Read, func(out *outbox.Outbox) error {
				all, err := out.List(cmd.Context(), f.limit)
				if err != nil {
					return err
				}
				return f.print(p, all)
			})
		},
	}
	cmd.Flags().IntVar(&f.limit, "limit", 100, "list at most `n` messages")
	cmd.Flags().BoolVar(&f.json, "json", false, "print JSON, one object per line, for programs")
	return cmd
}

// stoppedView is a message that is held back, in JSON.
type stoppedView struct {
	ID       string     `json:"id"`
	Topic    string     `json:"topic"`
	Key      string     `json:"key,omitempty"`
	State    string     `json:"state"`
	Attempts int64      `json:"attempts"`
	Behind   int64      `json:"behind"`
	Bytes    int64      `json:"bytes"`
	Added    time.Time  `json:"added"`
	Since    time.Time  `json:"since"`
	Next     *time.Time `json:"next,omitempty"`
	Error    string     `json:"error,omitempty"`
	Operator string     `json:"operator,omitempty"`
	Reason   string     `json:"reason,omitempty"`
}

func viewStopped(h *outbox.Held) stoppedView {
	v := stoppedView{h.ID, h.Topic, h.Key, h.State, h.Attempts, h.Behind, h.Bytes, h.Added, h.Since, nil, h.Error, h.Operator, h.Reason}
	if !h.Next.IsZero() {
		v.Next = &h.Next
	}
	return v
}

func (f *outboxFlags) print(p *cli.Process, all []outbox.Held) error {
	titles := []string{"ID", "TOPIC", "KEY", "STATE", "ATTEMPTS", "BEHIND", "SINCE", "REASON"}
	out := cli.SheetOf(cli.NewSheet(p, titles, "No message is held back."), func(h *outbox.Held) []string {
		why := h.Error
		if h.Operator != "" {
			why = h.Operator + ": " + h.Reason
		}
		return []string{cli.Plain(h.ID), cli.Plain(h.Topic), cli.OrDash(cli.Plain(h.Key)), h.State, fmt.Sprint(h.Attempts), fmt.Sprint(h.Behind), operatorview.Time(h.Since), cli.OrDash(cli.PlainLine(why))}
	})
	if f.json {
		out = cli.JSONOf(p, viewStopped)
	}
	for i := range all {
		if err := out.Write(&all[i]); err != nil {
			return err
		}
	}
	return out.End()
}

// outboxVerdict is an operator's decision on a message.
type outboxVerdict struct {
	*outboxFlags
	recordsFlags
	cli.Identity

	reason string
	keep   time.Duration
	did    string // what happened to the message
	decide func(ctx context.Context, out *outbox.Outbox, guard *semel.Guard, by operator.Identity, id string) error
}

func newOutboxRelease(p *cli.Process, shared *outboxFlags, logs *cli.LogFlags) *cobra.Command {
	v := &outboxVerdict{outboxFlags: shared, recordsFlags: recordsFlags{logs: logs}, did: "released"}
	v.decide = func(ctx context.Context, out *outbox.Outbox, guard *semel.Guard, by operator.Identity, id string) error {
		return out.Release(ctx, guard, by, id, v.reason)
	}
	cmd := v.command(p)
	cmd.Use, cmd.Short = "release ID", "Publish a message again that is held back"
	cmd.Long = `A stopped message is published again with the later ones of its key behind it, a
skipped one late, on its own. Its attempts count from the beginning. --store is the
relays' store, in which the audit trail is kept.`
	cmd.Example = `  semel outbox release 01936f3e-… --dsn sqlite:shop.db --store sqlite:semel.db --reason "the queue exists now"`
	return cmd
}

func newOutboxSkip(p *cli.Process, shared *outboxFlags, logs *cli.LogFlags) *cobra.Command {
	v := &outboxVerdict{outboxFlags: shared, recordsFlags: recordsFlags{logs: logs}, did: "skipped"}
	v.decide = func(ctx context.Context, out *outbox.Outbox, guard *semel.Guard, by operator.Identity, id string) error {
		return out.Skip(ctx, guard, by, id, v.reason, v.keep)
	}
	cmd := v.command(p)
	cmd.Use, cmd.Short = "skip ID", "Let a key go on without a message that is held back"
	cmd.Long = `The message is kept as skipped for --keep, in which "semel outbox release" publishes
it after all, and is then deleted. --store is the relays' store, in which the audit
trail is kept.`
	cmd.Example = `  semel outbox skip 01936f3e-… --dsn sqlite:shop.db --store sqlite:semel.db --reason "the receiver has it"`
	cmd.Flags().DurationVar(&v.keep, "keep", 7*24*time.Hour, "how long the message is kept; 0 for the default")
	return cmd
}

func (v *outboxVerdict) command(p *cli.Process) *cobra.Command {
	v.Via = "semel outbox"
	cmd := &cobra.Command{
		Annotations: map[string]string{"exit1": "no message with this id is held back, or another one of its key is before it"},
		Args:        cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return cli.Usagef("name one message by its id (semel outbox list shows them)")
			}
			if v.keep < 0 {
				return cli.Usagef("--keep %v is negative", v.keep)
			}
			if err := checkReason(v.reason); err != nil {
				return err
			}
			by, err := v.Operator()
			if err != nil {
				return err
			}
			return v.outboxFlags.with(cmd.Context(), opendb.Write, func(out *outbox.Outbox) error {
				return v.recordsFlags.with(cmd.Context(), p, openstore.Operate, semel.Options{}, func(l *ledger) error {
					return v.settle(cmd.Context(), p, out, l, by, args[0])
				})
			})
		},
	}
	cmd.Flags().StringVar(&v.reason, "reason", "", "why; `text` of at most 255 bytes, kept with the message and in the audit trail (required)")
	v.registerStore(cmd)
	v.Register(cmd)
	return cmd
}

func (v *outboxVerdict) settle(ctx context.Context, p *cli.Process, out *outbox.Outbox, l *ledger, by operator.Identity, id string) error {
	err := v.decide(ctx, out, l.guard, by, id)
	switch {
	case errors.Is(err, outbox.ErrNotHeld):
		return cli.Found(fmt.Errorf("no message %s is held back, or another one of its key is before it (see: semel outbox list)", cli.Plain(id)))
	case err != nil:
		return err
	case v.recordsFlags.json:
		return json.NewEncoder(p.Stdout).Encode(map[string]string{"id": id, "decision": v.did})
	}
	_, err = fmt.Fprintf(p.Stdout, "%s: %s. Relays notice within seconds.\n", cli.Plain(id), v.did)
	return err
}

func newOutboxSchema(p *cli.Process, f *outboxFlags) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "schema",
		Short:   "Print the SQL that makes the tables, for migrations of your own",
		Example: "  semel outbox schema --dialect postgresql > migrations/0042_outbox.sql",
		Args:    cli.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			text, err := outbox.Schema(f.dialect, f.table)
			if err != nil {
				return cli.Usage(err)
			}
			_, err = fmt.Fprint(p.Stdout, text)
			return err
		},
	}
	cmd.Flags().StringVar(&f.dialect, "dialect", "postgresql", "`kind` of database: postgresql, mysql (or mariadb), sqlite")
	cli.Complete(cmd, "dialect", []string{"postgresql", "mysql", "sqlite"})
	return cmd
}
