package command

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/cli"
	"github.com/semel-dev/semel/internal/cli/openstore"
	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/operator"
)

const digestHelp = `  SEMEL_SECRET is the secret of the gateway, if it has one: --scope and --name find
  a record only with it, or with the gateway's file of --digest-secrets. It has no
  flag, because other users can see flags.`

// recordsFlags are the flags that all verbs about records share.
type recordsFlags struct {
	logs  *cli.LogFlags
	store string
	json  bool
	keys  keyFiles
}

func newRecords(p *cli.Process, logs *cli.LogFlags) *cobra.Command {
	f := &recordsFlags{logs: logs}
	cmd := &cobra.Command{
		Use:   "records",
		Short: "Inspect the records in the store, and settle unknown outcomes",
		Long: `Works on the store of a gateway or a service, which may keep running: every step
is one transaction of the store.

A record holds the state of one intent, which is one of

  claimed    a holder is executing it now
  completed  it happened; retries get the recorded answer
  failed     it failed for good; retries get the recorded error
  unreadable it completed or failed, and the recorded answer cannot be decrypted:
             give the key with --outcome-keys
  unknown    it may or may not have happened; retries are refused until you find
             out and settle it with "semel records resolve". A holder that ended
             without an answer leaves a lapsed claim: unknown (lapsed)
  cancelled  it must not happen any more; retries are refused

Name a record by its digest, of which the first four digits are enough, or by
--scope and --name.`,
		Example: `  semel records list --state unknown
  semel records show 3f9a
  semel records resolve 3f9a --fence 17 --as released --reason "not in the ledger, asked the bank"`,
		RunE: p.WantVerb,
	}
	f.registerStore(cmd)
	cmd.AddCommand(newRecordsList(p, f), newRecordsShow(p, f), newRecordsResolve(p, f), newRecordsCancel(p, f), newRecordsSearch(p, f), newRecordsAudit(p, f), newRecordsSweep(p, f),
		newRecordsCheck(p, f), newRecordsRepair(p, f))
	return cmd
}

func (f *recordsFlags) registerStore(cmd *cobra.Command) {
	flags := cmd.PersistentFlags()
	flags.StringVar(&f.store, "store", openstore.Default, "`DSN` of the store: sqlite:PATH, log:DIR, postgres://…, mysql://…, redis://…")
	flags.BoolVar(&f.json, "json", false, "print JSON, one object per line, for programs")
	f.keys.register(flags)
}

// ledger is an open store with a guard that decides nothing on its own.
type ledger struct {
	store   semel.Store
	lister  semel.Lister
	guard   *semel.Guard
	records *operator.Records
}

// openLedger opens the store, with a guard of the given options plus the keys and secrets.
func (f *recordsFlags) openLedger(ctx context.Context, p *cli.Process, use openstore.Use, opts semel.Options) (*ledger, error) {
	log, err := f.logs.Logger(p)
	if err != nil {
		return nil, err
	}
	if err := f.keys.into(&opts, p); err != nil {
		return nil, err
	}
	store, err := openStore(ctx, f.store, use, log)
	if err != nil {
		return nil, err
	}
	l := &ledger{store: store}
	opts.SweepEvery = -1
	if l.guard, err = semel.New(store, &opts); err != nil {
		return nil, errors.Join(cli.Usage(err), store.Close())
	}
	l.records = must.Get(operator.New(l.guard, nil))
	var ok bool
	if l.lister, ok = semel.StoreAs[semel.Lister](store); !ok {
		return nil, errors.Join(cli.Usagef("this store cannot show its records"), l.close(ctx))
	}
	return l, nil
}

// openStore opens a store; its errors carry an exit code.
func openStore(ctx context.Context, dsn string, use openstore.Use, log *slog.Logger) (semel.Store, error) {
	store, err := openstore.Open(ctx, dsn, &openstore.Options{Use: use, Logger: log})
	if err != nil {
		return nil, storeError(err)
	}
	return store, nil
}

// close ends the guard and the store.
func (l *ledger) close(ctx context.Context) error {
	return errors.Join(l.guard.Shutdown(context.WithoutCancel(ctx)), l.store.Close())
}

// with opens the store, calls work, and always closes it.
func (f *recordsFlags) with(ctx context.Context, p *cli.Process, use openstore.Use, opts semel.Options, work func(*ledger) error) error {
	l, err := f.openLedger(ctx, p, use, opts)
	if err != nil {
		return err
	}
	return errors.Join(explain(work(l)), l.close(ctx))
}

// explain adds an exit code and advice to a refusal of the guard.
func explain(err error) error {
	var ended *cli.ExitError
	var refused *semel.Error
	switch {
	case err == nil || errors.As(err, &ended):
		return err
	case errors.Is(err, semel.ErrNotFound):
		return cli.Found(errors.New("the store has no such record (expired ones are forgotten; see: semel records list)"))
	case errors.Is(err, semel.ErrInFlight) && errors.As(err, &refused):
		return cli.Found(fmt.Errorf("record %.12s is being executed now; its holder has it for %s more unless it renews (check again later with: semel records show %.12s)",
			refused.Digest, span(refused.RetryAfter), refused.Digest))
	case errors.Is(err, semel.ErrSettled) && errors.As(err, &refused) && refused.Record != nil:
		return cli.Found(fmt.Errorf("record %.12s is already %s; that is final", refused.Digest, operator.State(refused.Record)))
	case errors.Is(err, semel.ErrKeyInvalid), errors.Is(err, semel.ErrScopeMissing):
		return cli.Usage(err)
	}
	return cli.Unreachable(err)
}

// span formats a duration for people: one unit, rounded down.
func span(d time.Duration) string {
	for _, unit := range []struct {
		size time.Duration
		name string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}} {
		if d >= unit.size {
			return fmt.Sprintf("%d%s", d/unit.size, unit.name)
		}
	}
	return fmt.Sprintf("%dms", max(0, d.Milliseconds()))
}
