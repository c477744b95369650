package console

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/cli/operatorview"
	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/texts"
	"github.com/semel-dev/semel/rules"
	"github.com/semel-dev/semel/schema/verify"
)

const (
	// verifyTime bounds a comparison of rules with the database, verifyTable the search in one table, and verifyRows the rows
	// of a table that are searched for duplicates.
	verifyTime  = 20 * time.Second
	verifyTable = 2 * time.Second
	verifyRows  = 100_000
)

// Route is a route of a gateway, as its page shows it.
type Route struct {
	Name     string
	Requests []string // methods with host and path, and the conditions
	// Unprotected says that its requests pass untouched; the fields below are then empty.
	Unprotected bool
	Key         string // where it comes from
	Scope       string // how callers are distinguished
	Policy      semel.Policy
	// Asks says where the outcome of an unknown request is asked for; empty where it is not.
	Asks string
	// More says what else the rule sets.
	More []string
}

// Setting is one of a process. The value of a secret is only "set".
type Setting struct{ Name, Value string }

// rulesPage shows the routes and the uniqueness rules.
type rulesPage struct {
	form

	Routes []routeView
	Rules  []ruleView
	// Can says that there is a database to compare the rules with.
	Can bool
	At  string // of the last comparison; empty before the first
	// Dialect and Server say where it looked.
	Dialect, Server string
}

type routeView struct {
	Route

	Mode, Unknown, Kept, Wait, Lease string
	// Scripts are the requests of scripts in pages; nil for a route without page.
	Scripts *ScriptCounts
}

// ruleView is a uniqueness rule with what the last comparison found.
type ruleView struct {
	Name, Says, Table, Terms, OnConflict, Index string
	// State is "not compared", "enforced", "doubtful" or "not enforced".
	State string
	Found []verify.Finding
}

// verification keeps the last comparison of the rules with the database, in memory.
type verification struct {
	mu      sync.Mutex // guards the fields below
	running bool
	report  *verify.Report // nil before the first; not changed any more
	at      time.Time
}

var errVerifying = errors.New("another operator compares them already")

// compareRules compares the rules with the database, unless a comparison runs.
func (v *verification) compareRules(ctx context.Context, compare func(context.Context) (*verify.Report, error)) error {
	v.mu.Lock()
	if v.running {
		v.mu.Unlock()
		return errVerifying
	}
	v.running = true
	v.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, verifyTime)
	defer cancel()
	defer v.end()
	report, err := compare(ctx)
	if err == nil {
		v.keep(report)
	}
	return err
}

func (v *verification) keep(report *verify.Report) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.report, v.at = report, time.Now()
}

// end lets the next comparison begin.
func (v *verification) end() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.running = false
}

func (v *verification) last() (*verify.Report, time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.report, v.at
}

// rulesPage shows what the process goes by. It asks no database.
func (c *Console) rulesPage(k *call, status int) {
	p := rulesPage{form: k.form, Can: c.database != nil && c.rules != nil && len(c.rules.Unique) > 0}
	var scripts map[string]ScriptCounts
	if c.scripts != nil {
		scripts = c.scripts()
	}
	for i := range c.routes {
		view := viewRoute(&c.routes[i])
		if counts, ok := scripts[view.Name]; ok {
			view.Scripts = &counts
		}
		p.Routes = append(p.Routes, view)
	}
	report, at := c.verified.last()
	if report != nil {
		p.At, p.Dialect, p.Server = operatorview.Time(at), report.Dialect, report.Server
	}
	if c.rules != nil {
		for i := range c.rules.Unique {
			p.Rules = append(p.Rules, viewRule(&c.rules.Unique[i], report))
		}
	}
	c.show(k, status, "rules", "Rules", p)
}

// verify compares the uniqueness rules with the database. It changes nothing, and takes part of the database's time: a token
// that may only look does not start it.
func (c *Console) verify(k *call) (string, *refusal) {
	if c.database == nil || c.rules == nil {
		return "", &refusal{http.StatusNotFound, "Nothing was compared: this process does not know the application's database.", ""}
	}
	err := c.verified.compareRules(k.Context(), func(ctx context.Context) (*verify.Report, error) {
		return verify.Verify(ctx, c.database.DB, c.database.Dialect, c.rules, &verify.Options{MaxRows: verifyRows, Timeout: verifyTable})
	})
	switch {
	case errors.Is(err, errVerifying):
		return "", &refusal{http.StatusConflict, "Nothing was done: " + dialect.Discreet(err).Error() + ".", ""}
	case err != nil:
		c.log.LogAttrs(k.Context(), slog.LevelWarn, "the rules cannot be compared with the database", slog.String("error", dialect.Discreet(err).Error()))
		return "", &refusal{http.StatusServiceUnavailable, "The rules could not be compared: " + dialect.Discreet(err).Error(), ""}
	}
	return Path + "rules", nil
}

func viewRoute(r *Route) routeView {
	v := routeView{Route: *r}
	if r.Unprotected {
		return v
	}
	p := &r.Policy
	v.Mode, v.Kept, v.Lease = "repetitions get the recorded answer", span(p.Retention), span(p.Lease)
	if p.Dedup {
		v.Mode = "repetitions are refused"
	}
	if v.Wait = "not at all"; p.Wait > 0 {
		v.Wait = span(p.Wait)
	}
	switch p.OnUnknown {
	case semel.Rerun:
		v.Unknown = "the next attempt executes again"
	case semel.Reconcile:
		v.Unknown = "the application is asked"
	case semel.Refuse:
		v.Unknown = "attempts are refused until an operator settles it, for " + span(p.UnknownRetention)
	}
	return v
}

// span writes a duration without its zero parts.
func span(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

func viewRule(u *rules.Unique, report *verify.Report) ruleView {
	v := ruleView{
		Name: u.Name, Says: u.Says, Table: u.Table, OnConflict: u.OnConflict.String(), Index: u.Index, State: "not compared",
		Terms: strings.Join(texts.Of(u.Terms(), func(t rules.Term) string { return t.Text }), ", "),
	}
	if report == nil {
		return v
	}
	v.State = "enforced"
	for i := range report.Findings {
		f := report.Findings[i]
		if f.Rule != u.Name {
			continue
		}
		v.Found = append(v.Found, f)
		switch {
		case f.Severity == verify.Error:
			v.State = "not enforced"
		case v.State == "enforced":
			v.State = "doubtful"
		}
	}
	return v
}

// settingsPage shows the configuration of the process.
func (c *Console) settingsPage(k *call) {
	c.show(k, http.StatusOK, "settings", "Settings", c.settings)
}
