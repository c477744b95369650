package command

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/semel-dev/semel/gateway"
	"github.com/semel-dev/semel/internal/cli"
	"github.com/semel-dev/semel/rules"
)

// explainRequest prints which routes a request meets. The gateway that is asked is never started.
func (f *gatewayFlags) explainRequest(ctx context.Context, p *cli.Process) error {
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
	config := gateway.Config{Upstream: "http://127.0.0.1", Rules: file, KeyRequired: f.config.KeyRequired}
	return withDryGateway(&config, func(g *gateway.Gateway) error { return printExplained(p, g, r) }) //nolint:contextcheck // nothing runs.
}

func printExplained(p *cli.Process, g *gateway.Gateway, r *http.Request) error {
	candidates, refused := g.Explain(r)
	var rows [][]string
	for _, c := range candidates {
		rows = append(rows, []string{string(c.Verdict), cli.PlainLine(c.Route), cli.OrDash(cli.PlainLine(c.Pattern)), cli.OrDash(cli.PlainLine(strings.Join(c.Why, ", ")))})
	}
	if err := cli.PrintSheet(p, []string{"VERDICT", "ROUTE", "REQUESTS", "CONDITIONS"}, "", rows); err != nil || refused == "" {
		return err
	}
	_, err := fmt.Fprintf(p.Stdout, "\nThe gateway refuses it: %s\n", refused)
	return err
}
