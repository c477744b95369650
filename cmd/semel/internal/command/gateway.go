package command

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/console/operators"
	"github.com/semel-dev/semel/gateway"
	"github.com/semel-dev/semel/gateway/adminapi"
	"github.com/semel-dev/semel/internal/cli"
	"github.com/semel-dev/semel/internal/cli/openstore"
	"github.com/semel-dev/semel/internal/cli/openstore/openlog"
	"github.com/semel-dev/semel/outcomelog/archive"
	"github.com/semel-dev/semel/rules"
)

const adminOff = "off"

const gatewayEnvironment = `  SEMEL_SECRET, at least 16 bytes, keys the digests of keys in the store, so that a
  reader of the store cannot confirm a guess. All gateways of one store need the
  same. It has no flag, because other users can see flags; a file of
  --digest-secrets holds several while one is being replaced (docs/operations.md has
  the steps).
  SEMEL_FORM_SECRETS, one or more of at least 16 bytes separated by spaces, newest
  first, sign the tokens in forms for rules with form. Without it, the gateways of
  one store share a secret that the first of them creates.`

// formSecretsVariable has no flag either.
const formSecretsVariable = "SEMEL_FORM_SECRETS" //nolint:gosec // the name of a variable.

// gatewayFlags are the flags that do not directly fill a field of the gateway's config.
type gatewayFlags struct {
	config    gateway.Config
	store     string
	rules     string
	proxies   []string
	readyFile string
	keys      keyFiles
	tokens    string // the file of admin tokens
	operators operators.Options
	keepLog   time.Duration
	otlp      string
	explain   string
	check     bool
}

func newGateway(p *cli.Process, logs *cli.LogFlags, telemetry Telemetry) *cobra.Command {
	f := &gatewayFlags{}
	cmd := &cobra.Command{
		Use:   "gateway --upstream URL",
		Short: "Run a reverse proxy that makes an application's requests idempotent",
		Long: `Forwards requests to an application and records the answers to those with an
Idempotency-Key: a repeated request gets the first answer and does not reach the
application. The application is not changed.

Without --rules every POST and PATCH with a key is protected, and callers are
identified by their Authorization header, else by a verified client certificate,
else by a well-known session cookie, else not at all. A rules file configures more:
keys from other places or made of the form's fields, how long answers are kept, how
unknown outcomes are resolved, and which forms of web pages get a token, so that
browsers are protected as well.

The gateway publishes its policy at /.well-known/idempotency. For operators the
--admin address answers /healthz, /readyz and /metrics (Prometheus); do not expose
it to callers. With --admin-tokens-file it also offers what "semel records" does:
under /v1/records and /v1/audit for programs, under /console/ for people. A line of
that file is a name, a token and, for a read-only token, the word read; make one with

  (umask 077; echo "alice $(openssl rand -hex 32)" >> admin-tokens)

The log on stderr has one line for every decision.

The first interrupt (Ctrl-C) or SIGTERM drains: no new intents are accepted, and
running requests finish. A second one ends the process at once; the outcome of
running requests is then unknown. The files of the certificate and of the admin
tokens are read every ten seconds, and on SIGHUP; where stderr is a terminal, SIGHUP drains. A change of
the rules needs a new process.`,
		Example: `  semel gateway --upstream http://127.0.0.1:9000
  semel gateway --upstream http://127.0.0.1:9000 --store sqlite:/var/lib/semel/semel.db --rules semel.yaml
  semel gateway --upstream http://127.0.0.1:9000 --rules semel.yaml --check
  semel gateway --rules semel.yaml --explain 'POST /doku.php?do=save'
  semel gateway --upstream http://app:9000 --listen 0.0.0.0:443 --tls-cert site.pem --tls-key site.key
  curl -i http://127.0.0.1:8080/orders -H 'Idempotency-Key: "8e03978e"' -d 'item=42'`,
		Args:        cli.NoArgs,
		Annotations: map[string]string{"environment": gatewayEnvironment},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("explain") {
				return f.explainRequest(cmd.Context(), p)
			}
			log, err := logs.Logger(p)
			if err != nil {
				return err
			}
			cli.Capture(log)
			f.config.Logger = log
			if err := f.keys.into(&f.config.Guard, p); err != nil {
				return err
			}
			for secret := range strings.FieldsSeq(p.Getenv(formSecretsVariable)) {
				f.config.FormSecrets = append(f.config.FormSecrets, []byte(secret))
			}
			if f.check {
				return f.checkConfig(p)
			}
			f.reloads(cmd.Context(), p)
			return f.openAndServe(cmd.Context(), telemetry)
		},
	}
	f.register(cmd)
	return cmd
}

