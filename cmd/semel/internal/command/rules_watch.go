package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/semel-dev/semel/gateway"
	"github.com/semel-dev/semel/internal/cli"
	"github.com/semel-dev/semel/internal/cli/chromium"
	"github.com/semel-dev/semel/internal/waiting"
	"github.com/semel-dev/semel/rules"
)

const (
	// watchTimeout bounds the whole visit of a browser.
	watchTimeout = 2 * time.Minute
	// maxRequests bounds the requests of scripts that are listed.
	maxRequests = 100
	// pressPatience bounds the wait for the request of a button, which a new tab or a worker sends when the page itself is idle.
	pressPatience = 3 * time.Second
	// pressStep is the pause between two looks.
	pressStep = 20 * time.Millisecond
)

// pageRequest is a request that a script sends.
type pageRequest struct {
	Method string        `json:"method"`
	URL    string        `json:"url"` // the path; with another host, the whole
	Kind   requestKind   `json:"kind"`
	State  gatewayState  `json:"state"`
	Rule   string        `json:"rule,omitempty"`
	When   requestMoment `json:"when"`
}

// gatewayState says whether a request is protected, in the words of forms.
type gatewayState string

const (
	requestProtected   gatewayState = "protected"
	requestDepends     gatewayState = "depends"
	requestExempt      gatewayState = "exempt"
	requestUnprotected gatewayState = "unprotected"
	requestElsewhere   gatewayState = "elsewhere"
	requestReads       gatewayState = "reads"
	requestReports     gatewayState = "reports"
)

// requestKind names the way in which a page sends a request.
type requestKind string

const (
	byScript requestKind = "script" // fetch or XMLHttpRequest
	byForm   requestKind = "form"   // a navigation, which form: true protects
	byBeacon requestKind = "beacon" // a beacon, a ping or a report of the browser
)

// kindOf returns the kind of a request from its DevTools resource type.
func kindOf(resource string) requestKind {
	switch resource {
	case "Document":
		return byForm
	case "Ping", "CSPViolationReport":
		return byBeacon
	}
	return byScript
}

// kindFrom reads it from the header of a request.
func kindFrom(h http.Header) requestKind {
	switch {
	case h.Get("Sec-Fetch-Mode") == "navigate", h.Get("Upgrade-Insecure-Requests") != "": // the former only goes to hosts that browsers trust
		return byForm
	case h.Get("Sec-Fetch-Dest") == "report", h.Get("Sec-Fetch-Mode") == "no-cors":
		return byBeacon
	}
	return byScript
}

// requestMoment is when a request was sent.
type requestMoment string

const (
	onLoad  requestMoment = "load"
	onPress requestMoment = "press"
)

// watched is a page as a browser has seen it.
type watched struct {
	browser string
	body    string // as its scripts left it
	host    string // of the page, as browsers write it

	mu       sync.Mutex // guards the fields below
	requests []pageRequest
	when     requestMoment
}

// reads reports whether a method changes nothing.
func reads(method string) bool {
	return slices.Contains([]string{http.MethodGet, http.MethodHead, http.MethodOptions}, method)
}

// take takes down a request.
func (w *watched) take(method, address string, kind requestKind) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if one := (pageRequest{Method: method, URL: address, Kind: kind, When: w.when}); len(w.requests) < maxRequests && !slices.Contains(w.requests, one) {
		w.requests = append(w.requests, one)
	}
}

// asked is called for the requests of the page.
func (w *watched) asked(r chromium.Request) bool {
	if !reads(r.Method) || r.Kind == "Fetch" || r.Kind == "XHR" {
		w.take(r.Method, r.URL, kindOf(r.Kind))
	}
	return reads(r.Method)
}

// Leaves stops what may change something and did not come from the page itself, but from another tab, a worker or a frame. What has no
// origin is the browser's own.
func (w *watched) Leaves(r *http.Request, host string) (func(*http.Response) bool, bool) {
	if !reads(r.Method) && r.Header.Get("Origin") != "" {
		address := *r.URL
		if address.Host == "" { // inside of a tunnel
			address.Scheme, address.Host = "http", host
		}
		if r.TLS != nil {
			address.Scheme = "https"
		}
		w.take(r.Method, address.String(), kindFrom(r.Header))
	}
	return nil, reads(r.Method)
}

// pressed reports whether a press has sent something that was stopped.
func (w *watched) pressed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.ContainsFunc(w.requests, func(one pageRequest) bool { return one.When == onPress && !reads(one.Method) })
}

