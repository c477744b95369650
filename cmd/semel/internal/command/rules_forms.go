package command

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/semel-dev/semel/gateway"
	"github.com/semel-dev/semel/internal/cli"
	"github.com/semel-dev/semel/internal/texts"
	"github.com/semel-dev/semel/rules"
	"github.com/semel-dev/semel/schema/schemacmd"
)

// Bounds of a page whose forms are listed.
const (
	pageTimeout      = 30 * time.Second
	maxPageBytes     = 16 << 20
	maxPageRedirects = 5
	maxCookieBytes   = 64 << 10
)

type formsFlags struct {
	json, browser            bool
	host, cookie, cookieFile string
	press                    string
}

// newRules returns the verb rules of the house schema, and those that need a gateway.
func newRules(p *cli.Process) *cobra.Command {
	cmd := schemacmd.NewRules(p)
	cmd.AddCommand(newRulesCheck(p), newRulesForms(p))
	return cmd
}

func newRulesForms(p *cli.Process) *cobra.Command {
	f := &formsFlags{}
	cmd := &cobra.Command{
		Use:   "forms URL",
		Short: "List the forms of a page, and the rule for each",
		Long: `Loads a page, from the application or through the gateway, and lists its forms:
where each leads, the rule of --rules that applies, what identifies its reader,
to whom the form is bound, and which rules of its path it meets. Without
--browser, only this GET is sent (and up to 5 redirects).

  protected    a rule with form: true (of a script: page: true) applies
  no-script    the same, but the page cannot have the guard script
  depends      such a rule applies, if the form or request is as its conditions say
  password     a rule with form: true applies, but the form asks for a password and
               gets no token (passwords: true below form gives it one)
  exempt       a rule with protect: false applies
  unprotected  no rule applies, or one without form (of a script: without page)
  elsewhere    it leads to another host
  reads        it changes nothing: GET, or a dialog
  reports      a beacon or a report of the browser, which carries no key

Without --browser, what scripts make and send is not seen. With it, the page is
loaded in Chromium, and the list is of the forms as scripts leave them, and of
the requests that scripts send. --press presses a button; only GET, HEAD and
OPTIONS leave. Other requests are stopped on this machine. Rules that are missing
are drafted.

For a page behind a log-in, give the cookies of a logged-in browser with
--cookie-file. If rules name a host, --host is the one that browsers use.

Prints a table on a terminal, tab-separated columns elsewhere.`,
		Example: `  semel rules forms http://127.0.0.1:3000/tickets/new --rules rules.yaml
  semel rules forms http://127.0.0.1:8080/checkout --cookie-file cookie.txt --json
  semel rules forms http://127.0.0.1:3000/app --browser --press '#order button'`,
		Annotations: map[string]string{"exit1": "a form or a script's request that changes something is unprotected, or a form gets no token"},
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return cli.Usagef("name one page by its URL, such as semel rules forms http://127.0.0.1:3000/tickets/new")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			file, err := cmd.Flags().GetString("rules")
			if err != nil {
				return err
			}
			return f.listForms(cmd.Context(), p, args[0], file)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.json, "json", false, "print one JSON object, for programs")
	flags.BoolVar(&f.browser, "browser", false, "load the page in Chromium, and list what its scripts make and send")
	flags.StringVar(&f.press, "press", "", "with --browser, press the element with this `CSS` selector and show the request (only GET, HEAD and OPTIONS leave)")
	flags.StringVar(&f.host, "host", "", "send this `host` in the Host header")
	flags.StringVar(&f.cookie, "cookie", "", "send these `cookies`: name=value; name=value")
	flags.StringVar(&f.cookieFile, "cookie-file", "", "read the cookies from this `file`, to keep them off the command line")
	return cmd
}

// formsReport is the output of --json.
type formsReport struct {
	URL         string             `json:"url"` // after redirects
	Forms       []gateway.PageForm `json:"forms"`
	Unprotected int                `json:"unprotected"`
	Cookies     []string           `json:"cookies,omitempty"` // names, of the request and the answer
	// Browser has seen the page; empty if none has. Requests came from the page's scripts.
	Browser  string        `json:"browser,omitempty"`
	Requests []pageRequest `json:"requests,omitempty"`
	// Draft are the missing rules, as YAML below routes.
	Draft string `json:"draft,omitempty"`

	scripts bool // the page has some
}

