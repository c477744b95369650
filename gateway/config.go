package gateway

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/operator"
	"github.com/semel-dev/semel/outcomelog"
	"github.com/semel-dev/semel/rules"
)

// Defaults of a [Config].
const (
	defaultDialTimeout         = 5 * time.Second
	defaultAnswerTimeout       = 60 * time.Second
	defaultDrainTimeout        = 30 * time.Second
	defaultUpstreamIdleTimeout = 4 * time.Second
	defaultReadHeaderTimeout   = 10 * time.Second
	defaultBodyIdleTimeout     = 60 * time.Second
	defaultIdleTimeout         = 120 * time.Second
	defaultMaxHeaderBytes      = 64 << 10
	defaultMaxPageBytes        = 16 << 20
)

// Config describes the application behind a [Gateway], and the gateway itself.
type Config struct {
	// Upstream is the URL of the application, such as "http://127.0.0.1:9000".
	// A path in it goes before that of every request. Required without Next.
	Upstream string
	// Next handles requests in the place of a proxy to Upstream, for a server in which the gateway is one handler of several; its
	// admin handler, listeners and time limits are then that server's business. Upstream is needed by rules that ask the application
	// (authorize, reconcile). Next is called concurrently, with a context that outlives the caller where the request has a key. Its
	// error leaves the outcome unknown, unless it was made with [semel.MarkReleased], no answer had begun, and no connection to an
	// application had been made. Neither an error nor an answer, once the context has ended, is unknown as well.
	Next func(http.ResponseWriter, *http.Request) error
	// Store remembers the intents. Required. The gateway does not close it.
	Store semel.Store
	// StoreName names it to operators, without credentials. Default: the console does not say.
	StoreName string
	// Rules are the endpoint rules; nil for none: every POST and PATCH that carries an Idempotency-Key is protected.
	Rules *rules.File
	// KeyRequired refuses POST and PATCH requests without a key where no rule matches.
	KeyRequired bool
	// Guard holds the settings of the guard. Its Policy is that of requests
	// that no rule matches, and what a rule leaves open; its Trace is called as well.
	Guard semel.Options

	// Background says how often and how patiently records are reconciled in the
	// background, where a rule asks for it; its Policy is not used.
	Background operator.Unattended

	// RewriteHost sends the upstream's own host instead of the one that the caller asked for.
	RewriteHost bool
	// TrustedProxies are the networks whose X-Forwarded-* and Forwarded
	// headers are believed and continued. All others are dropped.
	TrustedProxies []netip.Prefix
	// UpstreamTLS is for an https upstream. nil for the system's roots.
	UpstreamTLS *tls.Config
	// DialTimeout bounds connecting to the upstream. Default 5 s.
	DialTimeout time.Duration
	// AnswerTimeout bounds the wait for the header of the upstream's answer, after the request was sent. What came too late is
	// unknown. Default 60 s; negative for none.
	AnswerTimeout time.Duration
	// UpstreamIdleTimeout limits how long an unused connection is kept. Default 4 s: less than the 5 seconds after which common
	// application servers hang up, because a request that meets the hanging up has an unknown outcome.
	UpstreamIdleTimeout time.Duration

	// Listen and AdminListen are the addresses of [Gateway.Run]. Defaults
	// 127.0.0.1:8080 and 127.0.0.1:8081; AdminListen "off" for none.
	Listen, AdminListen string
	// Operators makes the admin API and the console. [New] calls it once, and returns its error. Default: neither exists.
	Operators func(View) (Operators, error)
	// BusyAdvice is logged once, when this process has served more than 2,000 requests with a key a second for ten seconds.
	// Default: nothing.
	BusyAdvice string
	// OutcomeLog keeps the outcome of requests that ran, such as an archive.Archive, which the console searches. The caller closes it
	// after the gateway. Default: nil, outcomes are in log lines only.
	OutcomeLog interface {
		Keep(context.Context, outcomelog.Event)
		Dropped() uint64 // events that were not kept
		Retention() time.Duration
	}
	// CertFile and KeyFile (PEM) turn TLS and HTTP/2 on. While the gateway serves it looks at them and at ClientCAFile every ten
	// seconds: new connections get changed files that can be served.
	CertFile, KeyFile string
	// Reload asks for a look at once, for each value. Default: nil.
	Reload <-chan struct{}
	// ClientCAFile (PEM) verifies client certificates, where callers send one.
	ClientCAFile string
	// ReadHeaderTimeout, BodyIdleTimeout and IdleTimeout bound how slow a caller may be: to send its header, between two pieces
	// of its body or of the answer it reads, and between two requests. MaxHeaderBytes bounds the header (431). BodyIdleTimeout
	// also bounds how long a stream under a key may stall once its caller has gone. Defaults 10 s, 60 s, 120 s and 64 KiB.
	ReadHeaderTimeout, BodyIdleTimeout, IdleTimeout time.Duration
	MaxHeaderBytes                                  int
	// DrainDelay keeps the gateway serving after its readiness has failed, for load balancers to notice. Default 0.
	DrainDelay time.Duration
	// DrainTimeout bounds how long running requests may take to end. Default 30 s.
	DrainTimeout time.Duration
	// SpoolDir holds large bodies of requests with a key, in temporary files. Default os.TempDir().
	SpoolDir string

	// FormSecrets make the tokens of forms (the first) and verify them (all), where a rule says form: 1 to 16, each of 16 bytes
	// or more. All gateways of one site need the same. Default: one that the first of them makes and keeps in the store.
	FormSecrets [][]byte
	// MaxPageBytes is the longest page that is looked at for forms; a longer one
	// passes as it is, or from there on. Default 16 MiB.
	MaxPageBytes int64

	// Around goes around the handler that [Gateway.Run] and [Gateway.Serve] give callers, as a trace of all requests does. Its
	// http.ResponseWriter must have the abilities of the one that it gets. Default: nothing.
	Around func(http.Handler) http.Handler
	// Metrics gets the gateway's metrics, which /metrics shows with all others in it; no other gateway may have them there. Default:
	// a registry of its own.
	Metrics *prometheus.Registry
	// Logger gets one line per decision. Default: none.
	Logger *slog.Logger
}

