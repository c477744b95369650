package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/console"
	"github.com/semel-dev/semel/gateway/adminapi"
	"github.com/semel-dev/semel/internal/cli"
	"github.com/semel-dev/semel/internal/cli/opendb"
	"github.com/semel-dev/semel/internal/cli/openstore"
	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/outbox"
	"github.com/semel-dev/semel/outcomelog"
	"github.com/semel-dev/semel/outcomelog/archive"
	"github.com/semel-dev/semel/rules"
	"github.com/semel-dev/semel/schema/dedupe"
)

const (
	// consoleTimeout bounds how slowly a page is asked for, and consoleAnswer how slowly it is read.
	consoleTimeout = 10 * time.Second
	consoleAnswer  = time.Minute
)

// consoleFlags are those of "semel console".
type consoleFlags struct {
	records recordsFlags

	listen, tokens, readyFile, prometheus, dsn, outbox, rules string
}

func newConsole(p *cli.Process, logs *cli.LogFlags) *cobra.Command {
	f := &consoleFlags{records: recordsFlags{logs: logs}}
	cmd := &cobra.Command{
		Use:   "console",
		Short: "Serve pages that show records and settle unknown outcomes",
		Long: `Serves the console for a store whose service uses the library: its records, the
unknown outcomes with a form to settle each, flows, messages in quarantine and the
audit trail; with --dsn, the outbox and the merges of duplicates as well, and with
--rules, whether the database enforces the uniqueness rules. The service keeps
running. A gateway serves the same pages under /console/ of its --admin address.
Answers /metrics (Prometheus) with the age of the oldest unknown outcome and, with
--dsn, of the oldest message of the outbox.

Operators log in with a token of --admin-tokens-file. Make one with:

  (umask 077; echo "alice $(openssl rand -hex 32)" >> admin-tokens)

A line that ends with the word read is for a person who may only look. The address
has no TLS: reach it from elsewhere through a tunnel or a TLS proxy.`,
		Example: `  semel console --store postgres://app@db.example/shop --admin-tokens-file admin-tokens`,
		Args:    cli.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return f.servePages(cmd.Context(), p) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.records.store, "store", openstore.Default, "`DSN` of the store: sqlite:PATH, log:DIR, postgres://…, mysql://…, redis://…")
	flags.StringVar(&f.listen, "listen", "127.0.0.1:8082", "`address` of the pages")
	flags.StringVar(&f.tokens, "admin-tokens-file", "", "`file` with the names and tokens of operators (required)")
	flags.StringVar(&f.prometheus, "prometheus-url", "", "`URL` of a page with the service's counts; the pages link to it")
	flags.StringVar(&f.dsn, "dsn", "", "`DSN` of the application's database, for the pages of its outbox and of merged duplicates (optional)")
	flags.StringVar(&f.outbox, "outbox-table", "semel_outbox", "`name` of the outbox's table in it")
	flags.StringVar(&f.rules, "rules", "", "rules `file` (YAML), whose uniqueness rules operators can compare with the database of --dsn (optional)")
	flags.StringVar(&f.readyFile, "ready-file", "", "write the address to this `file` when it is served")
	f.records.keys.register(flags)
	return cmd
}

func (f *consoleFlags) servePages(ctx context.Context, p *cli.Process) error {
	if f.tokens == "" {
		return cli.Usagef("--admin-tokens-file is missing: operators log in with the tokens in it")
	}
	tokens, err := adminapi.LoadTokens(f.tokens)
	if err != nil {
		return cli.Usage(err)
	}
	if err := cli.CheckAddress("listen", f.listen); err != nil {
		return err
	}
	if f.prometheus != "" && !console.IsLink(f.prometheus) {
		return cli.Usagef("--prometheus-url %q is not the URL of a page (write it like https://prometheus.example/graph)", f.prometheus)
	}
	var file *rules.File
	if f.rules != "" {
		if file, err = rules.Load(f.rules); err != nil {
			return cli.Usage(err)
		}
	}
	logger, err := f.records.logs.Logger(p)
	if err != nil {
		return err
	}
	return f.records.with(ctx, p, openstore.Operate, semel.Options{}, func(l *ledger) error {
		return f.serveStore(ctx, logger, l, console.Options{
			OutboxTable: f.outbox, Logger: logger, Prometheus: f.prometheus, Rules: file, Settings: f.settings(len(tokens)),
		}, tokens)
	})
}