func (f *gatewayFlags) register(cmd *cobra.Command) {
	c, flags := &f.config, cmd.Flags()
	flags.SortFlags = false // in order of importance
	flags.StringVar(&c.Upstream, "upstream", "", "`URL` of the application, such as http://127.0.0.1:9000 (required)")
	flags.StringVar(&c.Listen, "listen", "127.0.0.1:8080", "`address` for callers; port 0 means any free port")
	flags.StringVar(&f.store, "store", openstore.Default, "`DSN` of the store: sqlite:PATH, log:DIR, postgres://…, mysql://…, redis://…, or memory: to forget everything on exit")
	flags.StringVar(&f.rules, "rules", "", "rules `file` (YAML)")
	flags.StringVar(&f.explain, "explain", "", "say which route of --rules a `request`, such as 'POST /orders?do=save', meets, and why; then end")
	flags.BoolVar(&f.check, "check", false, "check the flags and the files as a start does; then end")
	flags.StringVar(&c.AdminListen, "admin", "127.0.0.1:8081", "`address` for operators, or off")
	flags.StringVar(&f.tokens, "admin-tokens-file", "", "`file` with the names and tokens of operators; enables the admin API and the console")
	flags.DurationVar(&f.keepLog, "outcome-log", 0, "how long the outcome log is kept in the store's database for operators to search; at most 720h; 0 keeps none")
	flags.StringVar(&f.operators.Prometheus, "prometheus-url", "", "`URL` of a page with the counts of all processes; the console links to it")
	flags.StringVar(&f.otlp, "otlp", "", "`URL` of an OpenTelemetry collector (OTLP over HTTP), such as http://127.0.0.1:4318; gets traces and metrics")
	flags.BoolVar(&c.KeyRequired, "key-required", false, "refuse POST and PATCH without a key, unless a rule says otherwise")
	flags.DurationVar(&c.Guard.Policy.Retention, "retention", semel.DefaultRetention, "how long an answer is remembered, unless a rule says otherwise")
	flags.DurationVar(&c.Guard.Policy.Wait, "wait", semel.DefaultWait, "how long a repeated request waits for the first one, unless a rule says otherwise")
	flags.DurationVar(&c.Guard.Policy.Lease, "lease", semel.DefaultLease, "how long a request counts as running after its gateway has crashed; then its outcome is unknown")
	flags.IntVar(&c.Guard.LiveClaims, "live-claims", 65536, "how many requests with a key may run at once; more get 503")
	flags.IntVar(&c.Guard.LiveClaimsPerScope, "live-claims-per-scope", 16384, "how many of them one caller may run on one path; more get 429")
	flags.IntVar(&c.Guard.RecordsPerScope, "records-per-scope", 0, "how many requests of one caller to one path this gateway remembers within --retention; more get 429; 0 for any number")
	flags.BoolVar(&c.Guard.HideKeys, "hide-keys", false, "keep keys and scopes out of the store; operators then find a record by its digest only")
	f.keys.register(flags)
	flags.StringVar(&c.CertFile, "tls-cert", "", "certificate `file` (PEM); enables TLS and HTTP/2")
	flags.StringVar(&c.KeyFile, "tls-key", "", "private key `file` (PEM) of --tls-cert")
	flags.StringVar(&c.ClientCAFile, "tls-client-ca", "", "`file` (PEM) with the authorities of client certificates")
	flags.StringSliceVar(&f.proxies, "trusted-proxy", nil, "`network` whose forwarded headers are trusted, such as 10.0.0.0/8; can be repeated")
	flags.BoolVar(&c.RewriteHost, "rewrite-host", false, "send the upstream's own host instead of the one that the caller requested")
	flags.DurationVar(&c.AnswerTimeout, "answer-timeout", time.Minute, "how long the application may take to begin its answer; after that, the outcome is unknown")
	flags.DurationVar(&c.DialTimeout, "dial-timeout", 5*time.Second, "how long connecting to the application may take")
	flags.DurationVar(&c.DrainTimeout, "drain-timeout", 30*time.Second, "how long running requests may take to finish")
	flags.DurationVar(&c.DrainDelay, "drain-delay", 0, "how long to keep serving after /readyz fails, for load balancers to notice")
	flags.StringVar(&f.readyFile, "ready-file", "", "`file` that gets the addresses once they answer, as lines of name=URL")
}