// withDefaults returns a copy with the defaults filled in, and the upstream.
func (c *Config) withDefaults() (*Config, *url.URL, error) {
	if c == nil {
		return nil, nil, errors.New("gateway: config is nil")
	}
	out := *c
	out.DialTimeout = cmp.Or(out.DialTimeout, defaultDialTimeout)
	out.AnswerTimeout = cmp.Or(out.AnswerTimeout, defaultAnswerTimeout)
	out.UpstreamIdleTimeout = cmp.Or(out.UpstreamIdleTimeout, defaultUpstreamIdleTimeout)
	out.ReadHeaderTimeout = cmp.Or(out.ReadHeaderTimeout, defaultReadHeaderTimeout)
	out.BodyIdleTimeout = cmp.Or(out.BodyIdleTimeout, defaultBodyIdleTimeout)
	out.IdleTimeout = cmp.Or(out.IdleTimeout, defaultIdleTimeout)
	out.DrainTimeout = cmp.Or(out.DrainTimeout, defaultDrainTimeout)
	out.MaxHeaderBytes = cmp.Or(out.MaxHeaderBytes, defaultMaxHeaderBytes)
	out.MaxPageBytes = cmp.Or(out.MaxPageBytes, defaultMaxPageBytes)
	out.Listen = cmp.Or(out.Listen, "127.0.0.1:8080")
	out.AdminListen = cmp.Or(out.AdminListen, "127.0.0.1:8081")
	out.Logger = cmp.Or(out.Logger, slog.New(slog.DiscardHandler))
	target, err := out.check()
	if err != nil {
		return nil, nil, err
	}
	out.AnswerTimeout = max(0, out.AnswerTimeout) // net/http reads 0 as no timeout
	return &out, target, nil
}

// check reports everything that cannot work.
func (c *Config) check() (*url.URL, error) {
	var problems []error
	problem := func(wrong bool, format string, args ...any) {
		if wrong {
			problems = append(problems, fmt.Errorf("gateway: "+format, args...))
		}
	}
	var target *url.URL
	if c.Next == nil || c.Upstream != "" {
		var err error
		target, err = parseUpstream(c.Upstream)
		problem(err != nil, "%w", err)
	}
	problem(c.Store == nil, "store is missing (open one, such as sqlite:semel.db)")
	problem((c.CertFile == "") != (c.KeyFile == ""), "a certificate and its key belong together (set both files, or neither)")
	problem(c.ClientCAFile != "" && c.CertFile == "", "client certificates need TLS (set the certificate and key files too)")
	problem(c.MaxHeaderBytes < 1024, "max header of %d bytes is too small (at least 1024)", c.MaxHeaderBytes)
	for name, d := range map[string]time.Duration{
		"dial timeout": c.DialTimeout, "upstream idle timeout": c.UpstreamIdleTimeout, "read header timeout": c.ReadHeaderTimeout,
		"body idle timeout": c.BodyIdleTimeout, "idle timeout": c.IdleTimeout, "drain timeout": c.DrainTimeout,
	} {
		problem(d < 0, "%s %v is negative (leave it out for the default)", name, d)
	}
	problem(c.MaxPageBytes < 0, "max page of %d bytes is negative (leave it out for the default)", c.MaxPageBytes)
	problem(c.DrainDelay < 0, "drain delay %v is negative (leave it out for none)", c.DrainDelay)
	for _, p := range c.TrustedProxies {
		problem(!p.IsValid(), "a trusted proxy is not a network (write it like 10.0.0.0/8)")
	}
	return target, errors.Join(problems...)
}

func parseUpstream(text string) (*url.URL, error) {
	const hint = "(write it like http://127.0.0.1:9000)"
	if text == "" {
		return nil, errors.New("upstream is missing " + hint)
	}
	u, err := url.Parse(text)
	switch {
	case strings.Contains(text, "@") && (err != nil || u.User != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https"):
		// Said without the URL, and without url.Parse's error, which quotes it.
		return nil, errors.New("upstream holds a user name or password (callers' credentials are passed on as they are; remove it)")
	case err != nil:
		return nil, fmt.Errorf("upstream is not a URL %s: %w", hint, err)
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("upstream %q does not start with http:// or https:// %s", text, hint)
	case u.Hostname() == "":
		return nil, fmt.Errorf("upstream %q names no host %s", text, hint)
	case u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("upstream %q holds a query or fragment (remove it)", u.Scheme+"://"+u.Host)
	}
	return u, nil
}
