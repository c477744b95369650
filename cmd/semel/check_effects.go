package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/semel-dev/semel/check"
	"github.com/semel-dev/semel/check/observe"
	"github.com/semel-dev/semel/check/oracle"
	"github.com/semel-dev/semel/check/wire"
	"github.com/semel-dev/semel/internal/opendb"
)

// effectFlags say how effects are counted.
type effectFlags struct {
	json, header, html []string
	auth               []string
	sql                []string
	dsn                string
	lines              []string
	command            string
	observe            string
}

func (f *effectFlags) register(flags *pflag.FlagSet) {
	flags.StringArrayVar(&f.json, "count-json", nil, "effects are the number, or the length of the list, in the answer of a URL at a pointer: `\"URL /pointer\"`; /path means the same service")
	flags.StringArrayVar(&f.header, "count-header", nil, "effects are the number in a header: `\"URL NAME\"`")
	flags.StringArrayVar(&f.html, "count-html", nil, "effects are the elements of a page: `\"URL SELECTOR\"`")
	flags.StringArrayVar(&f.auth, "count-auth", nil, "header `line` of these look-ups (default: those of the request that say who the caller is, to the same host)")
	flags.StringArrayVar(&f.sql, "count-sql", nil, "effects are what the `query` says; places such as {{n}} become parameters")
	flags.StringVar(&f.dsn, "dsn", "", "`DSN` of the database for --count-sql: postgres://…, mysql://…, sqlite:PATH")
	flags.StringArrayVar(&f.lines, "count-lines", nil, "effects are the lines of a file that hold the text: `FILE[:TEXT]`")
	flags.StringVar(&f.command, "count-command", "", "effects are the number that a `command` prints; it is split at spaces, and run by no shell")
	flags.StringVar(&f.observe, "observe", "", "effects are the calls that the service sends to this address, which are passed on: `LISTEN[=UPSTREAM]`")
}

// into opens what counts, to be closed by open.
func (f *effectFlags) into(ctx context.Context, c *check.Config, open *closers) error {
	steps := []func() error{
		func() error { return f.pages(c) },
		func() error { return f.queries(ctx, c, open) },
		func() error { return f.others(c) },
		func() error { return f.observer(ctx, c, open) },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// pages are oracles that the service itself shows.
func (f *effectFlags) pages(c *check.Config) error {
	auth, err := headerLines(f.auth)
	if err != nil {
		return err
	}
	client := clientOf(c)
	for _, kind := range []struct {
		flag   string
		values []string
		open   func(at, what string, header []wire.Field) (*oracle.Page, error)
	}{
		{"--count-json", f.json, func(at, what string, h []wire.Field) (*oracle.Page, error) { return oracle.JSON(client, at, what, h) }},
		{"--count-header", f.header, func(at, what string, h []wire.Field) (*oracle.Page, error) { return oracle.Header(client, at, what, h) }},
		{"--count-html", f.html, func(at, what string, h []wire.Field) (*oracle.Page, error) { return oracle.HTML(client, at, what, h) }},
	} {
		for _, value := range kind.values {
			at, what, same := pageOf(c, value)
			header := auth
			if len(auth) == 0 && same {
				header = credentials(c)
			}
			page, err := kind.open(at, what, header)
			if err != nil {
				return usage(fmt.Errorf("%s: %w", kind.flag, err))
			}
			c.Oracles = append(c.Oracles, page)
		}
	}
	return nil
}

// pageOf is the address that such a flag names, and what it counts there; same
// reports whether it is on the host of the request.
func pageOf(c *check.Config, value string) (at, what string, same bool) {
	at, what, _ = strings.Cut(strings.TrimSpace(value), " ")
	at, same = besides(c.Template.URL, at)
	return at, strings.TrimSpace(what), same
}

// addresses are those that are asked for counts.
func (f *effectFlags) addresses(c *check.Config) []string {
	var all []string
	for _, value := range slices.Concat(f.json, f.header, f.html) {
		at, _, _ := pageOf(c, value)
		all = append(all, at)
	}
	return all
}

// besides is an address on the host of the target, where it names none; same
// reports whether it is the same host.
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

// credentials are the lines of the request that say who the caller is.
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

func (f *effectFlags) queries(ctx context.Context, c *check.Config, open *closers) error {
	switch {
	case len(f.sql) == 0:
		return nil
	case f.dsn == "":
		return usagef("--count-sql needs the database: name it with --dsn (or set %s)", variable("dsn"))
	}
	db, err := opendb.Open(ctx, f.dsn, opendb.Read)
	switch {
	case errors.Is(err, opendb.ErrDSN):
		return usage(err)
	case err != nil:
		return unreachable(err)
	}
	open.add(db.Close)
	for _, query := range f.sql {
		asked, err := oracle.SQL(opendb.Redact(f.dsn), db.DB, db.Dialect, query)
		if err != nil {
			return usage(fmt.Errorf("--count-sql: %w", err))
		}
		c.Oracles = append(c.Oracles, asked)
	}
	return nil
}

func (f *effectFlags) others(c *check.Config) error {
	for _, value := range f.lines {
		name, text, _ := strings.Cut(value, ":")
		lines, err := oracle.Lines(name, text)
		if err != nil {
			return usage(fmt.Errorf("--count-lines: %w", err))
		}
		c.Oracles = append(c.Oracles, lines)
	}
	if f.command != "" {
		program, err := oracle.Command(strings.Fields(f.command)...)
		if err != nil {
			return usage(fmt.Errorf("--count-command: %w", err))
		}
		c.Oracles = append(c.Oracles, program)
	}
	return nil
}

func (f *effectFlags) observer(ctx context.Context, c *check.Config, open *closers) error {
	if f.observe == "" {
		return nil
	}
	listen, upstream := observe.Split(f.observe)
	if err := checkAddress("observe", listen); err != nil {
		return err
	}
	observer, err := observe.Open(ctx, listen, upstream, nil)
	if err != nil {
		return unreachable(err)
	}
	open.add(observer.Close)
	c.Oracles, c.Observed = append(c.Oracles, observer), observer
	return nil
}