// watch loads the page in Chromium. Requests that may change something are stopped before they leave.
func (f *formsFlags) watch(ctx context.Context, loaded *loadedPage, cookie string) (seen *watched, err error) {
	ctx, cancel := context.WithTimeout(ctx, watchTimeout)
	defer cancel()
	relay, err := chromium.NewRelay(nil, http.ProxyFromEnvironment)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, relay.Close()) }()
	flags, err := relay.Flags()
	if err != nil {
		return nil, err
	}
	seen = &watched{when: onLoad}
	relay.Play(seen)
	browser, err := chromium.Open(ctx, &chromium.Options{Flags: flags})
	if err != nil {
		return nil, cli.Unreachable(err)
	}
	defer func() { err = errors.Join(err, browser.Close()) }()
	seen.browser = browser.Version()
	profile, err := browser.Profile(ctx)
	if err != nil {
		return nil, cli.Unreachable(err)
	}
	address := loaded.request.URL.String()
	if cookie != "" {
		if err := profile.SetCookies(ctx, address, cookie); err != nil {
			return nil, cli.Usage(err)
		}
	}
	tab, err := profile.Tab(ctx, &chromium.TabOptions{Leaves: seen.asked})
	if err != nil {
		return nil, cli.Unreachable(err)
	}
	if err := tab.Open(ctx, address); err != nil {
		return nil, cli.Unreachable(cmp.Or(relay.Why(), err))
	}
	if err := tab.Run(ctx, "document.documentElement.outerHTML", &seen.body); err != nil {
		return nil, cli.Unreachable(err)
	}
	if err := tab.Run(ctx, "location.host", &seen.host); err != nil {
		return nil, cli.Unreachable(err)
	}
	if f.press != "" {
		err = seen.press(ctx, tab, f.press)
	}
	return seen, err
}

// press presses an element and waits for its request.
func (w *watched) press(ctx context.Context, tab *chromium.Tab, selector string) error {
	w.mu.Lock()
	w.when = onPress
	w.mu.Unlock()
	if err := pressOn(ctx, tab, selector); err != nil {
		return err
	}
	for deadline := time.Now().Add(pressPatience); !w.pressed() && time.Now().Before(deadline); {
		if !waiting.Sleep(ctx, pressStep) {
			return cli.Unreachable(ctx.Err())
		}
	}
	return nil
}

// pressOn clicks the middle of an element.
func pressOn(ctx context.Context, tab *chromium.Tab, selector string) error {
	var at struct {
		X, Y  float64
		Found bool
	}
	expression := fmt.Sprintf(`(() => {
		const element = document.querySelector(%q);
		if (!element) return { found: false };
		if (element.form) element.form.noValidate = true; // nothing is sent
		element.scrollIntoView({ block: "center", behavior: "instant" });
		const { left, top, width, height } = element.getBoundingClientRect();
		return { found: true, x: left + width / 2, y: top + height / 2 };
	})()`, selector)
	if err := tab.Run(ctx, expression, &at); err != nil {
		return cli.Usage(fmt.Errorf("--press: %w", err))
	}
	if !at.Found {
		return cli.Usagef("nothing on the page matches --press %s", selector)
	}
	if err := tab.Click(ctx, at.X, at.Y, 1); err != nil {
		return cli.Unreachable(err)
	}
	return cli.AsUnreachable(tab.Idle(ctx))
}

// into adds the browser's view to the report, and returns the forms as scripts leave them. Forms that are not in the page as it
// came get no token of the gateway.
func (w *watched) into(ctx context.Context, report *formsReport, g *gateway.Gateway, file *rules.File, page *loadedPage, came []gateway.PageForm) ([]gateway.PageForm, error) {
	report.Browser = w.browser
	left, err := g.PageForms(page.request.WithContext(ctx), page.header, strings.NewReader(w.body))
	if err != nil {
		return nil, cli.Unreachable(fmt.Errorf("%s, as its scripts leave it: %w", cli.PlainLine(report.URL), err))
	}
	for i := range left {
		same := func(one gateway.PageForm) bool { return one.Method == left[i].Method && one.Action == left[i].Action }
		if !slices.ContainsFunc(came, same) {
			left[i].Because = strings.TrimPrefix(left[i].Because+"; made by a script", "; ")
		}
	}
	var missing drafts
	for _, one := range w.requests {
		one.judge(ctx, g, file, w.host)
		report.Requests = append(report.Requests, one)
		if one.State == requestUnprotected || one.State == requestDepends {
			report.Unprotected++
		}
		if one.State == requestUnprotected {
			missing.add(one.Method, one.URL, map[requestKind]string{byScript: "page: true", byForm: "form: true"}[one.Kind])
		}
	}
	for _, one := range left {
		if one.State == gateway.FormUnprotected {
			missing.add(one.Method, one.Action, "form: true")
		}
	}
	report.Draft = missing.text()
	return left, nil
}