func (f *formsFlags) listForms(ctx context.Context, p *cli.Process, address, rulesFile string) error {
	target, err := url.Parse(address)
	if err != nil || target.Host == "" || (target.Scheme != "http" && target.Scheme != "https") {
		return cli.Usagef("URL is not an address such as http://127.0.0.1:3000/tickets/new")
	}
	file, err := rules.Load(rulesFile)
	if err != nil {
		return cli.Usage(err)
	}
	cookie, err := f.cookies()
	if err != nil {
		return err
	}
	if f.press != "" && !f.browser {
		return cli.Usagef("--press needs --browser")
	}
	if f.host != "" && f.browser {
		return cli.Usagef("--host cannot be used with --browser: a browser sends the host of the URL")
	}
	page, err := f.load(ctx, target, cookie)
	if err != nil {
		return err
	}
	var seen *watched
	if f.browser {
		if seen, err = f.watch(ctx, page, cookie); err != nil {
			return err
		}
	}
	report, err := f.inspect(ctx, file, page, seen)
	if err != nil {
		return err
	}
	if f.json {
		err = json.NewEncoder(p.Stdout).Encode(report)
	} else {
		err = report.print(p)
	}
	if err == nil && report.Unprotected > 0 {
		what := texts.Count(report.Unprotected, "form")
		if report.Browser != "" {
			what = fmt.Sprintf("%d of the forms and requests", report.Unprotected)
		}
		err = cli.Found(fmt.Errorf("%s of %s can be executed twice (write a rule with form: true or page: true, or with protect: false if that is harmless)",
			what, cli.PlainLine(report.URL)))
	}
	return err
}

// cookies returns the Cookie header to send.
func (f *formsFlags) cookies() (string, error) {
	if f.cookieFile == "" {
		return strings.TrimSpace(f.cookie), nil
	}
	if f.cookie != "" {
		return "", cli.Usagef("--cookie and --cookie-file are both set: keep one")
	}
	in, err := os.Open(f.cookieFile)
	if err != nil {
		return "", cli.Usage(err)
	}
	defer in.Close() //nolint:errcheck // only read.
	text, err := io.ReadAll(io.LimitReader(in, maxCookieBytes+1))
	if err != nil || len(text) > maxCookieBytes {
		return "", cli.Usage(errors.Join(err, fmt.Errorf("%s is longer than %d bytes, or cannot be read", f.cookieFile, maxCookieBytes)))
	}
	line := strings.TrimSpace(string(text))
	if strings.ContainsAny(line, "\r\n") {
		return "", cli.Usagef("%s must hold one line: name=value; name=value, as browsers send it", f.cookieFile)
	}
	return strings.TrimSpace(strings.TrimPrefix(line, "Cookie:")), nil
}

// loadedPage is a page with its request.
type loadedPage struct {
	request *http.Request
	header  http.Header
	body    []byte
}

