package checkcmd

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel/check"
	"github.com/semel-dev/semel/check/wire"
	"github.com/semel-dev/semel/internal/cli"
)

// TestIsLoopback: only hosts that are certainly this machine are contacted without asking.
func TestIsLoopback(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]bool{
		"localhost": true, "LOCALHOST.": true, "shop.localhost": true, "127.0.0.1": true, "127.9.9.9": true, "[::1]": true, "[::1]:80": true, "127.0.0.1:9": true,
		"localhost.example": false, "127.0.0.1.example": false, "10.0.0.1": false, "0.0.0.0": false, "[::]:80": false, "2130706433": false, unknownHost: false, "localhost.example:80": false,
	} {
		if got := isThisMachine(host); got != want {
			t.Errorf("%q: got %v, want %v", host, got, want)
		}
	}
}

// TestAsk: nothing but a yes is one.
func TestAsk(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]bool{
		"y\n": true, " YES \n": true, "y": true, "\n": false, "": false, "n\n": false, "yo\n": false, strings.Repeat("y", 5000) + "\n": false,
	} {
		var asked bytes.Buffer
		err := ask(&cli.Process{Stdin: strings.NewReader(answer), Stderr: &asked}, "at most 7 requests will be sent")
		if (err == nil) != want {
			t.Errorf("%.10q: got %v, want %v", answer, err, want)
		}
		if !strings.Contains(asked.String(), "at most 7 requests") {
			t.Errorf("asked: %s", asked.String())
		}
	}
}

func TestBesides(t *testing.T) {
	t.Parallel()
	type full struct {
		At   string
		Same bool
	}
	for in, want := range map[[2]string]full{
		{"http://a:1/orders?x=1", "/count"}:                     {"http://a:1/count", true},
		{"http://a:1", "/count"}:                                {"http://a:1/count", true},
		{"http://a:1?x=/y", "/count"}:                           {"http://a:1/count", true},
		{"http://a:1/orders", "http://a:1/count?n={{n}}"}:       {"http://a:1/count?n={{n}}", true},
		{"http://a:1/orders", "https://a:1/count"}:              {"https://a:1/count", false},
		{"http://a:1/orders", "http://b:1/count"}:               {"http://b:1/count", false},
		{"http://a:1/{{n}}", "http://a:1@b.example/"}:           {"http://a:1@b.example/", false},
		{"http://a.example/", "http://a.example.evil.example/"}: {"http://a.example.evil.example/", false},
	} {
		at, same := besides(in[0], in[1])
		if diff := cmp.Diff(want, full{at, same}); diff != "" {
			t.Errorf("%v: %s", in, diff)
		}
	}
}

// TestCredentials: credentials go to the service's own host only, and without anything else of the request.
func TestCredentials(t *testing.T) {
	t.Parallel()
	c := &check.Config{
		Template: check.Template{Header: []wire.Field{
			{Name: "Content-Type", Value: "application/json"}, {Name: "authorization", Value: "Bearer a"}, {Name: "Cookie", Value: "b=c"},
		}},
		User: &check.User{Header: []wire.Field{{Name: "Authorization", Value: "Bearer d"}, {Name: "X-Tenant", Value: "7"}}},
	}
	want := []wire.Field{{Name: "authorization", Value: "Bearer d"}, {Name: "Cookie", Value: "b=c"}, {Name: "X-Tenant", Value: "7"}}
	if diff := cmp.Diff(want, credentials(c)); diff != "" {
		t.Error(diff)
	}
	if len(c.Template.Header) != 3 || c.Template.Header[1].Value != "Bearer a" {
		t.Errorf("the template was changed: %v", c.Template.Header)
	}
}

// TestVerdictOf: the result of a run is an exit code.
func TestVerdictOf(t *testing.T) {
	t.Parallel()
	of := func(v check.Verdict, level check.Level) *check.Report {
		return &check.Report{Results: []check.Result{{ID: "BASIC-02", Verdict: v, Level: level, Says: "It holds."}}}
	}
	died := of(check.Incomplete, check.LevelMust)
	died.Died = "the service could not be reached"
	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		ctx    context.Context //nolint:containedctx // a case of a table.
		report *check.Report
		want   int
	}{
		"passed":                  {t.Context(), of(check.Pass, check.LevelMust), cli.ExitFine},
		"failed":                  {t.Context(), of(check.Fail, check.LevelShould), cli.ExitFound},
		"known":                   {t.Context(), of(check.Known, check.LevelMust), cli.ExitFine},
		"not judged, must hold":   {t.Context(), of(check.Incomplete, check.LevelMust), cli.ExitFound},
		"not judged, should hold": {t.Context(), of(check.Incomplete, check.LevelShould), cli.ExitFine},
		"died":                    {t.Context(), died, cli.ExitUnreachable},
		"interrupted":             {interrupted, of(check.Pass, check.LevelMust), cli.ExitFound},
	} {
		got := cli.ExitFine
		if err := verdictOf(c.ctx, c.report); err != nil {
			ended := &cli.ExitError{}
			if !errors.As(err, &ended) {
				t.Fatalf("%s: %v has no exit code", name, err)
			}
			got = ended.Code
		}
		if got != c.want {
			t.Errorf("%s: got %d, want %d", name, got, c.want)
		}
	}
}

// TestHosts: every host of a run is known before the question for permission.
func TestHosts(t *testing.T) {
	t.Parallel()
	at := func(url string) check.Template { return check.Template{Method: "POST", URL: url} }
	failing := at("http://failing.example:81/x")
	f := &checkFlags{effects: effectFlags{count: []string{"json:/orders /n", "json:https://count.example/{{n}} /n"}}}
	got := f.hosts(&check.Config{
		Template: at("{{var:base}}/orders?{{n}}"), Failing: &failing, Page: &check.Page{URL: "http://page.example"},
		Login: &check.Login{Template: at("http://me:secret@login.example/in"), Page: &check.Page{URL: "http://sso.example"}}, Mint: &check.Mint{Template: at("http://{{var:from}}/ids")},
		User: &check.User{Values: check.Values{"var:base": "http://127.0.0.1:9"}}, Other: &check.User{Values: check.Values{"var:base": "http://127.0.0.2"}},
	})
	want := []string{"127.0.0.1:9", "127.0.0.2", "failing.example:81", "page.example", unknownHost, "login.example", "sso.example", "count.example"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