// openAndServe opens the store, and serves until ctx ends and the gateway has drained.
func (f *gatewayFlags) openAndServe(ctx context.Context, telemetry Telemetry) error {
	if err := f.read(); err != nil { //nolint:contextcheck // nothing runs.
		return err
	}
	export, err := f.exporting(telemetry)
	if err != nil {
		return err
	}
	store, err := openStore(ctx, f.store, openstore.Serve, f.config.Logger)
	if err != nil {
		return err
	}
	f.config.Store, f.config.StoreName = store, openstore.Redact(f.store)
	if strings.HasPrefix(f.store, "sqlite:") {
		f.config.BusyAdvice = "--store log:DIR keeps every outcome as durably at less cost, where no other process uses the file (docs/scale.md)"
	}
	err = f.withLog(ctx, func(ctx context.Context) error { return export(ctx, f.serve) })
	if closeErr := store.Close(); closeErr != nil {
		err = errors.Join(err, cli.Unreachable(fmt.Errorf("close the store: %w", closeErr)))
	}
	return err
}

// withLog opens the outcome log, if one is wanted, and closes it after work.
func (f *gatewayFlags) withLog(ctx context.Context, work func(context.Context) error) error {
	if f.keepLog == 0 {
		return work(ctx)
	}
	log, err := openlog.Open(ctx, f.store, archive.Options{Retention: f.keepLog, Logger: f.config.Logger})
	if err != nil {
		return outcomeLogError(err)
	}
	f.config.OutcomeLog = log.Archive
	return errors.Join(work(ctx), log.Close())
}

// read converts the remaining flags into the config and rejects invalid ones.
func (f *gatewayFlags) read() error {
	c := &f.config
	if c.Upstream == "" {
		return cli.Usagef("the application is missing: give its URL with --upstream, such as http://127.0.0.1:9000")
	}
	if f.keepLog != 0 && (f.keepLog < time.Minute || f.keepLog > archive.MaxRetention) {
		return cli.Usagef("--outcome-log %v is not between 1m and %v (0 keeps none)", f.keepLog, archive.MaxRetention)
	}
	if err := cli.CheckAddress("listen", c.Listen); err != nil {
		return err
	}
	if c.AdminListen != adminOff {
		if err := cli.CheckAddress("admin", c.AdminListen); err != nil {
			return err
		}
	}
	for _, text := range f.proxies {
		network, err := parseNetwork(text)
		if err != nil {
			return cli.Usagef("--trusted-proxy %q is not a network (write it like 10.0.0.0/8 or 10.1.2.3)", text)
		}
		c.TrustedProxies = append(c.TrustedProxies, network)
	}
	if c.Guard.Policy.Wait == 0 {
		c.Guard.Policy.Wait = semel.NoWait
	}
	if err := f.readTokens(); err != nil {
		return err
	}
	if c.CertFile != "" && c.KeyFile != "" {
		dry := *c // before the store is made
		if err := withDryGateway(&dry, func(*gateway.Gateway) error { return nil }); err != nil {
			return err
		}
	}
	if f.rules == "" {
		return nil
	}
	var err error
	if c.Rules, err = rules.Load(f.rules); err != nil {
		return cli.Usage(err)
	}
	return nil
}

