package command

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"

	"github.com/semel-dev/semel/gateway"
	"github.com/semel-dev/semel/internal/cli"
	"github.com/semel-dev/semel/rules"
	"github.com/semel-dev/semel/store/memstore"
)

// explainRequest prints which routes a request meets. The gateway that is asked is never started.
func (f *gatewayFlags) explainRequest(ctx context.Context, p *cli.Process) (err error) {
	const fix = "write a method and a URL or path, such as 'POST /orders?do=save'"
	method, target, _ := strings.Cut(strings.TrimSpace(f.explain), " ")
	u, err := url.ParseRequestURI(strings.TrimSpace(target)) // as a server does: //a/b is a path
	if err != nil || !strings.HasPrefix(u.Path, "/") || method == "" {
		return cli.Usagef("--explain %q is not a request (%s)", cli.PlainLine(f.explain), fix)
	}
	r := (&http.Request{Method: method, URL: u, Host: u.Host, Header: http.Header{}, Body: http.NoBody}).WithContext(ctx)
	if f.rules == "" {
		return cli.Usagef("--explain needs the rules: name them with --rules")
	}
	file, err := rules.Load(f.rules)
	if err != nil {
		return cli.Usage(err)
	}
	store := memstore.New(nil)
	config := gateway.Config{Upstream: "http://127.0.0.1", Store: store, Rules: file, KeyRequired: f.config.KeyRequired, Logger: slog.New(slog.DiscardHandler)}
	g, err := gateway.New(&config) //nolint:contextcheck // it is closed below.
	if err != nil {
		return cli.Usage(errors.Join(err, store.Close()))
	}
	defer func() { err = errors.Join(err, g.Close(), store.Close()) }() //nolint:contextcheck // nothing runs.
	candidates, refused := g.Explain(r)
	var rows [][]string
	for _, c := range candidates {
		rows = append(rows, []string{string(c.Verdict), cli.PlainLine(c.Route), cli.OrDash(cli.PlainLine(c.Pattern)), cli.OrDash(cli.PlainLine(strings.Join(c.Why, ", ")))})
	}
	if err := cli.PrintSheet(p, []string{"VERDICT", "ROUTE", "REQUESTS", "CONDITIONS"}, "", rows); err != nil || refused == "" {
		return err
	}
	_, err = fmt.Fprintf(p.Stdout, "\nThe gateway refuses it: %s\n", refused)
	return err
}
