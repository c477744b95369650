package checkcmd

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/semel-dev/semel/check"
	"github.com/semel-dev/semel/check/effects"
	"github.com/semel-dev/semel/check/internal/observe"
	"github.com/semel-dev/semel/check/wire"
	"github.com/semel-dev/semel/internal/cli"
	"github.com/semel-dev/semel/internal/cli/opendb"
)

// effectFlags configure how effects are counted.
type effectFlags struct {
	count []string // KIND:ARG
	auth  []string
	dsn   string
}

func (f *effectFlags) register(flags *pflag.FlagSet) {
	flags.StringArrayVar(&f.count, "count", nil, "count effects by `KIND:ARG`, as listed above; can be repeated")
	flags.StringArrayVar(&f.auth, "count-auth", nil, "header `line` for requests that count (default: the credentials of the request, on its own host)")
	flags.StringVar(&f.dsn, "dsn", "", "`DSN` of the database for --count sql: postgres://…, mysql://…, sqlite:PATH")
}

// into opens the counters; open closes them.
func (f *effectFlags) into(ctx context.Context, c *check.Config, open *closers) error {
	for _, text := range f.count {
		kind, arg, _ := strings.Cut(text, ":")
		counter, err := f.counter(ctx, c, kind, arg, open)
		if coded, ok := errors.AsType[*cli.ExitError](err); ok {
			return coded
		}
		if err != nil {
			return cli.Usage(fmt.Errorf("--count %s: %w", kind, err))
		}
		c.Counters = append(c.Counters, counter)
	}
	return nil
}

func (f *effectFlags) counter(ctx context.Context, c *check.Config, kind, arg string, open *closers) (check.Counter, error) {
	switch kind {
	case "json", "header", "html":
		return f.page(c, kind, arg)
	case "sql":
		return f.query(ctx, arg, open)
	case "lines":
		name, text, _ := strings.Cut(arg, ":")
		return effects.Lines(name, text)
	case "command":
		return effects.Command(strings.Fields(arg)...)
	case "calls":
		return observer(ctx, c, arg, open)
	}
	return nil, errors.New("unknown kind: write json:, header:, html:, sql:, lines:, command: or calls: before the argument")
}

func (f *effectFlags) page(c *check.Config, kind, arg string) (check.Counter, error) {
	header, err := headerLines("--count-auth", f.auth)
	if err != nil {
		return nil, err
	}
	at, what, same := pageOf(c, arg)
	if len(header) == 0 && same {
		header = credentials(c)
	}
	count := map[string]func(*wire.Client, string, string, []wire.Field) (check.Counter, error){
		"json": effects.JSON, "header": effects.Header, "html": effects.HTML,
	}[kind]
	return count(clientOf(c), at, what, header)
}

// pageOf returns the URL that such a flag names, and what it counts there; same reports whether it is on the host of
// the request.
func pageOf(c *check.Config, value string) (at, what string, same bool) {
	at, what, _ = strings.Cut(strings.TrimSpace(value), " ")
	at, same = besides(c.Template.URL, at)
	return at, strings.TrimSpace(what), same
}

func (f *effectFlags) addresses(c *check.Config) []string {
	var all []string
	for _, text := range f.count {
		if kind, arg, _ := strings.Cut(text, ":"); slices.Contains([]string{"json", "header", "html"}, kind) {
			at, _, _ := pageOf(c, arg)
			all = append(all, at)
		}
	}
	return all
}

// besides resolves an address that may lack its host against the target; same reports whether it is the same host.
func besides(target, at string) (full string, same bool) {
	scheme, rest, _ := strings.Cut(target, "://")
	host := rest
	if end := strings.IndexAny(rest, "/?"); end >= 0 {
		host = rest[:end]
	}
	if strings.HasPrefix(at, "/") {
		return scheme + "://" + host + at, true
	}
	of, err := url.Parse(check.Values{"n": "1", "uuid": "x", "key": "x", "now": "x", "minted": "x"}.Fill(at))
	return at, err == nil && of.Scheme == scheme && of.Host == host
}

// credentials returns the lines of the request that identify its caller.
func credentials(c *check.Config) []wire.Field {
	header := slices.Clone(c.Template.Header)
	if c.User != nil {
		for _, field := range c.User.Header {
			setField(&header, field)
		}
	}
	return slices.DeleteFunc(header, func(field wire.Field) bool {
		names := []string{"authorization", "cookie", "x-api-key", "apikey", "x-auth-token"}
		own := c.User != nil && slices.ContainsFunc(c.User.Header, func(f wire.Field) bool { return strings.EqualFold(f.Name, field.Name) })
		return !own && !slices.Contains(names, strings.ToLower(field.Name))
	})
}

func (f *effectFlags) query(ctx context.Context, query string, open *closers) (check.Counter, error) {
	if f.dsn == "" {
		return nil, fmt.Errorf("name the database with --dsn (or set %s)", cli.Variable("dsn"))
	}
	db, err := opendb.Open(ctx, f.dsn, opendb.Read)
	if err != nil {
		return nil, cli.OpenError(err)
	}
	open.add(db.Close)
	return effects.SQL(opendb.Redact(f.dsn), db.DB, db.Dialect, query)
}

// observer opens a proxy between the service and its dependency, which can also make calls fail.
func observer(ctx context.Context, c *check.Config, arg string, open *closers) (check.Counter, error) {
	listen, upstream := observe.Split(arg)
	if err := cli.CheckAddress("count calls", listen); err != nil {
		return nil, err
	}
	observer, err := observe.Open(ctx, listen, upstream)
	if err != nil {
		return nil, cli.Unreachable(err)
	}
	open.add(observer.Close)
	c.Observed = observer
	return observer, nil
}