// serveStore opens what the pages show, and serves them.
func (f *consoleFlags) serveStore(ctx context.Context, logger *slog.Logger, l *ledger, o console.Options, tokens []adminapi.Token) (err error) {
	if o.Database, err = f.database(ctx); err != nil {
		return err
	}
	if o.Database != nil {
		defer func() { _ = o.Database.DB.Close() }() // the pages that used it are over
	}
	log, err := f.records.outcomeLog(ctx)
	switch {
	case err == nil:
		defer func() { _ = log.Close() }() // as above
		o.OutcomeLog, o.Repeats = log.Archive, outcomelog.NewRepeats()
		o.OutcomeLog.KeepRepeats(o.Repeats)
	case !errors.Is(err, archive.ErrNone) && !errors.Is(err, openstore.ErrNoTables):
		return outcomeLogError(err)
	}
	if o.API, err = adminapi.New(l.guard, &adminapi.Options{Tokens: tokens, Logger: logger, Repeats: o.Repeats}); err != nil {
		return cli.Usage(err)
	}
	var following sync.WaitGroup
	defer following.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	following.Go(func() { o.API.Follow(ctx, f.tokens, nil) })
	pages, err := console.New(l.guard, o) //nolint:contextcheck // requests bring theirs.
	if err != nil {
		return cli.Usage(err)
	}
	metrics, end, err := f.metrics(ctx, l, o.Database)
	if err != nil {
		return cli.Usage(err)
	}
	defer end()
	return f.serve(ctx, logger, pages, metrics)
}

// settings are the configuration that the pages show, without secrets.
func (f *consoleFlags) settings(tokens int) []console.Setting {
	all := []console.Setting{
		{Name: "Store", Value: openstore.Redact(f.records.store)},
		{Name: "Address", Value: f.listen},
		{Name: "Admin tokens", Value: strconv.Itoa(tokens) + " set"},
		{Name: "Page of Prometheus", Value: f.prometheus},
		{Name: "Application's database", Value: ""},
		{Name: "Outbox", Value: f.outbox},
		{Name: "Rules", Value: f.rules},
	}
	if f.dsn != "" {
		all[4].Value = "set"
	}
	for i := range all {
		all[i].Value = cmp.Or(all[i].Value, "not set")
	}
	return all
}

// database opens the application's database, or returns nil where none is named.
func (f *consoleFlags) database(ctx context.Context) (*dedupe.Database, error) {
	if f.dsn == "" {
		return nil, nil //nolint:nilnil // none.
	}
	if _, err := outbox.Schema(dialect.PostgreSQL.String(), f.outbox); err != nil {
		return nil, cli.Usage(err)
	}
	db, err := opendb.Open(ctx, f.dsn, opendb.Write)
	if err != nil {
		return nil, storeError(err)
	}
	return &dedupe.Database{DB: db.DB, Dialect: db.Dialect}, nil
}

// serve serves the pages and the metrics until ctx ends.
func (f *consoleFlags) serve(ctx context.Context, log *slog.Logger, pages, metrics http.Handler) error {
	listener, err := listen(ctx, "listen", f.listen)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle(console.Path, pages)
	mux.Handle("GET /metrics", metrics)
	mux.Handle("GET /{$}", http.RedirectHandler(console.Path, http.StatusSeeOther))
	server := &http.Server{Handler: mux, ReadTimeout: consoleTimeout, WriteTimeout: consoleAnswer}
	url := "http://" + listener.Addr().String() + console.Path
	warnOpen(ctx, log, "listen", f.listen)
	log.LogAttrs(ctx, slog.LevelInfo, "console is ready", slog.String("url", url), slog.String("store", openstore.Redact(f.records.store)))
	if err := announce(f.readyFile, []address{{"listen", url}, {"metrics", "http://" + listener.Addr().String() + "/metrics"}}); err != nil {
		return errors.Join(err, listener.Close())
	}
	drained := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(drained)
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), consoleTimeout)
		defer cancel()
		_ = server.Shutdown(within) // pages that are slower are cut off
	})
	err = server.Serve(listener)
	if !stop() {
		<-drained // a verdict is given in full
	}
	if !errors.Is(err, http.ErrServerClosed) {
		return cli.Unreachable(fmt.Errorf("serve the console: %w", err))
	}
	return nil
}