// judge says which rule a request of a script meets.
func (r *pageRequest) judge(ctx context.Context, g *gateway.Gateway, file *rules.File, host string) {
	to, err := url.Parse(r.URL)
	if err != nil || to.Host != host {
		r.State = requestElsewhere
		return
	}
	r.URL = to.RequestURI()
	switch {
	case reads(r.Method):
		r.State = requestReads
		return
	case r.Kind == byBeacon:
		r.State = requestReports
		return
	}
	candidates, _ := g.Explain((&http.Request{Method: r.Method, URL: to, Host: to.Host, Header: http.Header{}, Body: http.NoBody}).WithContext(ctx))
	last := candidates[len(candidates)-1]
	at := slices.IndexFunc(file.Routes, func(one rules.Route) bool { return one.Name == last.Route })
	switch {
	case len(candidates) > 1 && slices.ContainsFunc(candidates, func(c gateway.Candidate) bool { return c.Verdict == "may meet" }):
		r.State, r.Rule = requestDepends, last.Route
	case at < 0:
		r.State = requestUnprotected
	case !file.Routes[at].Protect:
		r.State, r.Rule = requestExempt, last.Route
	case r.Kind == byScript && file.Routes[at].Page != nil, r.Kind == byForm && file.Routes[at].Form != nil:
		r.State, r.Rule = requestProtected, last.Route
	default:
		r.State, r.Rule = requestUnprotected, last.Route
	}
}

// variable matches a segment of a path that names one record.
var variable = regexp.MustCompile(`^(\d+|[0-9a-fA-F]{8}-[0-9a-fA-F-]{27}|[0-9A-Za-z_-]{20,})$`)

// drafts are the rules that are missing, each for a method and a path.
type drafts []draft

type draft struct {
	method, path string
	protects     []string // by what: one line of YAML for each kind of request
}

// add drafts a rule, or adds to one.
func (d *drafts) add(method, target, protects string) {
	path, _, _ := strings.Cut(target, "?")
	segments := strings.Split(path, "/")
	for i, segment := range segments {
		if variable.MatchString(segment) {
			segments[i] = fmt.Sprintf("{id%s}", strings.Repeat("_", strings.Count(strings.Join(segments[:i], "/"), "{")))
		}
	}
	path = strings.Join(segments, "/")
	at := slices.IndexFunc(*d, func(one draft) bool { return one.method == method && one.path == path })
	if at < 0 {
		at = len(*d)
		*d = append(*d, draft{method: method, path: path})
	}
	if one := &(*d)[at]; !slices.Contains(one.protects, protects) {
		one.protects = append(one.protects, protects)
	}
}

// text returns the rules as YAML. A rule that conflicts with an earlier one, or is invalid, becomes a comment.
func (d drafts) text() string {
	var text string
	for _, one := range d {
		name := one.method + " " + one.path
		rule := fmt.Sprintf("  - name: %q\n    match: {methods: [%q], path: %q}\n    %s\n", name, one.method, one.path, strings.Join(one.protects, "\n    "))
		if _, err := rules.Parse("draft", []byte("version: 1\nroutes:\n"+text+rule)); err != nil {
			rule = fmt.Sprintf("  # %q: no rule can match it\n", name)
		}
		text += rule
	}
	return text
}

// printSeen prints the browser's view, or a hint that there is one.
func (r *formsReport) printSeen(p *cli.Process) error {
	if r.Browser == "" {
		if !r.scripts {
			return nil
		}
		_, err := fmt.Fprintln(p.Stderr, "The page has scripts. What they make and send is not listed: --browser shows it, where Chromium is installed.")
		return err
	}
	var rows [][]string
	for _, one := range r.Requests {
		rows = append(rows, []string{one.Method, cli.PlainLine(one.URL), string(one.State), cli.OrDash(cli.PlainLine(one.Rule)), string(one.When)})
	}
	if _, err := fmt.Fprintln(p.Stdout); err != nil {
		return err
	}
	if err := cli.PrintSheet(p, []string{"METHOD", "REQUEST OF A SCRIPT", "STATE", "RULE", "ON"}, "No requests of scripts.", rows); err != nil {
		return err
	}
	if r.Draft == "" {
		return nil
	}
	_, err := fmt.Fprintf(p.Stdout, "\n# Rules that are missing (docs/forms.md), to go below routes:\n%s", r.Draft)
	return err
}