// load gets the page without content coding.
func (f *formsFlags) load(ctx context.Context, target *url.URL, cookie string) (*loadedPage, error) {
	ctx, cancel := context.WithTimeout(ctx, pageTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), http.NoBody)
	if err != nil {
		return nil, cli.Usage(err)
	}
	req.Host = f.host
	req.Header.Set("Accept", "text/html")
	req.Header.Set("Accept-Encoding", "identity")
	if cookie != "" {
		req.Header.Set("Cookie", cookie)
	}
	client := &http.Client{CheckRedirect: func(next *http.Request, before []*http.Request) error {
		if len(before) > maxPageRedirects {
			return fmt.Errorf("it redirects more than %d times", maxPageRedirects)
		}
		if next.URL.Host == target.Host {
			next.Host = f.host
		}
		return nil
	}}
	res, err := client.Do(req)
	if err != nil {
		return nil, cli.Unreachable(err)
	}
	defer res.Body.Close() //nolint:errcheck // only read.
	body, err := io.ReadAll(io.LimitReader(res.Body, maxPageBytes+1))
	media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	at := cli.PlainLine(res.Request.URL.Redacted())
	switch {
	case err != nil:
		return nil, cli.Unreachable(fmt.Errorf("read %s: %w", at, err))
	case len(body) > maxPageBytes:
		return nil, cli.Unreachable(fmt.Errorf("%s is longer than %d bytes", at, maxPageBytes))
	case res.StatusCode >= http.StatusBadRequest:
		return nil, cli.Unreachable(fmt.Errorf("%s answers %d (for a page behind a log-in, give --cookie-file)", at, res.StatusCode))
	case media != "text/html" && media != "application/xhtml+xml":
		return nil, cli.Unreachable(fmt.Errorf("%s is not a page: its Content-Type is %q", at, cli.PlainLine(media)))
	}
	if res.Request.Host == "" {
		res.Request.Host = res.Request.URL.Host
	}
	return &loadedPage{res.Request, res.Header, body}, nil
}

// inspect asks a gateway with these rules, which is never started.
func (f *formsFlags) inspect(ctx context.Context, file *rules.File, page *loadedPage, seen *watched) (*formsReport, error) {
	report := &formsReport{
		URL: page.request.URL.Redacted(), Forms: []gateway.PageForm{}, scripts: bytes.Contains(bytes.ToLower(page.body), []byte("<script")),
	}
	upstream := page.request.URL.Scheme + "://" + page.request.URL.Host
	err := withDryGateway(&gateway.Config{Upstream: upstream, Rules: file}, func(g *gateway.Gateway) error { //nolint:contextcheck // nothing runs.
		forms, err := g.PageForms(page.request.WithContext(ctx), page.header, bytes.NewReader(page.body))
		if err != nil {
			return cli.Unreachable(fmt.Errorf("%s: %w", cli.PlainLine(report.URL), err))
		}
		if seen != nil {
			if forms, err = seen.into(ctx, report, g, file, page, forms); err != nil {
				return err
			}
		}
		report.Forms = append(report.Forms, forms...)
		return nil
	})
	for _, form := range report.Forms {
		if form.State == gateway.FormUnprotected || form.State == gateway.FormDepends || form.State == gateway.FormPassword || form.Reader == gateway.ReaderNone {
			report.Unprotected++
		}
	}
	response := http.Response{Header: page.header}
	for _, c := range append(page.request.Cookies(), response.Cookies()...) {
		if !slices.Contains(report.Cookies, c.Name) {
			report.Cookies = append(report.Cookies, c.Name)
		}
	}
	return report, err
}

// print prints for people, and for programs that read columns.
func (r *formsReport) print(p *cli.Process) error {
	var rows [][]string
	guessed, why := false, ""
	for _, form := range r.Forms {
		why = cmp.Or(why, form.Why)
		rule := form.Rule
		if rule == "" && form.Nearest != "" {
			rule = "none; near " + form.Nearest
		}
		guessed = guessed || form.Reader == gateway.ReaderVisitor
		rows = append(rows, []string{form.Method, cli.PlainLine(form.Action), string(form.State), cli.OrDash(cli.PlainLine(rule)), cli.OrDash(cli.PlainLine(form.Reader)), cli.OrDash(cli.PlainLine(form.Because))})
	}
	if err := cli.PrintSheet(p, []string{"METHOD", "ACTION", "STATE", "RULE", "READER", "WHY"}, "No forms.", rows); err != nil {
		return err
	}
	if err := r.printSeen(p); err != nil {
		return err
	}
	if why != "" {
		if _, err := fmt.Fprintf(p.Stderr, "The page gets tokens and no guard script: %s.\n", why); err != nil {
			return err
		}
	}
	if guessed && len(r.Cookies) > 0 {
		_, err := fmt.Fprintf(p.Stderr, "None of the cookies %s is a known session cookie, so the reader gets a cookie of the gateway. "+
			"If one is, name it in the rule: scope: [{cookie: NAME}]\n", cli.PlainLine(strings.Join(r.Cookies, ", ")))
		return err
	}
	return nil
}