// readTokens reads the tokens of operators.
func (f *gatewayFlags) readTokens() error {
	if f.tokens == "" {
		return nil
	}
	if f.config.AdminListen == adminOff {
		return cli.Usagef("--admin-tokens-file needs an admin address, but --admin is off")
	}
	var err error
	f.operators.TokensFile = f.tokens
	if f.operators.Tokens, err = adminapi.LoadTokens(f.tokens); err != nil {
		return cli.Usage(err)
	}
	return nil
}

func parseNetwork(text string) (netip.Prefix, error) {
	if strings.Contains(text, "/") {
		return netip.ParsePrefix(text)
	}
	address, err := netip.ParseAddr(text)
	if err != nil {
		return netip.Prefix{}, err
	}
	return address.Prefix(address.BitLen())
}

// serve listens on the addresses and serves.
func (f *gatewayFlags) serve(ctx context.Context) error {
	c := &f.config
	c.Operators = operators.Of(c, f.operators) //nolint:contextcheck // it logs at most.
	g, err := gateway.New(c)                   //nolint:contextcheck // it drains when ctx ends.
	if err != nil {
		return cli.Usage(err)
	}
	front, admin, err := f.listeners(ctx)
	if err != nil {
		return errors.Join(err, g.Close()) //nolint:contextcheck // nothing runs yet.
	}
	if err := g.Serve(ctx, front, admin); err != nil {
		return cli.Unreachable(err)
	}
	return nil
}

// listeners listens on the addresses and announces them. admin is nil when it is off.
func (f *gatewayFlags) listeners(ctx context.Context) (front, admin net.Listener, err error) {
	c := &f.config
	if front, err = listen(ctx, "listen", c.Listen); err != nil {
		return nil, nil, err
	}
	if c.AdminListen != adminOff {
		if admin, err = listen(ctx, "admin", c.AdminListen); err != nil {
			return nil, nil, errors.Join(err, front.Close())
		}
	}
	if err := f.announce(ctx, front, admin); err != nil {
		err = errors.Join(err, front.Close())
		if admin != nil {
			err = errors.Join(err, admin.Close())
		}
		return nil, nil, err
	}
	return front, admin, nil
}

func listen(ctx context.Context, flag, address string) (net.Listener, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, cli.Unreachable(fmt.Errorf("%w (choose another address with --%s, or any free port with --%s 127.0.0.1:0)", err, flag, flag))
	}
	return listener, nil
}

// announce reports the gateway's addresses, to people and to programs.
func (f *gatewayFlags) announce(ctx context.Context, front, admin net.Listener) error {
	c := &f.config
	scheme := "http://"
	if c.CertFile != "" {
		scheme = "https://"
	}
	addresses := []address{{"listen", scheme + front.Addr().String()}}
	warnOpen(ctx, c.Logger, "listen", c.Listen)
	if admin != nil {
		addresses = append(addresses, address{"admin", "http://" + admin.Addr().String()})
		warnOpen(ctx, c.Logger, "admin", c.AdminListen)
	}
	if f.store == "memory:" {
		c.Logger.LogAttrs(ctx, slog.LevelWarn, "the store is in memory: all records are lost when this process ends")
	}
	attrs := []slog.Attr{slog.String("upstream", c.Upstream), slog.String("store", openstore.Redact(f.store)), slog.String("rules", f.rules)}
	if keys := c.Guard.OutcomeKeys; len(keys) > 0 && keys[0].ID != "" {
		attrs = append(attrs, slog.String("outcome_key", keys[0].ID))
	}
	for _, a := range addresses {
		attrs = append(attrs, slog.String(a.name, a.url))
	}
	c.Logger.LogAttrs(ctx, slog.LevelInfo, "gateway is ready", attrs...)
	return announce(f.readyFile, addresses)
}
